"""f: from the embedding of a dataset's meta-features to its row of the dataset matrix."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners._forests import FlatForest
from metaod.learners._state import State, StateReader

__all__ = ["ForestRegression", "Regressor", "regress"]

Matrix = npt.NDArray[np.float64]


class Regressor(Protocol):
    """A regression with several outputs: any such regressor of scikit-learn is one."""

    def fit(self, X: Matrix, y: Matrix) -> Any:
        """Learn to map embeddings (n, k) onto rows of U (n, k)."""

    def predict(self, X: Matrix) -> Any:
        """Rows of U (q, k) for embeddings (q, k)."""


@dataclass
class ForestRegression:
    """A random forest, flattened to arrays once it is fitted.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    min_samples_leaf : int, default=1
        Datasets that a leaf holds at least.
    random_state : int, default=0
        Seed.
    """

    n_estimators: int = 100
    min_samples_leaf: int = 1
    random_state: int = 0

    def fit(self, X: Matrix, y: Matrix) -> Self:
        """Learn to map embeddings (n, k) onto rows of U (n, k)."""
        self.forest_ = FlatForest.fit(
            X,
            y,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )
        return self

    def predict(self, X: Matrix) -> Matrix:
        """Rows of U (q, k) for embeddings (q, k)."""
        return self.forest_.predict(X)

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        return self.forest_.state()

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave; ``reader`` knows the sizes of both sides, k."""
        found = cls()
        found.forest_ = FlatForest.restore(reader)
        k = reader.size("k")
        if found.forest_.n_features != k or found.forest_.n_outputs != k:
            raise reader.damaged("the forest does not map the embedding onto the dataset matrix")
        return found


def regress(f: Regressor, X: Matrix, k: int, *, owner: str) -> Matrix:
    """What ``f`` makes of embeddings, checked: it may be anybody's."""
    found = np.asarray(f.predict(X))
    if found.ndim == 1 and k == 1:
        # scikit-learn drops the dimension of a lone output
        found = found[:, None]
    if found.shape != (len(X), k):
        legal = f"a regressor that predicts {k} outputs"
        raise BadParameter(owner, "f", legal, f"shape {found.shape} for {len(X)} datasets")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise BadParameter(owner, "f", "a regressor whose values are finite", "NaN or infinity")
    return found
