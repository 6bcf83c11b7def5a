"""The commands' tests take what other rooms' tests have made."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "selection"))
