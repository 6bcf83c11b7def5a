"""A fitted learner in a file, with its history and its calibration."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from metaod.artifacts._calibration import Calibration
from metaod.artifacts._container import BadArtifact, UnfitArtifact, read_container, write_container
from metaod.artifacts._history import History
from metaod.artifacts._manifest import (
    Manifest,
    UsedSchema,
    insert_arrays,
    library_versions,
    separate_arrays,
)
from metaod.errors import BadParameter, UserError
from metaod.learners import Learner, StateReader, learner_class, make_learner
from metaod.metafeatures import SCHEMAS
from metaod.models import Matrix

if TYPE_CHECKING:
    from metaod.metafeatures import MetaFeatures

_TRAIN_AGAIN = "train the learner again"


@dataclass(frozen=True)
class Artifact:
    """A fitted learner with its manifest.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    manifest : Manifest
        Its name, parameters, models, schemas and training.
    history : History, optional
        The historical datasets, for explanations.
    calibration : Calibration, optional
        Predicts performance with intervals; needs the history.
    """

    learner: Learner
    manifest: Manifest
    history: History | None = None
    calibration: Calibration | None = None

    @classmethod
    def of(
        cls,
        learner: Learner,
        *,
        schemas: tuple[UsedSchema, ...] = (),
        measure: str | None = None,
        datasets: tuple[str, ...] = (),
        n_origins: int = 0,
    ) -> Self:
        """Make the artifact of a fitted learner, with the installed versions."""
        if not hasattr(learner, "models_"):
            what = "the learner has not been fitted"
            raise UserError(what, where=learner.name, remedy="call fit first")
        versions = library_versions()
        identity = learner.name, learner.params(), learner.models_
        return cls(learner, Manifest(*identity, schemas, measure, datasets, n_origins, versions))

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the artifact to a file completely or not at all; replace an artifact."""
        parts = {"learner": self.learner, "history": self.history, "calibration": self.calibration}
        states = {name: None if part is None else part.state() for name, part in parts.items()}
        state, arrays = separate_arrays(states)
        write_container(path, {**self.manifest.to_json(), "state": state}, arrays)

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> Self:
        """Read an artifact; nothing in the file is executed, and everything is checked."""
        document, arrays = read_container(path)
        manifest = _read_manifest(document, path)
        learner = _unfitted_learner(manifest, path)
        try:
            state = insert_arrays(document.get("state"), arrays)
            reader = StateReader({"state": state}, str(path)).part("state")
            learner.restore(reader.part("learner"))
            history, calibration = _restore_history(reader, learner)
        except UserError:
            raise
        except Exception as error:  # a learner of any package can fail in any way
            what = f"does not fit {type(learner).__name__}: {type(error).__name__}: {error}"
            raise BadArtifact(path, what, remedy=_TRAIN_AGAIN) from error
        other_features = manifest.schemas and learner.features_ != manifest.features
        if learner.models_ != manifest.models or other_features:
            what = "its manifest names other models or features than its learner"
            raise BadArtifact(path, what, remedy=_TRAIN_AGAIN)
        return cls(learner, manifest, history, calibration)

    @property
    def schema_names(self) -> tuple[str, ...]:
        """The schemas that :func:`metaod.extract` must extract."""
        return tuple(part.name for part in self.manifest.schemas)

    def vector(self, features: "MetaFeatures") -> Matrix:
        """Return the meta-features that the learner takes, in its order."""
        if not self.manifest.schemas:
            what = "the learner was fitted on features that belong to no schema"
            remedy = "call the learner's predict with them"
            raise UserError(what, where=self.manifest.learner, remedy=remedy)
        values = features.to_dict()
        for part in self.manifest.schemas:
            found = features.versions.get(part.name)
            if found is None or found < part.version or not values.keys() >= set(part.features):
                got, remedy = f"version {found}", f"update metaod, or {_TRAIN_AGAIN}"
                if found is None:
                    got, remedy = "none", "extract that schema too"
                needed = f"meta-features of schema {part.name!r}, version {part.version}"
                where = f"learner {self.manifest.learner!r}"
                raise UserError(f"needs {needed}, got {got}", where=where, remedy=remedy)
        return np.array([values[name] for name in self.manifest.features])


def _unfitted_learner(manifest: Manifest, path: "str | PathLike[str]") -> Learner:
    name = manifest.learner
    try:
        learner_class(name)
    except BadParameter as error:
        what = f"holds the learner {name!r}, which is not installed"
        remedy = "update metaod, or install the package that offers it"
        raise UnfitArtifact(path, what, remedy=remedy) from error
    try:
        return make_learner(name, **manifest.parameters)
    except (BadParameter, TypeError) as error:
        what = f"its learner {name!r} does not take its parameters: {error}"
        raise UnfitArtifact(path, what, remedy=f"update metaod, or {_TRAIN_AGAIN}") from error


def _restore_history(
    reader: StateReader, learner: Learner
) -> tuple[History | None, Calibration | None]:
    history = History.restore(reader.part("history")) if reader.has("history") else None
    if history is not None:
        same_models = set(history.models) == set(learner.models_)
        if not same_models or history.features != learner.features_:
            raise reader.damaged("its history has other models or features than its learner")
    if not reader.has("calibration"):
        return history, None
    if history is None:
        raise reader.damaged("it has a calibration but no history")
    return history, Calibration.restore(reader.part("calibration"))


def _read_manifest(document: dict[str, Any], path: "str | PathLike[str]") -> Manifest:
    manifest = Manifest.from_json(document, str(path))
    for part in manifest.schemas:
        if part.name not in SCHEMAS:
            what = f"needs meta-features of the unknown schema {part.name!r}"
            raise UnfitArtifact(path, what, remedy="update metaod")
        known = SCHEMAS[part.name].version
        if not 1 <= part.version <= known:
            needed = f"needs meta-features of schema {part.name!r}, version {part.version}"
            what = f"{needed}; this metaod extracts version {known}"
            remedy = "update metaod" if part.version > known else _TRAIN_AGAIN
            raise UnfitArtifact(path, what, remedy=remedy)
    return manifest
