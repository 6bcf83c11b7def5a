"""Saved state in files: one format for learners, saved picks and rankers, read without pickle."""

from metaod.artifacts._artifact import Artifact, library_versions
from metaod.artifacts._container import BadArtifact, check_target, read_container, write_container
from metaod.artifacts._history import Calibration, History

__all__ = [
    "Artifact",
    "BadArtifact",
    "Calibration",
    "History",
    "check_target",
    "library_versions",
    "read_container",
    "write_container",
]
