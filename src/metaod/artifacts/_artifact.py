"""Artifacts: a fitted learner in one file, without pickle."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from metaod.artifacts._calibration import Calibration
from metaod.artifacts._format import (
    BadArtifact,
    UnfitArtifact,
    read_container,
    read_document,
    write_container,
)
from metaod.artifacts._history import History
from metaod.artifacts._manifest import Manifest, UsedSchema, library_versions
from metaod.errors import BadParameter, UserError
from metaod.learners import Learner, Matrix, StateReader, learner_class, make_learner, pack, unpack
from metaod.metafeatures import SCHEMA_VERSIONS

if TYPE_CHECKING:
    from metaod.metafeatures import MetaFeatures

__all__ = ["Artifact", "read_manifest"]


@dataclass(frozen=True)
class Artifact:
    """A fitted learner, and what it says of itself.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    manifest : Manifest
        How it was made.
    history : History, optional
        The historical datasets, which explanations point to.
    calibration : Calibration, optional
        How sure its answers are; needs the history.

    Examples
    --------
    >>> from metaod.learners import make_learner
    >>> learner = make_learner("global_best").fit([[0.1, 0.5]], [[3.0]])
    >>> Artifact.of(learner).manifest.models
    ('model 0', 'model 1')
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
        """The artifact of a learner that has just been fitted, with the versions used for it."""
        if not hasattr(learner, "models_"):
            raise UserError(
                "the learner has not been fitted", where=learner.name, remedy="call fit first"
            )
        manifest = Manifest(
            learner=learner.name,
            parameters=learner.params(),
            models=learner.models_,
            schemas=schemas,
            measure=measure,
            datasets=datasets,
            n_origins=n_origins,
            versions=library_versions(),
        )
        return cls(learner, manifest)

    # files

    def save(self, path: "str | PathLike[str]") -> None:
        """Write it to one file, whole or not at all; an artifact that is there is replaced."""
        parts = {"history": self.history, "calibration": self.calibration}
        states = {name: None if part is None else part.state() for name, part in parts.items()}
        state, arrays = pack({"learner": self.learner.state(), **states})
        write_container(path, {**self.manifest.to_json(), "state": state}, arrays)

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> Self:
        """Read it from a file; nothing in the file is executed, everything in it is checked.

        Raises
        ------
        BadArtifact
            The file is no artifact, or it is damaged.
        NewerArtifact
            It is of a format that this version of metaod does not know yet.
        UnfitArtifact
            It needs a learner, or a schema of meta-features or a version of it, that is not there.
        """
        document, arrays = read_container(path)
        manifest = _manifest(document, path)
        kind = _learner_class(manifest.learner, path)
        try:
            learner = make_learner(manifest.learner, **manifest.parameters)
        except (BadParameter, TypeError) as error:
            raise UnfitArtifact(
                path,
                f"{kind.__name__} does not take its parameters: {error}",
                remedy="update metaod, or train the learner again",
            ) from error
        try:
            state = unpack(document.get("state"), arrays)
            reader = StateReader({"state": state}, str(path)).part("state")
            learner.restore(reader.part("learner"))
            history, calibration = _what_it_knows(reader, learner)
        except UserError:
            raise
        except Exception as error:  # a learner, of whatever package, met what it does not expect
            raise BadArtifact(
                path,
                f"does not fit {kind.__name__}: {type(error).__name__}: {error}",
                remedy="train the learner again",
            ) from error
        agree = learner.models_ == manifest.models
        if manifest.schemas:
            agree = agree and learner.features_ == manifest.features
        if not agree:
            raise BadArtifact(
                path,
                "its manifest names other models or features than its learner",
                remedy="train the learner again",
            )
        return cls(learner, manifest, history, calibration)

    # answers

    @property
    def schema_names(self) -> tuple[str, ...]:
        """The schemas to extract of a table, for :func:`metaod.extract`."""
        return tuple(part.name for part in self.manifest.schemas)

    def vector(self, features: "MetaFeatures") -> Matrix:
        """What the learner takes of a table's meta-features, in its order.

        Parameters
        ----------
        features : MetaFeatures
            The table's meta-features by the artifact's schemas; others may be among them.
        """
        if not self.manifest.schemas:
            raise UserError(
                "the learner was fitted on features that belong to no schema",
                where=self.manifest.learner,
                remedy="call the learner's predict with them",
            )
        found = features.to_dict()
        for part in self.manifest.schemas:
            version = features.versions.get(part.name)
            if version != part.version or not found.keys() >= set(part.features):
                got = "none" if version is None else f"version {version}"
                raise UserError(
                    f"needs meta-features of schema {part.name!r}, version {part.version}, "
                    f"got {got}",
                    where=f"learner {self.manifest.learner!r}",
                    remedy=(
                        "extract that schema too"
                        if version is None
                        else "train the learner again with this version of metaod"
                    ),
                )
        return np.array([found[name] for name in self.manifest.features])


def _what_it_knows(
    reader: StateReader, learner: Learner
) -> tuple[History | None, Calibration | None]:
    history = History.restore(reader.part("history")) if reader.has("history") else None
    if history is not None and (
        set(history.models) != set(learner.models_) or history.features != learner.features_
    ):
        raise reader.damaged("its history is of other models or features than its learner")
    if not reader.has("calibration"):
        return history, None
    if history is None:
        raise reader.damaged("it has a calibration but no history")
    return history, Calibration.restore(reader.part("calibration"))


def read_manifest(path: "str | PathLike[str]") -> Manifest:
    """What an artifact says of itself, without reading its arrays or making its learner."""
    return _manifest(read_document(path), path)


def _manifest(document: dict[str, Any], path: "str | PathLike[str]") -> Manifest:
    manifest = Manifest.from_json(document, str(path))
    for part in manifest.schemas:
        here = SCHEMA_VERSIONS.get(part.name)
        if here is None:
            raise UnfitArtifact(
                path,
                f"needs meta-features of schema {part.name!r}, which are not known here",
                remedy="update metaod",
            )
        if part.version != here:
            raise UnfitArtifact(
                path,
                f"needs meta-features of schema {part.name!r}, version {part.version}; this "
                f"metaod extracts version {here}",
                remedy="update metaod" if part.version > here else "train the learner again",
            )
    return manifest


def _learner_class(name: str, path: "str | PathLike[str]") -> type[Learner]:
    try:
        return learner_class(name)
    except BadParameter as error:
        raise UnfitArtifact(
            path,
            f"holds the learner {name!r}, which is not installed",
            remedy="update metaod, or install the package that offers it",
        ) from error
