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

_QUANTILES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)

STATE_FEATURES = (
    "log expected share",
    *(f"score at {share:.1%}" for share in _QUANTILES),
    "marks",
    "marked outliers",
    "share of outliers",
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
        Low, middle and high estimate of the logarithm of the share of outliers among the rows that
        are not marked, from the features of a review's state.
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


def state_features(
    scores: Scores,
    answers: Sequence[bool],
    shape: tuple[int, int],
    weights: Scores | None = None,
) -> Matrix:
    """Return the features of a review, (1, features).

    ``scores`` are the log odds of the rows that are not marked, ``answers`` tell which of the
    marked rows are outliers, and ``shape`` is that of the table. Each score can stand for several
    rows: ``weights`` are their numbers.
    """
    n_marks, n_outliers = len(answers), sum(answers)
    odds = np.clip(scores, -30.0, 30.0)
    expected = np.average(1.0 / (1.0 + np.exp(-odds)), weights=weights)
    places = [1 - share for share in _QUANTILES]
    heights = np.quantile(odds, places) if weights is None else _quantiles(odds, weights, places)
    share = n_outliers / n_marks if n_marks else -1.0
    found = [np.log(expected), *heights, n_marks, n_outliers, share, *np.log(shape)]
    return np.asarray([found], dtype=np.float64)


def _quantiles(values: Scores, weights: Scores, places: Sequence[float]) -> Scores:
    """Return the quantiles of values each of which stands for several."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    found = np.searchsorted(below, np.asarray(places) * below[-1])
    return np.asarray(values[order[np.minimum(found, len(order) - 1)]])


def left_of(log_shares: Scores, n_rows: int) -> Left:
    """Return the estimate for ``n_rows`` unmarked rows from three logarithms of a share.

    In the shares there is half an outlier more than there are, so that none has a logarithm.
    """
    numbers = np.sort(np.exp(log_shares)) * n_rows - 0.5
    low, middle, high = np.clip(numbers, 0.0, n_rows)
    return Left(float(middle), float(np.floor(low)), float(np.ceil(high)))
