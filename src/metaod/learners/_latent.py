"""What the learners that factorise the performance matrix have in common."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._checks import check_count
from metaod.learners._cleaning import Cleaning
from metaod.learners._completion import least_to_unknown
from metaod.learners._embedding import Embedding, PCAEmbedding, embed
from metaod.learners._factorisation import Factorisation, factorise
from metaod.learners._foreign import fresh_copy, own_state
from metaod.learners._schedule import SCHEDULES, Schedule
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["LatentLearner", "held_out_rows"]

INITIALISATIONS = ("metafeatures", "random")
_FEWEST_ORIGINS = 10
"""With fewer origins too few are held out to tell when to stop."""


@dataclass
class LatentLearner(Learner):
    """Factorises P into U Vᵀ, starting U at the embedding of the meta-features.

    A subclass says what the loss is (:meth:`_targets`, :meth:`_mean_loss`) and where a new dataset
    lies in the latent space (:meth:`_fit_regression`, :meth:`_latent`).

    Parameters
    ----------
    k : int
        Latent dimensions; fewer where the meta-features span fewer. With a ``phi`` of the caller's
        it is ``phi`` that decides.
    intercept : bool
        Whether PCA's components are joined by a dimension that starts at 1 for every dataset.
    epochs : int
        Passes over the datasets at most.
    learning_rate : float
        The largest learning rate of the cycle.
    lowest_rate : float
        The smallest one, as a share of it.
    cycle : float
        Epochs from the smallest rate up to the largest and back.
    schedule : {"cyclical", "constant"}
        Whether the rate goes up and down, or stays at ``learning_rate``.
    initialisation : {"metafeatures", "random"}
        Where U starts: at the embedding of the meta-features, or at a random draw of that size.
    tolerance : float
        Converged when a cycle lowers the training loss by no more than this share; 0 never is.
    early_stopping : bool
        Whether a share of the origins is held out at first to find the number of epochs that is
        best for datasets of other origins; then all datasets are used for so many. Without 10
        origins there is nothing to tell it by, and all epochs are run.
    held_out : float
        That share.
    patience : int
        Epochs without a lower held-out loss after which to stop.
    phi : object with ``fit`` and ``transform``, optional
        Embedding of clean meta-features in place of PCA, e.g. a transformer of scikit-learn.
    random_state : int
        Seed of V, of the order of the datasets and of what is held out.

    Attributes
    ----------
    U_, V_ : array of shape (n, k) and (m, k)
        Dataset matrix and model matrix, the models in order of their ids.
    n_epochs_ : int
        Epochs that all datasets were used for.
    loss_curve_ : DataFrame
        Mean loss a dataset, one row an epoch: ``train`` as the pass met the datasets, ``held_out``
        after it, ``refit`` in the second run with all datasets. ``loss_curve_.plot()`` draws it.
    """

    loss: ClassVar[str] = "dcg"
    moves_datasets: ClassVar[bool] = True
    is_random: ClassVar[bool] = True

    k: int = 10
    intercept: bool = True
    epochs: int = 200
    learning_rate: float = 1.0
    lowest_rate: float = 0.1
    cycle: float = 10.0
    schedule: Literal["cyclical", "constant"] = "cyclical"
    initialisation: Literal["metafeatures", "random"] = "metafeatures"
    tolerance: float = 1e-4
    early_stopping: bool = True
    held_out: float = 0.2
    patience: int = 20
    phi: Embedding | None = None
    random_state: int = 0

    # what a subclass writes

    @abstractmethod
    def _targets(self, P: Matrix) -> Matrix:
        """What the loss is taken on, NaN where P is."""

    @abstractmethod
    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        """Mean loss a dataset."""

    def _sharpness(self) -> float:
        """Sharpness of the sigmoid, where the loss has one."""
        return 1.0

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        """Learn the way from the embedding to the dataset matrix."""

    def _latent(self, embedded: Matrix) -> Matrix:
        """Rows of the dataset matrix for embeddings of new datasets."""
        return embedded

    # life

    def _fit(self, training: Training, progress: Progress) -> None:
        self._check()
        targets = self._targets(training.P)
        held_out = np.zeros(training.n_datasets, dtype=bool)
        if self.early_stopping and training.n_groups >= _FEWEST_ORIGINS:
            held_out = held_out_rows(training.groups, self.held_out, self.random_state)
        trial = self._run(training.M, targets, self.epochs, progress, held_out)
        final = trial
        if held_out.any():
            # how long is known: now with all datasets
            nobody = np.zeros_like(held_out)
            final = self._run(training.M, targets, trial.best_epoch, progress, nobody)
        if not (np.isfinite(final.U).all() and np.isfinite(final.V).all()):
            raise UserError(
                "the factorisation left the range of floating-point numbers",
                where=type(self).__name__,
                remedy="lower learning_rate, or scale down what phi gives",
            )
        self.U_, self.V_ = final.U, final.V
        # with all datasets it may converge sooner
        self.n_epochs_ = final.n_epochs
        self.valued_ = np.flatnonzero((~np.isnan(training.P)).any(axis=0))
        self.loss_curve_ = _curve(trial, final if held_out.any() else None)
        self._fit_regression(self._embed(training.M), self.U_)

    def _run(
        self,
        M: Matrix,
        targets: Matrix,
        epochs: int,
        progress: Progress,
        held_out: npt.NDArray[np.bool_],
    ) -> Factorisation:
        """Fit the embedding and factorise, watching the datasets held out where there are any."""
        rng = np.random.default_rng(self.random_state)
        self.cleaning_ = Cleaning.fit(M[~held_out])
        clean = self.cleaning_.transform(M[~held_out])
        self.phi_ = (
            PCAEmbedding(self.k, self.intercept) if self.phi is None else fresh_copy(self.phi)
        )
        self.phi_.fit(clean)
        embedded = self._embed(M[~held_out])
        V = rng.normal(size=(targets.shape[1], embedded.shape[1]))
        U = embedded
        if self.initialisation == "random":
            U = rng.normal(size=embedded.shape) / np.sqrt(embedded.shape[1])
        monitor = None
        if held_out.any():
            latent = self._watched(embedded, self._embed(M[held_out]))
            unseen = targets[held_out]

            def monitor(U: Matrix, V: Matrix) -> float:
                return self._mean_loss(unseen, latent(U), V)

        high = self.learning_rate
        return factorise(
            targets[~held_out],
            U,
            V,
            loss=self.loss,
            alpha=self._sharpness(),
            epochs=epochs,
            schedule=Schedule(self.schedule, high, high * self.lowest_rate, self.cycle),
            fixed_U=not self.moves_datasets,
            tolerance=self.tolerance,
            monitor=monitor,
            patience=self.patience,
            rng=rng,
            progress=lambda done, total: progress("factorising", done, total),
        )

    def _watched(self, embedded: Matrix, unseen: Matrix) -> Callable[[Matrix], Matrix]:
        """How rows of U become those of the datasets held out, cheaply, after every epoch."""
        del embedded
        return lambda _: unseen

    def _embed(self, M: Matrix) -> Matrix:
        return embed(self.phi_, self.cleaning_.transform(M), owner=type(self).__name__)

    def _predict(self, M: Matrix) -> Matrix:
        return least_to_unknown(self._latent(self._embed(M)) @ self.V_.T, self.valued_)

    def _check(self) -> None:
        owner = type(self).__name__
        for name in ("k", "epochs", "patience"):
            check_count(owner, name, getattr(self, name))
        for name in ("learning_rate", "cycle"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadParameter(owner, name, "in the range (0, inf)", getattr(self, name))
        for name in ("lowest_rate", "tolerance"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadParameter(owner, name, "in the range [0, 1]", getattr(self, name))
        if not 0 < self.held_out < 1:
            raise BadParameter(owner, "held_out", "in the range (0, 1)", self.held_out)
        if self.schedule not in SCHEDULES:
            raise BadParameter(owner, "schedule", SCHEDULES, self.schedule)
        if self.initialisation not in INITIALISATIONS:
            raise BadParameter(owner, "initialisation", INITIALISATIONS, self.initialisation)

    # artifacts

    def _state(self) -> State:
        phi = own_state(self.phi_, PCAEmbedding, "phi", owner=type(self).__name__)
        return {
            "cleaning": self.cleaning_.state(),
            "phi": phi,
            "V": self.V_,
            "valued": self.valued_,
        }

    def _restore(self, reader: StateReader) -> None:
        self.cleaning_ = Cleaning.restore(reader.part("cleaning"))
        self.V_ = reader.array("V", ("m", "k"))
        sizes = {"kept": self.cleaning_.n_features, "k": self.V_.shape[1]}
        self.phi_ = PCAEmbedding.restore(reader.part("phi", **sizes))
        self.valued_ = reader.array("valued", ("valued",), "i").astype(np.intp)
        if not len(self.valued_) or not set(self.valued_.tolist()) <= set(range(len(self.V_))):
            raise reader.damaged("valued names a model that is not there")


def held_out_rows(
    groups: npt.NDArray[np.intp], share: float, random_state: int
) -> npt.NDArray[np.bool_]:
    """Which datasets to hold out: those of a share of the origins, one origin at least.

    Examples
    --------
    >>> groups = np.array([0, 0, 1, 2, 2, 3])
    >>> held_out = held_out_rows(groups, 0.5, random_state=0)
    >>> set(groups[held_out]) & set(groups[~held_out])
    set()
    """
    origins = np.random.default_rng(random_state).permutation(np.unique(groups))
    count = min(max(1, round(share * len(origins))), len(origins) - 1)
    return np.isin(groups, origins[:count])


def _curve(trial: Factorisation, refit: Factorisation | None) -> pd.DataFrame:
    columns = {"train": trial.train, "held_out": trial.held_out}
    if refit is not None:
        columns["refit"] = refit.train
    curve = pd.DataFrame({name: pd.Series(values, dtype=float) for name, values in columns.items()})
    curve.index = pd.RangeIndex(1, len(curve) + 1, name="epoch")
    return curve
