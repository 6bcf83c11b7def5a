"""MetaOD, the paper's learner, and two variants: MetaOD_F and a squared-error loss."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from metaod.errors import BadParameter
from metaod.learners._dcg import dcg_loss, gains
from metaod.learners._embedding import Regressor, fresh_copy, own_state, regress
from metaod.learners._forests import FlatForest
from metaod.learners._latent import LatentLearner
from metaod.learners._parameters import check_forest, check_options, check_ranges, forest_parameters
from metaod.learners._state import State, StateReader
from metaod.models import Matrix

_LEVELS = 4096.0  # levels of U, on each side of 0, that the forest tells apart


@dataclass
class _RankBased(LatentLearner):
    """A factorisation that maximises the smoothed DCG, the paper's criterion."""

    # b in the gain b ** P - 1; a larger one puts more weight on the best models
    base: float = 2.0
    alpha: float = 1.0  # sharpness of the sigmoid that approximates "is ranked above"
    # whether gains are computed from performance, as in the paper, or from performance scaled to
    # [0, 1] within each dataset, so all datasets have the same weight
    relevance: Literal["performance", "row"] = "performance"

    def _targets(self, P: Matrix) -> Matrix:
        if self.relevance == "row":
            low = np.nanmin(P, axis=1, keepdims=True)
            width = np.nanmax(P, axis=1, keepdims=True) - low
            P = (P - low) / np.where(width > 0, width, 1.0)
        with np.errstate(over="ignore"):
            targets = gains(P, self.base)
        if np.isinf(targets).any():
            legal = f"small enough for base ** P to be finite, P being {np.nanmax(np.abs(P)):g}"
            raise BadParameter(type(self).__name__, "base", legal, self.base)
        return targets

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        return float(dcg_loss(targets, U, V, self.alpha).mean())

    def _check(self) -> None:
        super()._check()
        check_ranges(self, base="(1, inf)", alpha="(0, inf)")
        check_options(self, relevance=("performance", "row"))


@dataclass
class _Regressed(LatentLearner):
    """A factorisation with a regression f from the embedding to the rows of U."""

    n_estimators: int = 200  # trees of the forest
    min_samples_leaf: int = 1  # fewest datasets in a leaf
    max_depth: int | None = None  # of a tree
    f: Regressor | None = None  # regressor with several outputs in place of the forest

    def _forest(self, embedded: Matrix, Y: Matrix) -> FlatForest:
        return FlatForest.fit(embedded, Y, **forest_parameters(self))

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        if self.f is None:
            # sums of integers are exact: rounding does not decide between equally good splits
            largest = np.abs(U).max(axis=0)
            unit = np.where(largest > 0, largest, 1.0) / _LEVELS
            forest = self._forest(embedded, np.round(U / unit))
            self.f_: Any = replace(forest, values=forest.values * unit)
        else:
            self.f_ = fresh_copy(self.f)
            self.f_.fit(embedded, U[:, 0] if U.shape[1] == 1 else U)

    def _held_out_latent(self, embedded: Matrix, held_out: Matrix) -> Callable[[Matrix], Matrix]:
        # fitting f after every epoch would take longer than the factorisation; a forest fitted once
        # on the embedding has similar leaves, whose weights are one matrix
        forest = self._forest(embedded, embedded)
        weights = forest.leaf_weights(forest.leaves(embedded), held_out)
        return lambda U: weights @ U

    def _latent(self, embedded: Matrix) -> Matrix:
        return regress(self.f_, embedded, self.V_.shape[1], owner=type(self).__name__)

    def _check(self) -> None:
        super()._check()
        check_forest(self)

    def _state(self) -> State:
        f = own_state(self.f_, FlatForest, "f", owner=type(self).__name__)
        return {**super()._state(), "f": f}

    def _restore(self, reader: StateReader) -> None:
        super()._restore(reader)
        forest, k = FlatForest.restore(reader.part("f")), self.V_.shape[1]
        if forest.n_features != k or forest.n_outputs != k:
            raise reader.damaged("the forest does not map the embedding onto the dataset matrix")
        self.f_ = forest


