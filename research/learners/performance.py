"""Estimates of missing performance."""

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix

_SWEEPS = 20


def mean_performance(P: Matrix) -> Matrix:
    """Mean of each column over its known values; lower than all others for an empty column."""
    known = ~np.isnan(P)
    counts = known.sum(axis=0)
    sums = np.where(known, P, 0.0).sum(axis=0)
    means: Matrix = np.divide(sums, counts, out=np.full(P.shape[1], np.nan), where=counts > 0)
    means[counts == 0] = np.nextafter(np.nanmin(means), -np.inf)
    return means


def completed(P: Matrix) -> Matrix:
    """Estimate the missing cells of a performance matrix; every row has a value.

    A missing cell is the model's effect plus the dataset's, both fitted by least squares to the
    known cells: a model that is missing on hard datasets gains nothing. Estimates stay within the
    range of P. A model without any value gets a constant just below the lowest value of P.
    """
    known = ~np.isnan(P)
    if known.all():
        return P.copy()
    lowest, highest = float(np.nanmin(P)), float(np.nanmax(P))
    values = np.where(known, P, 0.0)
    per_model, per_dataset = np.maximum(known.sum(axis=0), 1), known.sum(axis=1)
    model, dataset = np.zeros(P.shape[1]), np.zeros(P.shape[0])
    for _ in range(_SWEEPS):
        model = (values - known * dataset[:, None]).sum(axis=0) / per_model
        dataset = (values - known * model).sum(axis=1) / per_dataset
    estimated = np.clip(model + dataset[:, None], lowest, highest)
    estimated[:, ~known.any(axis=0)] = lowest - 1e-6 * max(1.0, abs(lowest))
    return np.where(known, P, estimated)


def below_known(scores: Matrix, known: npt.NDArray[np.bool_]) -> Matrix:
    """Cap estimated scores (n, m) below the best known score of their row."""
    best = np.where(known, scores, -np.inf).max(axis=1, keepdims=True)
    return np.where(known, scores, np.minimum(scores, np.nextafter(best, -np.inf)))
