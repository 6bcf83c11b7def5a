"""Attacks on the promises of docs/promises.md: damaged input, faults, load, and other machines.

``python -m harden`` runs them; what is counted is kept between runs. Not shipped.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = Path(os.environ.get("HARDEN_WORK", ROOT / "build" / "harden"))
"""Where inputs that reached new code, inputs that failed, and the counts are kept."""

sys.path.insert(0, str(ROOT / "tests" / "made"))  # samples, servers and stores of the tests
