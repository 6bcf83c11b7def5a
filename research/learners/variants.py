"""Variants of MetaOD: other schedules, starts and losses, early stopping, replaced parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._legal import Number, OneOf, Whole, parameters
from metaod.learners import OnStep
from metaod.learners._cleaning import Cleaning
from metaod.learners._forests import FlatForest
from metaod.learners._parameters import forest_parameters
from metaod.learners._training import Training
from metaod.learners.metaod import MetaODLearner, PCAEmbedding
from metaod.models import Matrix
from research.learners.factorisation import (
    SCHEDULES,
    Factorisation,
    Schedule,
    dcg_loss,
    factorise,
)
from research.learners.replaced_parts import (
    Embedding,
    Regressor,
    check_own,
    embed,
    fresh_copy,
    regress,
)

_MIN_ORIGINS = 10  # with fewer, nothing is held out for early stopping


@dataclass
class MetaODVariant(MetaODLearner):
    """MetaOD with more settings; with the defaults it learns the same factors.

    Parameters
    ----------
    learning_rate : float
        The largest learning rate.
    lowest_rate : float
        The smallest learning rate, as a share of the largest.
    cycle : float
        Epochs from the smallest rate to the largest and back.
    schedule : {"decaying", "cyclical", "constant"}
        With a decaying rate, which falls linearly to 0 at the last of ``epochs``, all datasets are
        taken at once, with momentum. Else one dataset is taken at a time, and the rate rises and
        falls, or stays at ``learning_rate``.
    unit_steps : bool
        Whether the learning rate alone is the length of a step, or the slope counts too.
    start : float
        Standard deviation of the draws that V starts from; at 0 the factors do not depend on the
        seed.
    initialisation : {"metafeatures", "random"}
        Whether U starts at the embedding of the meta-features or at a random draw of that size.
    tolerance : float
        Stop when a cycle lowers the training loss by at most this share; 0 runs all epochs.
    early_stopping : bool
        Whether to find the number of epochs on a share of held-out origins first and then to use
        all datasets for so many. With fewer than 10 origins all epochs are run.
    held_out : float
        That share.
    patience : int
        Stop after so many epochs without a lower held-out loss.
    relevance : {"performance", "row"}
        Whether gains are computed from performance, as in the paper, or from performance scaled to
        [0, 1] within each dataset, so that all datasets have the same weight.
    phi : object with ``fit`` and ``transform``, optional
        Embedding of clean meta-features in place of PCA, e.g. a transformer of scikit-learn.
    f : object with ``fit`` and ``predict``, optional
        Regressor with several outputs in place of the forest.

    Attributes
    ----------
    n_epochs_ : int
        Number of epochs with all datasets.
    loss_curve_ : DataFrame
        Mean loss of a dataset, one row an epoch: ``train`` before each step, ``held_out`` after the
        epoch, ``refit`` in the second run with all datasets. ``loss_curve_.plot()`` draws it.
    """

    name: ClassVar[str] = "metaod_variant"
    title: ClassVar[str] = "MetaOD, variant"
    summary: ClassVar[str] = "MetaOD with further settings"
    loss: ClassVar[str] = "dcg"
    moves_datasets: ClassVar[bool] = True

    lowest_rate: float = 0.1
    cycle: float = 10.0
    schedule: Literal["decaying", "cyclical", "constant"] = "decaying"
    unit_steps: bool = True
    start: float = 0.0
    initialisation: Literal["metafeatures", "random"] = "metafeatures"
    tolerance: float = 0.0
    early_stopping: bool = False
    held_out: float = 0.2
    patience: int = 20
    relevance: Literal["performance", "row"] = "performance"
    phi: Embedding | None = None
    f: Regressor | None = None

    legal = parameters(
        **MetaODLearner.legal,
        patience=Whole(1),
        cycle=Number(0),
        held_out=Number(0, 1),
        start=Number(0, ends="[)"),
        lowest_rate=Number(0, 1, "[]"),
        tolerance=Number(0, 1, "[]"),
        schedule=OneOf(tuple(SCHEDULES)),
        initialisation=OneOf(("metafeatures", "random")),
        relevance=OneOf(("performance", "row")),
    )

    def _targets(self, P: Matrix) -> Matrix:
        if self.relevance == "row":
            low = np.nanmin(P, axis=1, keepdims=True)
            width = np.nanmax(P, axis=1, keepdims=True) - low
            P = (P - low) / np.where(width > 0, width, 1.0)
        return super()._targets(P)

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        """Return the mean loss of a dataset."""
        return float(dcg_loss(targets, U, V, self.alpha).mean())

    def _factors(
        self, training: Training, targets: Matrix, progress: OnStep
    ) -> tuple[Matrix, Matrix]:
        held_out = np.zeros(len(training.P), dtype=bool)
        if self.early_stopping and training.groups.max() + 1 >= _MIN_ORIGINS:
            held_out = held_out_rows(training.groups, self.held_out, self.random_state)
        trial = final = self._run(training.M, targets, self.epochs, progress, held_out)
        if held_out.any():
            # the number of epochs is known: run them with all datasets
            none = np.zeros_like(held_out)
            final = self._run(training.M, targets, trial.best_epoch, progress, none)
        # the run with all datasets may converge earlier
        self.n_epochs_ = final.n_epochs
        losses = {"train": trial.train, "held_out": trial.held_out}
        if held_out.any():
            losses["refit"] = final.train
        series = {name: pd.Series(values, dtype=float) for name, values in losses.items()}
        self.loss_curve_ = pd.DataFrame(series)
        self.loss_curve_.index = pd.RangeIndex(1, len(self.loss_curve_) + 1, name="epoch")
        return final.U, final.V

    def _run(
        self,
        M: Matrix,
        targets: Matrix,
        epochs: int,
        progress: OnStep,
        held_out: npt.NDArray[np.bool_],
    ) -> Factorisation:
        """Fit the embedding and factorise; monitor the loss on the held-out datasets, if any."""
        rng = np.random.default_rng(self.random_state)
        self._fit_embedding(M[~held_out])
        embedded = U = self._embed(M[~held_out])
        V = self.start * rng.normal(size=(targets.shape[1], embedded.shape[1]))
        if self.initialisation == "random":
            U = rng.normal(size=embedded.shape) / np.sqrt(embedded.shape[1])
        monitor = None
        if held_out.any():
            latent = self._held_out_latent(embedded, self._embed(M[held_out]))
            unseen = targets[held_out]

            def monitor(U: Matrix, V: Matrix) -> float:
                return self._mean_loss(unseen, latent(U), V)

        cycle = float(self.epochs) if self.schedule == "decaying" else self.cycle
        rates = self.learning_rate, self.learning_rate * self.lowest_rate, cycle
        return factorise(
            targets[~held_out],
            U,
            V,
            loss=self.loss,
            alpha=self.alpha,
            epochs=epochs,
            schedule=Schedule(self.schedule, *rates),
            fixed_U=not self.moves_datasets,
            unit_steps=self.unit_steps,
            tolerance=self.tolerance,
            monitor=monitor,
            patience=self.patience,
            rng=rng,
            progress=lambda done, total: progress("factorising", done, total),
        )

    def _held_out_latent(self, embedded: Matrix, held_out: Matrix) -> Callable[[Matrix], Matrix]:
        """Return a quick function from U to the rows of the held-out datasets."""
        # fitting f after every epoch would take longer than the factorisation; a forest fitted once
        # on the embedding has similar leaves, whose weights are one matrix
        forest = FlatForest.fit(embedded, embedded, **forest_parameters(self))
        weights = forest.leaf_weights(forest.leaves(embedded), held_out)
        return lambda U: weights @ U

    def _fit_embedding(self, M: Matrix) -> None:
        if self.phi is None:
            super()._fit_embedding(M)
            return
        self.cleaning_ = Cleaning.fit(M)
        phi = fresh_copy(self.phi)
        phi.fit(self.cleaning_.transform(M))
        self.phi_ = phi

    def _embed(self, M: Matrix) -> Matrix:
        return embed(self.phi_, self.cleaning_.transform(M), owner=type(self).__name__)

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        if self.f is None:
            super()._fit_regression(embedded, U)
            return
        self.f_: Any = fresh_copy(self.f)
        self.f_.fit(embedded, U[:, 0] if U.shape[1] == 1 else U)

    def _latent(self, embedded: Matrix) -> Matrix:
        return regress(self.f_, embedded, self.V_.shape[1], owner=type(self).__name__)

    def state(self) -> dict[str, Any]:
        for name, kind in (("phi", PCAEmbedding), ("f", FlatForest)):
            if name in self.learned:
                check_own(getattr(self, f"{name}_"), kind, name, owner=type(self).__name__)
        return super().state()


@dataclass
class ReleasedMetaOD(MetaODVariant):
    """MetaOD with the configuration of the authors' released code.

    It differs from :class:`MetaODVariant` in its defaults only; `docs/learning.md` names what of
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
class MetaODF(MetaODVariant):
    """MetaOD with U fixed at phi(M): only V is optimised, and no regression is needed.

    The parameters of the forest are not used. Each component has the standard deviation 1: U cannot
    grow to reach a component that starts small.
    """

    name: ClassVar[str] = "metaod_f"
    title: ClassVar[str] = "MetaOD_F"
    summary: ClassVar[str] = "MetaOD with the dataset matrix fixed at the embedded meta-features"
    moves_datasets: ClassVar[bool] = False
    learned: ClassVar[Mapping[str, Any]] = {
        name: kind for name, kind in MetaODVariant.learned.items() if name != "f"
    }

    intercept: bool = False
    length: float = 30**0.5
    epochs: int = 100
    learning_rate: float = 0.05

    def _held_out_latent(self, embedded: Matrix, held_out: Matrix) -> Callable[[Matrix], Matrix]:  # noqa: ARG002 - as the others
        return lambda _: held_out

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        """Fit nothing: the embedding is the dataset matrix."""

    def _latent(self, embedded: Matrix) -> Matrix:
        return embedded


@dataclass
class SquaredErrorFactorisation(MetaODVariant):
    """MetaOD with the sum of squared errors over the known cells as its loss.

    The parameters of the smoothed DCG are not used. One dataset is taken at a time, and the
    learning rate is in units of the loss's curvature: at 1 a step on V minimises the error of an
    average dataset.
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

    legal = parameters(**{**MetaODVariant.legal, "schedule": OneOf(("cyclical", "constant"))})

    def _targets(self, P: Matrix) -> Matrix:
        return P

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        # overflow is reported after the run
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.nansum((targets - U @ V.T) ** 2, axis=1).mean())


def held_out_rows(
    groups: npt.NDArray[np.intp], share: float, random_state: int
) -> npt.NDArray[np.bool_]:
    """Return the mask of datasets to hold out: a share of the origins, at least one of them."""
    origins = np.random.default_rng(random_state).permutation(np.unique(groups))
    count = min(max(1, round(share * len(origins))), len(origins) - 1)
    return np.isin(groups, origins[:count])
