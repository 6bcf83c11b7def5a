"""Trained learners in files: one container format, read without pickle."""

from metaod.artifacts._artifact import Artifact
from metaod.artifacts._calibration import Calibration
from metaod.artifacts._container import (
    BadArtifact,
    NewerArtifact,
    check_target,
    read_container,
    read_document,
    write_container,
)
from metaod.artifacts._history import History, normalised
from metaod.artifacts._manifest import UsedSchema, library_versions

__all__ = [
    "Artifact",
    "BadArtifact",
    "Calibration",
    "History",
    "NewerArtifact",
    "UsedSchema",
    "check_target",
    "library_versions",
    "normalised",
    "read_container",
    "read_document",
    "write_container",
]
