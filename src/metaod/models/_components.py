"""Leading eigenvectors of a symmetric matrix."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from metaod.models._base import Matrix

__all__ = ["leading_components"]

_SMALL = 200  # measured: from here on, few eigenvectors are found sooner by iteration

Vector = npt.NDArray[np.float64]


def leading_components(symmetric: Matrix, k: int) -> tuple[Vector, Matrix]:
    """Eigenvalues, largest first, and eigenvectors as columns, of which there are k or all.

    Examples
    --------
    >>> leading_components(np.diag([1.0, 4.0, 2.0]), 2)[0]
    array([4., 2.])
    """
    size = len(symmetric)
    k = min(k, size)
    if size > max(_SMALL, 4 * k):
        # the same start always: the result is to be the same
        start = np.random.default_rng(0).standard_normal(size)
        try:
            values, vectors = eigsh(symmetric, k=k, which="LA", v0=start)
        except ArpackError:
            # rare: eigenvalues that lie too close together for the iteration
            pass
        else:
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
    values, vectors = eigh(symmetric, subset_by_index=[size - k, size - 1])
    return values[::-1], vectors[:, ::-1]
