"""The embedding phi of meta-features, where MetaOD's dataset matrix starts."""

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from metaod.learners._state import Shape
from metaod.models import Matrix

_MIN_SPREAD = 1e-9  # components with less than this share of the largest are rounding errors


@dataclass(frozen=True)
class PCAEmbedding:
    """Principal components of clean meta-features, scaled as a start for the factorisation."""

    mean: Annotated[Matrix, Shape("kept")]
    components: Annotated[Matrix, Shape("kept", "k")]
    offset: Annotated[Matrix, Shape("k")]

    @classmethod
    def fit(
        cls,
        X: Matrix,
        k: int,
        *,
        intercept: bool = False,
        standardised: bool = False,
        length: float = 1.0,
    ) -> Self:
        """Fit to clean meta-features of training datasets.

        ``length`` is the root of the mean squared length of a row over these datasets, so scores
        have the same spread for every k. Components are divided by one number, or, if
        ``standardised``, each by its own standard deviation: all then have the same weight. The
        intercept is a further dimension that is 1 for every dataset: without it, an average dataset
        scores only 0.
        """
        mean = X.mean(axis=0)
        _, spreads, directions = np.linalg.svd(X - mean, full_matrices=False)
        count = min(k, int((spreads > _MIN_SPREAD * spreads.max(initial=0.0)).sum()))
        # without components and intercept one dimension of zeros is left
        size = max(1, count + intercept)
        components, offset = np.zeros((X.shape[1], size)), np.zeros(size)
        offset[count:] = float(intercept)
        if count:
            directions = directions[:count]
            # the sign of a singular vector is arbitrary: make its largest entry positive
            largest_at = np.abs(directions).argmax(axis=1)
            signs = np.sign(directions[np.arange(count), largest_at])
            lengths = spreads[:count] / np.sqrt(len(X))
            lengths = lengths * np.sqrt(count) if standardised else np.sqrt((lengths**2).sum())
            components[:, :count] = (directions * signs[:, None]).T * (length / lengths)
        return cls(mean, components, offset)

    def transform(self, X: Matrix) -> Matrix:
        """Embed clean meta-features (q, d')."""
        embedded: Matrix = (X - self.mean) @ self.components + self.offset
        return embedded
