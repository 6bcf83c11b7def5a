"""Array types of the package, and a matrix product that treats every row alike."""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]

_ROWS, _COLUMNS = 256, 64  # of a block


def product(X: Matrix, weights: Matrix) -> Matrix:
    """Return ``X @ weights``; the result of a row does not depend on the other rows.

    BLAS computes the last rows of a matrix, and many columns, with other instructions than the
    rest, so that the last bits differ. In blocks of one shape, filled up with zeros, all rows are
    computed alike.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    n_rows, n_columns = X.shape
    n_blocks = -(-n_rows // _ROWS)
    filled = np.zeros((n_blocks * _ROWS, n_columns))
    filled[:n_rows] = X
    blocks = filled.reshape(n_blocks, _ROWS, n_columns)
    parts = [
        blocks @ np.ascontiguousarray(weights[:, start : start + _COLUMNS])
        for start in range(0, weights.shape[1], _COLUMNS)
    ]
    return np.concatenate(parts, axis=2).reshape(n_blocks * _ROWS, weights.shape[1])[:n_rows]
