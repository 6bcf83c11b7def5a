"""The embedding phi and the regression f of latent learners; a caller can replace both."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from metaod.errors import BadParameter, UserError
from metaod.learners._state import State, StateReader
from metaod.models import Matrix

_MIN_SPREAD = 1e-9  # components with less than this share of the largest are rounding errors


class Embedding(Protocol):
    """An inductive embedding, for example a transformer of scikit-learn."""

    def fit(self, X: Matrix) -> Any: ...
    def transform(self, X: Matrix) -> Any: ...


class Regressor(Protocol):
    """A regressor with several outputs, for example one of scikit-learn."""

    def fit(self, X: Matrix, y: Matrix) -> Any: ...
    def predict(self, X: Matrix) -> Any: ...


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


def embed(phi: Embedding, X: Matrix, *, owner: str) -> Matrix:
    """Embed clean meta-features and check the result."""
    embedded = np.asarray(phi.transform(X))
    if embedded.ndim != 2 or len(embedded) != len(X) or not embedded.shape[1]:
        legal = "an embedding whose transform returns a row of numbers for each dataset"
        raise BadParameter(owner, "phi", legal, f"shape {embedded.shape} for {len(X)} datasets")
    return _finite(embedded, "phi", owner)


def regress(f: Regressor, X: Matrix, k: int, *, owner: str) -> Matrix:
    """Predict rows of U for embeddings and check the result."""
    predicted = np.asarray(f.predict(X))
    if predicted.ndim == 1 and k == 1:
        # scikit-learn drops the dimension of a single output
        predicted = predicted[:, None]
    if predicted.shape != (len(X), k):
        legal = f"a regressor that predicts {k} outputs"
        raise BadParameter(owner, "f", legal, f"shape {predicted.shape} for {len(X)} datasets")
    return _finite(predicted, "f", owner)


def _finite(values: Any, name: str, owner: str) -> Matrix:
    matrix: Matrix = values.astype(np.float64)
    if not np.isfinite(matrix).all():
        raise BadParameter(owner, name, "an object whose values are finite", "NaN or infinity")
    return matrix


def fresh_copy(part: Any) -> Any:
    """Copy a caller's object before fitting."""
    if hasattr(part, "get_params"):
        from sklearn.base import clone  # noqa: PLC0415 - slow to import; only for fitting

        return clone(part)
    return deepcopy(part)


def own_state(part: Any, kind: type[Any], name: str, *, owner: str) -> State:
    """Return the state of a part of our own class; refuse to save a caller's object."""
    if type(part) is not kind:
        what = f"{name} is a {type(part).__name__}, which cannot be saved without pickle"
        remedy = f"leave {name} at its default to save the learner, or fit it where it is used"
        raise UserError(what, where=owner, remedy=remedy)
    state: State = part.state()
    return state
