"""The records of a store; that of one trial is :class:`metaod.history.Evaluation`."""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.history import FINGERPRINT_FORMAT, MEASURES, Evaluation, Sketch
from metaod.models import CellState, Mode, ModelSpec


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """A labelled dataset: one row of the performance matrix.

    Parameters
    ----------
    fingerprint : str
        Its identity; see :func:`metaod.history.fingerprint`.
    name : str
        Its name for people.
    origin : str
        Datasets that come from one source share it; a fair split does not separate them.
    n_rows, n_columns, n_outliers : int
        Its shape, and the number of rows that are labelled outliers.
    collection : str, optional
        The collection that it belongs to.
    source : str, optional
        The file or address that it came from.
    licence : str, default="unknown"
        Its licence.
    sketch : Sketch, optional
        Its sketch, from which related datasets are found; only to be written into a store,
        see :meth:`Store.sketches`.
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
    sketch: Sketch | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        form = f"of the form {FINGERPRINT_FORMAT}"
        for name, legal, holds in (
            ("fingerprint", form, re.fullmatch(FINGERPRINT_FORMAT, self.fingerprint)),
            ("name", "a non-empty text", self.name),
            ("origin", "a non-empty text", self.origin),
            ("n_rows", "at least 1", self.n_rows >= 1),
            ("n_columns", "at least 1", self.n_columns >= 1),
            ("n_outliers", f"in [0, {self.n_rows}]", 0 <= self.n_outliers <= self.n_rows),
        ):
            if not holds:
                raise BadParameter("DatasetRecord", name, legal, getattr(self, name))

    @property
    def outlier_share(self) -> float:
        """Share of the rows that are labelled outliers."""
        return self.n_outliers / self.n_rows


@dataclass(frozen=True, slots=True)
class JoinedOrigin:
    """A dataset whose origin was joined to that of a related dataset.

    Parameters
    ----------
    dataset : str
        Its fingerprint.
    catalogue_origin : str
        The origin it had before.
    evidence : str
        What it, or another dataset of that origin, shares with which dataset.
    """

    dataset: str
    catalogue_origin: str
    evidence: str

    def __post_init__(self) -> None:
        if not self.catalogue_origin:
            legal = "a non-empty text"
            raise BadParameter("JoinedOrigin", "catalogue_origin", legal, self.catalogue_origin)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model: one column of the performance matrix.

    Parameters
    ----------
    spec : ModelSpec
        The model; its id is the record's identity.
    is_reference : bool, default=False
        Whether it is only compared with, and never picked.
    """

    spec: ModelSpec
    is_reference: bool = False

    @property
    def id(self) -> str:
        """The model's id."""
        return self.spec.id


@dataclass(frozen=True, slots=True)
class Cell:
    """Performance of one model on one dataset over all its trials: a cell of the matrix.

    Parameters
    ----------
    model : str
        The model's id.
    mode : Mode
        Whether the scores are the fast ones or PyOD's own, bit for bit.
    n_trials : int
        Number of trials.
    state : CellState
        ok if every trial is, else failed, over budget or not applicable: the first that occurs.
    ap, roc_auc, precision_at_n : float
        Means over the trials; NaN unless the state is ok.
    ap_std, roc_auc_std, precision_at_n_std : float
        Standard deviations over the trials (n - 1 in the denominator); NaN for a single trial.
    seconds : float
        Mean over the trials; NaN unless the state is ok.
    reason : str
        Why the state is not ok, or how the scores were repaired.
    imported : bool
        Whether it was imported as an aggregate, without its trials.
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
        _check("ap", self.ap, 1.0, ok)
        _check("roc_auc", self.roc_auc, 1.0, ok)
        _check("precision_at_n", self.precision_at_n, 1.0, ok)
        has_std = ok and self.n_trials > 1
        # the standard deviation of numbers in [0, 1] is largest for two: 1 / sqrt(2)
        _check("ap_std", self.ap_std, 0.7072, has_std)
        _check("roc_auc_std", self.roc_auc_std, 0.7072, has_std)
        _check("precision_at_n_std", self.precision_at_n_std, 0.7072, has_std)
        _check("seconds", self.seconds, sys.float_info.max, ok)

    @property
    def key(self) -> tuple[str, str]:
        """Its identity within a dataset: mode and model."""
        return (self.mode, self.model)


def _check(name: str, value: float, largest: float, expected: bool) -> None:
    if not (0.0 <= value <= largest if expected else math.isnan(value)):
        legal = f"in [0, {largest:g}]" if expected else "NaN, as there is no such figure"
        raise BadParameter("Cell", name, legal, value)


# where trials end in different states, the first of these that occurs is the cell's state
_WORST_FIRST = (CellState.FAILED, CellState.OVER_BUDGET, CellState.NOT_APPLICABLE, CellState.OK)


def aggregate(evaluations: Iterable[Evaluation]) -> list[Cell]:
    """Aggregate one dataset's evaluations over trials, into one cell per model and mode."""
    groups: defaultdict[tuple[str, str], list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations:
        groups[evaluation.mode, evaluation.model].append(evaluation)
    return [
        _aggregate_trials(sorted(trials, key=lambda item: item.trial))
        for _, trials in sorted(groups.items())
    ]


def _aggregate_trials(trials: list[Evaluation]) -> Cell:
    states = {trial.state for trial in trials}
    state = next(state for state in _WORST_FIRST if state in states)
    reason = next((item.reason for item in trials if item.state == state and item.reason), "")
    figures: dict[str, Any] = {}
    # fsum is correctly rounded: the order of the trials does not matter
    if state == CellState.OK:
        for name in MEASURES:
            values = [getattr(trial, name) for trial in trials]
            figures[name] = math.fsum(values) / len(values)
            figures[f"{name}_std"] = _standard_deviation(values, figures[name])
        figures["seconds"] = math.fsum(trial.seconds for trial in trials) / len(trials)
    first = trials[0]
    return Cell(first.model, first.mode, len(trials), state, reason=reason, **figures)


def _standard_deviation(values: list[float], mean: float) -> float:
    if len(values) == 1:
        return math.nan
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True, eq=False)
class MetaFeatureRecord:
    """A dataset's meta-features by one schema.

    Parameters
    ----------
    schema : str
        The schema's name: small letters, digits and underscores.
    version : int
        The schema's version; other features, or another order of them, need another version.
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
        shape = (len(features),)
        is_name = re.fullmatch(r"[a-z][a-z0-9_]{0,63}", schema)
        # a table of vectors has a column of fingerprints called "dataset"
        are_names = len(set(features)) == len(features) and not {"", "dataset"} & set(features)
        for name, legal, value, holds in (
            ("schema", "small letters, digits and underscores", schema, is_name),
            ("version", "at least 0", version, version >= 0),
            ("features", "distinct names, none of them 'dataset'", features, are_names),
            ("values", f"of shape {shape}", values.shape, values.shape == shape),
            ("values", "finite or NaN", values, not np.isinf(values).any()),
        ):
            if not holds:
                raise BadParameter("MetaFeatureRecord", name, legal, value)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "values", values)
