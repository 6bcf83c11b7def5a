"""Saved state in files: one format for learners, saved picks and rankers, read without pickle."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
    from metaod.artifacts._artifact import Artifact, library_versions
    from metaod.artifacts._container import (
        VERIFY_KEY,
        BadArtifact,
        check_signature,
        check_target,
        read_container,
        signature,
        write_container,
    )
    from metaod.artifacts._history import Calibration, History
    from metaod.artifacts._trained import Trained

__all__ = [
    "VERIFY_KEY",
    "Artifact",
    "BadArtifact",
    "Calibration",
    "History",
    "Trained",
    "check_signature",
    "check_target",
    "library_versions",
    "read_container",
    "signature",
    "write_container",
]

__getattr__ = exports(__name__)
