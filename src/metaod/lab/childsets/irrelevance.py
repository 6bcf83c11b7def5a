"""Columns that carry nothing: copies of columns whose rows are shuffled."""

import numpy as np
import numpy.typing as npt

__all__ = ["append_irrelevant"]


def append_irrelevant(
    X: npt.NDArray[np.float64], n_columns: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Append shuffled copies of columns until there are so many.

    A copy keeps its column's distribution and loses every relation to the row. Columns are drawn
    without replacement; each is copied once before one is copied twice.

    Parameters
    ----------
    X : numpy.ndarray of shape (n_rows, d)
        The rows.
    n_columns : int
        How many columns to end with, d at least.
    rng : numpy.random.Generator
        For the draws.

    Examples
    --------
    >>> append_irrelevant(np.eye(3), 5, np.random.default_rng(0)).shape
    (3, 5)
    """
    missing = n_columns - X.shape[1]
    if missing == 0:
        return X
    rounds = -(-missing // X.shape[1])
    originals = np.concatenate([rng.permutation(X.shape[1]) for _ in range(rounds)])[:missing]
    copies = [rng.permutation(X[:, column]) for column in originals]
    return np.column_stack([X, *copies])
