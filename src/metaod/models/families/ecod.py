"""ECOD and COPOD: how rare each value of a row is in the tails of its column.

PyOD's ECOD and COPOD score new rows together with the training table. Here the training table's
distribution is kept: a row beyond it is as rare as its outermost row.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, Settings

_BLOCK = 2**18  # values sorted at a time: 2 MiB, and as much for their order


class TailEstimator(Estimator):
    """Sums over the columns how rare a value is in the column's tails."""

    mean_of_tails: bool  # whether the longer tail is compared with the mean of both, not with each

    def _fit(self, X: Matrix) -> Scores:
        from scipy.stats import skew  # noqa: PLC0415 - slow to import

        self.sorted_ = np.sort(X.T, axis=1)
        with np.errstate(all="ignore"):
            # a constant column is not skewed
            self.skewness_ = np.sign(np.nan_to_num(skew(X, axis=0)))
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        return _tail_scores(X, self.sorted_, self.skewness_, self.mean_of_tails)


class ECOD(TailEstimator):
    """The rarer of a value's tails counts: PyOD's training scores."""

    mean_of_tails = False


class COPOD(TailEstimator):
    """The longer tail of a value counts, or the mean of both if larger: PyOD's training scores."""

    mean_of_tails = True


def _tail_scores(X: Matrix, known: Matrix | None, skewness: Scores, mean_of_tails: bool) -> Scores:
    """Sum the negative logarithms of tail probabilities over the columns.

    ``known`` has the sorted training columns; None if ``X`` is the training table. ``skewness`` has
    signs: they choose the longer tail, or the sum of both at 0.
    """
    n_known = len(X) if known is None else known.shape[1]
    logs = np.zeros(n_known + 1)
    logs[1:] = -np.log(np.arange(1, n_known + 1) / n_known)
    scores = np.zeros(len(X))
    step = max(1, _BLOCK // len(X))
    for start in range(0, X.shape[1], step):
        block = slice(start, start + step)
        columns = np.ascontiguousarray(X[:, block].T)
        order = np.argsort(columns, axis=1)
        training = np.take_along_axis(columns, order, 1) if known is None else known[block]
        _add_tails(columns, order, training, logs, skewness[block], mean_of_tails, scores)
    return scores


@njit(cache=True)
def _add_tails(
    columns: Matrix,
    order: npt.NDArray[np.intp],
    known: Matrix,
    logs: Scores,
    skewness: Scores,
    mean_of_tails: Any,
    scores: Scores,
) -> None:
    n_columns, n_rows = columns.shape
    n_known = known.shape[1]
    for c in range(n_columns):
        below = up_to = 0
        for t in range(n_rows):
            row = order[c, t]
            value = columns[c, row]
            while below < n_known and known[c, below] < value:
                below += 1
            while up_to < n_known and known[c, up_to] <= value:
                up_to += 1
            left, right = logs[max(up_to, 1)], logs[max(n_known - below, 1)]
            tail = (left if skewness[c] < 1 else 0.0) + (right if skewness[c] > -1 else 0.0)
            if mean_of_tails:
                scores[row] += max(tail, (left + right) / 2)
            else:
                scores[row] += max(left, right, tail)


def _run(Z: Matrix, seed: int = 0) -> ECOD:  # noqa: ARG001 - a landmarker's signature
    """Score every row by its tail probabilities, summed over columns as negative logarithms.

    Where a column's skewness is exactly zero, which depends on rounding, PyOD adds both tails; the
    landmarker does not. Memory beyond the table: 6 MiB and 8 bytes a row, or 32 bytes a row.

    Examples
    --------
    >>> _run(np.array([[0.0], [1.0], [2.0], [3.0]])).decision_scores_.round(3)
    array([1.386, 0.693, 0.693, 1.386])
    """
    run = ECOD()
    run.decision_scores_ = _tail_scores(Z, None, np.ones(Z.shape[1]), run.mean_of_tails)
    return run


ECOD_FAMILY = Family("ECOD", ECOD, {}, learned_rows=MANY_ROWS, landmarker=_run)
COPOD_FAMILY = Family("COPOD", COPOD, {}, extended=(Settings({}),), learned_rows=MANY_ROWS)
