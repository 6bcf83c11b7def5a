"""phi: meta-features to a few latent dimensions, for datasets seen and unseen."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners._state import State, StateReader

__all__ = ["Embedding", "PCAEmbedding", "embed"]

Matrix = npt.NDArray[np.float64]

_ATTAINABLE = 1e-9
"""A component with less than this share of the largest one's spread is rounding."""


class Embedding(Protocol):
    """An inductive embedding: any transformer of scikit-learn is one."""

    def fit(self, X: Matrix) -> Any:
        """Learn from clean meta-features (n, d)."""

    def transform(self, X: Matrix) -> Any:
        """Embed clean meta-features (q, d) into (q, k)."""


@dataclass
class PCAEmbedding:
    """Principal components of clean meta-features, on a scale that a factorisation can start from.

    All components are divided by one number, such that the squared length of a row is 1 on average
    over the training datasets: against a model matrix drawn from a unit normal, the predicted
    scores then start with a spread of 1, and the sigmoid's sharpness means the same for every k.

    Parameters
    ----------
    k : int
        Number of components; fewer where the training datasets span fewer.
    intercept : bool, default=False
        Whether a further dimension is 1 for every dataset. Components are centred, so that without
        it the middle of all datasets has scores of zero for every model.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> PCAEmbedding(2).fit(X).transform(X).round(2).ravel().tolist()
    [-1.22, 0.0, 1.22]
    """

    k: int
    intercept: bool = False

    def fit(self, X: Matrix) -> Self:
        """Learn the components from clean meta-features (n, d)."""
        self.mean_ = X.mean(axis=0)
        _, spreads, directions = np.linalg.svd(X - self.mean_, full_matrices=False)
        largest = spreads.max(initial=0.0)
        count = min(self.k, int((spreads > _ATTAINABLE * largest).sum()))
        # without any component or intercept a dimension of zeros is left
        size = max(1, count + self.intercept)
        self.components_ = np.zeros((X.shape[1], size))
        self.offset_ = np.zeros(size)
        self.offset_[count:] = float(self.intercept)
        if not count:
            return self
        directions = directions[:count]
        # a singular vector's sign is arbitrary: its largest entry is made positive
        largest_at = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(count), largest_at])
        length = np.sqrt((spreads[:count] ** 2).sum() / len(X))
        self.components_[:, :count] = (directions * signs[:, None]).T / length
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Embed clean meta-features (q, d) into (q, k)."""
        embedded: Matrix = (X - self.mean_) @ self.components_ + self.offset_
        return embedded

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        return {"mean": self.mean_, "components": self.components_, "offset": self.offset_}

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave; ``reader`` knows the number of clean features."""
        mean = reader.array("mean", ("kept",))
        components = reader.array("components", ("kept", "k"))
        found = cls(reader.size("k"))
        found.mean_, found.components_ = mean, components
        found.offset_ = reader.array("offset", ("k",))
        return found


def embed(phi: Embedding, X: Matrix, *, owner: str) -> Matrix:
    """What ``phi`` makes of clean meta-features, checked: it may be anybody's."""
    embedded = np.asarray(phi.transform(X))
    if embedded.ndim != 2 or len(embedded) != len(X) or not embedded.shape[1]:
        legal = "an embedding whose transform gives a row of numbers for each dataset"
        raise BadParameter(owner, "phi", legal, f"shape {embedded.shape} for {len(X)} datasets")
    embedded = embedded.astype(np.float64)
    if not np.isfinite(embedded).all():
        raise BadParameter(owner, "phi", "an embedding whose values are finite", "NaN or infinity")
    return embedded
