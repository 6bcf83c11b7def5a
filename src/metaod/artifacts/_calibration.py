"""Calibration: predicted performance with intervals, from scores for origins not in the fit."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.artifacts._history import History, normalised
from metaod.errors import BadParameter
from metaod.learners import State, StateReader, origin_folds
from metaod.models import Matrix

Rows = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

LEVEL = 0.8  # share of tables whose performance the interval should contain
_BINS = 5  # of the predictions; each has its own interval
_MIN_ORIGINS = 20  # a bin with fewer origins uses the interval of all datasets
_FOLDS = 10  # groups of origins; residuals of a group come from a fit to the other groups
_TOP = 0.9  # rank, from 0 to 1, at which the top of the ranking begins
_NEAREST = 5  # nearest historical datasets whose mean distance is a table's unlikeness


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

    coefficients: Matrix
    edges: Matrix
    low: Matrix
    high: Matrix
    distances: Matrix
    figures: dict[str, float]

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

    def state(self) -> State:
        return dict(vars(self))

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        low = reader.array("low", (2, "bins"))
        edges = reader.array("edges", (reader.size("bins") - 1,))
        if (np.diff(edges) < 0).any():
            raise reader.damaged("edges are not ascending")
        distances = reader.array("distances", ("n",))
        if len(distances) == 0:
            raise reader.damaged("its history is empty")
        coefficients, high = reader.array("coefficients", (4,)), reader.array("high", (2, "bins"))
        return cls(coefficients, edges, low, high, distances, reader.numbers("figures"))


def _unlikeness(distances: Matrix) -> float:
    nearest = np.sort(distances)[:_NEAREST]
    nearest = nearest[np.isfinite(nearest)]
    return float(nearest.mean()) if len(nearest) else 0.0


def _ranks(scores: Matrix) -> Matrix:
    """Ranks from 0 to 1 along the last axis; equal scores share their mean rank."""
    # like scipy.stats.rankdata, whose import takes longer than everything else here
    rows = scores.reshape(-1, scores.shape[-1])
    ends = [
        [np.searchsorted(ordered, row, side) for side in ("left", "right")]
        for ordered, row in zip(np.sort(rows, axis=1), rows, strict=True)
    ]
    ranks = (np.sum(ends, axis=1).reshape(scores.shape) - 1) / 2
    shares: Matrix = ranks / max(scores.shape[-1] - 1, 1)
    return shares


def _level(estimate: Matrix, ranks: Matrix) -> Matrix:
    """Mean estimate (..., 1) of the models at the top of the ranking, one number for a table."""
    # tied models at the top may have a lower rank than _TOP
    top = ranks >= np.minimum(_TOP, ranks.max(axis=-1, keepdims=True))
    level: Matrix = (estimate * top).sum(axis=-1, keepdims=True) / top.sum(axis=-1, keepdims=True)
    return level


def _record(scores: Matrix, history: History) -> _Record:
    truth = normalised(history.P.astype(np.float64))
    estimate = np.array([history.estimate(history.own_distances(i)) for i in range(len(truth))])
    # among equal scores the first id wins, as in a learner's choice
    order = np.argsort(np.array(history.models), kind="stable")
    pick = order[np.where(np.isnan(truth), -np.inf, scores)[:, order].argmax(axis=1)]
    _, origin = np.unique(np.array(history.origins), return_inverse=True)
    ranks = _ranks(scores)
    return _Record(_level(estimate, ranks), ranks, truth, pick, origin)


def _predict(coefficients: Matrix, level: Matrix, rank: Matrix) -> Matrix:
    predicted: Matrix = np.clip(_design(level, rank) @ coefficients, 0, 1)
    return predicted


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
    coefficients: Matrix = np.linalg.lstsq(design.reshape(-1, 4), targets.ravel(), rcond=None)[0]
    return coefficients


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
