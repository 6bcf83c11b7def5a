"""The fit of learners that factorise the performance matrix: embed, factorise, stop early."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import UserError
from metaod.learners._base import Learner, Progress
from metaod.learners._cleaning import Cleaning
from metaod.learners._embedding import Embedding, PCAEmbedding, embed, fresh_copy, own_state
from metaod.learners._factorisation import SCHEDULES, Factorisation, Schedule, factorise
from metaod.learners._parameters import check_counts, check_options, check_ranges
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training, put_unknown_last
from metaod.models import Matrix

_MIN_ORIGINS = 10  # with fewer, nothing is held out for early stopping
_NEGLIGIBLE = 1e-3  # difference of two scores that is ignored, in standard deviations


@dataclass
class LatentLearner(Learner):
    """Factorises P into U Vᵀ, starting U at the embedding of the meta-features.

    A subclass defines the loss (:meth:`_targets`, :meth:`_mean_loss`) and the row of U of a new
    dataset (:meth:`_fit_regression`, :meth:`_latent`, :meth:`_held_out_latent`).

    Parameters
    ----------
    k : int
        Latent dimensions; fewer if the meta-features span fewer. Ignored if ``phi`` is given.
    intercept : bool
        Whether PCA's components are joined by a dimension that starts at 1 for every dataset.
    standardised : bool
        Whether each component is divided by its own standard deviation, or all by one number.
    length : float
        Root of the mean squared length of a dataset's components.
    epochs : int
        Maximal number of passes over the datasets.
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
    phi : object with ``fit`` and ``transform``, optional
        Embedding of clean meta-features in place of PCA, e.g. a transformer of scikit-learn.
    random_state : int
        Seed of V, of the order of the datasets and of the held-out origins.

    Attributes
    ----------
    U_, V_ : array of shape (n, k) and (m, k)
        Dataset matrix and model matrix, with models ordered by id.
    n_epochs_ : int
        Number of epochs with all datasets.
    loss_curve_ : DataFrame
        Mean loss of a dataset, one row an epoch: ``train`` before each step, ``held_out`` after the
        epoch, ``refit`` in the second run with all datasets. ``loss_curve_.plot()`` draws it.
    """

    loss: ClassVar[str] = "dcg"
    moves_datasets: ClassVar[bool] = True
    is_random: ClassVar[bool] = True

    k: int = 30
    intercept: bool = True
    standardised: bool = True
    length: float = 2.0
    epochs: int = 200
    learning_rate: float = 0.02
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
    phi: Embedding | None = None
    random_state: int = 0

    @abstractmethod
    def _targets(self, P: Matrix) -> Matrix:
        """Return the targets of the loss, NaN where P is NaN."""

    @abstractmethod
    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        """Return the mean loss of a dataset."""

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        """Fit the regression from the embedding to the dataset matrix."""

    def _latent(self, embedded: Matrix) -> Matrix:
        """Return rows of the dataset matrix for embeddings of new datasets."""
        return embedded

    def _held_out_latent(self, embedded: Matrix, held_out: Matrix) -> Callable[[Matrix], Matrix]:  # noqa: ARG002 - for subclasses
        """Return a quick function from U to the rows of the held-out datasets."""
        return lambda _: held_out

    def _fit(self, training: Training, progress: Progress) -> None:
        self._check()
        # equal models must stay equal: a difference of rounding would grow between them
        first, group = _distinct(training.P)
        targets = self._targets(training.P[:, first])
        held_out = np.zeros(training.n_datasets, dtype=bool)
        if self.early_stopping and training.n_groups >= _MIN_ORIGINS:
            held_out = held_out_rows(training.groups, self.held_out, self.random_state)
        trial = final = self._run(training.M, targets, self.epochs, progress, held_out)
        if held_out.any():
            # the number of epochs is known: run them with all datasets
            none = np.zeros_like(held_out)
            final = self._run(training.M, targets, trial.best_epoch, progress, none)
        if not (np.isfinite(final.U).all() and np.isfinite(final.V).all()):
            what = "the factorisation left the range of floating-point numbers"
            remedy = "lower learning_rate, or scale down the values of phi"
            raise UserError(what, where=type(self).__name__, remedy=remedy)
        self.U_, self.V_ = final.U, final.V[group]
        # the run with all datasets may converge earlier
        self.n_epochs_ = final.n_epochs
        self.valued_ = np.flatnonzero((~np.isnan(training.P)).any(axis=0))
        losses = {"train": trial.train, "held_out": trial.held_out}
        if held_out.any():
            losses["refit"] = final.train
        series = {name: pd.Series(values, dtype=float) for name, values in losses.items()}
        self.loss_curve_ = pd.DataFrame(series)
        self.loss_curve_.index = pd.RangeIndex(1, len(self.loss_curve_) + 1, name="epoch")
        self._fit_regression(self._embed(training.M), self.U_)

    def _run(
        self,
        M: Matrix,
        targets: Matrix,
        epochs: int,
        progress: Progress,
        held_out: npt.NDArray[np.bool_],
    ) -> Factorisation:
        """Fit the embedding and factorise; monitor the loss on the held-out datasets, if any."""
        rng = np.random.default_rng(self.random_state)
        self.cleaning_ = Cleaning.fit(M[~held_out])
        default = PCAEmbedding(self.k, self.intercept, self.standardised, self.length)
        self.phi_ = default if self.phi is None else fresh_copy(self.phi)
        self.phi_.fit(self.cleaning_.transform(M[~held_out]))
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
            alpha=getattr(self, "alpha", 1.0),  # a parameter of the smoothed DCG only
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

    def _embed(self, M: Matrix) -> Matrix:
        return embed(self.phi_, self.cleaning_.transform(M), owner=type(self).__name__)

    def _predict(self, M: Matrix) -> Matrix:
        scores = self._latent(self._embed(M)) @ self.V_.T
        # smaller differences are rounding, or mean nothing: the ids of the models decide
        unit = _NEGLIGIBLE * scores.std(axis=1, keepdims=True)
        rounded = np.divide(scores, unit, out=np.zeros_like(scores), where=unit > 0).round() * unit
        return put_unknown_last(np.where(unit > 0, rounded, scores), self.valued_)

    def _check(self) -> None:
        check_counts(self, "k", "epochs", "patience")
        check_ranges(self, learning_rate="(0, inf)", cycle="(0, inf)", held_out="(0, 1)")
        check_ranges(self, length="(0, inf)", start="[0, inf)")
        check_ranges(self, lowest_rate="[0, 1]", tolerance="[0, 1]")
        check_options(self, schedule=SCHEDULES, initialisation=("metafeatures", "random"))

    def _state(self) -> State:
        phi = own_state(self.phi_, PCAEmbedding, "phi", owner=type(self).__name__)
        cleaning = self.cleaning_.state()
        return {"cleaning": cleaning, "phi": phi, "V": self.V_, "valued": self.valued_}

    def _restore(self, reader: StateReader) -> None:
        self.cleaning_ = Cleaning.restore(reader.part("cleaning"))
        self.V_ = reader.array("V", ("m", "k"))
        sizes = {"kept": self.cleaning_.n_features, "k": self.V_.shape[1]}
        self.phi_ = PCAEmbedding.restore(reader.part("phi", **sizes))
        self.valued_ = reader.indices("valued", "valued", len(self.V_))
        if not len(self.valued_):
            raise reader.damaged("valued is empty")


def _distinct(P: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first of each set of equal columns, and the set of each column."""
    known = np.where(np.isnan(P), -np.inf, P.round(9))
    _, first, group = np.unique(known, axis=1, return_index=True, return_inverse=True)
    # in the order of their first appearance, not of their values
    order = np.argsort(first)
    return first[order], np.argsort(order)[group.reshape(-1)]


def held_out_rows(
    groups: npt.NDArray[np.intp], share: float, random_state: int
) -> npt.NDArray[np.bool_]:
    """Return the mask of datasets to hold out: a share of the origins, at least one of them."""
    origins = np.random.default_rng(random_state).permutation(np.unique(groups))
    count = min(max(1, round(share * len(origins))), len(origins) - 1)
    return np.isin(groups, origins[:count])
