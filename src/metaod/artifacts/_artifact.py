"""A fitted learner in a file, with its history and its calibration."""

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, get_type_hints

import numpy as np

from metaod import metafeatures
from metaod._state import decode, encode
from metaod._version import __version__
from metaod.artifacts._container import BadArtifact, read_container, write_container
from metaod.artifacts._history import Calibration, History
from metaod.errors import BadParameter, UserError
from metaod.learners import Learner, make_learner
from metaod.models import Matrix

if TYPE_CHECKING:
    from metaod.metafeatures import MetaFeatures

_LIBRARIES = ("numba", "numpy", "pandas", "pyod", "scikit-learn", "scipy")
_TRAIN_AGAIN = "train the learner again"


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, by name."""
    found = {name: version(name) for name in _LIBRARIES}
    return {"metaod": __version__, "python": platform.python_version(), **found}


@dataclass(frozen=True)
class Artifact:
    """A fitted learner and how it was made.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    schemas : dict of str to int
        Schemas whose features it takes, and their versions, in order; empty if its features belong
        to no schema.
    measure : str, optional
        The performance measure.
    datasets : tuple of str
        Fingerprints of the training datasets.
    n_origins : int
        Number of their origins.
    history : History, optional
        The historical datasets, for explanations.
    calibration : Calibration, optional
        Predicts performance with intervals; needs the history.
    versions : dict of str to str
        Versions of the libraries, by name.
    """

    learner: Learner
    schemas: dict[str, int] = field(default_factory=dict)
    measure: str | None = None
    datasets: tuple[str, ...] = ()
    n_origins: int = 0
    history: History | None = None
    calibration: Calibration | None = None
    versions: dict[str, str] = field(default_factory=library_versions)

    def __post_init__(self) -> None:
        if not hasattr(self.learner, "models_"):
            what = "the learner has not been fitted"
            raise UserError(what, where=self.learner.name, remedy="call fit first")
        history = self.history
        if self.calibration is not None and history is None:
            raise ValueError("it has a calibration but no history")
        if history is not None and (
            sorted(history.models) != sorted(self.learner.models_)
            or history.features != self.learner.features_
        ):
            raise ValueError("its history has other models or features than its learner")

    def save(
        self, path: "str | PathLike[str]", *, sign: "str | PathLike[str] | None" = None
    ) -> None:
        """Write the artifact to a file completely or not at all; replace an artifact.

        With `sign`, the file of a key, it is signed.
        """
        learner = self.learner
        content = {name: encode(getattr(self, name)) for name in _types()}
        content |= {"learner": learner.name, "parameters": learner.params()}
        write_container(path, "learner", {**content, "state": learner.state()}, sign)

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> Self:
        """Read an artifact; nothing in the file is executed, and everything is checked."""
        content = read_container(path, "learner")
        try:
            parts = {name: decode(kind, content[name], name) for name, kind in _types().items()}
            _check_schemas(parts["schemas"], path)
            learner = _unfitted_learner(content, path)
            return cls(learner.restore(content["state"]), **parts)
        except UserError:
            raise
        except Exception as error:  # a learner of any package can fail in any way
            what = f"is damaged ({type(error).__name__}: {error!s:.200})"
            raise BadArtifact(path, what, remedy=_TRAIN_AGAIN) from error

    def vector(self, features: "MetaFeatures") -> Matrix:
        """Return the meta-features that the learner takes, in its order."""
        if not self.schemas:
            what = "the learner was fitted on features that belong to no schema"
            remedy = "call the learner's predict with them"
            raise UserError(what, where=self.learner.name, remedy=remedy)
        values = features.to_dict()
        for name, number in self.schemas.items():
            found = features.versions.get(name)
            if found is None or found < number:
                what = f"needs meta-features of schema {name!r}, version {number}, got {found}"
                remedy = f"extract that schema, update metaod, or {_TRAIN_AGAIN}"
                raise UserError(what, where=f"learner {self.learner.name!r}", remedy=remedy)
        return np.array([values[name] for name in self.learner.features_])


def _types() -> dict[str, Any]:
    """Return the types of all fields but the learner."""
    types = get_type_hints(Artifact)
    del types["learner"]
    return types


def _unfitted_learner(content: dict[str, Any], path: "str | PathLike[str]") -> Learner:
    name: str = decode(str, content["learner"], "learner")
    parameters = decode(dict[str, Any], content["parameters"], "parameters")
    try:
        return make_learner(name, **parameters)
    except (BadParameter, TypeError) as error:
        what = f"holds the learner {name!r}, which is not installed with its parameters: {error}"
        remedy = f"update metaod, install the package that offers it, or {_TRAIN_AGAIN}"
        raise BadArtifact(path, what, remedy=remedy, code="not-installed") from error


def _check_schemas(schemas: dict[str, int], path: "str | PathLike[str]") -> None:
    for name, number in schemas.items():
        registered = metafeatures.SCHEMAS
        known = registered[name].version if name in registered else 0
        if not 1 <= number <= known:
            needed = f"needs meta-features of schema {name!r}, version {number}"
            what = f"{needed}; this metaod extracts version {known or 'none'}"
            remedy = "update metaod" if number > known else _TRAIN_AGAIN
            raise BadArtifact(path, what, remedy=remedy, code="not-installed")
