"""MetaOD_C: a joint factorisation of performance and meta-features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole, parameters
from metaod.learners import Learner, OnStep, Shape
from metaod.learners._cleaning import Cleaning
from metaod.learners._training import Training, put_unknown_last
from metaod.models import Matrix
from research.learners.performance import mean_performance

_MAX_PASSES = 30  # over the missing cells of P
_TOLERANCE = 1e-4  # stop when the filled cells move by less than this share of their size


@dataclass
class MetaODC(Learner):
    """Factorises C = [P, M] ≈ U Vᵀ and reconstructs a new dataset's performance from its M.

    V holds the leading right singular vectors of C, the best factorisation of that rank in squared
    error, so that the paper's prediction ``[0 … 0; m] V Vᵀ`` is a projection. The columns of P are
    centred, so that a zero in place of the unknown performance means the model's average, and
    scaled, so that both blocks have the same weight. Missing cells of P are filled from the
    factorisation repeatedly until they settle.

    Parameters
    ----------
    k : int, default=10
        Rank; less if the datasets span less.
    centred : bool, default=True
        Whether P is centred.

    Examples
    --------
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.0], [1.0]])
    >>> MetaODC().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "metaod_c"
    title: ClassVar[str] = "MetaOD_C"
    summary: ClassVar[str] = "joint factorisation of performance and meta-features"
    legal = parameters(k=Whole(1))
    learned: ClassVar[Mapping[str, Any]] = {
        "cleaning": Cleaning,
        "mean": Shape("m"),
        "weight": float,
        "V": Shape(None, "k"),
        "valued": Annotated[npt.NDArray[np.intp], Shape("valued", below="m")],
    }

    k: int = 10
    centred: bool = True

    def _fit(self, training: Training, progress: OnStep) -> None:
        self.cleaning_ = Cleaning.fit(training.M)
        M = self.cleaning_.transform(training.M)
        missing = np.isnan(training.P)
        self.valued_ = np.flatnonzero(~missing.all(axis=0))
        means = mean_performance(training.P)
        self.mean_ = means if self.centred else np.zeros_like(means)
        P = np.where(missing, means, training.P) - self.mean_
        size_P, size_M = np.linalg.norm(P), np.linalg.norm(M)
        self.weight_ = float(size_M / size_P) if size_P > 0 and size_M > 0 else 1.0
        C = np.hstack([P * self.weight_, M])
        V = _right_vectors(C, self.k)
        holes = np.hstack([missing, np.zeros(M.shape, dtype=bool)])
        for done in range(_MAX_PASSES if missing.any() else 0):
            progress("filling missing cells", done, _MAX_PASSES)
            filled = (C @ V @ V.T)[holes]
            moved = np.linalg.norm(filled - C[holes])
            C[holes] = filled
            V = _right_vectors(C, self.k)
            if moved <= _TOLERANCE * np.linalg.norm(filled):
                break
        self.V_ = V

    def _predict(self, M: Matrix) -> Matrix:
        m = len(self.mean_)
        # the zeros in place of the performance do not change the projection
        latent = self.cleaning_.transform(M) @ self.V_[m:]
        scores = latent @ self.V_[:m].T / self.weight_ + self.mean_
        return put_unknown_last(scores, self.valued_)

    def _check_learned(self) -> None:
        if len(self.V_) != len(self.mean_) + self.cleaning_.n_features:
            raise ValueError("the vectors are not those of the models and features")
        if self.weight_ <= 0 or not len(self.valued_):
            raise ValueError("the weight is not positive, or no model has a value")


def _right_vectors(C: Matrix, k: int) -> Matrix:
    """Return the leading right singular vectors, from the smaller Gram matrix."""
    tall = C.shape[1] <= C.shape[0]
    values, vectors = np.linalg.eigh(C.T @ C if tall else C @ C.T)
    leading = values[::-1] > 1e-12 * max(values[-1], np.finfo(np.float64).tiny)
    found = vectors[:, ::-1][:, leading][:, :k]
    if not tall:
        found = C.T @ found
        found /= np.linalg.norm(found, axis=0)
    if not found.shape[1]:
        found = np.zeros((C.shape[1], 1))
    return np.ascontiguousarray(found)
