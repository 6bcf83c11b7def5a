"""The folder for downloads and trained learners."""

import os
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["default_cache_dir"]


def default_cache_dir() -> Path:
    """Return ``METAOD_CACHE`` if it is set, else the system's cache folder for MetaOD."""
    chosen = os.environ.get("METAOD_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("metaod")
