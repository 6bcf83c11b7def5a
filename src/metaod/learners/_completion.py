"""Missing cells of the performance matrix, for learners that need a whole one."""

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix

__all__ = ["below_known", "completed", "least_to_unknown"]

_SWEEPS = 20


def completed(P: Matrix) -> Matrix:
    """The performance matrix with its missing cells estimated.

    A missing cell is the model's effect plus the dataset's, both fitted by least squares to the
    cells that are there: a model that is missing on the hard datasets gains nothing by it. What is
    estimated stays within the range of P. A model without any value gets a constant just below the
    lowest value of P, so that no average of its cells can win.

    Parameters
    ----------
    P : array of shape (n, m)
        Performance, NaN where missing; every row has a value.

    Examples
    --------
    >>> completed(np.array([[0.1, 0.3, 0.2], [0.4, 0.6, np.nan]])).round(3)
    array([[0.1, 0.3, 0.2],
           [0.4, 0.6, 0.5]])
    """
    known = ~np.isnan(P)
    if known.all():
        return P.copy()
    lowest, highest = float(np.nanmin(P)), float(np.nanmax(P))
    values = np.where(known, P, 0.0)
    per_model = np.maximum(known.sum(axis=0), 1)
    per_dataset = known.sum(axis=1)
    model, dataset = np.zeros(P.shape[1]), np.zeros(P.shape[0])
    for _ in range(_SWEEPS):
        model = (values - known * dataset[:, None]).sum(axis=0) / per_model
        dataset = (values - known * model).sum(axis=1) / per_dataset
    estimated = np.clip(model + dataset[:, None], lowest, highest)
    estimated[:, ~known.any(axis=0)] = lowest - 1e-6 * max(1.0, abs(lowest))
    whole: Matrix = np.where(known, P, estimated)
    return whole


def below_known(scores: Matrix, known: npt.NDArray[np.bool_]) -> Matrix:
    """Scores in which the best of a row is always one that was seen and not estimated.

    Parameters
    ----------
    scores : array of shape (n, m)
        Performance, completed.
    known : array of shape (n, m)
        Which of it was seen; in every row something was.

    Examples
    --------
    >>> scores = below_known(np.array([[0.9, 0.5, 0.1]]), np.array([[False, True, True]]))
    >>> scores.argmax(axis=1)
    array([1])
    """
    best = np.where(known, scores, -np.inf).max(axis=1, keepdims=True)
    capped: Matrix = np.where(known, scores, np.minimum(scores, np.nextafter(best, -np.inf)))
    return capped


def least_to_unknown(
    scores: Matrix, valued: npt.NDArray[np.intp] | npt.NDArray[np.bool_], *, by: float = 1.0
) -> Matrix:
    """Put the models without any value in training below all others, in place.

    Parameters
    ----------
    scores : array of shape (q, m)
        Scores; those of the models without a value do not matter.
    valued : array
        The models with a value, one at least: their places, or a mask.
    by : float, default=1.0
        How far below; where that is too little to tell, by the least that a float can be.

    Examples
    --------
    >>> least_to_unknown(np.array([[0.5, 9.0, 0.25]]), np.array([0, 2]))
    array([[ 0.5 , -0.75,  0.25]])
    """
    known = np.zeros(scores.shape[1], dtype=bool)
    known[valued] = True
    if not known.all():
        lowest = scores[:, known].min(axis=1, keepdims=True)
        scores[:, ~known] = np.minimum(lowest - by, np.nextafter(lowest, -np.inf))
    return scores
