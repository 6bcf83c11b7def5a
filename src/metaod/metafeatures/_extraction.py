"""The registered schemas, and extraction of the meta-features of a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.metafeatures._column_features import COLUMN_FEATURES, pairs
from metaod.metafeatures._landmarker_features import LANDMARKER_FEATURES
from metaod.metafeatures._landmarkers import FeatureInputs, LandmarkerRuns
from metaod.metafeatures._neighbourhood_features import NEIGHBOURHOOD_FEATURES
from metaod.metafeatures._schema import Feature, FeatureFunction, Schema
from metaod.metafeatures._score_features import SCORE_FEATURES, stability
from metaod.metafeatures._value_features import kinds, sample, sample_flags, size
from metaod.tables import PreparedTable, Table, prepare

Describable = PreparedTable | Table | pd.DataFrame | npt.NDArray[Any]
"""Types of table that :func:`extract` accepts."""

_registered: dict[str, Schema] = {}

SCHEMAS: Mapping[str, Schema] = MappingProxyType(_registered)
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
        Functions decorated with :func:`computes`.
    """
    if name in _registered:
        raise BadParameter("register_schema", "name", "the name of a new schema", name)
    added = Schema(name, version, tuple(functions))
    known = {feature.name for other in _registered.values() for feature in other.features}
    for feature in (feature for function in added.functions for feature in function.features):
        if feature.name in known or feature.since > version:
            legal = (
                f"functions whose features have new names and are since version {version} at most"
            )
            raise BadParameter("register_schema", "functions", legal, feature.name)
        known.add(feature.name)
    _registered[name] = added
    return added


def schema(name: str, *, owner: str = "schema") -> Schema:
    """Look a schema up by its name; the error names ``owner``.

    Examples
    --------
    >>> schema("paper").names[:2]
    ('n_rows', 'n_columns')
    """
    if name not in _registered:
        raise BadParameter(owner, "schema", SCHEMAS, name)
    return _registered[name]


_PAPER = (size, sample, sample_flags, *COLUMN_FEATURES, pairs, *LANDMARKER_FEATURES, kinds)
register_schema("paper", 2, _PAPER)
register_schema("scores", 1, (*SCORE_FEATURES, *NEIGHBOURHOOD_FEATURES, stability))


@dataclass(frozen=True, eq=False)
class MetaFeatures:
    """The meta-features of one table.

    Parameters
    ----------
    schemas : tuple of Schema
        The schemas, in the order of the vector.
    values : ndarray of float
        One number per feature; NaN where it is undefined, never infinite.
    """

    schemas: tuple[Schema, ...]
    values: npt.NDArray[np.float64]

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """What each value is."""
        return tuple(feature for part in self.schemas for feature in part.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each value."""
        return tuple(feature.name for feature in self.features)

    @property
    def groups(self) -> Mapping[str, Mapping[str, float]]:
        """Names and values by group."""
        groups: dict[str, dict[str, float]] = {}
        for feature, value in zip(self.features, self.values.tolist(), strict=True):
            groups.setdefault(feature.group, {})[feature.name] = value
        return groups

    @property
    def versions(self) -> dict[str, int]:
        """Version of each schema."""
        return {part.name: part.version for part in self.schemas}

    def to_dict(self) -> dict[str, float]:
        """Values by name; NaN where a feature is undefined."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def to_series(self) -> "pd.Series[float]":
        """Values as a series, by name."""
        return pd.Series(self.values, index=pd.Index(self.names), name="meta-features")

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            legal = " or ".join(f"a feature of schema {part.name!r}" for part in self.schemas)
            raise BadParameter("MetaFeatures", "name", legal, name)
        return float(self.values[self.names.index(name)])

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_versions, (self.versions, self.values)  # functions of schemas have no names

    def __repr__(self) -> str:
        parts = " + ".join(f"{part.name} {part.version}" for part in self.schemas)
        undefined = int(np.isnan(self.values).sum())
        return f"MetaFeatures({parts}: {len(self)} features, {undefined} undefined)"


def _of_versions(versions: Mapping[str, int], values: npt.NDArray[np.float64]) -> MetaFeatures:
    """Restore pickled meta-features."""
    parts = (schema(name).at(version) for name, version in versions.items())
    return MetaFeatures(tuple(parts), values)


def extract(
    X: Describable,
    schema: "str | Sequence[str]" = "paper",
    *,
    random_state: int = 0,
    runs: LandmarkerRuns | None = None,
) -> MetaFeatures:
    """Extract the meta-features of a table.

    Parameters
    ----------
    X : PreparedTable, Table, pandas.DataFrame or numpy.ndarray
        The table. A table or frame is prepared first. An array must hold finite numbers; all its
        columns count as numeric, without gaps.
    schema : {"paper", "scores"} or sequence of them, default="paper"
        What to extract; several schemas share their landmarker runs.
    random_state : int, default=0
        Seeds the random landmarkers, and the sample that they run on if the table is large.
    runs : LandmarkerRuns, optional
        Existing runs on the same prepared matrix; `random_state` is then not used.

    Examples
    --------
    >>> features = extract(np.array([[1.0, 2.0], [2.0, 4.0], [9.0, 1.0]]))
    >>> features["n_columns"], round(features["sample_mean"], 3)
    (2.0, 3.167)
    """
    parts = _schemas(schema)
    matrix, prepared = _prepared(X)
    if runs is None:
        runs = LandmarkerRuns(matrix, random_state=random_state)
    elif runs.X is not matrix and not np.array_equal(runs.X, matrix):
        raise BadParameter("extract", "runs", "runs on the prepared matrix of X", runs.X.shape)
    inputs = FeatureInputs(runs, prepared)
    return MetaFeatures(parts, np.concatenate([part.compute(inputs) for part in parts]))


def _schemas(names: "str | Sequence[str]") -> tuple[Schema, ...]:
    chosen = (names,) if isinstance(names, str) else tuple(names)
    if not chosen or len(set(chosen)) < len(chosen):
        raise BadParameter("extract", "schema", "one or more different schemas", names)
    return tuple(schema(name, owner="extract") for name in chosen)


def _prepared(X: Describable) -> tuple[npt.NDArray[np.float64], PreparedTable | None]:
    """Return the prepared matrix, and the prepared table unless an array is given."""
    if isinstance(X, Table | pd.DataFrame):
        X = prepare(X)
    if isinstance(X, PreparedTable):
        return X.X, X
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or X.ndim != 2 or X.size == 0:
        shown = (X.shape, X.dtype) if isinstance(X, np.ndarray) else type(X)
        legal = "a PreparedTable, a Table, a pandas DataFrame or a matrix of numbers"
        remedy = "Read other things with metaod.read_table first"
        raise BadParameter("extract", "X", legal, shown, remedy=remedy)
    matrix = np.ascontiguousarray(X, dtype=np.float64)
    # the extremes of a matrix with NaN are NaN; this needs no copy
    if not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        remedy = "give a DataFrame, which is prepared first, or fill them"
        raise UserError("the matrix has missing or infinite values", where="extract", remedy=remedy)
    return matrix, None
