"""ALORS: latent factors of performance, and a regression from meta-features onto them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from metaod._legal import Whole, parameters
from metaod.learners import Learner, OnStep, Shape
from metaod.learners._forests import MetaRegression
from metaod.learners._parameters import forest_parameters
from metaod.learners._training import Training, put_unknown_last
from metaod.models import Matrix
from research.learners.performance import completed

_MAX_ROUNDS = 50
_TOLERANCE = 1e-4  # stop when no missing cell moves by more than this share of P's range


def factorised(P: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    """Return factors U (n, k) and V (m, k) whose product is nearest to the known cells of P.

    Repeats a truncated singular value decomposition, with the missing cells set to the last
    product, until they settle. Every row and every column of P must have a value.
    """
    missing = np.isnan(P)
    whole = completed(P)
    width = float(np.ptp(whole))
    # on a busy machine several threads take many times as long as one
    with threadpool_limits(1):
        for _ in range(_MAX_ROUNDS):
            left, sizes, right = np.linalg.svd(whole, full_matrices=False)
            U, V = left[:, :rank] * sizes[:rank], right[:rank].T
            estimated = (U @ V.T)[missing]
            moved = np.abs(estimated - whole[missing]).max(initial=0.0)
            whole[missing] = estimated
            if moved <= _TOLERANCE * width:
                break
    return U, V


@dataclass
class ALORS(Learner):
    """Scores models by ``f(M) Vᵀ``: factors of P, and a random forest from M onto U.

    Unlike MetaOD's, the factorisation ignores meta-features and minimises the squared error of
    performance. A model without any value is always last.

    Parameters
    ----------
    rank : int, default=10
        Number of latent factors; fewer if there are fewer datasets or models.
    n_estimators : int, default=100
        Trees.
    min_samples_leaf : int, default=10
        Fewest datasets in a leaf.
    max_features : float, default=0.1
        Share of the meta-features that a split may choose from.
    random_state : int, default=0
        Seed of the forest.

    References
    ----------
    M. Mısır, M. Sebag: Alors, an algorithm recommender system. Artificial Intelligence 244, 2017.

    Examples
    --------
    >>> P = np.array([[0.1, 0.5], [0.7, 0.3]] * 20)
    >>> M = np.array([[0.0], [1.0]] * 20)
    >>> ALORS(n_estimators=10).fit(P, M).choose([0.9])
    'model 0'
    """

    rank: int = 10
    n_estimators: int = 100
    min_samples_leaf: int = 10
    max_features: float = 0.1
    random_state: int = 0

    name: ClassVar[str] = "alors"
    title: ClassVar[str] = "ALORS"
    summary: ClassVar[str] = "latent factors of performance, predicted by a random forest"
    is_random: ClassVar[bool] = True
    legal = parameters(rank=Whole(1))
    learned: ClassVar[Mapping[str, Any]] = {
        "known": Annotated[npt.NDArray[np.bool_], Shape("m")],
        "V": Shape("known", "k"),
        "regression": MetaRegression,
    }

    def _fit(self, training: Training, progress: OnStep) -> None:
        progress("factors", 0, 2)
        self.known_ = np.asarray(~np.isnan(training.P).all(axis=0))
        U, self.V_ = factorised(training.P[:, self.known_], self.rank)
        progress("forest", 1, 2)
        self.regression_ = MetaRegression.fit(training.M, U, **forest_parameters(self))
        progress("forest", 2, 2)

    def _predict(self, M: Matrix) -> Matrix:
        scores = np.empty((len(M), len(self.known_)))
        scores[:, self.known_] = self.regression_.predict(M) @ self.V_.T
        return put_unknown_last(scores, self.known_, by=0.0)

    def _check_learned(self) -> None:
        if not 0 < self.known_.sum() == len(self.V_):
            raise ValueError("the factors are not those of the known models")
        if self.regression_.forest.n_outputs != self.V_.shape[1]:
            raise ValueError("the forest does not predict the factors")
