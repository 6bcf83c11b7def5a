"""Declarations of meta-features: features, the functions that compute them, and schemas."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.metafeatures._landmarker_runs import LandmarkerRuns
from metaod.tables import PreparedTable

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Feature:
    """A named number that describes a table.

    Parameters
    ----------
    name : str
        Its name, unique over all schemas.
    group : str
        Heading under which it is shown, such as 'correlation' or 'iForest'.
    definition : str
        A definition of one line.
    formula : str
        A formula in plain text.
    in_paper : bool
        Whether the paper lists it.
    scale_free : bool
        Whether it stays the same when all values are multiplied by one positive number.
    constant : bool
        Whether all tables of one shape have the same value; it is then not used for learning.
    since : int
        The first version of its schema that has it.
    """

    name: str
    group: str
    definition: str
    formula: str = ""
    in_paper: bool = True
    scale_free: bool = False
    constant: bool = False
    since: int = 1


class FeatureInputs:
    """The data that features of one table are computed from.

    Parameters
    ----------
    runs : LandmarkerRuns
        The landmarkers of the table; ``runs.X`` is the prepared matrix.
    prepared : PreparedTable, optional
        The prepared table, which records what its columns were; None for a matrix of numbers.
    """

    def __init__(self, runs: LandmarkerRuns, prepared: PreparedTable | None = None) -> None:
        self.runs = runs
        self.X = runs.X
        self.prepared = prepared
        self._shared: dict[object, object] = {}

    def shared(self, compute: "Callable[[FeatureInputs], _Result]") -> _Result:
        """Return the result of a function of these inputs, computed once for several features."""
        if compute not in self._shared:
            self._shared[compute] = compute(self)
        return cast("_Result", self._shared[compute])


Compute = Callable[[FeatureInputs], Iterable[float]]


@dataclass(frozen=True)
class FeatureFunction:
    """Features and the function that computes them in this order; made by :func:`computes`."""

    features: tuple[Feature, ...]
    function: Compute
    uses_landmarkers: bool

    def __call__(self, inputs: FeatureInputs) -> npt.NDArray[np.float64]:
        """Compute the values; NaN where a value is undefined or too large for a float."""
        if self.uses_landmarkers and inputs.runs.Z is None:
            return np.full(len(self.features), np.nan)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = np.array(tuple(self.function(inputs)), dtype=np.float64)
        if values.shape != (len(self.features),):
            raise ValueError(
                f"the function that computes {self.features[0].name!r} returned {values.size} "
                f"values for {len(self.features)} features: return one number for each feature"
            )
        values[np.isinf(values)] = np.nan
        return values


def computes(
    *features: Feature, uses_landmarkers: bool = False
) -> Callable[[Compute], FeatureFunction]:
    """Declare the features that the decorated function computes.

    Parameters
    ----------
    *features : Feature
        The features, in the order in which the function returns their values.
    uses_landmarkers : bool, default=False
        Whether the function needs landmarker runs; the features are NaN if there are none.

    Examples
    --------
    >>> @computes(Feature("zero_share", "zeros", "share of values that are 0", "mean(x = 0)"))
    ... def zeros(inputs):
    ...     return [np.mean(inputs.X == 0)]
    >>> zeros(FeatureInputs(LandmarkerRuns(np.array([[0.0, 1.0], [2.0, 3.0]]))))
    array([0.25])
    """
    return lambda function: FeatureFunction(features, function, uses_landmarkers)


@dataclass(frozen=True)
class Schema:
    """A named list of meta-features.

    Parameters
    ----------
    name : str
        The schema's name.
    version : int
        Counted up whenever features are added. A version has all features of the earlier ones, with
        the same values, so that learners trained with an earlier version can be used.
    features : tuple of Feature
        The features, in the order of a vector.
    """

    name: str
    version: int
    features: tuple[Feature, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in the order of a vector."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def groups(self) -> Mapping[str, tuple[Feature, ...]]:
        """The features by group, in the order of their first feature."""
        groups: dict[str, tuple[Feature, ...]] = {}
        for feature in self.features:
            groups[feature.group] = (*groups.get(feature.group, ()), feature)
        return groups

    @cached_property
    def learned(self) -> tuple[str, ...]:
        """Names of the features used for learning: all but those constant by definition."""
        return tuple(feature.name for feature in self.features if not feature.constant)

    def at(self, version: int) -> "Schema":
        """Return an earlier version of the schema.

        Examples
        --------
        >>> len(schema("paper").at(1).names)
        231
        """
        if not 1 <= version <= self.version:
            raise BadParameter("Schema", "version", f"1 to {self.version}", version)
        kept = tuple(feature for feature in self.features if feature.since <= version)
        return Schema(self.name, version, kept)

    def of_columns(self, columns: Iterable[str]) -> "Schema":
        """Return the newest version that has a feature among these columns."""
        given = set(columns)
        versions = (feature.since for feature in self.features if feature.name in given)
        return self.at(max(versions, default=1))


_schemas: dict[str, Schema] = {}
_functions: dict[str, tuple[FeatureFunction, ...]] = {}

SCHEMAS: Mapping[str, Schema] = MappingProxyType(_schemas)
"""The registered schemas, by name."""


def register_schema(name: str, version: int, functions: Iterable[FeatureFunction]) -> Schema:
    """Register a schema, whose name :func:`extract` and others then take.

    To add a feature to a schema that a learner or a store uses, count the version up and give the
    feature that version as ``since``. A feature whose values change needs a new name.

    Parameters
    ----------
    name : str
        The schema's name, not yet in use.
    version : int
        Its version, 1 at first.
    functions : iterable of FeatureFunction
        Functions decorated with :func:`computes`; their features in this order are the vector.
    """
    functions = tuple(functions)
    features = tuple(feature for function in functions for feature in function.features)
    if name in _schemas:
        raise BadParameter("register_schema", "name", "the name of a new schema", name)
    known = [feature.name for other in _schemas.values() for feature in other.features]
    for feature in features:
        if feature.name in known:
            legal = "functions whose feature names are new"
            raise BadParameter("register_schema", "functions", legal, feature.name)
        if feature.since > version:
            legal = f"functions whose features are since version {version} or before"
            raise BadParameter("register_schema", "functions", legal, feature.name)
        known.append(feature.name)
    _functions[name] = functions
    _schemas[name] = Schema(name, version, features)
    return _schemas[name]


def schema(name: str) -> Schema:
    """Look a schema up by its name.

    Examples
    --------
    >>> schema("paper").names[:2]
    ('n_rows', 'n_columns')
    """
    if name not in _schemas:
        raise BadParameter("schema", "name", SCHEMAS, name)
    return _schemas[name]


def feature_functions(name: str) -> tuple[FeatureFunction, ...]:
    """Functions that compute a schema, in the order of its vector."""
    return _functions[name]
