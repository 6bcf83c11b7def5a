"""What is known of rows before any mark: leaves of isolation trees, values, tails of the scores."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix, Scores, family

N_TREES = 200
_N_PAIRS = 400  # random pairs of rows that give the usual distance
_BOUNDS = (-3.0, 6.0)  # of the standardised prior

Floats32 = npt.NDArray[np.float32]


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
    """

    leaves: npt.NDArray[np.uint8]
    values: Floats32
    tails: Floats32
    pick: Scores
    prior: Scores

    def __len__(self) -> int:
        return len(self.leaves)

    def __getitem__(self, chosen: Any) -> Self:
        return type(self)(
            self.leaves[chosen],
            self.values[chosen],
            self.tails[chosen],
            self.pick[chosen],
            self.prior[chosen],
        )


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
    """

    def __init__(self, X: Matrix, scores: Scores, members: Matrix, seed: int) -> None:
        self.n_columns = X.shape[1]
        forest: Any = family("IForest").landmarker
        self._forest = forest(X, seed, N_TREES)
        self._centre = np.median(X, axis=0)
        low, high = np.percentile(X, (25, 75), axis=0)
        spread = np.where(high > low, high - low, X.std(axis=0))
        self._unit = np.where(spread > 0, spread, 1.0)
        self._pick = np.sort(scores)
        self._members = np.sort(members, axis=0)
        tails = _member_tails(self._members, members).mean(axis=1)
        self._mean, self._deviation = float(tails.mean()), float(tails.std()) or 1.0
        self.rows = self.describe(X, scores, members)

    def describe(self, X: Matrix, scores: Scores, members: Matrix) -> Rows:
        """Describe rows of the training table, or new ones in the same way."""
        scaled = (X - self._centre) / self._unit
        bent = np.copysign(np.log1p(np.abs(scaled)), scaled) / math.sqrt(self.n_columns)
        tails = _member_tails(self._members, members)
        prior = np.clip((tails.mean(axis=1) - self._mean) / self._deviation, *_BOUNDS)
        return Rows(
            self._forest.leaf_numbers(X),
            bent.astype(np.float32),
            tails.astype(np.float32),
            tail(self._pick, scores),
            prior,
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
