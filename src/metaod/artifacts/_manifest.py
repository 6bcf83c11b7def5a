"""The JSON of an artifact: its manifest, and nested states without their arrays."""

import math
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Self

import numpy as np

from metaod._version import __version__
from metaod.artifacts._container import Arrays
from metaod.errors import UserError
from metaod.learners import StateReader

_LIBRARIES = ("numba", "numpy", "pandas", "pyod", "scikit-learn", "scipy")

_ARRAY_KEY = "$array"  # {"$array": name} replaces an array in JSON
_NAME_PART = re.compile(r"[A-Za-z0-9_]+")  # of an array's name, which is a file name in the zip


@dataclass(frozen=True)
class UsedSchema:
    """Name and version of a schema, and those of its features that a learner takes, in order."""

    name: str
    version: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """Which learner an artifact holds and how it was made."""

    learner: str
    parameters: Mapping[str, Any]
    models: tuple[str, ...]  # ids of the models that it can pick
    schemas: tuple[UsedSchema, ...] = ()  # in order; empty if its features belong to no schema
    measure: str | None = None  # the performance measure
    datasets: tuple[str, ...] = ()  # fingerprints of the training datasets
    n_origins: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)  # of the libraries, by name

    @property
    def seed(self) -> int | None:
        """The seed of the training, if the learner takes one."""
        return self.parameters.get("random_state")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features of all schemas, in the learner's order."""
        return tuple(name for part in self.schemas for name in part.features)

    def to_json(self) -> dict[str, Any]:
        return {
            "learner": self.learner,
            "parameters": to_json(dict(self.parameters), "parameters"),
            "models": list(self.models),
            "schemas": [{**vars(part), "features": list(part.features)} for part in self.schemas],
            "measure": self.measure,
            "datasets": list(self.datasets) or None,
            "n_origins": self.n_origins,
            "seed": self.seed,
            "versions": dict(self.versions),
            # unused; metaod 0.1 requires them
            "figures": {},
            "made": None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> Self:
        reader = StateReader(data, where)
        schemas = tuple(
            UsedSchema(part.text("name"), part.count("version"), tuple(part.texts("features")))
            for part in reader.parts("schemas")
        )
        reader.part("parameters")  # checks that it is a mapping
        versions = reader.part("versions")
        return cls(
            learner=reader.text("learner"),
            parameters=data["parameters"],
            models=tuple(reader.texts("models")),
            schemas=schemas,
            measure=reader.text("measure") if reader.has("measure") else None,
            datasets=tuple(reader.texts("datasets")) if reader.has("datasets") else (),
            n_origins=reader.count("n_origins"),
            versions={name: versions.text(name) for name in data["versions"]},
        )


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, by name."""
    found = {name: version(name) for name in _LIBRARIES}
    return {"metaod": __version__, "python": platform.python_version(), **found}


def separate_arrays(state: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Replace the arrays of a nested state by references to their names.

    An array's name is its path in the state: keys and list indices, joined by dots.

    >>> separate_arrays({"parts": [{"V": np.zeros((3, 2))}]})[0]
    {'parts': [{'V': {'$array': 'parts.0.V'}}]}
    """
    arrays: Arrays = {}
    document: dict[str, Any] = _to_json(dict(state), (), arrays)
    return document, arrays


def to_json(value: Any, name: str) -> Any:
    """Convert tuples and numpy scalars to what JSON returns; refuse arrays and other objects."""
    return _to_json(value, (name,), None)


def insert_arrays(document: Any, arrays: Arrays) -> Any:
    """Undo :func:`separate_arrays`; KeyError unless each array is referred to exactly once."""
    unused = dict(arrays)
    state = _insert(document, unused)
    if unused:
        raise KeyError(next(iter(unused)))
    return state


def _to_json(value: Any, path: tuple[str, ...], arrays: Arrays | None) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping) and all(isinstance(k, str) and k[:1] != "$" for k in value):
        return {key: _to_json(item, (*path, key), arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item, (*path, str(i)), arrays) for i, item in enumerate(value)]
    name = ".".join(path)
    if (
        isinstance(value, np.ndarray)
        and arrays is not None
        and all(map(_NAME_PART.fullmatch, path))
    ):
        arrays[name] = value
        return {_ARRAY_KEY: name}
    what = f"{type(value).__name__} {value!r:.60} cannot be written to a file"
    remedy = "use numbers, texts, lists and dictionaries with text keys"
    raise UserError(what, where=name, remedy=remedy)


def _insert(document: Any, unused: Arrays) -> Any:
    if isinstance(document, list):
        return [_insert(item, unused) for item in document]
    if not isinstance(document, dict):
        return document
    if document.keys() == {_ARRAY_KEY}:
        return unused.pop(document[_ARRAY_KEY])
    return {key: _insert(item, unused) for key, item in document.items()}
