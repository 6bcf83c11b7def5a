"""Scores of a learner on its own training datasets, each from a fit that never saw its origin."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.learners._base import Learner, Progress

__all__ = ["origin_folds", "out_of_fold_scores"]

Places = npt.NDArray[np.intp]


def origin_folds(groups: npt.ArrayLike, n_folds: int, *, seed: int = 0) -> Places:
    """Fold of every dataset; a fold holds about as many origins as any other, each wholly.

    Examples
    --------
    >>> folds = origin_folds(["a", "b", "a", "c"], 3)
    >>> bool(folds[0] == folds[2]), sorted(set(folds.tolist()))
    (True, [0, 1, 2])
    """
    found, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    if not 2 <= n_folds <= len(found):
        legal = f"an int in the range [2, {len(found)}], the number of origins"
        raise BadParameter("origin_folds", "n_folds", legal, n_folds)
    fold_of = np.empty(len(found), dtype=np.intp)
    fold_of[np.random.default_rng(seed).permutation(len(found))] = np.arange(len(found)) % n_folds
    return fold_of[numbers]


def out_of_fold_scores(
    learner: Learner,
    P: pd.DataFrame,
    M: pd.DataFrame,
    groups: npt.ArrayLike,
    *,
    n_folds: int = 10,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Scores over models for every dataset, from a fit without its origin.

    Parameters
    ----------
    learner : Learner
        What to fit; it is left as it is.
    P, M, groups
        As for :meth:`Learner.fit`.
    n_folds : int, default=10
        Number of fits.
    progress : callable, optional
        Told of progress.
    """
    scores = pd.DataFrame(np.nan, index=P.index, columns=P.columns)
    for fold, held_out in _folds(groups, n_folds):
        fresh = replace(learner).fit(P[~held_out], M[~held_out], np.asarray(groups)[~held_out])
        scores[held_out] = fresh.predict(M[held_out])[P.columns].to_numpy()
        if progress is not None:
            progress("calibrating", fold + 1, n_folds)
    return scores


def _folds(groups: npt.ArrayLike, n_folds: int) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    folds = origin_folds(groups, n_folds)
    for fold in range(n_folds):
        yield fold, folds == fold
