"""How sure an answer is: predicted performance with an interval that keeps its promise.

Everything here is measured on scores that a learner gave to datasets of origins that it had not
seen, so that nothing is claimed of a new table that did not hold on such tables.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.learners.history import History, normalised
from metaod.learners.out_of_fold import origin_folds
from metaod.learners.state import State, StateReader

__all__ = ["LEVEL", "Calibration"]

Matrix = npt.NDArray[np.float64]

LEVEL = 0.8
"""Share of tables on which the interval is to hold the truth."""

_BINS = 5
"""Parts of the range of predictions, each with an interval of its own."""

_NEAREST = 5
"""Historical datasets whose mean distance says how unlike a table is."""


@dataclass(frozen=True)
class _Record:
    """What happened on every historical dataset, predicted without its origin."""

    estimate: Matrix  # (n, m) of the history
    rank: Matrix  # (n, m) of the learner's scores, from 0 to 1 for the largest
    truth: Matrix  # (n, m) normalised performance, NaN where missing
    pick: npt.NDArray[np.intp]  # (n,) the first in the ranking that has a value


@dataclass(frozen=True)
class Calibration:
    """Predicted performance of a model on a new table, with an interval and what it rests on.

    Parameters
    ----------
    coefficients : array of shape (4,)
        Of 1, the history's estimate, the rank among the learner's scores, and their product.
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
            The same datasets in the same order.
        """
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
        predicted = _predict(self.coefficients, estimate, _ranks(scores))
        part = np.searchsorted(self.edges, predicted)
        stratum = np.ones(len(scores), dtype=np.intp)
        stratum[pick] = 0
        low = np.clip(predicted + self.low[stratum, part], 0, 1)
        high = np.clip(predicted + self.high[stratum, part], 0, 1)
        return predicted, np.minimum(low, predicted), np.maximum(high, predicted)

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
        return cls(
            reader.array("coefficients", (4,)),
            edges,
            low,
            reader.array("high", (2, "bins")),
            reader.array("distances", ("n",)),
            reader.numbers("figures"),
        )


def _unlikeness(distances: Matrix) -> float:
    nearest = np.sort(distances)[:_NEAREST]
    nearest = nearest[np.isfinite(nearest)]
    return float(nearest.mean()) if len(nearest) else 0.0


def _ranks(scores: Matrix) -> Matrix:
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import, needed once a table

    ranks: Matrix = (rankdata(scores, axis=-1) - 1) / max(scores.shape[-1] - 1, 1)
    return ranks


def _record(scores: Matrix, history: History) -> _Record:
    truth = normalised(history.P.astype(np.float64))
    places = range(len(truth))
    estimate = np.array([history.estimate(history.own_distances(place)) for place in places])
    pick = np.where(np.isnan(truth), -np.inf, scores).argmax(axis=1)
    return _Record(estimate, _ranks(scores), truth, pick)


def _predict(coefficients: Matrix, estimate: Matrix, rank: Matrix) -> Matrix:
    ones = np.ones_like(estimate)
    parts = np.stack([ones, estimate, rank, estimate * rank], axis=-1)
    result: Matrix = np.clip(parts @ coefficients, 0, 1)
    return result


def _fit_intervals(
    record: _Record, rows: npt.NDArray[np.bool_]
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    truth, places = record.truth[rows], np.arange(int(rows.sum()))
    estimate, rank, pick = record.estimate[rows], record.rank[rows], record.pick[rows]
    known = ~np.isnan(truth)
    design = np.stack([np.ones_like(estimate), estimate, rank, estimate * rank], axis=-1)
    # the top of the ranking is what users look at: it counts for as much as all the rest
    weight = np.where(known, 0.5 / known.sum(axis=1, keepdims=True), 0.0)
    weight[places, pick] += 0.5
    root = np.sqrt(weight)[..., None]
    targets = np.where(known, truth, 0.0)
    coefficients, *_ = np.linalg.lstsq(
        (design * root).reshape(-1, 4), (targets * root[..., 0]).ravel(), rcond=None
    )
    predicted = _predict(coefficients, estimate, rank)
    picked, others = predicted[places, pick], predicted[known]
    edges = np.quantile(picked, np.linspace(0, 1, _BINS + 1)[1:-1])
    strata = (
        (picked, truth[places, pick] - picked),
        (others, truth[known] - others),
    )
    ends = [[_ends(value, rest, edges, part) for part in range(_BINS)] for value, rest in strata]
    low, high = np.moveaxis(np.array(ends), 2, 0)
    return coefficients, edges, low, high


def _ends(predicted: Matrix, residual: Matrix, edges: Matrix, part: int) -> tuple[float, float]:
    inside = residual[np.searchsorted(edges, predicted) == part]
    if len(inside) < 20:
        inside = residual
    # the conformal correction: one more table than were seen
    n = len(inside)
    tail = (1 - LEVEL) / 2
    shares = np.clip([tail - tail / n, 1 - tail + tail / n], 0, 1)
    low, high = np.quantile(inside, shares)
    return float(low), float(high)


def _coverage(record: _Record, history: History) -> dict[str, float]:
    """Share of picks inside their interval, when it was made from other origins."""
    n_folds = min(5, len(set(history.origins)))
    if n_folds < 2:
        return {}
    folds = origin_folds(history.origins, n_folds, seed=1)
    inside, widths, errors, baseline = [], [], [], []
    for fold in range(n_folds):
        coefficients, edges, low, high = _fit_intervals(record, folds != fold)
        rows = np.flatnonzero(folds == fold)
        pick = record.pick[rows]
        found = _predict(coefficients, record.estimate[rows, pick], record.rank[rows, pick])
        part = np.searchsorted(edges, found)
        truth = record.truth[rows, pick]
        bottom, top = np.clip(found + low[0, part], 0, 1), np.clip(found + high[0, part], 0, 1)
        inside.append((truth >= bottom) & (truth <= top))
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
    difference = (reached - history.reference)[~np.isnan(history.reference)]
    if len(difference) == 0:
        return {}
    return {
        "mean_difference": float(difference.mean()),
        "beats_reference": float(np.mean(difference > 0.005)),
        "loses_to_reference": float(np.mean(difference < -0.005)),
        "loses_much": float(np.mean(difference < -0.05)),
        "n_datasets": float(len(difference)),
        "n_origins": float(len(set(history.origins))),
    }


def _regret_by_distance(record: _Record, history: History, far: Matrix) -> dict[str, Any]:
    """Whether picks miss more of what was possible where a dataset is unlike the others."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - only when a calibration is made

    best = np.nanmax(history.P, axis=1)
    reached = history.P[np.arange(len(record.pick)), record.pick]
    regret = (best - reached).astype(np.float64)
    if len(regret) < 20:
        return {}
    found = spearmanr(far, regret)
    cut = np.quantile(far, 0.9)
    return {
        "regret_distance_correlation": float(found.statistic),
        "regret_distance_p": float(found.pvalue),
        "regret_near": float(regret[far <= cut].mean()),
        "regret_far": float(regret[far > cut].mean()),
    }
