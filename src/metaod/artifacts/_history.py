"""The historical datasets of a learner, and the performance that it is expected to reach.

The calibration predicts performance with intervals, from scores for origins not in the fit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._state import Shape
from metaod.errors import BadParameter
from metaod.learners import Cleaning, origin_folds
from metaod.models import Matrix

Floats32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

LEVEL = 0.8
"""Share of tables whose performance the interval of a calibration should contain."""

_BINS = 5  # of the predictions; each has its own interval
_MIN_ORIGINS = 20  # a bin with fewer origins uses the interval of all datasets
_FOLDS = 10  # groups of origins; residuals of a group come from a fit to the other groups
_TOP = 0.9  # rank, from 0 to 1, at which the top of the ranking begins
_NEAREST = 5  # nearest historical datasets whose mean distance is a table's unlikeness
_NEIGHBOURS = 20  # nearest datasets in an estimate
_SHRINKAGE = 5.0  # weight of the mean over all datasets; a nearest dataset weighs at most 1


@dataclass(frozen=True)
class History:
    """Historical datasets in the space of cleaned meta-features.

    Distances are Euclidean over all cleaned features, divided by the square root of their number.

    Parameters
    ----------
    names, origins : tuple of str
        Names and origins of the datasets.
    models, features : tuple of str
        Ids of the models, in the order of P's columns, and names of the raw meta-features.
    cleaning : Cleaning
        Fitted on the raw meta-features.
    M : array of shape (n, d')
        Cleaned meta-features.
    P, reference : array of shape (n, m) and (n,)
        Performance of the models and of PyOD's default iForest; NaN where missing.
    shapes : array of shape (n, 2)
        Rows and columns of the datasets.
    """

    names: tuple[str, ...]
    origins: tuple[str, ...]
    models: tuple[str, ...]
    features: tuple[str, ...]
    cleaning: Cleaning
    M: Annotated[Floats32, Shape("n", "kept")]
    P: Annotated[Floats32, Shape("n", "m", missing=True)]
    reference: Annotated[Floats32, Shape("n", missing=True)]
    shapes: Annotated[npt.NDArray[np.int64], Shape("n", 2)]

    def __post_init__(self) -> None:
        n, m = self.P.shape
        if not len(self.names) == len(self.origins) == n > 0 or len(self.models) != m:
            raise ValueError("the history has other datasets or models than its matrix")
        if self.M.shape[1] != self.cleaning.n_features:
            raise ValueError("the history has other features than its cleaning")
        if self.cleaning.kept.max(initial=0) >= max(len(self.features), 1):
            raise ValueError("the cleaning takes features that the history does not have")

    @classmethod
    def from_frames(
        cls, P: pd.DataFrame, M: pd.DataFrame, datasets: pd.DataFrame, reference: "pd.Series[float]"
    ) -> Self:
        """Make a history from frames with the same datasets in the same order.

        ``M`` holds raw meta-features; ``datasets`` has the columns name, origin, n_rows, n_columns.
        """
        raw = M.to_numpy(dtype=np.float64)
        cleaning = Cleaning.fit(raw)
        return cls(
            tuple(map(str, datasets["name"])),
            tuple(map(str, datasets["origin"])),
            tuple(map(str, P.columns)),
            tuple(map(str, M.columns)),
            cleaning,
            cleaning.transform(raw).astype(np.float32),
            P.to_numpy(dtype=np.float32),
            reference.to_numpy(dtype=np.float32),
            datasets[["n_rows", "n_columns"]].to_numpy(dtype=np.int64),
        )

    @cached_property
    def normalised(self) -> Matrix:
        """Performance from 0, the worst model of a dataset, to 1, its best; NaN where missing."""
        return _normalised(self.P.astype(np.float64))

    def distances(self, m: Matrix) -> Matrix:
        """Return the distances (n,) from a dataset with raw meta-features (d,)."""
        return self._distances(self.cleaning.transform(m[None, :])[0])

    def own_distances(self, index: int) -> Matrix:
        """Return the distances (n,) from a historical dataset, infinite within its origin."""
        distances = self._distances(self.M[index].astype(np.float64))
        distances[np.array(self.origins) == self.origins[index]] = np.inf
        return distances

    def _distances(self, clean: Matrix) -> Matrix:
        width = max(self.cleaning.n_features, 1)
        return np.asarray(np.sqrt(((self.M - clean) ** 2).sum(axis=1) / width))

    def estimate(self, distances: Matrix) -> Matrix:
        """Estimate the normalised performance (m,) of every model on a dataset.

        The estimate is an average over the nearest datasets, weighted by a Gaussian whose width is
        the distance of the last of them, and shrunk to the mean over all datasets. Datasets at an
        infinite distance are left out; a model without a value on any other gets 0.
        """
        known = ~np.isnan(self.normalised)
        values = np.where(known, self.normalised, 0.0)
        usable = np.isfinite(distances)
        overall = values[usable].sum(axis=0) / np.maximum(known[usable].sum(axis=0), 1)
        nearest = np.argsort(distances, kind="stable")[: min(_NEIGHBOURS, int(usable.sum()))]
        width = max(distances[nearest].max(initial=0.0), 1e-12)
        weights = np.exp(-0.5 * (distances[nearest] / width) ** 2)
        total = weights @ known[nearest]
        return np.asarray((weights @ values[nearest] + _SHRINKAGE * overall) / (total + _SHRINKAGE))


def _normalised(P: Matrix) -> Matrix:
    """Scale performance in each row from 0, the worst model, to 1, the best.

    NaN stays NaN; if all models of a row perform equally, all get 1.

    >>> _normalised(np.array([[0.2, 0.4, np.nan], [0.5, 0.5, 0.5]])).tolist()
    [[0.0, 1.0, nan], [1.0, 1.0, 1.0]]
    """
    known = ~np.isnan(P)
    low = np.min(P, axis=1, keepdims=True, initial=np.inf, where=known)
    width = np.max(P, axis=1, keepdims=True, initial=-np.inf, where=known) - low
    share = np.divide(P - low, width, out=np.ones_like(P), where=width > 0)
    return np.where(known, share, np.nan)


@dataclass(frozen=True)
class _Record:
    """Predictions for the historical datasets without their origins, and the truth."""

    level: Matrix  # (n, 1) of the history's estimates
    rank: Matrix  # (n, m) of the learner's scores, from 0 to 1 for the largest
    truth: Matrix  # (n, m) normalised performance, NaN where missing
    pick: Indices  # (n,) the first model of the ranking that has a value
    origin: Indices  # (n,) numbers of the origins, from 0


@dataclass(frozen=True)
class Calibration:
    """Predicts the performance of models on a new table, with intervals.

    Parameters
    ----------
    coefficients : array of shape (4,)
        Of 1, the level of the history's estimates, the rank of the learner's score, their product.
    edges : array of shape (bins - 1,)
        Edges between the bins of predictions.
    low, high : array of shape (2, bins)
        Offsets from a prediction to the ends of its interval, for the pick and for other models.
    distances : array of shape (n,)
        Unlikeness of each historical dataset, ascending.
    figures : mapping of str to float
        Measured coverage, wins over iForest, and regret near and far.
    """

    coefficients: Annotated[Matrix, Shape(4)]
    edges: Annotated[Matrix, Shape("edges")]
    low: Annotated[Matrix, Shape(2, "bins")]
    high: Annotated[Matrix, Shape(2, "bins")]
    distances: Annotated[Matrix, Shape("distances")]
    figures: dict[str, float]

    def __post_init__(self) -> None:
        if len(self.edges) != self.low.shape[1] - 1 or (np.diff(self.edges) < 0).any():
            raise ValueError("the edges of the bins do not ascend, or are not between bins")
        if len(self.distances) == 0:
            raise ValueError("the calibration has no distances")

    @classmethod
    def fit(cls, scores: pd.DataFrame, history: History) -> Self:
        """Fit to out-of-fold scores (n, m) of the history's datasets, from at least two origins."""
        if len(set(history.origins)) < 2:
            legal = "of at least 2 origins"
            raise BadParameter("Calibration", "history", legal, f"only {history.origins[0]}")
        record = _record(scores[list(history.models)].to_numpy(), history)
        n = len(history.names)
        distances = np.array([_unlikeness(history.own_distances(i)) for i in range(n)])
        fitted = _fit_intervals(record, np.ones(n, dtype=bool))
        figures = _coverage(record, history) | _against_reference(record, history)
        figures |= _regret_by_distance(record, history, distances)
        return cls(*fitted, np.sort(distances), figures)

    def predict(
        self, scores: Matrix, estimate: Matrix, *, pick: int
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Predict the normalised performance and the ends of its interval, each (m,).

        Parameters
        ----------
        scores, estimate : array of shape (m,)
            Scores of the learner and estimates of the history.
        pick : int
            Index of the picked model.
        """
        ranks = _ranks(scores)
        predicted = _predict(self.coefficients, _level(estimate, ranks), ranks)
        bins = np.searchsorted(self.edges, predicted)
        stratum = np.ones(len(scores), dtype=np.intp)
        stratum[pick] = 0
        return predicted, *_interval(predicted, self.low[stratum, bins], self.high[stratum, bins])

    def unlikeness(self, distances: Matrix) -> float:
        """Return the share of historical datasets that are closer to the others than this one.

        ``distances`` (n,) are those of this dataset to the historical ones.
        """
        return float(np.mean(self.distances < _unlikeness(distances)))


def _unlikeness(distances: Matrix) -> float:
    nearest = np.sort(distances)[:_NEAREST]
    nearest = nearest[np.isfinite(nearest)]
    return float(nearest.mean()) if len(nearest) else 0.0


def _ranks(scores: Matrix) -> Matrix:
    """Ranks from 0 to 1 along the last axis; equal scores share their mean rank."""
    # scipy.stats.rankdata gives the same, but its import takes longer than everything else here
    ranks = pd.DataFrame(np.atleast_2d(scores)).rank(axis=1).to_numpy() - 1
    return np.asarray(ranks.reshape(scores.shape) / max(scores.shape[-1] - 1, 1))


def _level(estimate: Matrix, ranks: Matrix) -> Matrix:
    """Mean estimate (..., 1) of the models at the top of the ranking, one number for a table."""
    # tied models at the top may have a lower rank than _TOP
    top = ranks >= np.minimum(_TOP, ranks.max(axis=-1, keepdims=True))
    level: Matrix = (estimate * top).sum(axis=-1, keepdims=True) / top.sum(axis=-1, keepdims=True)
    return level


def _record(scores: Matrix, history: History) -> _Record:
    truth = history.normalised
    estimate = np.array([history.estimate(history.own_distances(i)) for i in range(len(truth))])
    # among equal scores the first id wins, as in a learner's choice
    order = np.argsort(np.array(history.models), kind="stable")
    pick = order[np.where(np.isnan(truth), -np.inf, scores)[:, order].argmax(axis=1)]
    _, origin = np.unique(np.array(history.origins), return_inverse=True)
    ranks = _ranks(scores)
    return _Record(_level(estimate, ranks), ranks, truth, pick, origin)


def _predict(coefficients: Matrix, level: Matrix, rank: Matrix) -> Matrix:
    return np.asarray(np.clip(_design(level, rank) @ coefficients, 0, 1))


def _design(level: Matrix, rank: Matrix) -> Matrix:
    return np.stack(np.broadcast_arrays(1.0, level, rank, level * rank), axis=-1)


def _interval(predicted: Matrix, low: Matrix, high: Matrix) -> tuple[Matrix, Matrix]:
    bottom, top = np.clip(predicted + low, 0, 1), np.clip(predicted + high, 0, 1)
    return np.minimum(bottom, predicted), np.maximum(top, predicted)


def _coefficients(record: _Record, rows: Indices) -> Matrix:
    truth, pick = record.truth[rows], record.pick[rows]
    known = ~np.isnan(truth)
    # the pick weighs as much as all models together, because users look at the pick
    weight = np.where(known, 0.5 / known.sum(axis=1, keepdims=True), 0.0)
    weight[np.arange(len(pick)), pick] += 0.5
    root = np.sqrt(weight)
    design = _design(record.level[rows], record.rank[rows]) * root[..., None]
    targets = np.where(known, truth, 0.0) * root
    return np.asarray(np.linalg.lstsq(design.reshape(-1, 4), targets.ravel(), rcond=None)[0])


def _out_of_fold_predictions(record: _Record, rows: Rows) -> Matrix:
    """Predictions for some datasets, each from coefficients fitted to their other origins."""
    indices = np.flatnonzero(rows)
    predicted = np.empty((len(indices), record.truth.shape[1]))
    n_folds = min(_FOLDS, len(np.unique(record.origin[indices])))
    folds = np.zeros(len(indices), dtype=np.intp)
    if n_folds > 1:
        folds = origin_folds(record.origin[indices], n_folds, seed=2)
    for fold in range(n_folds):
        held_out = indices[folds == fold]
        others = indices[folds != fold] if n_folds > 1 else held_out
        inputs = record.level[held_out], record.rank[held_out]
        predicted[folds == fold] = _predict(_coefficients(record, others), *inputs)
    return predicted


def _fit_intervals(record: _Record, rows: Rows) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    truth, pick = record.truth[rows], record.pick[rows]
    predicted = _out_of_fold_predictions(record, rows)
    known, picked = ~np.isnan(truth), (np.arange(len(pick)), pick)
    edges = np.quantile(predicted[picked], np.linspace(0, 1, _BINS + 1)[1:-1])
    residual, bins = truth - predicted, np.searchsorted(edges, predicted)
    origin = np.broadcast_to(record.origin[rows][:, None], truth.shape)
    ends = [
        [_ends(residual[cells], origin[cells], bins[cells] == number) for number in range(_BINS)]
        for cells in (picked, known)
    ]
    low, high = np.moveaxis(np.array(ends), 2, 0)
    return _coefficients(record, np.flatnonzero(rows)), edges, low, high


def _ends(residual: Matrix, origin: Indices, inside: Rows) -> tuple[float, float]:
    """Ends of an interval that contains the residual of a new origin with probability LEVEL."""
    if len(np.unique(origin[inside])) < _MIN_ORIGINS:
        inside = np.ones_like(inside)
    n = len(np.unique(origin[inside]))
    # a new value lies below the k-th of n values with probability k / (n + 1); n counts origins,
    # because datasets and models of one origin are not independent
    below = (n + 1) * (1 - LEVEL) / 2 - 1
    if below < 0:
        # too few origins for an interval shorter than the whole range
        return -1.0, 1.0
    share = below / (n - 1)
    low, high = np.quantile(residual[inside], [share, 1 - share])
    return float(low), float(high)


def _coverage(record: _Record, history: History) -> dict[str, float]:
    """Coverage and width of the intervals of picks, fitted to other origins."""
    n_folds = min(5, len(set(history.origins)))
    folds = origin_folds(history.origins, n_folds, seed=1)
    inside, widths, errors, baseline = [], [], [], []
    for fold in range(n_folds):
        coefficients, edges, low, high = _fit_intervals(record, folds != fold)
        rows = np.flatnonzero(folds == fold)
        pick = record.pick[rows]
        found = _predict(coefficients, record.level[rows, 0], record.rank[rows, pick])
        bins = np.searchsorted(edges, found)
        truth = record.truth[rows, pick]
        bottom, top = _interval(found, low[0, bins], high[0, bins])
        # tolerate rounding at the ends of the interval
        inside.append((truth >= bottom - 1e-9) & (truth <= top + 1e-9))
        widths.append(top - bottom)
        errors.append((truth - found) ** 2)
        others = np.flatnonzero(folds != fold)
        baseline.append((truth - record.truth[others, record.pick[others]].mean()) ** 2)
    total = np.concatenate(baseline).mean()
    return {
        "interval_level": LEVEL,
        "interval_coverage": float(np.concatenate(inside).mean()),
        "interval_width": float(np.concatenate(widths).mean()),
        "predicted_r2": float(1 - np.concatenate(errors).mean() / total) if total > 0 else 0.0,
    }


def _against_reference(record: _Record, history: History) -> dict[str, float]:
    """Compare picks with PyOD's default iForest, on origins that the learner had not seen."""
    reached = history.P[np.arange(len(record.pick)), record.pick].astype(np.float64)
    known = ~np.isnan(history.reference)
    difference = (reached - history.reference)[known]
    if len(difference) == 0:
        return {}
    return {
        "mean_difference": float(difference.mean()),
        "beats_reference": float(np.mean(difference > 0.005)),
        "loses_to_reference": float(np.mean(difference < -0.005)),
        "loses_much": float(np.mean(difference < -0.05)),
        "n_datasets": float(len(difference)),
        "n_origins": float(len(np.unique(record.origin[known]))),
    }


def _regret_by_distance(record: _Record, history: History, distances: Matrix) -> dict[str, float]:
    """Compare the regret of picks on datasets near to and far from the others."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - only when a calibration is made

    best = np.nanmax(history.P, axis=1)
    reached = history.P[np.arange(len(record.pick)), record.pick]
    regret = (best - reached).astype(np.float64)
    far = distances > np.quantile(distances, 0.9)
    # no comparison is possible without both groups and some variation
    if len(regret) < _MIN_ORIGINS or np.ptp(regret) == 0 or not far.any():
        return {}
    found = spearmanr(distances, regret)
    return {
        "regret_distance_correlation": float(found.statistic),
        "regret_distance_p": float(found.pvalue),
        "regret_near": float(regret[~far].mean()),
        "regret_far": float(regret[far].mean()),
    }
