"""Sparse matrices, made dense within bounds."""

from typing import Any

import numpy.typing as npt

from metaod.datasets.readers.arrays import check_size

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
        # indices beyond the matrix, as in a damaged file, would be written to without a check
        matrix = matrix.copy()
        matrix.check_format(full_check=True)
    dense: npt.NDArray[Any] = matrix.toarray()
    return dense
