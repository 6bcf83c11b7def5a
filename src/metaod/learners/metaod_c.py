"""MetaOD_C: performance and meta-features factorised side by side."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._checks import check_count
from metaod.learners._cleaning import Cleaning
from metaod.learners._completion import least_to_unknown
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training
from metaod.learners.global_best import mean_performance

__all__ = ["MetaODC"]

_PASSES = 30
"""Passes at most that fill the missing cells of P."""
_SETTLED = 1e-4
"""The fillings have settled when they move by less than this share of their size."""


@dataclass
class MetaODC(Learner):
    """Factorises C = [P, M] ≈ U Vᵀ and reconstructs a new dataset's performance from its M.

    The paper's prediction ``[0 … 0; m] V Vᵀ`` is a projection where V has orthonormal columns:
    V holds the leading right singular vectors of C, which is the best factorisation of that rank
    in squared error. P is centred by column, so that the zeros in place of the unknown performance
    stand for "as usual" rather than for an average precision of 0, and scaled so that both blocks
    weigh the same; the column means are added back. Missing cells of P are filled from the
    factorisation itself, again and again until they settle.

    Parameters
    ----------
    k : int, default=10
        Rank; less where the datasets span less.
    centred : bool, default=True
        Whether P is centred. Without it a zero is an average precision of 0.

    Examples
    --------
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.0], [1.0]])
    >>> MetaODC().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "metaod_c"
    title: ClassVar[str] = "MetaOD_C"
    summary: ClassVar[str] = "joint factorisation of performance and meta-features"

    k: int = 10
    centred: bool = True

    def _fit(self, training: Training, progress: Progress) -> None:
        check_count(type(self).__name__, "k", self.k)
        self.cleaning_ = Cleaning.fit(training.M)
        M = self.cleaning_.transform(training.M)
        missing = np.isnan(training.P)
        self.valued_ = np.flatnonzero(~missing.all(axis=0))
        usual = mean_performance(training.P)
        self.mean_ = usual if self.centred else np.zeros_like(usual)
        P = np.where(missing, usual, training.P) - self.mean_
        size_P, size_M = np.linalg.norm(P), np.linalg.norm(M)
        self.weight_ = float(size_M / size_P) if size_P > 0 and size_M > 0 else 1.0
        C = np.hstack([P * self.weight_, M])
        V = _right_vectors(C, self.k)
        holes = np.hstack([missing, np.zeros(M.shape, dtype=bool)])
        for done in range(_PASSES if missing.any() else 0):
            progress("filling missing cells", done, _PASSES)
            filled = (C @ V @ V.T)[holes]
            moved = np.linalg.norm(filled - C[holes])
            C[holes] = filled
            V = _right_vectors(C, self.k)
            if moved <= _SETTLED * np.linalg.norm(filled):
                break
        self.V_ = V

    def _predict(self, M: Matrix) -> Matrix:
        m = len(self.mean_)
        # zeros in place of the performance add nothing to the projection
        latent = self.cleaning_.transform(M) @ self.V_[m:]
        scores = latent @ self.V_[:m].T / self.weight_ + self.mean_
        return least_to_unknown(scores, self.valued_)

    def _state(self) -> State:
        return {
            "cleaning": self.cleaning_.state(),
            "mean": self.mean_,
            "weight": self.weight_,
            "V": self.V_,
            "valued": self.valued_,
        }

    def _restore(self, reader: StateReader) -> None:
        self.cleaning_ = Cleaning.restore(reader.part("cleaning"))
        self.mean_ = reader.array("mean", ("m",))
        self.weight_ = reader.number("weight")
        if self.weight_ <= 0:
            raise reader.damaged("weight is not positive")
        self.V_ = reader.array("V", (reader.size("m") + self.cleaning_.n_features, "k"))
        self.valued_ = reader.array("valued", ("valued",), "i").astype(np.intp)
        if not len(self.valued_) or not set(self.valued_.tolist()) <= set(range(len(self.mean_))):
            raise reader.damaged("valued names a model that is not there")


def _right_vectors(C: Matrix, k: int) -> Matrix:
    """Orthonormal columns: the leading right singular vectors, from the smaller Gram matrix."""
    if C.shape[1] <= C.shape[0]:
        values, vectors = np.linalg.eigh(C.T @ C)
        leading = values[::-1] > 1e-12 * max(values[-1], np.finfo(np.float64).tiny)
        found = vectors[:, ::-1][:, leading][:, :k]
    else:
        values, vectors = np.linalg.eigh(C @ C.T)
        leading = values[::-1] > 1e-12 * max(values[-1], np.finfo(np.float64).tiny)
        found = C.T @ (vectors[:, ::-1][:, leading][:, :k])
        found /= np.linalg.norm(found, axis=0)
    if not found.shape[1]:
        found = np.zeros((C.shape[1], 1))
    return np.ascontiguousarray(found)
