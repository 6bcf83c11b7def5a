"""How many rows a childset has, which outliers it takes, and its irrelevant columns."""

import heapq
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix
from research.childsets.recipe import Clusteredness

MAX_ROWS = 6_000

_SHARE = Fraction(9, 10)  # of the motherset's normal rows that one childset takes
_CANDIDATES = 2_000  # among which scattered outliers are chosen, unless more are wanted


def count_rows(
    n_normal: int, n_candidates: int, share: Fraction | None, max_rows: int = MAX_ROWS
) -> tuple[int, int]:
    """Count a childset's normal rows and outliers, each at least 1.

    90 % of the normal rows are taken, ⌈n·f/(1-f)⌉ outliers for a share of f, and at most
    `max_rows` in all. If there are not enough candidates, fewer normal rows keep the share. A
    share of None is the motherset's own, which takes 90 % of the candidates too.
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
    X: Matrix, n_outliers: int, clusteredness: Clusteredness, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Choose different rows of the standardised candidates `X`.

    Scattered outliers are a greedy facility-location choice among at most 2,000 candidates drawn
    for it: the sum of distances from each candidate to the nearest chosen one is small. Clustered
    outliers are a row drawn at random and its nearest neighbours.
    """
    n_candidates = len(X)
    if clusteredness == "clustered":
        seed = X[rng.integers(n_candidates)]
        distances = np.square(X - seed).sum(axis=1)
        return np.argsort(distances, kind="stable")[:n_outliers]
    if clusteredness == "scattered":
        # 90 % of them, so that siblings differ where candidates are few
        wanted = min(_CANDIDATES, math.ceil(_SHARE * n_candidates))
        drawn = rng.permutation(n_candidates)[: max(n_outliers, wanted)]
        return drawn[_locate_facilities(X[drawn], n_outliers)]
    return rng.permutation(n_candidates)[:n_outliers]


def _locate_facilities(X: Matrix, n_facilities: int) -> npt.NDArray[np.intp]:
    squares = np.square(X).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * (X @ X.T), 0.0))
    nearest = np.full(len(X), distances.max())
    # a gain only shrinks as rows are chosen, so an old gain bounds the new one: most rows need
    # not be computed again
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


def append_irrelevant(X: Matrix, n_columns: int, rng: np.random.Generator) -> Matrix:
    """Append shuffled copies of columns, each once before one is copied twice."""
    missing = n_columns - X.shape[1]
    if missing == 0:
        return X
    rounds = -(-missing // X.shape[1])
    originals = np.concatenate([rng.permutation(X.shape[1]) for _ in range(rounds)])[:missing]
    copies = [rng.permutation(X[:, column]) for column in originals]
    return np.column_stack([X, *copies])
