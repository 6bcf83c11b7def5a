"""Principal components as a landmarker: variances, and reconstruction errors as scores."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.models._base import Matrix, Scores
from metaod.models._components import leading_components

__all__ = ["N_COMPONENTS", "PCARun", "run_pca"]

N_COMPONENTS = 3
"""Components that are looked at."""

_RANK = 1e-12  # eigenvalues below this share of the largest are rounding

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PCARun:
    """A run of PCA.

    Parameters
    ----------
    scores : ndarray of float
        Squared reconstruction error of each row from the first three components; from fewer where
        they would leave no error: from all but one component of the table.
    explained : ndarray of float
        Share of the variance on each of the first three components; NaN where there are fewer.
    singular_values : ndarray of float
        The first three singular values of the matrix; NaN where there are fewer.
    """

    scores: Scores
    explained: Vector
    singular_values: Vector


def run_pca(Z: Matrix) -> PCARun:
    """Find the first components of z-scores, and how far rows lie from them.

    Memory beyond the table: the square of rows or columns, whichever are fewer.

    Examples
    --------
    >>> run_pca(np.array([[-1.0, -1.0], [1.0, 1.0]])).explained
    array([ 1.,  0., nan])
    """
    n_rows, n_columns = Z.shape
    wide = n_columns > n_rows
    products = Z @ Z.T if wide else Z.T @ Z
    # one more than is asked for, to tell whether any error is left
    values, vectors = leading_components(products, N_COMPONENTS + 1)
    values = np.where(values > _RANK * values[0], values, 0.0)
    rank = int(np.count_nonzero(values))
    kept = min(N_COMPONENTS, rank - 1)
    # of a wide table these are the rows' coordinates already, but for their lengths
    along = vectors[:, :kept] * np.sqrt(values[:kept]) if wide else Z @ vectors[:, :kept]
    squares = np.einsum("ij,ij->i", Z, Z)
    errors = squares - np.einsum("ij,ij->i", along, along)
    scores = np.maximum(errors, 0.0)
    explained, singular = np.full((2, N_COMPONENTS), np.nan)
    found = values[:N_COMPONENTS]
    explained[: len(found)] = found / squares.sum()
    singular[: len(found)] = np.sqrt(found)
    return PCARun(scores, explained, singular)
