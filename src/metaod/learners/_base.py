"""The protocol of learners: performance and meta-features in, scores of models out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._legal import Legal, check_parameters
from metaod._state import Shape, decode, encode
from metaod.errors import BadParameter, UserError
from metaod.learners._parameters import SHARED, read_parameters
from metaod.learners._training import Training, feature_matrix
from metaod.models import Matrix

OnStep = Callable[[str, int, int], None]
"""Called with the name of a task, the number of finished steps and the number of all steps."""


@dataclass
class Learner(ABC):
    """Learns from labelled datasets which model suits which table.

    A subclass is a dataclass whose fields are its parameters. It implements :meth:`_fit` and
    :meth:`_predict`, where models have the order of ``training.models``, and declares in
    ``learned`` the attributes that :meth:`_fit` sets, which are saved.

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
    legal: ClassVar[Mapping[str, Legal]] = {}  # values of the parameters
    # types of what :meth:`_fit` learns, as :func:`decode` takes them; the attribute of "x" is "x_"
    learned: ClassVar[Mapping[str, Any]]

    def fit(
        self,
        P: pd.DataFrame | Matrix,
        M: pd.DataFrame | Matrix,
        groups: npt.ArrayLike | pd.Series | None = None,
        *,
        progress: OnStep | None = None,
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
        self._check()
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

    def state(self) -> dict[str, Any]:
        """Return what was learned as plain data and arrays, for :meth:`restore`."""
        features = self._fitted_features()
        learned = {name: encode(getattr(self, f"{name}_")) for name in self.learned}
        saved = _Fitted(self.models_, features, self._order, learned)
        return dict(encode(saved))

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Restore what :meth:`state` returned; ValueError if parts do not fit together."""
        saved: _Fitted = decode(_Fitted, state)
        self.models_, self.features_, self._order = saved.models, saved.features, saved.order
        sizes = {"m": len(saved.models), "d": len(saved.features)}
        for name, kind in self.learned.items():
            if name not in saved.learned:
                raise ValueError(f"{name} is missing")
            setattr(self, f"{name}_", decode(kind, saved.learned[name], name, sizes))
        self._check()
        self._check_learned()
        return self

    def _fitted_features(self) -> tuple[str, ...]:
        if not hasattr(self, "features_"):
            what, where = "the learner has not been fitted", type(self).__name__
            raise UserError(what, where=where, remedy="call fit first, or load an artifact")
        return self.features_

    @abstractmethod
    def _fit(self, training: Training, progress: OnStep) -> None:
        """Learn; set attributes that end in an underscore."""

    @abstractmethod
    def _predict(self, M: Matrix) -> Matrix:
        """Return finite scores (q, m) for raw meta-features (q, d)."""

    def _check(self) -> None:
        """Refuse illegal parameters."""
        shared = {name: legal for name, legal in SHARED.items() if hasattr(self, name)}
        check_parameters(self, {**shared, **self.legal})

    def _check_learned(self) -> None:  # noqa: B027 - few learners need it
        """Raise ValueError if restored attributes do not fit together."""


@dataclass(frozen=True)
class _Fitted:
    """What is saved of any learner."""

    models: tuple[str, ...]
    features: tuple[str, ...]
    order: Annotated[npt.NDArray[np.intp], Shape("m")]
    learned: dict[str, Any]

    def __post_init__(self) -> None:
        if sorted(self.order.tolist()) != list(range(len(self.models))):
            raise ValueError("order does not hold every model once")
        for names in (self.models, self.features):
            if not names or len(set(names)) != len(names):
                raise ValueError("models or features are absent, or there twice")
