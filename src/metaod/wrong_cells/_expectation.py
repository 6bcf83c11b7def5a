"""What the other cells of a row lead to expect: forests that predict each column from the others.

Every predictor has at most 64 bins, so a split is a set of bins in 64 bits, the same for numbers
and for categories. A tree learns from half of the reference rows, and predicts the others. What a
linear model of the other columns predicts is a predictor too.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.wrong_cells._columns import N_BINS, Codes, Column, Values
from metaod.wrong_cells._trees import LEAST_LEAF, Bins, Votes, explained, fit_predict

_FEWEST_FOR_THREADS = 2_000  # rows
_N_TREES = 24
_N_TREES_LARGE = 10  # of tables with more rows than reference rows
_MOST_PREDICTORS = 16
_MEASURED = 2_000  # rows on which predictors are chosen
_MOST_LINEAR = 400  # columns of a linear model
_MOST_INDICATORS = 8  # categories of a column in it
_CLIP = 4.0  # of targets on their scale


def _nothing() -> npt.NDArray[Any]:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Expected:
    """What is expected of a column's cells from the other cells of their rows.

    Parameters
    ----------
    place : ndarray of float
        The expected number, on the column's scale; empty for texts.
    spread : ndarray of float
        How far numbers of such rows are from it, on the scale; empty for texts.
    own : ndarray of float
        The probability of the row's own value; with the next ones empty for numbers of many values.
    best : ndarray of float
        That of the most probable value.
    best_class : ndarray of int
        The class of that value.
    entropy : ndarray of float
        The expected surprisal.
    linear : ndarray of float
        The number that a linear model of the other columns expects, on the scale; empty without it.
    """

    place: Values = field(default_factory=_nothing)
    spread: Values = field(default_factory=_nothing)
    own: Values = field(default_factory=_nothing)
    best: Values = field(default_factory=_nothing)
    best_class: Codes = field(default_factory=_nothing)
    entropy: Values = field(default_factory=_nothing)
    linear: Values = field(default_factory=_nothing)


def expected_cells(
    columns: Sequence[Column],
    bins: Bins,
    weights: Values,
    reference: Codes,
    seed: int,
    n_jobs: int | None = None,
) -> list[Expected]:
    """Predict every column from the others; rows that a tree learned from are left out of it."""
    n_trees = _N_TREES if len(columns[0].codes) <= len(reference) else _N_TREES_LARGE
    is_ordered = np.array([column.is_number for column in columns])
    linear = linear_predictions(columns, reference)

    def of_column(place: int) -> Expected:
        chosen = np.argsort(-weights[place], kind="stable")[:_MOST_PREDICTORS]
        chosen = chosen[chosen != place]
        own, ordered, chances = bins[chosen], is_ordered[chosen], weights[place][chosen]
        line = linear.get(place, np.empty(0))
        if len(line):  # a predictor that is tried most often
            own = np.concatenate([own, _binned(line, reference)[None]])
            ordered = np.append(ordered, True)
            chances = np.append(chances, chances.max(initial=0.05) * 2)
        forest = _Forest(own, ordered, chances, n_trees, seed + place)
        return replace(_expected(columns[place], forest, line, reference), linear=line)

    if len(columns[0].codes) < _FEWEST_FOR_THREADS:
        return list(map(of_column, range(len(columns))))
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as threads:
        return list(threads.map(of_column, range(len(columns))))


@dataclass(frozen=True, eq=False)
class _Forest:
    """What the forest of a column is grown from: bins of predictors, and settings."""

    bins: Bins
    is_ordered: npt.NDArray[np.bool_]
    weights: Values
    n_trees: int
    seed: int

    def numbers(self, targets: Values, known: Codes) -> tuple[Values, Values]:
        """Return what is expected of each row's target, and the spread around it."""
        totals, _ = self._run(targets, np.empty(0, dtype=np.int64), 0, known)
        n = np.maximum(totals[:, 3], 1)
        mean = totals[:, 0] / n
        variance = totals[:, 2] / n + np.maximum(totals[:, 1] / n - mean**2, 0)
        return mean, np.sqrt(variance + 1e-4)

    def votes(self, classes: Codes, n_classes: int, known: Codes) -> Votes:
        """Return the share of trees, in parts of leaves, that expect each class of a row."""
        return self._run(np.zeros(len(classes)), classes, n_classes, known)[1]

    def _run(
        self, targets: Values, classes: Codes, n_classes: int, known: Codes
    ) -> tuple[Values, Votes]:
        chances = np.cumsum(self.weights + 0.02)
        chances /= chances[-1]
        of_rows = np.ascontiguousarray(self.bins.T)  # the bins of a row lie together
        found: tuple[Values, Votes] = fit_predict(
            of_rows, self.is_ordered, chances, targets, classes, n_classes, known,
            self.n_trees, 7919 * self.seed,
        )  # fmt: skip
        return found


def _binned(values: Values, reference: Codes) -> Bins:
    ends = np.unique(np.quantile(values[reference], np.linspace(0, 1, N_BINS)[1:-1]))
    return np.searchsorted(ends, values).astype(np.uint8)


def linear_predictions(columns: Sequence[Column], reference: Codes) -> dict[int, Values]:
    """Predict numbers by linear models of all other columns: all from one inverse.

    Of a normal distribution with the inverse covariance W, a column's expectation given the others
    is minus their sum with weights W[i, j] / W[i, i].
    """
    parts, owner = _with_owners(map(_as_numbers, columns))
    if len(parts) < 2 or len(parts) > min(_MOST_LINEAR, len(reference) / 4):
        return {}
    X = np.stack(parts)
    known = X[:, reference]
    X = X - known.mean(axis=1, keepdims=True)
    X /= np.maximum(known.std(axis=1, keepdims=True), 1e-9)
    covariance = X[:, reference] @ X[:, reference].T / len(reference)
    ridge = 1e-3 + 0.1 * len(parts) / len(reference)
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(parts)))
    predictions = {}
    for place, column in enumerate(columns):
        if column.kind not in ("number", "date"):
            continue
        i, others = int(np.argmax(owner == place)), np.flatnonzero(owner != place)
        weights = -inverse[i, others] / inverse[i, i]
        scale = max(float(known[i].std()), 1e-9)
        predictions[place] = weights @ X[others] * scale + float(known[i].mean())
    return predictions


