"""How sure an answer is: predicted performance with an interval that keeps its promise.

Everything here is measured on scores that a learner gave to datasets of origins that it had not
seen, so that nothing is claimed of a new table that did not hold on such tables.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.artifacts._history import History, normalised
from metaod.errors import BadParameter
from metaod.learners import State, StateReader, origin_folds

__all__ = ["LEVEL", "Calibration"]

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]

LEVEL = 0.8
"""Share of tables on which the interval is to hold the truth."""

_BINS = 5
"""Parts of the range of predictions, each with an interval of its own."""

_FEWEST = 20
"""Origins without which a part has no interval of its own."""

_FOLDS = 10
"""Groups of origins whose residuals are taken from a fit to the others."""

_TOP = 0.9
"""Rank, from 0 to 1, from which a model is at the top of the ranking."""

_NEAREST = 5
"""Historical datasets whose mean distance says how unlike a table is."""


@dataclass(frozen=True)
class _Record:
    """What happened on every historical dataset, predicted without its origin."""

    level: Matrix  # (n, 1) of the history's estimates
    rank: Matrix  # (n, m) of the learner's scores, from 0 to 1 for the largest
    truth: Matrix  # (n, m) normalised performance, NaN where missing
    pick: npt.NDArray[np.intp]  # (n,) the first in the ranking that has a value
    origin: npt.NDArray[np.intp]  # (n,) numbers of the origins, from 0


@dataclass(frozen=True)
class Calibration:
    """Predicted performance of a model on a new table, with an interval and what it rests on.

    Parameters
    ----------
    coefficients : array of shape (4,)
        Of 1, the level of the history's estimates, the rank among the learner's scores, and their
        product.
    edges : array of shape (bins - 1,)
        Where the parts of the range of predictions meet.
    low, high : array of shape (2, bins)
        What to add to a prediction for the ends of the interval; first for a pick, then for any
        other model.
    distances : array of shape (n,)
        How unlike the others each historical dataset is, ascending.
    figures : mapping of str to float
        What was measured: coverage, how often picks beat iForest, regret near and far.
    """

    coefficients: Matrix
    edges: Matrix
    low: Matrix
    high: Matrix
    distances: Matrix
    figures: dict[str, float]

    @classmethod
    def fit(cls, scores: pd.DataFrame, history: History) -> Self:
        """Learn it from out-of-fold scores of the history's datasets.

        Parameters
        ----------
        scores : DataFrame of shape (n_datasets, n_models)
            Scores of a learner that had not seen the dataset's origin.
        history : History
            The same datasets in the same order, of two origins at least.
        """
        if len(set(history.origins)) < 2:
            legal = "of at least 2 origins"
            raise BadParameter("Calibration", "history", legal, f"only {history.origins[0]}")
        record = _record(scores[list(history.models)].to_numpy(), history)
        everything = np.ones(len(history.names), dtype=bool)
        far = np.array([_unlikeness(history.own_distances(i)) for i in range(len(everything))])
        fitted = _fit_intervals(record, everything)
        figures = _coverage(record, history) | _against_reference(record, history)
        figures |= _regret_by_distance(record, history, far)
        return cls(*fitted, np.sort(far), figures)

    def predict(
        self, scores: Matrix, estimate: Matrix, *, pick: int
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Predicted normalised performance and the ends of its interval, each (m,).

        Parameters
        ----------
        scores : array of shape (m,)
            The learner's.
        estimate : array of shape (m,)
            The history's.
        pick : int
            Place of the model that was picked.
        """
        ranks = _ranks(scores)
        predicted = _predict(self.coefficients, _level(estimate, ranks), ranks)
        part = np.searchsorted(self.edges, predicted)
        stratum = np.ones(len(scores), dtype=np.intp)
        stratum[pick] = 0
        ends = self.low[stratum, part], self.high[stratum, part]
        return predicted, *_interval(predicted, *ends)

    def unlikeness(self, distances: Matrix) -> float:
        """Share of historical datasets that are less unlike the others than this one.

        Parameters
        ----------
        distances : array of shape (n,)
            Distances to the historical datasets.
        """
        return float(np.mean(self.distances < _unlikeness(distances)))

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        names = ("coefficients", "edges", "low", "high", "distances", "figures")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave."""
        low = reader.array("low", (2, "bins"))
        edges = reader.array("edges", (reader.size("bins") - 1,))
        if (np.diff(edges) < 0).any():
            raise reader.damaged("edges are not ascending")
        distances = reader.array("distances", ("n",))
        if len(distances) == 0:
            raise reader.damaged("it rests on no dataset")
        return cls(
            reader.array("coefficients", (4,)),
            edges,
            low,
            reader.array("high", (2, "bins")),
            distances,
            reader.numbers("figures"),
        )


def _unlikeness(distances: Matrix) -> float:
    nearest = np.sort(distances)[:_NEAREST]
    nearest = nearest[np.isfinite(nearest)]
    return float(nearest.mean()) if len(nearest) else 0.0


def _ranks(scores: Matrix) -> Matrix:
    """Ranks from 0 to 1 for the largest, equal scores sharing theirs, along the last axis."""
    ordered = np.sort(scores, axis=-1)
    # what scipy.stats.rankdata gives, which takes longer to import than all the rest
    flat = zip(
        ordered.reshape(-1, scores.shape[-1]), scores.reshape(-1, scores.shape[-1]), strict=True
    )
    ends = [
        [np.searchsorted(row, found, side) for side in ("left", "right")] for row, found in flat
    ]
    ranks = (np.sum(ends, axis=1).reshape(scores.shape) - 1) / 2
    shares: Matrix = ranks / max(scores.shape[-1] - 1, 1)
    return shares


def _level(estimate: Matrix, ranks: Matrix) -> Matrix:
    """What the history expects of the models at the top of the ranking, (..., 1).

    It tells tables apart; models of one table are told apart by the learner alone, so that what is
    predicted goes down the ranking with it.
    """
    # where scores are tied at the top, none reaches the rank
    top = ranks >= np.minimum(_TOP, ranks.max(axis=-1, keepdims=True))
    found: Matrix = (estimate * top).sum(axis=-1, keepdims=True) / top.sum(axis=-1, keepdims=True)
    return found


def _record(scores: Matrix, history: History) -> _Record:
    truth = normalised(history.P.astype(np.float64))
    places = range(len(truth))
    estimate = np.array([history.estimate(history.own_distances(place)) for place in places])
    # among equal scores the first by id wins, as in a learner's choice
    order = np.argsort(np.array(history.models), kind="stable")
    pick = order[np.where(np.isnan(truth), -np.inf, scores)[:, order].argmax(axis=1)]
    _, origin = np.unique(np.array(history.origins), return_inverse=True)
    ranks = _ranks(scores)
    return _Record(_level(estimate, ranks), ranks, truth, pick, origin)


def _predict(coefficients: Matrix, level: Matrix, rank: Matrix) -> Matrix:
    result: Matrix = np.clip(_design(level, rank) @ coefficients, 0, 1)
    return result


def _design(level: Matrix, rank: Matrix) -> Matrix:
    """What a prediction is linear in: 1, level, rank and their product, (..., 4)."""
    return np.stack(np.broadcast_arrays(1.0, level, rank, level * rank), axis=-1)


def _interval(predicted: Matrix, low: Matrix, high: Matrix) -> tuple[Matrix, Matrix]:
    bottom, top = np.clip(predicted + low, 0, 1), np.clip(predicted + high, 0, 1)
    return np.minimum(bottom, predicted), np.maximum(top, predicted)


def _coefficients(record: _Record, rows: npt.NDArray[np.intp]) -> Matrix:
    truth, pick = record.truth[rows], record.pick[rows]
    known = ~np.isnan(truth)
    # the top of the ranking is what users look at: it counts for as much as all the rest
    weight = np.where(known, 0.5 / known.sum(axis=1, keepdims=True), 0.0)
    weight[np.arange(len(pick)), pick] += 0.5
    root = np.sqrt(weight)
    design = _design(record.level[rows], record.rank[rows]) * root[..., None]
    targets = np.where(known, truth, 0.0) * root
    found, *_ = np.linalg.lstsq(design.reshape(-1, 4), targets.ravel(), rcond=None)
    result: Matrix = found
    return result


def _held_out(record: _Record, rows: Rows) -> Matrix:
    """Predictions for some of the datasets, each from coefficients of their other origins."""
    places = np.flatnonzero(rows)
    predicted = np.empty((len(places), record.truth.shape[1]))
    n_folds = min(_FOLDS, len(np.unique(record.origin[places])))
    folds = np.zeros(len(places), dtype=np.intp)
    if n_folds > 1:
        folds = origin_folds(record.origin[places], n_folds, seed=2)
    for fold in range(n_folds):
        held = places[folds == fold]
        others = places[folds != fold] if n_folds > 1 else held
        coefficients = _coefficients(record, others)
        predicted[folds == fold] = _predict(coefficients, record.level[held], record.rank[held])
    return predicted


def _fit_intervals(record: _Record, rows: Rows) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    truth, pick = record.truth[rows], record.pick[rows]
    predicted = _held_out(record, rows)
    known, picked = ~np.isnan(truth), (np.arange(len(pick)), pick)
    edges = np.quantile(predicted[picked], np.linspace(0, 1, _BINS + 1)[1:-1])
    residual, part = truth - predicted, np.searchsorted(edges, predicted)
    origin = np.broadcast_to(record.origin[rows][:, None], truth.shape)
    ends = [
        [_ends(residual[cells], origin[cells], part[cells] == number) for number in range(_BINS)]
        for cells in (picked, known)
    ]
    low, high = np.moveaxis(np.array(ends), 2, 0)
    return _coefficients(record, np.flatnonzero(rows)), edges, low, high


def _ends(residual: Matrix, origin: npt.NDArray[np.intp], inside: Rows) -> tuple[float, float]:
    """What holds the residual of a new origin at :data:`LEVEL`."""
    if len(np.unique(origin[inside])) < _FEWEST:
        inside = np.ones_like(inside)
    n = len(np.unique(origin[inside]))
    # a new value lies below the k-th of n like it with a chance of k / (n + 1); datasets and
    # models of one origin resemble each other, so that only origins count
    below = (n + 1) * (1 - LEVEL) / 2 - 1
    if below < 0:
        # too few to promise anything less than the whole range
        return -1.0, 1.0
    share = below / (n - 1)
    low, high = np.quantile(residual[inside], [share, 1 - share])
    return float(low), float(high)


def _coverage(record: _Record, history: History) -> dict[str, float]:
    """Share of picks inside their interval, when it was made from other origins."""
    n_folds = min(5, len(set(history.origins)))
    folds = origin_folds(history.origins, n_folds, seed=1)
    inside, widths, errors, baseline = [], [], [], []
    for fold in range(n_folds):
        coefficients, edges, low, high = _fit_intervals(record, folds != fold)
        rows = np.flatnonzero(folds == fold)
        pick = record.pick[rows]
        found = _predict(coefficients, record.level[rows, 0], record.rank[rows, pick])
        part = np.searchsorted(edges, found)
        truth = record.truth[rows, pick]
        bottom, top = _interval(found, low[0, part], high[0, part])
        # a truth at the very end of its interval is inside, however it was rounded
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
    """How often a pick was better than PyOD's default iForest on an origin not seen before."""
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


def _regret_by_distance(record: _Record, history: History, far: Matrix) -> dict[str, float]:
    """Whether picks miss more of what was possible where a dataset is unlike the others."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - only when a calibration is made

    best = np.nanmax(history.P, axis=1)
    reached = history.P[np.arange(len(record.pick)), record.pick]
    regret = (best - reached).astype(np.float64)
    cut = np.quantile(far, 0.9)
    # without both kinds, or without any difference, there is nothing to tell
    if len(regret) < _FEWEST or np.ptp(regret) == 0 or not (far > cut).any():
        return {}
    found = spearmanr(far, regret)
    return {
        "regret_distance_correlation": float(found.statistic),
        "regret_distance_p": float(found.pvalue),
        "regret_near": float(regret[far <= cut].mean()),
        "regret_far": float(regret[far > cut].mean()),
    }
