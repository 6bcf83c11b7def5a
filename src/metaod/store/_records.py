"""What a store holds, as plain records: datasets, models, cells, meta-features.

An evaluation is the room below's :class:`~metaod.history.Evaluation`.
"""

import math
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.history import FINGERPRINT_FORM, MEASURES
from metaod.models import CellState, Mode, ModelSpec

__all__ = ["Cell", "DatasetRecord", "MetaFeatureRecord", "ModelRecord"]


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """A labelled dataset: one row of the performance matrix.

    Parameters
    ----------
    fingerprint : str
        Its identity; see :func:`metaod.history.fingerprint`.
    name : str
        What people call it.
    origin : str
        Datasets that come from one source share it; a fair split keeps them on one side.
    n_rows, n_columns, n_outliers : int
        Its shape, and how many rows are labelled outliers.
    collection : str, optional
        The collection that it belongs to.
    source : str, optional
        Where it was found: a file, an address.
    licence : str, default="unknown"
        The terms as far as they are known.

    Examples
    --------
    >>> record = DatasetRecord("fp1:" + 32 * "0", "cardio", "cardiotocography", 1831, 21, 176)
    >>> round(record.outlier_share, 3)
    0.096
    """

    fingerprint: str
    name: str
    origin: str
    n_rows: int
    n_columns: int
    n_outliers: int
    collection: str = ""
    source: str = ""
    licence: str = "unknown"

    def __post_init__(self) -> None:
        if not re.fullmatch(FINGERPRINT_FORM, self.fingerprint):
            raise BadParameter(
                "DatasetRecord", "fingerprint", f"of the form {FINGERPRINT_FORM}", self.fingerprint
            )
        for name in ("name", "origin"):
            if not getattr(self, name):
                raise BadParameter("DatasetRecord", name, "a non-empty text", getattr(self, name))
        for name in ("n_rows", "n_columns"):
            if getattr(self, name) < 1:
                raise BadParameter("DatasetRecord", name, "at least 1", getattr(self, name))
        if not 0 <= self.n_outliers <= self.n_rows:
            raise BadParameter(
                "DatasetRecord", "n_outliers", f"in [0, {self.n_rows}]", self.n_outliers
            )

    @property
    def outlier_share(self) -> float:
        """Share of the rows that are labelled outliers."""
        return self.n_outliers / self.n_rows


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model: one column of the performance matrix.

    Parameters
    ----------
    spec : ModelSpec
        The model; its id is the record's identity.
    is_reference : bool, default=False
        Whether it is there to compare with and can never be picked.
    """

    spec: ModelSpec
    is_reference: bool = False

    @property
    def id(self) -> str:
        """The model's identity."""
        return self.spec.id


@dataclass(frozen=True, slots=True)
class Cell:
    """How one model did on one dataset over all its trials: one cell of the performance matrix.

    Parameters
    ----------
    model : str
        The model's id.
    mode : Mode
        How faithful to PyOD's own bits the scores are.
    n_trials : int
        Number of trials.
    state : CellState
        ok when every trial is; see :func:`~metaod.store._cells.aggregate`.
    ap, roc_auc, precision_at_n : float
        Means over the trials; NaN unless the state is ok.
    ap_std, roc_auc_std, precision_at_n_std : float
        Standard deviations over the trials (n - 1 in the denominator); NaN for a single trial.
    seconds : float
        Mean over the trials; NaN unless the state is ok.
    reason : str
        Why it did not end well, or the repair that was made to the scores.
    imported : bool
        Whether it came as an aggregate, without its trials.
    """

    model: str
    mode: Mode
    n_trials: int
    state: CellState
    ap: float = math.nan
    ap_std: float = math.nan
    roc_auc: float = math.nan
    roc_auc_std: float = math.nan
    precision_at_n: float = math.nan
    precision_at_n_std: float = math.nan
    seconds: float = math.nan
    reason: str = ""
    imported: bool = False

    def __post_init__(self) -> None:
        if self.n_trials < 1:
            raise BadParameter("Cell", "n_trials", "at least 1", self.n_trials)
        ok = self.state == CellState.OK
        for name in MEASURES:
            _check(name, getattr(self, name), 1.0, ok)
            # two numbers in [0, 1] deviate by at most 1 / sqrt(2), and more of them by less
            _check(f"{name}_std", getattr(self, f"{name}_std"), 0.7072,
                   ok and self.n_trials > 1)  # fmt: skip
        _check("seconds", self.seconds, sys.float_info.max, ok)

    @property
    def place(self) -> tuple[str, str]:
        """Its identity within a dataset: mode and model."""
        return (self.mode, self.model)


def _check(name: str, value: float, largest: float, there: bool) -> None:
    """Refuse a figure outside its range, one that should be there, and one that should not."""
    if not (0.0 <= value <= largest if there else math.isnan(value)):
        legal = f"in [0, {largest:g}]" if there else "NaN, as there is no such figure"
        raise BadParameter("Cell", name, legal, value)


@dataclass(frozen=True, eq=False)
class MetaFeatureRecord:
    """A dataset's meta-features by one schema.

    Parameters
    ----------
    schema : str
        The schema's name, made of small letters, digits and underscores.
    version : int
        The schema's version; other features, or another order of them, is another version.
    features : sequence of str
        The features' names.
    values : array-like of float
        Their values; NaN where undefined, never infinite.
    """

    schema: str
    version: int
    features: tuple[str, ...]
    values: npt.NDArray[np.float64] = field(repr=False)

    def __init__(self, schema: str, version: int, features: Any, values: Any) -> None:
        features = tuple(features)
        values = np.asarray(values, dtype=np.float64)
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", schema):
            raise BadParameter(
                "MetaFeatureRecord", "schema", "small letters, digits and underscores", schema
            )
        if version < 0:
            raise BadParameter("MetaFeatureRecord", "version", "at least 0", version)
        # "dataset" names the column of fingerprints where vectors become a table
        if len(set(features)) < len(features) or {"", "dataset"} & set(features):
            raise BadParameter(
                "MetaFeatureRecord", "features", "distinct names, none of them 'dataset'", features
            )
        if values.shape != (len(features),):
            raise BadParameter(
                "MetaFeatureRecord", "values", f"of shape ({len(features)},)", values.shape
            )
        if np.isinf(values).any():
            raise BadParameter("MetaFeatureRecord", "values", "finite or NaN", values)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "values", values)