def _with_owners(of_columns: Iterable[list[Values]]) -> tuple[list[Values], Codes]:
    """Return what columns have, one after the other, and the place of the column of each."""
    parts = [(own, place) for place, several in enumerate(of_columns) for own in several]
    return [own for own, _ in parts], np.array([place for _, place in parts], dtype=np.int64)


def _as_numbers(column: Column) -> list[Values]:
    """Return a column as numbers for a linear model: few categories are indicators."""
    if column.is_number:
        mapped = np.nan_to_num(column.mapped)
        return [np.clip(mapped, -_CLIP, _CLIP)]
    classes, n_classes = column.classes
    if n_classes > _MOST_INDICATORS:
        return []
    by_row = column.spread(classes, -1)
    return [(by_row == own).astype(np.float64) for own in range(n_classes - 1)]


def association(columns: Sequence[Column], bins: Bins, reference: Codes) -> Values:
    """Return how much of each column's variance the bins of each other column explain."""
    rows = reference[:: max(1, len(reference) // _MEASURED)]
    targets, owner = _with_owners(_targets(column, rows) for column in columns)
    shares = explained(np.ascontiguousarray(bins[:, rows]), np.stack(targets))
    weights = np.zeros((len(columns), len(columns)))
    np.maximum.at(weights, owner, shares.T)
    np.fill_diagonal(weights, 0.0)
    return weights


def _targets(column: Column, rows: Codes) -> list[Values]:
    """Return one or two standardised targets of a column; missing values are at their middle."""
    if column.is_few:
        classes, n_classes = column.classes
        codes = column.spread(classes, -1)[rows]
        draws = np.random.default_rng(0).standard_normal((2, n_classes))
        raw = [np.append(draw, 0.0)[codes] for draw in draws]
    else:
        raw = [np.clip(np.nan_to_num(column.mapped[rows]), -_CLIP, _CLIP)]
    return [(own - own.mean()) / (own.std() or 1.0) for own in raw]


def _expected(column: Column, forest: _Forest, line: Values, reference: Codes) -> Expected:
    known = reference[column.present[reference]]
    is_alone = not len(forest.bins) or len(column.distinct) < 2
    if is_alone or len(known) < 4 * LEAST_LEAF:
        return _unconditional(column)
    if column.is_few:
        classes, n_classes = column.classes
        by_row = column.spread(classes, -1)
        return _of_classes(column, forest.votes(by_row, n_classes, known), by_row)
    targets = np.clip(np.nan_to_num(column.mapped), -_CLIP, _CLIP)
    place, spread = forest.numbers(targets, known)
    if len(line):  # what the line leaves may be easier to predict
        rest, own_spread = forest.numbers(targets - line, known)
        left = np.abs(targets - line - rest)[known]
        if np.median(left) < np.median(np.abs(targets - place)[known]):
            return Expected(line + rest, own_spread)
    return Expected(place, spread)


def _of_classes(column: Column, votes: Votes, by_row: Codes) -> Expected:
    """Take the probabilities of classes; none is quite 0."""
    prior = np.bincount(by_row[by_row >= 0], minlength=votes.shape[1]) / max(1, (by_row >= 0).sum())
    shares = (votes + 0.5 * prior) / (votes.sum(axis=1, keepdims=True) + 0.5)
    rows = np.arange(len(by_row))
    best = shares.argmax(axis=1)
    found = Expected(
        own=np.where(by_row >= 0, shares[rows, by_row], 1.0),
        best=shares[rows, best],
        best_class=best,
        entropy=-(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1),
    )
    if not column.is_number:
        return found
    classes, n_classes = column.classes
    places = np.zeros(n_classes)
    places[classes] = np.clip(column.scale.map(column.distinct.astype(np.float64)), -_CLIP, _CLIP)
    mean = shares @ places
    variance = np.maximum(shares @ places**2 - mean**2, 0)
    return replace(found, place=mean, spread=np.sqrt(variance + 1e-4))


def _unconditional(column: Column) -> Expected:
    """Expect the column's own middle or frequencies."""
    n_rows = len(column.codes)
    found = Expected(np.zeros(n_rows), np.ones(n_rows)) if column.is_number else Expected()
    if not column.is_few:
        return found
    classes, n_classes = column.classes
    counts = np.bincount(classes, weights=column.counts, minlength=n_classes)
    shares = (counts + 0.5) / (counts.sum() + 0.5 * max(n_classes, 1))
    return replace(
        found,
        own=column.spread(shares[classes], 1.0),
        best=np.full(n_rows, shares.max(initial=0.0)),
        best_class=np.full(n_rows, shares.argmax() if n_classes else 0),
        entropy=np.full(n_rows, -(shares * np.log(shares)).sum()),
    )


def surprise(expected: Expected) -> dict[str, Values]:
    """Return how surprising a value is in its row, beyond what values of such rows are."""
    if not len(expected.own):
        return {}
    logs = -np.log(np.maximum(expected.own, 1e-6))
    return {
        "surprise": logs - expected.entropy,
        "own probability": expected.own,
        "best probability": expected.best,
        "odds of best": np.log(np.maximum(expected.best, 1e-6) / np.maximum(expected.own, 1e-6)),
    }
