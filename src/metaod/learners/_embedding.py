"""The embedding phi of meta-features, where MetaOD's dataset matrix starts."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from metaod.learners._state import State, StateReader
from metaod.models import Matrix

_MIN_SPREAD = 1e-9  # components with less than this share of the largest are rounding errors


@dataclass
class PCAEmbedding:
    """Principal components of clean meta-features, scaled as a start for the factorisation.

    ``length`` is the root of the mean squared length of a row over the training datasets, so scores
    have the same spread for every k. Components are divided by one number, or, if ``standardised``,
    each by its own standard deviation: all then have the same weight. The intercept is a further
    dimension that is 1 for every dataset: without it, an average dataset scores only 0.
    """

    k: int
    intercept: bool = False
    standardised: bool = False
    length: float = 1.0

    def fit(self, X: Matrix) -> Self:
        self.mean_ = X.mean(axis=0)
        _, spreads, directions = np.linalg.svd(X - self.mean_, full_matrices=False)
        largest = spreads.max(initial=0.0)
        count = min(self.k, int((spreads > _MIN_SPREAD * largest).sum()))
        # without components and intercept one dimension of zeros is left
        size = max(1, count + self.intercept)
        self.components_ = np.zeros((X.shape[1], size))
        self.offset_ = np.zeros(size)
        self.offset_[count:] = float(self.intercept)
        if not count:
            return self
        directions = directions[:count]
        # the sign of a singular vector is arbitrary: make its largest entry positive
        largest_at = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(count), largest_at])
        lengths = spreads[:count] / np.sqrt(len(X))
        if self.standardised:
            lengths *= np.sqrt(count)
        else:
            lengths = np.sqrt((lengths**2).sum())
        self.components_[:, :count] = (directions * signs[:, None]).T * (self.length / lengths)
        return self

    def transform(self, X: Matrix) -> Matrix:
        embedded: Matrix = (X - self.mean_) @ self.components_ + self.offset_
        return embedded

    def state(self) -> State:
        return {"mean": self.mean_, "components": self.components_, "offset": self.offset_}

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        found = cls(reader.size("k"))
        found.mean_ = reader.array("mean", ("kept",))
        found.components_ = reader.array("components", ("kept", "k"))
        found.offset_ = reader.array("offset", ("k",))
        return found
