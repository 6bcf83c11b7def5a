"""Settings for all tests."""

import os

from hypothesis import settings

# every run draws the same examples; with HYPOTHESIS_PROFILE=search it draws others
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("search")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
