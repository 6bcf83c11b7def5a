"""How a landmarker ranks the rows, with ties settled so that no order of rows can tell."""

from dataclasses import dataclass

import numpy as np

from metaod.models import Matrix, Scores

__all__ = ["Ranking", "compare", "overlap", "rank_scores", "spearman", "top_count"]

_TIED = 1e-9  # scores closer than this share of their range differ by rounding alone
_TIGHT = 1e-12  # and so do all scores in a range below this


@dataclass(frozen=True)
class Ranking:
    """The rows by score.

    Parameters
    ----------
    ascending : ndarray of float
        The scores in order; those that differ by rounding alone are made equal.
    ranks : ndarray of float
        Rank of each row, 1 for the lowest score; equal scores share their mean rank.
    top : ndarray of float
        How far each row belongs to the 5 % with the highest scores: 1 or 0, and a share where
        rows tied at the border cannot all belong.
    """

    ascending: Scores
    ranks: Scores
    top: Scores


def top_count(n_rows: int) -> int:
    """Rows in the top 5 %, rounded up.

    Examples
    --------
    >>> top_count(20), top_count(21)
    (1, 2)
    """
    return (n_rows + 19) // 20


def rank_scores(scores: Scores) -> Ranking | None:
    """Rank the rows; None where the scores rank nothing: all equal, or not all finite.

    Scores are equal that differ by less than 1e-9 of their range; all are where the range is below
    1e-9 of the largest magnitude.

    Examples
    --------
    >>> rank_scores(np.array([3.0, 1.0, 2.0, 1.0])).ranks
    array([4. , 1.5, 3. , 1.5])
    """
    order = np.argsort(scores)
    ascending = scores[order]
    low, high = float(ascending[0]), float(ascending[-1])
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    spread = high - low
    if not _TIED * max(abs(low), abs(high)) + _TIGHT < spread < np.inf:
        return None
    n_rows = len(scores)
    starts = np.ones(n_rows, dtype=bool)
    np.greater(np.diff(ascending), _TIED * spread, out=starts[1:])
    group = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    after = np.append(first[1:], n_rows)
    size = after - first
    within = np.clip(after - (n_rows - top_count(n_rows)), 0, size) / size
    ranks, top = np.empty(n_rows), np.empty(n_rows)
    ranks[order] = ((first + 1 + after) / 2)[group]
    top[order] = within[group]
    return Ranking(ascending[first][group], ranks, top)


def spearman(left: Matrix, right: Matrix) -> Matrix:
    """Spearman correlations between rows of ranks, each row of one with each of the other.

    Examples
    --------
    >>> spearman(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]))
    array([[ 0.5, -1. ]])
    """
    return np.clip(_standard(left) @ _standard(right).T, -1, 1)


def overlap(left: Scores, right: Scores) -> float:
    """Share of the top rows of one ranking that are top in the other; 0.05 by chance.

    Examples
    --------
    >>> overlap(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.5, 0.0]))
    0.75
    """
    return float(np.minimum(left, right).sum() / left.sum())


def compare(one: Ranking | None, other: Ranking | None) -> tuple[float, float]:
    """Spearman correlation and top overlap of two rankings; NaN where one ranks nothing.

    Examples
    --------
    >>> falling = rank_scores(np.array([2.0, 1.0, 0.0]))
    >>> compare(rank_scores(np.array([0.0, 1.0, 9.0])), falling)[1]
    0.0
    """
    if one is None or other is None:
        return float("nan"), float("nan")
    correlation = spearman(one.ranks[np.newaxis], other.ranks[np.newaxis])
    return float(correlation[0, 0]), overlap(one.top, other.top)


def _standard(ranks: Matrix) -> Matrix:
    centred: Matrix = ranks - ranks.mean(axis=1, keepdims=True)
    centred /= np.sqrt(np.einsum("ij,ij->i", centred, centred))[:, np.newaxis]
    return centred
