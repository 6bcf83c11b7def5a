"""Regression from raw meta-features onto anything, by a random forest."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.learners._cleaning import Cleaning
from metaod.learners._forests import FlatForest
from metaod.learners._state import State, StateReader
from metaod.models import Matrix

__all__ = ["MetaRegression"]


@dataclass(frozen=True)
class MetaRegression:
    """A cleaning of meta-features and a forest behind it.

    Parameters
    ----------
    cleaning : Cleaning
        Fitted on the training datasets.
    forest : FlatForest
        Fitted on what the cleaning gives.
    """

    cleaning: Cleaning
    forest: FlatForest

    @classmethod
    def fit(cls, M: Matrix, Y: Matrix, **params: Any) -> Self:
        """Fit from raw meta-features (n, d) onto targets (n, outputs); ``params`` of the forest."""
        cleaning = Cleaning.fit(M)
        return cls(cleaning, FlatForest.fit(_columns(cleaning, M), Y, **params))

    def predict(self, M: Matrix) -> Matrix:
        """Targets (q, outputs) for raw meta-features (q, d)."""
        return self.forest.predict(_columns(self.cleaning, M))

    def leaves(self, M: Matrix) -> npt.NDArray[np.intp]:
        """The leaf that each dataset, by raw meta-features (n, d), meets in each tree."""
        return self.forest.leaves(_columns(self.cleaning, M))

    def shares(self, leaves: npt.NDArray[np.intp], M: Matrix) -> Matrix:
        """Weights (q, n) that datasets (q, d) give to those whose leaves these are."""
        return self.forest.shares(leaves, _columns(self.cleaning, M))

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        return {"cleaning": self.cleaning.state(), "forest": self.forest.state()}

    @classmethod
    def restore(cls, reader: StateReader, n_outputs: int) -> Self:
        """Take back what :meth:`state` gave, if it fits together and has that many outputs."""
        cleaning = Cleaning.restore(reader.part("cleaning"))
        forest = FlatForest.restore(reader.part("forest"))
        if forest.n_features != max(cleaning.n_features, 1):
            raise reader.damaged("the forest has other features than the cleaning gives")
        if forest.n_outputs != n_outputs:
            raise reader.damaged(f"the forest has {forest.n_outputs} outputs, not {n_outputs}")
        return cls(cleaning, forest)


def _columns(cleaning: Cleaning, M: Matrix) -> Matrix:
    clean = cleaning.transform(M)
    # scikit-learn fits on one column at least; where nothing varies there is none
    return clean if cleaning.n_features else np.zeros((len(M), 1))
