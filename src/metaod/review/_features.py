"""Rows as a review compares them, and their features, given marks.

A row is known by the leaves that it reaches in isolation trees, its values, the tails of its
scores, and the evidence that its cells are wrong. Its features say what similar marked rows are,
and what is known without marks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix, Scores, family, njit

N_TREES = 200
_N_PAIRS = 400  # random pairs of rows that give the usual distance
_BOUNDS = (-3.0, 6.0)  # of the standardised prior

Floats32 = npt.NDArray[np.float32]

# eight-bit numbers of leaves that share their first five bits are below the same node of depth 5
_SAME_NODE = 8
_DISTANCE_UNIT = 0.5  # of the usual squared distance
_TAIL_UNIT = 8.0  # of squared distances between tails of scores
_ERROR_UNIT = 0.5  # of squared distances between square roots of error scores
_CERTAIN = math.sqrt(0.3)  # of a row that counts as having an error

_NOISE = 0.075
_LINEAR_NOISE = 0.3  # relative to the mean square of the marked rows' values
# of the process on leaves: factor of the prior mean, target of a row that is not an outlier, noise
_SETTINGS = ((0.01, -1.0, _NOISE), (0.03, -1.0, _NOISE), (0.1, -0.35, _NOISE), (0.1, -0.35, 0.5))
_MAIN = 1

KERNELS = ("leaf", "node", "values", "tails", "errors")
"""Similarities of two rows: the share of isolation trees in which they reach the same leaf, or the
same node of depth 5; closeness of their values; closeness of the tails of their scores; closeness
of their errors by kind."""

FEATURES = (
    *(f"process {number}" for number in range(len(_SETTINGS))),
    "process rank",
    *(f"process on {name}" for name in KERNELS[1:]),
    *(
        f"{which} similarity by {name} to {whom}"
        for name in KERNELS
        for whom in ("outliers", "others")
        for which in ("largest", "mean")
    ),
    "process on a line",
    "length along outliers",
    "angle to outliers",
    "pick",
    "prior",
    "lowest tail",
    "middle tail",
    "highest tail",
    "marks",
    "marked outliers",
    "marked others",
    "share of outliers",
    "log rows",
    "log columns",
    "pick of marked outliers",
    "pick of marked others",
    "pick by share of outliers",
    "similarity of outliers",
    "similarity of outliers and others",
    "process of an outlier left out",
    "process of another left out",
    "error",
    "error tail",
    "error of marked outliers",
    "error of marked others",
    "log share with errors",
    "process on errors of an outlier left out",
    "process on errors of another left out",
)
"""Names of the features of a row."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the review compares them.

    Parameters
    ----------
    leaves : ndarray of uint8, shape (rows, trees)
        The leaf that a row reaches in each isolation tree.
    values : ndarray of float32, shape (rows, columns)
        Columns on a robust scale, with a logarithm for large values.
    tails : ndarray of float32, shape (rows, models)
        Tails of the models' scores: minus the logarithm of the share of training rows above.
    pick : ndarray of float, shape (rows,)
        Tail of the pick's score.
    prior : ndarray of float, shape (rows,)
        Mean of the models' tails, standardised by the training rows.
    errors : ndarray of float32, shape (rows, 1 + kinds)
        Square roots of probabilities: that a cell of the row is wrong, and of each kind of error.
    """

    leaves: npt.NDArray[np.uint8]
    values: Floats32
    tails: Floats32
    pick: Scores
    prior: Scores
    errors: Floats32

    def __len__(self) -> int:
        return len(self.leaves)

    def __getitem__(self, chosen: Any) -> Self:
        return type(self)(**{name: values[chosen] for name, values in vars(self).items()})


class RowSpace:
    """The training table, against which rows are described.

    Parameters
    ----------
    X : ndarray of float, shape (rows, columns)
        The prepared training table.
    scores : ndarray of float, shape (rows,)
        The pick's scores of its rows.
    members : ndarray of float, shape (rows, models)
        The scores of the models that the pick averages, or of its only model.
    seed : int
        Seed of the trees.
    errors : ndarray of float32, shape (rows, 1 + kinds), optional
        Probabilities of errors in each row, in any cell and of each kind; none by default.
    """

    def __init__(
        self, X: Matrix, scores: Scores, members: Matrix, seed: int, errors: Floats32 | None = None
    ) -> None:
        self.n_columns = X.shape[1]
        forest: Any = family("IForest").load()
        self._forest = forest(N_TREES, random_state=seed).fit(X)
        self._centre = np.median(X, axis=0)
        low, high = np.percentile(X, (25, 75), axis=0)
        spread = np.where(high > low, high - low, X.std(axis=0))
        self._unit = np.where(spread > 0, spread, 1.0)
        self._pick = np.sort(scores)
        self._members = np.sort(members, axis=0)
        tails = _member_tails(self._members, members).mean(axis=1)
        self._mean, self._deviation = float(tails.mean()), float(tails.std()) or 1.0
        self._n_errors = 1 if errors is None else errors.shape[1]
        self.rows = self.describe(X, scores, members, errors)
        self.errors = np.sort(self.rows.errors[:, 0].astype(np.float64))

    def describe(
        self, X: Matrix, scores: Scores, members: Matrix, errors: Floats32 | None = None
    ) -> Rows:
        """Describe rows of the training table, or new ones in the same way."""
        scaled = (X - self._centre) / self._unit
        bent = np.copysign(np.log1p(np.abs(scaled)), scaled) / math.sqrt(self.n_columns)
        tails = _member_tails(self._members, members)
        prior = np.clip((tails.mean(axis=1) - self._mean) / self._deviation, *_BOUNDS)
        if errors is None:
            errors = np.zeros((len(X), self._n_errors), dtype=np.float32)
        return Rows(
            self._forest.leaf_numbers(X),
            bent.astype(np.float32),
            tails.astype(np.float32),
            tail(self._pick, scores),
            prior,
            np.sqrt(errors),
        )

    @cached_property
    def usual_distance(self) -> float:
        """The median squared distance of the values of two random rows."""
        generator = np.random.default_rng(0)
        first, second = generator.integers(0, len(self.rows), (2, _N_PAIRS))
        values = self.rows.values
        distances = np.square(values[first] - values[second]).sum(axis=1)
        return float(np.median(distances[distances > 0])) if distances.any() else 1.0


def tail(training: Scores, scores: Scores) -> Scores:
    """Return minus the logarithm of the share of the sorted training scores that are as high.

    Examples
    --------
    >>> tail(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 4.0])).round(3).tolist()
    [-0.0, 1.386]
    """
    n_rows = len(training)
    first = np.searchsorted(training, scores, side="left")
    last = np.searchsorted(training, scores, side="right")
    ranks = (first + last + 1) / 2  # the mean rank of equal scores
    return np.asarray(-np.log((n_rows + 1 - ranks) / n_rows))


def _member_tails(training: Matrix, members: Matrix) -> Matrix:
    columns = range(members.shape[1])
    return np.column_stack([tail(training[:, i], members[:, i]) for i in columns])


def similarities(space: RowSpace, rows: Rows, marked: Rows) -> Floats32:
    """Return the similarities of rows to marked rows, (kernels, marked, rows)."""
    found = np.empty((len(KERNELS), len(marked), len(rows)), dtype=np.float32)
    unit = _DISTANCE_UNIT * space.usual_distance
    for place in range(len(marked)):
        one = marked[place]
        _shared(rows.leaves, one.leaves, found[0, place], found[1, place])
        distances = np.square(rows.values - one.values).sum(axis=1)
        np.exp(-distances / unit, out=found[2, place])
        distances = np.square(rows.tails - one.tails).sum(axis=1) * (7 / rows.tails.shape[1])
        np.exp(-distances / _TAIL_UNIT, out=found[3, place])
        distances = np.square(rows.errors - one.errors).sum(axis=1)
        np.exp(-distances / _ERROR_UNIT, out=found[4, place])
    return found


@njit(cache=True)
def _shared(leaves: Any, marked: Any, leaf: Any, node: Any) -> None:
    """Write the shares of trees in which rows and a marked row reach the same leaf, or node."""
    n_rows, n_trees = leaves.shape
    for row in range(n_rows):
        same_leaf = 0
        same_node = 0
        for tree in range(n_trees):
            different = leaves[row, tree] ^ marked[tree]
            same_leaf += different == 0
            same_node += different < _SAME_NODE
        leaf[row] = same_leaf / n_trees
        node[row] = same_node / n_trees


class MarkedRows:
    """Marked rows and the processes on them, which give any rows their features.

    Parameters
    ----------
    space : RowSpace
        The rows that the marked rows are described against.
    rows : Rows
        The marked rows.
    answers : sequence of bool
        Whether each is an outlier.
    similar : ndarray of float32, shape (kernels, marked, rows of the space)
        Similarities of the rows of the space to the marked rows.
    """

    def __init__(
        self, space: RowSpace, rows: Rows, answers: Sequence[bool], similar: Floats32
    ) -> None:
        self._space = space
        self.rows = rows
        self._answers = np.asarray(answers, dtype=np.bool_)
        between = similarities(space, rows, rows).astype(np.float64)
        self._weights = [
            (factor, self._solve(between[0], factor, target, noise))
            for factor, target, noise in _SETTINGS
        ]
        self._others = [self._solve(own, 0.0, -1.0, _NOISE) for own in between[1:]]
        values = self.rows.values.astype(np.float64)
        self._line = _line(values, self._answers)
        self._mean_outlier = values[self._answers].mean(axis=0) if any(answers) else None
        agreement = _agreement(between[0], self._answers, _SETTINGS[_MAIN][0] * self.rows.prior)
        *_, outlier, other = _agreement(between[-1], self._answers, np.zeros(len(answers)))
        self._agreement = (*agreement, outlier, other)
        self._main = np.sort(self._process(space.rows, similar[0], _MAIN))

    def _solve(self, between: Matrix, factor: float, target: float, noise: float) -> Scores:
        targets = np.where(self._answers, 1.0, target) - factor * self.rows.prior
        return np.asarray(np.linalg.solve(between + noise * np.eye(len(targets)), targets))

    def _process(self, rows: Rows, similar: Floats32, setting: int) -> Scores:
        factor, weights = self._weights[setting]
        return factor * rows.prior + _product(weights, similar)

    def features(self, rows: Rows, similar: Floats32) -> Floats32:
        """Return the features (rows, features) of rows with these similarities to the marks."""
        processes = [self._process(rows, similar[0], i) for i in range(len(_SETTINGS))]
        columns: list[npt.ArrayLike] = [*processes, tail(self._main, processes[_MAIN])]
        columns += [
            _product(weights, own) for weights, own in zip(self._others, similar[1:], strict=True)
        ]
        answers = self._answers
        for own in similar:
            for chosen in (own[answers], own[~answers]):
                columns += [chosen.max(axis=0), chosen.mean(axis=0)] if len(chosen) else [0.0, 0.0]
        columns += self._directions(rows.values)
        tails = rows.tails
        columns += [rows.pick, rows.prior, tails.min(axis=1), np.median(tails, axis=1)]
        share = self._answers.mean()
        *agreement, outlier, other = self._agreement
        columns += [tails.max(axis=1), *self._of_marks(), rows.pick * share, *agreement]
        errors = rows.errors[:, 0].astype(np.float64)
        columns += [errors, tail(self._space.errors, errors), *self._of_errors(), outlier, other]
        found = np.empty((len(rows), len(FEATURES)), dtype=np.float32)
        for place, column in enumerate(columns):
            found[:, place] = column
        return found

    def _directions(self, values: Floats32) -> list[npt.ArrayLike]:
        """Return a linear function of the values, and their position relative to the outliers."""
        linear = values @ self._line.astype(np.float32)
        if self._mean_outlier is None:
            return [linear, 0.0, 0.0]
        length = float(np.linalg.norm(self._mean_outlier)) or 1.0
        along = values @ (self._mean_outlier / length).astype(np.float32)
        lengths = np.sqrt(np.square(values).sum(axis=1))
        return [linear, along, along / np.maximum(lengths, np.float32(1e-9))]

    def _of_marks(self) -> list[float]:
        answers = self._answers
        n_marks, n_outliers = len(answers), int(answers.sum())
        means = self._means(self.rows.pick)
        counts = [n_marks, n_outliers, n_marks - n_outliers, n_outliers / n_marks]
        shape = [np.log(len(self._space.rows)), np.log(self._space.n_columns)]
        return [*counts, *shape, *means]

    def _of_errors(self) -> list[float]:
        every = self._space.errors
        share = np.log((len(every) - np.searchsorted(every, _CERTAIN) + 0.5) / len(every))
        return [*self._means(self.rows.errors[:, 0]), float(share)]

    def _means(self, values: npt.NDArray[Any]) -> list[float]:
        """Return the means of marked outliers and of other marked rows; -1 if there are none."""
        kinds = (self._answers, ~self._answers)
        return [float(values[own].mean()) if own.any() else -1.0 for own in kinds]


def _agreement(
    between: Matrix, answers: npt.NDArray[np.bool_], prior: Scores
) -> tuple[float, float, float, float]:
    """Return how well similar marks predict each other.

    Means, over marks: the similarity of two outliers, and of an outlier and another row; what the
    process predicts for an outlier that is left out of it, and for another. -2 if there is none.
    """
    n_outliers = int(answers.sum())
    inverse = np.linalg.inv(between + _NOISE * np.eye(len(answers)))
    residuals = np.where(answers, 1.0, -1.0) - prior
    left_out = prior + residuals - inverse @ residuals / np.diag(inverse)
    outliers = between[np.ix_(answers, answers)]
    pairs = n_outliers * (n_outliers - 1)
    together = float(outliers.sum() - np.trace(outliers)) / pairs if pairs else -2.0
    apart = between[np.ix_(answers, ~answers)]
    return (
        together,
        float(apart.mean()) if apart.size else -2.0,
        float(left_out[answers].mean()) if n_outliers else -2.0,
        float(left_out[~answers].mean()) if n_outliers < len(answers) else -2.0,
    )


def _line(values: Matrix, answers: npt.NDArray[np.bool_]) -> Scores:
    """Return the coefficients of a ridge regression of the answers on the marked values."""
    products = values @ values.T
    unit = float(np.trace(products)) / len(values) or 1.0
    targets = np.where(answers, 1.0, -1.0)
    weights = np.linalg.solve(products / unit + _LINEAR_NOISE * np.eye(len(values)), targets)
    return np.asarray(weights @ values / unit)


def _product(weights: Scores, similar: Floats32) -> Scores:
    return np.asarray(weights.astype(np.float32) @ similar, dtype=np.float64)
