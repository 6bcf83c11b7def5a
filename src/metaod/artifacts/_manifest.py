"""What an artifact says of itself: which learner, made how, from what, for which tables."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from metaod._version import __version__
from metaod.learners import StateReader, plain

__all__ = ["Manifest", "UsedSchema", "library_versions"]

_LIBRARIES = ("numba", "numpy", "pandas", "pyod", "scikit-learn", "scipy")


@dataclass(frozen=True)
class UsedSchema:
    """Meta-features of one schema that a learner was fitted on.

    Parameters
    ----------
    name : str
        The schema's name.
    version : int
        Its version: vectors of two versions do not mix.
    features : tuple of str
        Those of its features that the learner takes, in the learner's order.
    """

    name: str
    version: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """What an artifact says of itself.

    Parameters
    ----------
    learner : str
        Name of the learner.
    parameters : mapping of str to object
        The parameters it was made with.
    models : tuple of str
        Ids of the models that it can pick.
    schemas : tuple of UsedSchema
        The meta-features it takes, in order; empty where they belong to no schema of ours.
    measure : str or None
        The measure of performance it was fitted on.
    datasets : tuple of str
        Fingerprints of the training datasets.
    n_origins : int
        Number of origins that they come from.
    versions : mapping of str to str
        Versions of the libraries it was made with.
    figures : mapping of str to object, optional
        What is known of how well it does.
    made : str, optional
        The day it was made; left out where the same training is to give the same bytes.
    """

    learner: str
    parameters: Mapping[str, Any]
    models: tuple[str, ...]
    schemas: tuple[UsedSchema, ...] = ()
    measure: str | None = None
    datasets: tuple[str, ...] = ()
    n_origins: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    made: str | None = None

    @property
    def seed(self) -> int | None:
        """The seed of the fitting, where the learner takes one."""
        return self.parameters.get("random_state")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features of all schemas, in the order of a vector."""
        return tuple(name for part in self.schemas for name in part.features)

    def to_json(self) -> dict[str, Any]:
        """Plain data; :meth:`from_json` takes it back."""
        return {
            "learner": self.learner,
            "parameters": plain(dict(self.parameters), "parameters"),
            "models": list(self.models),
            "schemas": [
                {"name": part.name, "version": part.version, "features": list(part.features)}
                for part in self.schemas
            ],
            "measure": self.measure,
            "datasets": list(self.datasets) or None,
            "n_origins": self.n_origins,
            "seed": self.seed,
            "versions": dict(self.versions),
            "figures": plain(dict(self.figures), "figures"),
            "made": self.made,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> "Manifest":
        """Take back what :meth:`to_json` gave; refuses what is of another kind."""
        reader = StateReader(data, where)
        schemas = []
        for part in reader.parts("schemas"):
            name, features = part.text("name"), part.texts("features")
            schemas.append(UsedSchema(name, _count(part, "version"), tuple(features)))
        found: dict[str, dict[str, Any]] = {}
        for name in ("parameters", "versions", "figures"):
            reader.part(name)
            found[name] = data[name]
        versions = [reader.part("versions").text(name) for name in found["versions"]]
        return cls(
            learner=reader.text("learner"),
            parameters=found["parameters"],
            models=tuple(reader.texts("models")),
            schemas=tuple(schemas),
            measure=reader.text("measure") if reader.has("measure") else None,
            datasets=tuple(reader.texts("datasets")) if reader.has("datasets") else (),
            n_origins=_count(reader, "n_origins"),
            versions=dict(zip(found["versions"], versions, strict=True)),
            figures=found["figures"],
            made=reader.text("made") if reader.has("made") else None,
        )


def library_versions() -> dict[str, str]:
    """Versions of what a learner is fitted with, by name.

    Examples
    --------
    >>> sorted(library_versions())[:3]
    ['metaod', 'numba', 'numpy']
    """
    found = {name: version(name) for name in _LIBRARIES}
    return {"metaod": __version__, "python": platform.python_version(), **found}


def _count(reader: StateReader, name: str) -> int:
    value = reader.number(name)
    # beyond that a float skips integers
    if not 0 <= value < 2**53 or value != int(value):
        raise reader.damaged(f"{name} is no count")
    return int(value)
