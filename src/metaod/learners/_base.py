"""The protocol of learners: performance and meta-features in, scores of models out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.learners._parameters import check_seed, read_parameters
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training, feature_matrix
from metaod.models import Matrix

Progress = Callable[[str, int, int], None]
"""Called with the name of a task, the number of finished steps and the number of all steps."""


@dataclass
class Learner(ABC):
    """Learns from labelled datasets which model suits which table.

    A subclass is a dataclass whose fields are its parameters. It implements :meth:`_fit`,
    :meth:`_predict`, :meth:`_state` and :meth:`_restore`, where models have the order of
    ``training.models``.

    Attributes
    ----------
    models_ : tuple of str
        Ids of the models, in the order of the columns of P.
    features_ : tuple of str
        Names of the meta-features, in the order of the columns of M.
    """

    name: ClassVar[str]  # for users
    title: ClassVar[str]  # in the paper's tables
    summary: ClassVar[str]  # one line for `metaod learners`
    uses_metafeatures: ClassVar[bool] = True  # whether scores depend on the table
    is_random: ClassVar[bool] = False  # whether evaluations run several seeds

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
            Performance, larger is better; NaN where missing. Columns of a frame are model ids.
        M : DataFrame or array of shape (n_datasets, n_features)
            Meta-features of the same datasets in the same order; NaN and infinities are cleaned.
        groups : array-like of shape (n_datasets,), optional
            Origins of the datasets, held out as a whole. By default every dataset has another.
        progress : callable, optional
            Called after each step.
        """
        check_seed(self)
        training = Training.from_inputs(P, M, groups, learner=type(self).__name__)
        self.models_ = training.given_models
        self.features_ = training.features
        self._order = training.order
        self._fit(training, progress or (lambda _task, _done, _total: None))
        return self

    def predict(self, M: pd.DataFrame | pd.Series | npt.ArrayLike) -> Any:
        """Score the models for new datasets; the model with the largest score is the pick.

        Parameters
        ----------
        M : Series or array of shape (n_features,), or DataFrame or array of shape (q, n_features)
            Meta-features. Columns of a frame are found by name.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            Scores by model id: a series for one dataset, a row for each of several.
        """
        matrix, index = feature_matrix(M, self._fitted_features(), learner=type(self).__name__)
        with np.errstate(over="ignore", invalid="ignore"):
            ordered = self._predict(matrix)
        if not np.isfinite(ordered).all():
            # a damaged artifact can hold finite numbers whose sums overflow
            what, where = "the learner gave scores that are not finite", type(self).__name__
            raise UserError(what, where=where, remedy="train the learner again")
        scores = np.empty_like(ordered)
        scores[:, self._order] = ordered
        models = pd.Index(self.models_, name="model")
        if index is None:
            return pd.Series(scores[0], index=models)
        return pd.DataFrame(scores, index=index, columns=models)

    def choose(self, m: pd.Series | npt.ArrayLike) -> str:
        """Return the id of the model with the largest score for one dataset."""
        scores = self.predict(m)
        if not isinstance(scores, pd.Series):
            raise BadParameter("choose", "m", "the meta-features of one dataset", np.shape(m))
        return self.best_model(scores)

    @staticmethod
    def best_model(scores: "pd.Series[float]") -> str:
        """Return the id of the model with the largest score; among equal scores the first by id.

        Examples
        --------
        >>> Learner.best_model(pd.Series({"LOF()": 0.5, "KNN()": 0.5}))
        'KNN()'
        """
        # sorted by id first: the order of columns does not matter
        return str(scores.sort_index().idxmax())

    @classmethod
    def read_parameters(cls, settings: Iterable[str]) -> dict[str, Any]:
        """Read parameters from texts such as ``rank=5``; see :func:`read_parameters`."""
        return read_parameters(cls, settings)

    def params(self) -> dict[str, Any]:
        """Return the parameters."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def state(self) -> State:
        """Return what was learned as plain data and arrays, for :meth:`restore`."""
        features = list(self._fitted_features())
        names = {"models": list(self.models_), "features": features}
        return {**names, "order": self._order, "learned": self._state()}

    def restore(self, reader: StateReader) -> Self:
        """Restore what :meth:`state` returned; refuse parts that do not fit together."""
        self.models_ = tuple(reader.texts("models"))
        self.features_ = tuple(reader.texts("features"))
        m = len(self.models_)
        self._order = reader.indices("order", m, m)
        if len(set(self._order.tolist())) != m:
            raise reader.damaged("order does not hold every model once")
        self._restore(reader.part("learned", m=m, d=len(self.features_)))
        return self

    def _fitted_features(self) -> tuple[str, ...]:
        if not hasattr(self, "features_"):
            what, where = "the learner has not been fitted", type(self).__name__
            raise UserError(what, where=where, remedy="call fit first, or load an artifact")
        return self.features_

    @abstractmethod
    def _fit(self, training: Training, progress: Progress) -> None:
        """Learn; set attributes that end in an underscore."""

    @abstractmethod
    def _predict(self, M: Matrix) -> Matrix:
        """Return finite scores (q, m) for raw meta-features (q, d)."""

    @abstractmethod
    def _state(self) -> State:
        """Return what :meth:`_predict` needs, as plain data and arrays."""

    @abstractmethod
    def _restore(self, reader: StateReader) -> None:
        """Set the attributes that :meth:`_fit` sets."""
