"""Meta-features: what they are, the functions that compute them, summaries, and schemas.

Six numbers summarise the values of a statistic, as in the paper. Kurtosis is the paper's
mu_4 / sigma^4, 3 for a normal distribution; standard deviations divide by the number of values.
Undefined values are left out. A spread within rounding counts as 0; skewness and kurtosis are then
undefined.
"""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.metafeatures._landmarkers import FeatureInputs
from metaod.models import Scores, njit


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

    @property
    def parts(self) -> tuple[str, str] | None:
        """The statistic that it summarises, and the summary; None if it is no summary.

        Examples
        --------
        >>> Feature("depth_max", "iForest", "largest depth", "max of depth").parts
        ('depth', 'max')
        """
        statistic, _, summary = self.name.rpartition("_")
        is_summary = summary in SUMMARIES and self.formula.startswith(f"{summary} of ")
        return (statistic, summary) if is_summary else None


@cache
def _declared() -> dict[str, list[Feature]]:
    found: dict[str, list[Feature]] = {}
    text = files("metaod.metafeatures").joinpath("features.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        own: dict[str, Any] = {name: row[name] for name in ("name", "group", "definition")}
        own |= {name: row[name] == "yes" for name in ("in_paper", "scale_free", "constant")}
        feature = Feature(**own, formula=row["formula"], since=int(row["since"]))
        found.setdefault(row["function"], []).append(feature)
    return found


def declared(function: str) -> list[Feature]:
    """Return the features of a function, as ``features.csv`` lists them."""
    return _declared()[function]


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
    >>> from metaod.metafeatures import LandmarkerRuns
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
    functions : tuple of FeatureFunction
        The functions that compute the features.
    """

    name: str
    version: int
    functions: tuple[FeatureFunction, ...]

    @cached_property
    def _places(self) -> list[int]:
        """Places of the features in the order of a vector, among the functions' values."""
        since = [feature.since for function in self.functions for feature in function.features]
        places = (place for place, first in enumerate(since) if first <= self.version)
        return sorted(places, key=since.__getitem__)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features, in the order of a vector: those of earlier versions come first."""
        declared = [feature for function in self.functions for feature in function.features]
        return tuple(declared[place] for place in self._places)

    def compute(self, inputs: FeatureInputs) -> npt.NDArray[np.float64]:
        """Compute the vector of a table."""
        return np.concatenate([function(inputs) for function in self.functions])[self._places]

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
        >>> from metaod.metafeatures import schema
        >>> len(schema("paper").at(1).names)
        231
        """
        if not 1 <= version <= self.version:
            raise BadParameter("Schema", "version", f"1 to {self.version}", version)
        return replace(self, version=version)

    def of_columns(self, columns: Iterable[str]) -> "Schema":
        """Return the newest version that has a feature among these columns."""
        given = set(columns)
        versions = (feature.since for feature in self.features if feature.name in given)
        return self.at(max(versions, default=1))


SUMMARIES = ("min", "max", "mean", "std", "skewness", "kurtosis")
"""The summaries, in the order in which they are computed."""

ROUNDING = 16 * np.finfo(np.float64).eps
"""Spread below this share of the largest value is rounding, as in the scaling of columns."""


def summaries(
    name: str,
    sources: Callable[[FeatureInputs], Sequence[Any]],
    *statistics: Callable[[Any], Scores],
    uses_landmarkers: bool = False,
) -> FeatureFunction:
    """Declare the summaries of statistics of a source, averaged where there are several sources.

    A statistic gives a number for each of many things (columns, trees, ...); its features are the
    first of :data:`SUMMARIES`, as many as ``features.csv`` lists.
    """
    features = declared(name)
    stems = Counter(feature.name.rpartition("_")[0] for feature in features)
    counted = list(zip(statistics, stems.values(), strict=True))

    @computes(*features, uses_landmarkers=uses_landmarkers)
    def compute(inputs: FeatureInputs) -> Scores:
        return averaged(
            [
                np.concatenate([summarise(of(source))[:count] for of, count in counted])
                for source in sources(inputs)
            ]
        )

    return compute


def averaged(of_sources: Sequence[Scores]) -> Scores:
    """Mean over several sources, of those for which a value is defined."""
    if len(of_sources) == 1:
        return of_sources[0]
    n_defined = np.sum(~np.isnan(of_sources), axis=0)
    return np.asarray(np.nansum(of_sources, axis=0, initial=0.0) / n_defined)


@njit(cache=True)
def power_of_two(largest: float) -> float:
    """A power of two that scales values up to ``largest`` to at most 1, which is exact."""
    if largest == 0.0:
        return 1.0
    _, exponent = math.frexp(largest)
    return math.ldexp(1.0, -min(max(exponent, -1000), 1000))


def summarise(values: npt.ArrayLike) -> Scores:
    """Minimum, maximum, mean, standard deviation, skewness and kurtosis; NaN is left out."""
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[~np.isnan(defined)]
    result = np.full(6, np.nan)
    if not defined.size:
        return result
    low, high = result[:2] = defined.min(), defined.max()
    if np.isinf(low) or np.isinf(high):
        return result
    unit = power_of_two(max(abs(low), abs(high)))
    above = defined * unit - low * unit
    mean = above.mean()
    d = above - mean
    squares = d * d
    m2, m3, m4 = squares.mean(), (squares * d).mean(), (squares * squares).mean()
    result[2] = (mean + low * unit) / unit
    std = np.sqrt(m2)
    if std <= ROUNDING * max(abs(low), abs(high)) * unit:
        result[3] = 0.0
    else:
        result[3:] = std / unit, m3 / m2**1.5, m4 / m2**2
    return result
