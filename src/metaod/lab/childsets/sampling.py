"""How many rows a childset has, and which outliers are taken."""

import heapq
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from metaod.lab.childsets.recipe import Clusteredness

__all__ = ["MAX_ROWS", "choose_outliers", "count_rows"]

#: Rows of a childset, at most.
MAX_ROWS = 6_000

_SHARE = Fraction(9, 10)  # of the motherset's normal rows that one childset takes
_CANDIDATES = 2_000  # among which scattered outliers are chosen, unless more are wanted


def count_rows(
    n_normal: int, n_candidates: int, share: Fraction | None, *, max_rows: int = MAX_ROWS
) -> tuple[int, int]:
    """Count a childset's normal rows and outliers.

    90 % of the normal rows are taken, ⌈n·f/(1-f)⌉ outliers for a share of f, and at most
    `max_rows` in all. Where there are not that many candidates, fewer normal rows keep the share.

    Parameters
    ----------
    n_normal, n_candidates : int
        Normal rows, and rows that may be outliers, of the motherset.
    share : Fraction or None
        f; None for the motherset's own, which takes 90 % of the candidates too.
    max_rows : int, default=6000
        The most rows.

    Returns
    -------
    normals, outliers : int
        Both are 1 at least if the motherset has them.

    Examples
    --------
    >>> count_rows(3343, 1657, Fraction("0.005"))
    (3008, 16)
    >>> count_rows(5000, 23, Fraction("0.1"))
    (207, 23)
    """
    normals = max(1, math.floor(_SHARE * n_normal))
    if share is None:
        outliers = math.ceil(_SHARE * n_candidates)
        if normals + outliers > max_rows:
            outliers = max(1, round(Fraction(max_rows * outliers, normals + outliers)))
            normals = max_rows - outliers
        return normals, outliers
    outliers = math.ceil(normals * share / (1 - share))
    if normals + outliers > max_rows:
        outliers = math.ceil(max_rows * share)
        normals = max_rows - outliers
    if outliers > n_candidates:
        outliers = n_candidates
        normals = min(normals, max(1, math.floor(outliers * (1 - share) / share)))
    return normals, outliers


def choose_outliers(
    X: npt.NDArray[np.float64],
    n_outliers: int,
    clusteredness: Clusteredness,
    rng: np.random.Generator,
) -> npt.NDArray[np.intp]:
    """Choose outliers among the candidates.

    Scattered ones are a facility-location choice: they leave, as a whole, the candidates as near
    as possible to a chosen one. It is made greedily among at most 2,000 candidates drawn for it.
    Clustered ones are a row drawn at random and its nearest neighbours.

    Parameters
    ----------
    X : numpy.ndarray of shape (n_candidates, n_columns)
        The candidates, standardised.
    n_outliers : int
        How many to choose; at most as many as there are.
    clusteredness : {"any", "scattered", "clustered"}
        How the chosen lie.
    rng : numpy.random.Generator
        For every draw.

    Returns
    -------
    numpy.ndarray of int
        Rows of `X`, all different.
    """
    n_candidates = len(X)
    if clusteredness == "clustered":
        seed = X[rng.integers(n_candidates)]
        distances = np.square(X - seed).sum(axis=1)
        return np.argsort(distances, kind="stable")[:n_outliers]
    if clusteredness == "scattered":
        # nine in ten, so that siblings differ where candidates are few
        wanted = min(_CANDIDATES, math.ceil(_SHARE * n_candidates))
        drawn = rng.permutation(n_candidates)[: max(n_outliers, wanted)]
        return drawn[_locate_facilities(X[drawn], n_outliers)]
    return rng.permutation(n_candidates)[:n_outliers]


def _locate_facilities(X: npt.NDArray[np.float64], n_facilities: int) -> npt.NDArray[np.intp]:
    """Choose rows, each the one that brings all rows nearest to a chosen row, greedily."""
    squares = np.square(X).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * (X @ X.T), 0.0))
    nearest = np.full(len(X), distances.max())
    # a gain only shrinks as rows are chosen, so that an old gain bounds the new one: most rows
    # need not be looked at again
    heap = [(-(nearest - distances[row]).sum(), row) for row in range(len(X))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while len(chosen) < n_facilities:
        _, row = heapq.heappop(heap)
        gain = np.maximum(nearest - distances[row], 0.0).sum()
        if heap and gain < -heap[0][0]:
            heapq.heappush(heap, (-gain, row))
            continue
        chosen.append(row)
        np.minimum(nearest, distances[row], out=nearest)
    return np.array(chosen, dtype=np.intp)