@dataclass
class MetaODLearner(_Regressed, _RankBased):
    """Factorises the performance matrix by rank, then regresses meta-features onto the factors.

    Meta-features are cleaned and embedded (phi). U starts at the embedding and V at 0; both move
    against the gradient of the smoothed DCG until they come to rest. A random forest f learns to
    map the embedding onto the final U. The scores of a new dataset are ``f(phi(m)) Vᵀ``.
    `docs/learning.md` explains it from the paper to the code, and the choice of the defaults.

    Parameters
    ----------
    k, intercept, standardised, length, epochs, learning_rate, lowest_rate, cycle, schedule, \
    unit_steps, start, initialisation, tolerance
        Factorisation: see :class:`~metaod.learners._latent.LatentLearner`.
    early_stopping, held_out, patience
        Number of epochs: see there.
    base : float
        b in the gain ``b ** P - 1`` of a model; a larger one puts more weight on the best models.
    alpha : float
        Sharpness of the sigmoid that approximates "is ranked above".
    relevance : {"performance", "row"}
        Whether gains are computed from performance, as in the paper, or from performance scaled to
        [0, 1] within each dataset, so that all datasets have the same weight.
    n_estimators, min_samples_leaf, max_depth : int
        Trees of the forest f, the minimal number of datasets in a leaf, and the maximal depth.
    phi, f
        Embedding (``fit``, ``transform``) in place of PCA, and regressor with several outputs
        (``fit``, ``predict``) in place of the forest.
    random_state : int, default=0
        Seed.

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


@dataclass
class ReleasedMetaOD(MetaODLearner):
    """MetaOD with the configuration of the authors' released code.

    It differs from :class:`MetaODLearner` in its defaults only; `docs/learning.md` names what of
    the released code it does not repeat.
    """

    name: ClassVar[str] = "metaod_released"
    title: ClassVar[str] = "MetaOD, released"
    summary: ClassVar[str] = "MetaOD with the configuration of its authors' released code"

    intercept: bool = False
    length: float = 30**0.5  # each component has the standard deviation 1
    base: float = 10.0
    epochs: int = 50
    learning_rate: float = 0.9
    lowest_rate: float = 1 / 9
    cycle: float = 16.0
    schedule: Literal["decaying", "cyclical", "constant"] = "cyclical"
    unit_steps: bool = False
    start: float = 1 / 30
    early_stopping: bool = True
    held_out: float = 0.15
    patience: int = 5
    n_estimators: int = 100
    max_depth: int | None = 10


@dataclass
class MetaODF(_RankBased):
    """MetaOD with U fixed at phi(M): only V is optimised, and no regression is needed.

    The parameters are those of :class:`MetaODLearner` without the forest's. Each component has the
    standard deviation 1: U cannot grow to reach a component that starts small.
    """

    name: ClassVar[str] = "metaod_f"
    title: ClassVar[str] = "MetaOD_F"
    summary: ClassVar[str] = "MetaOD with the dataset matrix fixed at the embedded meta-features"
    moves_datasets: ClassVar[bool] = False

    intercept: bool = False
    length: float = 30**0.5
    epochs: int = 100
    learning_rate: float = 0.05


@dataclass
class SquaredErrorFactorisation(_Regressed):
    """MetaOD with the sum of squared errors over the known cells as its loss.

    The parameters are those of :class:`MetaODLearner` without the smoothed DCG's. One dataset is
    taken at a time, and the learning rate is in units of the loss's curvature: at 1 a step on V
    minimises the error of an average dataset.
    """

    name: ClassVar[str] = "squared_error"
    title: ClassVar[str] = "SE-MF"
    summary: ClassVar[str] = "MetaOD with squared error in place of the rank-based criterion"
    loss: ClassVar[str] = "squared"

    k: int = 10
    standardised: bool = False
    length: float = 1.0
    learning_rate: float = 0.5
    schedule: Literal["decaying", "cyclical", "constant"] = "cyclical"
    start: float = 1.0
    tolerance: float = 1e-4
    early_stopping: bool = True

    def _check(self) -> None:
        super()._check()
        check_options(self, schedule=("cyclical", "constant"))

    def _targets(self, P: Matrix) -> Matrix:
        return P

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        # overflow is reported after the run
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.nansum((targets - U @ V.T) ** 2, axis=1).mean())
