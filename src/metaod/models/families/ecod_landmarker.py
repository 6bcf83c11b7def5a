"""ECOD: how far out a row lies in the empirical distribution of each column.

The scores are PyOD's for every column whose skewness is not exactly zero. For such a column PyOD
adds both tails instead of taking the longer; whether a computed skewness is exactly zero hangs on
the last bit of a sum, so that we take the longer tail always.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Matrix, Scores

__all__ = ["ECODRun", "run_ecod"]

_BLOCK = 2**18  # values sorted at a time: 2 MiB, and as much for their order


@dataclass(frozen=True)
class ECODRun:
    """A run of ECOD.

    Parameters
    ----------
    scores : ndarray of float, shape (n_rows,)
        Higher is more outlying.
    """

    scores: Scores


def run_ecod(Z: Matrix) -> ECODRun:
    """Score every row by its tail probabilities, summed over columns as negative logarithms.

    Memory beyond the table: 4 MiB and 8 bytes a row, or 24 bytes a row where that is more.

    Examples
    --------
    >>> run_ecod(np.array([[0.0], [1.0], [2.0], [3.0]])).scores.round(3)
    array([1.386, 0.693, 0.693, 1.386])
    """
    n_rows, n_columns = Z.shape
    scores = np.zeros(n_rows)
    tails = np.zeros(n_rows + 1)
    tails[1:] = -np.log(np.arange(1, n_rows + 1) / n_rows)
    step = max(1, _BLOCK // n_rows)
    for start in range(0, n_columns, step):
        columns = np.ascontiguousarray(Z[:, start : start + step].T)
        _add_tails(columns, np.argsort(columns, axis=1), tails, scores)
    return ECODRun(scores)


@njit(cache=True)
def _add_tails(columns: Matrix, order: npt.NDArray[np.intp], tails: Scores, scores: Scores) -> None:
    """Add what each column says: rows at or beyond a value, on the side where they are fewer."""
    n_columns, n_rows = columns.shape
    for c in range(n_columns):
        first = 0
        while first < n_rows:
            value = columns[c, order[c, first]]
            last = first + 1
            while last < n_rows and columns[c, order[c, last]] == value:
                last += 1
            tail = tails[min(last, n_rows - first)]
            for t in range(first, last):
                scores[order[c, t]] += tail
            first = last
