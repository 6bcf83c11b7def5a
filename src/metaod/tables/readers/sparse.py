"""Sparse matrices, made dense within bounds."""

from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.tables.readers.arrays import check_size

__all__ = ["densify"]


def densify(matrix: Any, max_bytes: int, source: str) -> npt.NDArray[Any]:
    """Make a sparse matrix or array dense, its size and indices checked first.

    Examples
    --------
    >>> import scipy.sparse
    >>> densify(scipy.sparse.csr_array([[0, 2], [1, 0]]), 1000, "a sparse matrix")
    array([[0, 2],
           [1, 0]])
    """
    check_size(matrix.shape, source, max_bytes, what="the sparse matrix")
    if matrix.format in ("csr", "csc"):
        _check_indices(matrix)
    dense: npt.NDArray[Any] = matrix.toarray()
    return dense


def _check_indices(matrix: Any) -> None:
    """Raise ValueError where indices, as in a damaged file, lie outside the matrix.

    scipy writes to memory by them without a look, and its own ``check_format`` passes over
    pointers that end at or below 0.
    """
    starts, indices = matrix.indptr, matrix.indices
    n_starts, n_indices = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    rising = len(starts) == n_starts + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
    used = indices[: starts[-1]]
    inside = len(used) == 0 or (used.min() >= 0 and used.max() < n_indices)
    if not rising or not inside or starts[-1] > min(len(indices), len(matrix.data)):
        raise ValueError("indices of a sparse matrix lie outside it")
