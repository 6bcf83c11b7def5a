"""Conformal p-values: how many rows of the first table, judged as later rows are, are as unusual.

Each row has one or two statistics: its score, and the probability that one of its cells is wrong.
Of the held-out rows the one with the most probable error is removed, then of the others the one
with the largest score, and so on in turn. The p-value of a later row is its place in this order.
Small probabilities count as 0: nearly all of them are of ordinary cells, and few held-out rows have
one, so that a later table in which they are a little larger would seem to be full of errors.
The regions that are removed one by one are Tukey's statistically equivalent blocks (Annals of
Mathematical Statistics 18, 1947). Whatever the distribution, the probability that a row falls into
the first k of n is Beta(k, n + 1 - k). So the share of rows that a limit flags is known with any
confidence, and not only on average over tables.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from metaod._state import Shape
from metaod.models import Matrix, Scores

CONFIDENCE = 0.95
"""How certain it is that no more than the promised share of ordinary rows is flagged."""

_LEAST_ERROR = 0.2  # less probable wrong cells are all alike


@dataclass(frozen=True, eq=False)
class Calibration:
    """The statistics of rows that were held out; a promise is kept by comparing later rows.

    Parameters
    ----------
    statistics : ndarray of float, shape (rows, 1 or 2)
        The score of each row, and the probability that one of its cells is wrong, which is 0 or
        more.
    n_block : int
        The most rows that were scored together: the probabilities depend on their number.

    Examples
    --------
    >>> calibration = Calibration(np.arange(999.0).reshape(-1, 1), 200)
    >>> calibration.p_values(np.array([[2000.0], [989.5], [-1.0]])).ravel().tolist()
    [0.001, 0.01, 1.0]
    >>> calibration.limit(0.01), round(calibration.least_share, 4)
    (0.005, 0.003)
    """

    statistics: Annotated[Matrix, Shape("held out", "kinds")]
    n_block: int

    @property
    def n_rows(self) -> int:
        """Rows that later ones are compared with."""
        return len(self.statistics)

    @property
    def least_share(self) -> float:
        """The smallest share that can be promised."""
        return float(1 - (1 - CONFIDENCE) ** (1 / self.n_rows))

    def p_values(self, statistics: Matrix) -> Matrix:
        """Return p-values by each statistic; that of a row is the smallest of them."""
        places = []
        for values, (turns, cuts) in zip(_floored(statistics).T, self._removed, strict=True):
            passed = np.searchsorted(-cuts, -values, side="right")  # equal to a cut is not beyond
            places.append(np.append(turns, self.n_rows)[passed])
        return np.asarray((1 + np.column_stack(places)) / (1 + self.n_rows))

    def limit(self, share: float) -> float:
        """Return the largest p-value to flag for at most this share of ordinary rows; 0 if none."""
        from scipy.stats import binom  # noqa: PLC0415 - heavy

        places = float(binom.ppf(1 - CONFIDENCE, self.n_rows, share))
        return max(places, float(share >= self.least_share)) / (1 + self.n_rows)

    def chance(self, p_values: Scores, limit: float) -> float:
        """Return how probable so many unusual rows are in a table like the one fitted to.

        It counts the rows up to the limit, and up to the first one, two, four, ... of the places
        below it: a few rows that are beyond all held-out ones tell more than many at the limit.
        """
        from scipy.stats import betabinom  # noqa: PLC0415 - heavy

        last = max(1, round(limit * (1 + self.n_rows)))
        places = np.unique([*(2 ** np.arange(last.bit_length())), last])
        flagged = (p_values[:, np.newaxis] <= places / (1 + self.n_rows)).sum(axis=0)
        tails = betabinom.sf(flagged - 1, len(p_values), places, 1 + self.n_rows - places)
        return float(min(1.0, np.min(tails) * len(places)))

    @cached_property
    def _removed(self) -> list[tuple[npt.NDArray[np.intp], Scores]]:
        """For each statistic when it removed a row, and the row's value."""
        statistics = _floored(self.statistics)
        n_kinds = statistics.shape[1]
        waiting = [order.tolist() for order in np.argsort(statistics, axis=0, kind="stable").T]
        removed: list[list[tuple[int, float]]] = [[] for _ in range(n_kinds)]
        gone, kind = np.zeros(self.n_rows, dtype=np.bool_), n_kinds - 1
        for turn in range(self.n_rows):
            while gone[waiting[kind][-1]]:
                waiting[kind].pop()
            row = waiting[kind].pop()
            gone[row] = True
            removed[kind].append((turn, float(statistics[row, kind])))
            # a probability of 0 removes nothing: from then on it has no turn
            is_over = n_kinds == 1 or removed[1][-1][1] <= 0
            kind = 0 if is_over else 1 - kind
        parts = (np.array(own, dtype=np.float64).reshape(-1, 2).T for own in removed)
        return [(turns.astype(np.intp), cuts) for turns, cuts in parts]


def _floored(statistics: Matrix) -> Matrix:
    """Return the statistics with 0 for small probabilities."""
    scores, errors = statistics[:, :1], statistics[:, 1:]
    return np.hstack([scores, np.where(errors < _LEAST_ERROR, 0.0, errors)])


def discovery_limit(p_values: Scores, share: float) -> float:
    """Return the largest p-value to flag so that of the flagged rows this share is ordinary.

    Benjamini and Hochberg's rule, on average over tables; 0 if no row can be flagged. Conformal
    p-values depend on each other in the way that the rule allows (Bates, Candès, Lei, Romano and
    Sesia, Annals of Statistics 51, 2023).

    Examples
    --------
    >>> discovery_limit(np.array([0.001, 0.002, 0.03, 0.8]), 0.05)
    0.03
    """
    rising = np.sort(p_values)
    kept = rising <= share * np.arange(1, len(rising) + 1) / len(rising)
    return float(rising[kept].max(initial=0.0))


def least_discoveries(calibration: Calibration, n_rows: int, share: float) -> int:
    """Return how many rows of a table must be most unusual for any of them to be flagged."""
    return math.ceil(n_rows / (share * (1 + calibration.n_rows)))
