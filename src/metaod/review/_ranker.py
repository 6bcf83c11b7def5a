"""The learned ranking of rows, and the estimate of the outliers left: boosted trees over features.

They were trained on the labelled history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.artifacts import Trained
from metaod.learners import FlatForest
from metaod.models import Matrix, Scores
from metaod.review._features import FEATURES

_RANKS = (1, 3, 10, 30, 100, 300, 1000)
_LOWEST = -30.0  # the log odds at ranks that a table does not have
_MOST_ROWS = 1500  # of a table in training; of a larger one ranks are those of so many rows
MOST_COUNTED = 2 * _MOST_ROWS
"""Rows of a table whose outliers left are estimated: it was not measured on larger ones."""

_RECENT = 10  # answers, which tell most about what is left

STATE_FEATURES = (
    "log expected outliers",
    *(f"score at rank {rank}" for rank in _RANKS),
    "marks",
    "marked outliers",
    "share of outliers",
    "outliers of the last answers",
    "answers since an outlier",
    "log rows",
    "log columns",
)
"""Names of the features of a review's state."""


@dataclass(frozen=True, eq=False)
class Ranker(Trained):
    """The ranking of rows by marks, learned from history.

    Parameters
    ----------
    rows : FlatForest
        The score of a row from its features (log odds).
    left : FlatForest
        Low, middle and high estimate of the logarithm of the number of outliers among the rows
        that are not marked, from the features of a review's state.
    features, state_features : tuple of str
        Names of the features that the forests take.
    """

    kind, room = "review", "metaod.review"
    coverage: ClassVar[float] = 0.9  # share of reviews whose outliers left lie in the interval

    rows: FlatForest
    left: FlatForest
    features: tuple[str, ...] = FEATURES
    state_features: tuple[str, ...] = STATE_FEATURES

    def __post_init__(self) -> None:
        taken = (self.features, self.rows.n_features, self.rows.n_outputs)
        of_state = (self.state_features, self.left.n_features, self.left.n_outputs)
        if (taken, of_state) != (
            (FEATURES, len(FEATURES), 1),
            (STATE_FEATURES, len(STATE_FEATURES), 3),
        ):
            raise ValueError("the ranker has other features than this version of metaod")


@dataclass(frozen=True)
class Left:
    """Outliers among the rows that are not marked.

    Parameters
    ----------
    estimate : float
        The most plausible number.
    low, high : float
        An interval that covers the number on nine of ten tables.
    """

    estimate: float
    low: float
    high: float


def state_features(scores: Scores, answers: Sequence[bool], shape: tuple[int, int]) -> Matrix:
    """Return the features of a review, (1, features).

    ``scores`` are the log odds of the rows that are not marked, ``answers`` tell which of the
    marked rows are outliers, in the order in which they were marked, and ``shape`` is that of the
    table. The features are of the rows with the highest scores.
    """
    n_marks, n_outliers = len(answers), sum(answers)
    per_rank = _rows_per_rank(shape[0])
    ranks = [round(rank * per_rank) for rank in _RANKS]
    odds = np.clip(np.sort(scores)[::-1][: ranks[-1]], _LOWEST, -_LOWEST)
    expected = np.log(np.sum(1.0 / (1.0 + np.exp(-odds))) / per_rank + 0.5)
    heights = [odds[rank - 1] if rank <= len(odds) else _LOWEST for rank in ranks]
    share = n_outliers / n_marks if n_marks else -1.0
    since = next((n for n, is_outlier in enumerate(answers[::-1]) if is_outlier), n_marks)
    counts = [n_marks, n_outliers, share, sum(answers[-_RECENT:]), since]
    sizes = np.log(shape[0] / per_rank), np.log(shape[1])
    return np.asarray([[expected, *heights, *counts, *sizes]], dtype=np.float64)


def _rows_per_rank(n_rows: int) -> float:
    return max(1.0, n_rows / _MOST_ROWS)


def left_of(log_numbers: Scores, n_rows: int, n_left: int) -> Left:
    """Return the estimate for the unmarked rows of a table from three logarithms of a number.

    In the numbers there is half an outlier more than there are, so that none has a logarithm.
    """
    numbers = (np.sort(np.exp(log_numbers)) - 0.5) * _rows_per_rank(n_rows)
    low, middle, high = np.clip(numbers, 0.0, n_left)
    return Left(float(middle), float(np.floor(low)), float(np.ceil(high)))
