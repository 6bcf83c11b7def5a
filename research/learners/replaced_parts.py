"""An embedding phi and a regression f in place of MetaOD's own."""

from copy import deepcopy
from typing import Any, Protocol

import numpy as np

from metaod.errors import BadParameter, UserError
from metaod.models import Matrix


class Embedding(Protocol):
    """A fitted embedding, for example a transformer of scikit-learn."""

    def transform(self, X: Matrix) -> Any: ...


class Regressor(Protocol):
    """A regressor with several outputs, for example one of scikit-learn."""

    def fit(self, X: Matrix, y: Matrix) -> Any: ...
    def predict(self, X: Matrix) -> Any: ...


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


def check_own(part: Any, kind: type[Any], name: str, *, owner: str) -> None:
    """Refuse to save a caller's object."""
    if type(part) is not kind:
        what = f"{name} is a {type(part).__name__}, which cannot be saved without pickle"
        remedy = f"leave {name} at its default to save the learner, or fit it where it is used"
        raise UserError(what, where=owner, remedy=remedy)
