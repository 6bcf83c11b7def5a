"""ALORS: latent factors of performance alone, and a regression from meta-features onto them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._checks import check_count, check_forest
from metaod.learners._completion import completed, least_to_unknown
from metaod.learners._meta_regression import MetaRegression
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["ALORS", "factorised"]

_ROUNDS = 50
"""Decompositions at most."""
_TOLERANCE = 1e-4
"""The missing cells have settled when none moves by more than this share of P's range."""


def factorised(P: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    """The factors U (n, k) and V (m, k) whose product is nearest to the cells that are there.

    A truncated singular value decomposition, repeated with the missing cells set to the last
    product's until none of them moves by more than 0.0001 of the range of P, 50 times at most; at
    first they are estimated by :func:`~metaod.learners._completion.completed`.

    Parameters
    ----------
    P : array of shape (n, m)
        Performance, NaN where missing; every row and every column has a value.
    rank : int
        Largest number of factors, k.

    Examples
    --------
    >>> P = np.outer([1.0, 2.0, 3.0], [1.0, 2.0])
    >>> U, V = factorised(P, 1)
    >>> bool(np.allclose(U @ V.T, P))
    True
    """
    missing = np.isnan(P)
    whole = completed(P)
    width = float(np.ptp(whole))
    # threads that wait for one another on a busy machine take many times as long as one
    with threadpool_limits(1):
        for _ in range(_ROUNDS):
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
    """Scores models by ``f(M) Vᵀ``: factors of P alone, and a random forest from M onto U.

    Unlike MetaOD, the factorisation does not know of meta-features, and it minimises the squared
    error of performance. A model without any value takes no part and is always last.

    Parameters
    ----------
    rank : int, default=10
        Number of latent factors; fewer where there are fewer datasets or models.
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

    def _fit(self, training: Training, progress: Progress) -> None:
        owner = type(self).__name__
        check_count(owner, "rank", self.rank)
        check_forest(
            owner,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
        )
        progress("factors", 0, 2)
        self.known_ = np.asarray(~np.isnan(training.P).all(axis=0))
        U, self.V_ = factorised(training.P[:, self.known_], self.rank)
        progress("forest", 1, 2)
        forest = {name: value for name, value in self.params().items() if name != "rank"}
        self.regression_ = MetaRegression.fit(training.M, U, **forest)
        progress("forest", 2, 2)

    def _predict(self, M: Matrix) -> Matrix:
        scores = np.empty((len(M), len(self.known_)))
        scores[:, self.known_] = self.regression_.predict(M) @ self.V_.T
        return least_to_unknown(scores, self.known_, by=0.0)

    def _state(self) -> State:
        return {"known": self.known_, "V": self.V_, "regression": self.regression_.state()}

    def _restore(self, reader: StateReader) -> None:
        self.known_ = reader.array("known", ("m",), "b")
        if not self.known_.any():
            raise reader.damaged("known names no model")
        self.V_ = reader.array("V", (int(self.known_.sum()), "k"))
        self.regression_ = MetaRegression.restore(reader.part("regression"), reader.size("k"))
