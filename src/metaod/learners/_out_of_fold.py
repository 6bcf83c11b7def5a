"""Scores of a learner for its training datasets, each from a fit without the dataset's origin."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.learners._base import Learner, Progress


def origin_folds(groups: npt.ArrayLike, n_folds: int, *, seed: int = 0) -> npt.NDArray[np.intp]:
    """Assign datasets to folds of whole origins; all folds hold about equally many origins.

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
    """Score the models for every dataset by a fit without its origin.

    Parameters
    ----------
    learner : Learner
        Copies of it are fitted.
    P, M, groups
        As for :meth:`Learner.fit`.
    n_folds : int, default=10
        Number of fits.
    progress : callable, optional
        Called after each fit.
    """
    scores = pd.DataFrame(np.nan, index=P.index, columns=P.columns)
    folds, origins = origin_folds(groups, n_folds), np.asarray(groups)
    for fold in range(n_folds):
        out = folds == fold
        fitted = replace(learner).fit(P[~out], M[~out], origins[~out])
        scores[out] = fitted.predict(M[out])[P.columns].to_numpy()
        if progress is not None:
            progress("calibrating", fold + 1, n_folds)
    return scores
