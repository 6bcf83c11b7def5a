"""MetaOD, the paper's learner: factors of performance by rank, predicted from meta-features."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from metaod._legal import Number, Whole, parameters
from metaod._state import Shape
from metaod.errors import BadParameter, UserError
from metaod.learners._base import Learner, OnStep
from metaod.learners._cleaning import Cleaning
from metaod.learners._dcg import descend, gains
from metaod.learners._forests import FlatForest
from metaod.learners._parameters import forest_parameters
from metaod.learners._training import Training, put_unknown_last
from metaod.models import Matrix

_LEVELS = 4096.0  # levels of U, on each side of 0, that the forest tells apart
_MIN_SPREAD = 1e-9  # components with less than this share of the largest are rounding errors
_NEGLIGIBLE = 1e-3  # difference of two scores that is ignored, in standard deviations


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
        return np.asarray((X - self.mean) @ self.components + self.offset)


@dataclass
class MetaODLearner(Learner):
    """Factorises the performance matrix by rank, then regresses meta-features onto the factors.

    Meta-features are cleaned and embedded (phi). U starts at the embedding and V at 0; both move
    against the gradient of the smoothed DCG until they converge. A random forest f learns to
    map the embedding onto the final U. The scores of a new dataset are ``f(phi(m)) Vᵀ``.
    `docs/learning.md` explains it from the paper to the code, and the choice of the defaults.

    Parameters
    ----------
    k : int
        Latent dimensions; fewer if the meta-features span fewer.
    intercept : bool
        Whether PCA's components are joined by a dimension that starts at 1 for every dataset.
    standardised : bool
        Whether each component is divided by its own standard deviation, or all by one number.
    length : float
        Root of the mean squared length of a dataset's components.
    epochs : int
        Number of steps over all datasets.
    learning_rate : float
        Rate of the first step; it falls linearly to 0.
    base : float
        b in the gain ``b ** P - 1`` of a model; a larger one puts more weight on the best models.
    alpha : float
        Sharpness of the sigmoid that approximates "is ranked above".
    n_estimators, min_samples_leaf, max_depth : int
        Trees of the forest f, the minimal number of datasets in a leaf, and the maximal depth.
    random_state : int, default=0
        Seed of the forest.

    Attributes
    ----------
    U_, V_ : array of shape (n, k) and (m, k)
        Dataset matrix and model matrix, with models ordered by id.
    losses_ : list of float
        Mean loss of a dataset before each step.

    Examples
    --------
    >>> import numpy as np
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]] * 9), np.array([[0.0], [1.0]] * 9)
    >>> MetaODLearner().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "metaod"
    title: ClassVar[str] = "MetaOD"
    summary: ClassVar[str] = "rank-based factorisation, meta-features regressed onto its factors"
    is_random: ClassVar[bool] = True
    legal = parameters(
        k=Whole(1),
        epochs=Whole(1),
        length=Number(0),
        learning_rate=Number(0),
        base=Number(1),
        alpha=Number(0),
    )
    learned: ClassVar[Mapping[str, Any]] = {
        "cleaning": Cleaning,
        "phi": PCAEmbedding,
        "V": Shape("m", "k"),
        "valued": Annotated[npt.NDArray[np.intp], Shape("valued", below="m")],
        "f": FlatForest,
    }

    k: int = 30
    intercept: bool = True
    standardised: bool = True
    length: float = 2.0
    epochs: int = 200
    learning_rate: float = 0.02
    base: float = 2.0
    alpha: float = 1.0
    n_estimators: int = 200
    min_samples_leaf: int = 1
    max_depth: int | None = None
    random_state: int = 0

    def _fit(self, training: Training, progress: OnStep) -> None:
        # equal models must stay equal: a difference of rounding would grow between them
        first, group = _distinct(training.P)
        U, V = self._factors(training, self._targets(training.P[:, first]), progress)
        if not (np.isfinite(U).all() and np.isfinite(V).all()):
            what = "the factorisation left the range of floating-point numbers"
            raise UserError(what, where=type(self).__name__, remedy="lower learning_rate")
        self.U_, self.V_ = U, V[group]
        self.valued_ = np.flatnonzero((~np.isnan(training.P)).any(axis=0))
        self._fit_regression(self._embed(training.M), U)

    def _targets(self, P: Matrix) -> Matrix:
        with np.errstate(over="ignore"):
            targets = gains(P, self.base)
        if np.isinf(targets).any():
            legal = f"small enough for base ** P to be finite, P being {np.nanmax(np.abs(P)):g}"
            raise BadParameter(type(self).__name__, "base", legal, self.base)
        return targets

    def _factors(
        self, training: Training, targets: Matrix, progress: OnStep
    ) -> tuple[Matrix, Matrix]:
        self._fit_embedding(training.M)
        U = self._embed(training.M)
        V = np.zeros((targets.shape[1], U.shape[1]))
        self.losses_ = []
        for loss in descend(targets, U, V, self.alpha, self.epochs, self.learning_rate):
            self.losses_.append(loss)
            progress("factorising", len(self.losses_), self.epochs)
        return U, V

    def _fit_embedding(self, M: Matrix) -> None:
        self.cleaning_ = Cleaning.fit(M)
        self.phi_ = PCAEmbedding.fit(
            self.cleaning_.transform(M),
            self.k,
            intercept=self.intercept,
            standardised=self.standardised,
            length=self.length,
        )

    def _embed(self, M: Matrix) -> Matrix:
        return self.phi_.transform(self.cleaning_.transform(M))

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        # sums of integers are exact: rounding does not decide between equally good splits
        largest = np.abs(U).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0) / _LEVELS
        forest = FlatForest.fit(embedded, np.round(U / unit), **forest_parameters(self))
        self.f_ = replace(forest, values=forest.values * unit)

    def _latent(self, embedded: Matrix) -> Matrix:
        """Return rows of the dataset matrix for embeddings of new datasets."""
        return self.f_.predict(embedded)

    def _predict(self, M: Matrix) -> Matrix:
        scores = self._latent(self._embed(M)) @ self.V_.T
        # smaller differences are rounding, or mean nothing: the ids of the models decide
        unit = _NEGLIGIBLE * scores.std(axis=1, keepdims=True)
        rounded = np.divide(scores, unit, out=np.zeros_like(scores), where=unit > 0).round() * unit
        return put_unknown_last(np.where(unit > 0, rounded, scores), self.valued_)

    def _check_learned(self) -> None:
        if not len(self.valued_):
            raise ValueError("no model has a value")
        k = self.V_.shape[1]
        if "f" in self.learned and not self.f_.n_features == self.f_.n_outputs == k:
            raise ValueError("the forest does not map the embedding onto the dataset matrix")


def _distinct(P: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first of each set of equal columns, and the set of each column."""
    known = np.where(np.isnan(P), -np.inf, P.round(9))
    _, first, group = np.unique(known, axis=1, return_index=True, return_inverse=True)
    # in the order of their first appearance, not of their values
    order = np.argsort(first)
    return first[order], np.argsort(order)[group.reshape(-1)]
