"""Leading principal components, and PCA as a landmarker."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import scipy

from metaod.models import Matrix, Scores

_NEGLIGIBLE = 1e-12  # a smaller share of the largest variance is rounding

N_COMPONENTS = 3
"""Components that the landmarker computes."""

_SMALL = 200  # measured: above this size, iteration finds a few eigenvectors faster


def leading_components(symmetric: Matrix, k: int) -> tuple[Scores, Matrix]:
    """Return the k largest eigenvalues in descending order, and eigenvectors as columns.

    Examples
    --------
    >>> leading_components(np.diag([1.0, 4.0, 2.0]), 2)[0]
    array([4., 2.])
    """
    size = len(symmetric)
    k = min(k, size)
    if size > max(_SMALL, 4 * k):
        from scipy.sparse.linalg import ArpackError, eigsh  # noqa: PLC0415 - slow to import

        # a fixed start makes the result reproducible
        start = np.random.default_rng(0).standard_normal(size)
        # the iteration fails, rarely, where eigenvalues are too close together
        with suppress(ArpackError):
            values, vectors = eigsh(symmetric, k=k, which="LA", v0=start)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
    values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[size - k, size - 1])
    return values[::-1], vectors[:, ::-1]


@dataclass(frozen=True)
class PCARun:
    """A run of PCA.

    Parameters
    ----------
    decision_scores_ : ndarray of float
        Squared reconstruction error of each row from the first three components, or from all but
        one if there are fewer than four.
    explained, singular_values : ndarray of float
        Shares of the variance and singular values of three components; NaN if there are fewer.
    """

    decision_scores_: Scores
    explained: Scores
    singular_values: Scores


def run_pca(Z: Matrix) -> PCARun:
    """Find the first components of z-scores and the rows' distances from them.

    Memory beyond the table: the square of rows or columns, whichever are fewer.

    Examples
    --------
    >>> run_pca(np.array([[-1.0, -1.0], [1.0, 1.0]])).explained
    array([ 1.,  0., nan])
    """
    n_rows, n_columns = Z.shape
    wide = n_columns > n_rows
    products = Z @ Z.T if wide else Z.T @ Z
    # one more than needed, to see whether an error is left
    values, vectors = leading_components(products, N_COMPONENTS + 1)
    values = np.where(values > _NEGLIGIBLE * values[0], values, 0.0)
    kept = min(N_COMPONENTS, int(np.count_nonzero(values)) - 1)
    # of a wide table, these are already the rows' coordinates up to their lengths
    along = vectors[:, :kept] * np.sqrt(values[:kept]) if wide else Z @ vectors[:, :kept]
    squares = np.einsum("ij,ij->i", Z, Z)
    scores = np.maximum(squares - np.einsum("ij,ij->i", along, along), 0.0)
    explained, singular = np.full((2, N_COMPONENTS), np.nan)
    found = values[:N_COMPONENTS]
    explained[: len(found)] = found / squares.sum()
    singular[: len(found)] = np.sqrt(found)
    return PCARun(scores, explained, singular)
