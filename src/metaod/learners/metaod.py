"""MetaOD: the paper's learner."""

from dataclasses import dataclass
from typing import ClassVar

from metaod.learners._rank_based import RankBased
from metaod.learners._regressed import Regressed

__all__ = ["MetaODLearner"]


@dataclass
class MetaODLearner(Regressed, RankBased):
    """Factorises the performance matrix by rank, then regresses meta-features onto the factors.

    Meta-features are cleaned and embedded (phi); U starts there and V at a unit normal; both move
    against the true gradient of the smoothed DCG; a random forest f learns the way from the
    embedding to the final U. A new dataset's scores are ``f(phi(m)) Vᵀ``. `docs/learning.md`
    explains it from the paper to the code, and how the defaults were chosen.

    Parameters
    ----------
    k, intercept, epochs, learning_rate, lowest_rate, cycle, schedule, initialisation,
    tolerance
        Factorisation: see :class:`~metaod.learners._latent.LatentLearner`.
    early_stopping, held_out, patience
        When it stops: see there.
    base, alpha, relevance
        Smoothed DCG: see :class:`~metaod.learners._rank_based.RankBased`.
    n_estimators, min_samples_leaf
        Forest: see :class:`~metaod.learners._regressed.Regressed`.
    phi, f
        Embedding and regressor in place of PCA and the forest.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]] * 9), np.array([[0.0], [1.0]] * 9)
    >>> MetaODLearner().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "metaod"
    title: ClassVar[str] = "MetaOD"
    summary: ClassVar[str] = "rank-based factorisation, meta-features regressed onto its factors"
