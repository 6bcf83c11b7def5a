"""What a learner is: performance and meta-features in, scores over models out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.learners._checks import check_seed
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training, feature_matrix

__all__ = ["Learner", "Progress", "best_model"]

Matrix = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done and how many there are."""


def best_model(scores: "pd.Series[float]") -> str:
    """Id of the model with the largest score; among equal scores the first by id.

    Examples
    --------
    >>> best_model(pd.Series({"LOF()": 0.5, "KNN()": 0.5}))
    'KNN()'
    """
    # sorted by id first, so that the order of columns does not matter
    return str(scores.sort_index().idxmax())


@dataclass
class Learner(ABC):
    """Learns from labelled history which model suits which table.

    A subclass is a dataclass whose fields are its parameters, and writes :meth:`_fit`,
    :meth:`_predict`, :meth:`_state` and :meth:`_restore`. Models come to it in an order of their
    own (see :class:`~metaod.learners._training.Training`), so that the order of the columns of P
    never matters.

    Attributes
    ----------
    models_ : tuple of str
        Ids of the models, in the order of the columns of P.
    features_ : tuple of str
        Names of the meta-features, in the order of the columns of M.
    """

    name: ClassVar[str]
    """The name by which users ask for it."""
    title: ClassVar[str]
    """The name in the paper's tables."""
    summary: ClassVar[str]
    """One line for `metaod learners`."""
    uses_metafeatures: ClassVar[bool] = True
    """Whether the answer depends on the table at all."""
    is_random: ClassVar[bool] = False
    """Whether fitting depends on a seed (`random_state`), so that evaluations run several."""

    # life

    def fit(
        self,
        P: pd.DataFrame | Matrix,
        M: pd.DataFrame | Matrix,
        groups: npt.ArrayLike | pd.Series | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from historical datasets.

        Parameters
        ----------
        P : DataFrame or array of shape (n_datasets, n_models)
            Performance, larger is better; NaN where there is none. Columns of a frame are model
            ids.
        M : DataFrame or array of shape (n_datasets, n_features)
            Meta-features of the same datasets in the same order; NaN and infinities are cleaned.
        groups : array-like of shape (n_datasets,), optional
            Origins of the datasets: what is held out inside fitting is held out by origin.
            Without it every dataset is an origin of its own.
        progress : callable, optional
            Told of progress.
        """
        parameters = self.params()
        if "random_state" in parameters:
            check_seed(type(self).__name__, parameters["random_state"])
        training = Training.from_inputs(P, M, groups, learner=type(self).__name__)
        self.models_ = training.given_models
        self.features_ = training.features
        self._order = training.order
        self._fit(training, progress or _silent)
        return self

    def predict(self, M: pd.DataFrame | pd.Series | npt.ArrayLike) -> Any:
        """Scores over models for new datasets; the largest is the pick.

        Parameters
        ----------
        M : Series or array of shape (n_features,), or DataFrame or array of shape (q, n_features)
            Meta-features. A frame's columns are found by name.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            Finite scores, by model id, for one dataset; for several, one row each.
        """
        matrix, index = feature_matrix(M, self._fitted_features(), learner=type(self).__name__)
        with np.errstate(over="ignore", invalid="ignore"):
            inner = self._predict(matrix)
        if not np.isfinite(inner).all():
            # a damaged artifact can hold numbers that are finite and far too large
            raise UserError(
                "the learner gave scores that are not finite",
                where=type(self).__name__,
                remedy="train the learner again",
            )
        scores = np.empty_like(inner)
        scores[:, self._order] = inner
        if index is None:
            return pd.Series(scores[0], index=pd.Index(self.models_, name="model"))
        return pd.DataFrame(scores, index=index, columns=pd.Index(self.models_, name="model"))

    def choose(self, m: pd.Series | npt.ArrayLike) -> str:
        """Id of the model with the largest score for one dataset."""
        scores = self.predict(m)
        if not isinstance(scores, pd.Series):
            raise BadParameter("choose", "m", "the meta-features of one dataset", np.shape(m))
        return best_model(scores)

    def params(self) -> dict[str, Any]:
        """The parameters it was made with."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    # artifacts

    def state(self) -> State:
        """What was learned, as plain data and arrays; :meth:`restore` takes it back."""
        features = self._fitted_features()
        return {
            "models": list(self.models_),
            "features": list(features),
            "order": self._order,
            "learned": self._state(),
        }

    def restore(self, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave; refuses what does not fit together."""
        self.models_ = tuple(reader.texts("models"))
        self.features_ = tuple(reader.texts("features"))
        self._order = reader.array("order", (len(self.models_),), "i").astype(np.intp)
        if set(self._order.tolist()) != set(range(len(self.models_))):
            raise reader.damaged("order does not hold every model once")
        inner = reader.part("learned", m=len(self.models_), d=len(self.features_))
        self._restore(inner)
        return self

    def _fitted_features(self) -> tuple[str, ...]:
        if not hasattr(self, "features_"):
            raise UserError(
                "the learner has not been fitted",
                where=type(self).__name__,
                remedy="call fit first, or load an artifact",
            )
        return self.features_

    # what a learner writes

    @abstractmethod
    def _fit(self, training: Training, progress: Progress) -> None:
        """Learn; sets attributes that end in an underscore."""

    @abstractmethod
    def _predict(self, M: Matrix) -> Matrix:
        """Finite scores (q, m) in the training's order of models, for raw meta-features (q, d)."""

    @abstractmethod
    def _state(self) -> State:
        """What :meth:`_predict` needs, as plain data and arrays."""

    @abstractmethod
    def _restore(self, reader: StateReader) -> None:
        """Set what :meth:`_fit` would have set."""


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""
