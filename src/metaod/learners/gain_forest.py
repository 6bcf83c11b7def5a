"""Gain forest: gains over isolation forest on similar tables, less a price for losses there."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._checks import check_count, check_forest
from metaod.learners._meta_regression import MetaRegression
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["GainForest"]

_SHY = 0.02
"""What a model without scores on a dataset is taken to lose there, at least."""


@dataclass
class GainForest(Learner):
    """Scores models by how much more than the reference they reached on similar datasets.

    A random forest, grown to tell apart datasets on which models gain differently, gives every
    historical dataset a weight: how often it shares a leaf with the table asked about, the fewer
    share it the more; datasets of one origin share one vote. The score
    of a model is its weighted mean gain over the reference, less a price for the weighted share
    of datasets on which it lost more than a little.

    Differences to the reference are the target, and not performance itself, because they keep
    their size from dataset to dataset. The forest is grown on their main components: hundreds of
    models rise and fall together, and what one alone does is mostly noise.

    Parameters
    ----------
    reference : str, default="IForest(n_estimators=100, max_features=1.0)"
        Id of the model that gains are counted from; where it is none of the models, the median
        model of each dataset.
    price : float, default=0.1
        What a certain loss would cost; 0 looks at the mean alone.
    loss : float, default=0.05
        A model that stays behind the reference by more has lost.
    n_components : int, default=20
        Main components of the gains that the forest is grown on.
    n_estimators : int, default=500
        Trees.
    min_samples_leaf : int, default=5
        Fewest datasets in a leaf.
    max_features : float, default=0.2
        Share of the meta-features that a split may choose from.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> P = np.array([[0.1, 0.5], [0.7, 0.3]] * 20)
    >>> M = np.array([[0.0], [1.0]] * 20)
    >>> GainForest(n_estimators=10).fit(P, M).choose([0.9])
    'model 0'
    """

    reference: str = "IForest(n_estimators=100, max_features=1.0)"
    price: float = 0.1
    loss: float = 0.05
    n_components: int = 20
    n_estimators: int = 500
    min_samples_leaf: int = 5
    max_features: float = 0.2
    random_state: int = 0

    name: ClassVar[str] = "gain_forest"
    title: ClassVar[str] = "Gain forest"
    summary: ClassVar[str] = "gains over iForest on similar tables, less a price for losses"
    is_random: ClassVar[bool] = True

    def _fit(self, training: Training, progress: Progress) -> None:
        self._check()
        progress("forest", 0, 1)
        # what is stored is what is used: in single precision
        self.gains_ = _gains(training, self.reference).astype(np.float32).astype(np.float64)
        self.votes_ = 1.0 / np.bincount(training.groups)[training.groups]
        fitted = MetaRegression.fit(
            training.M,
            _components(self.gains_, self.votes_, self.n_components),
            sample_weight=self.votes_,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            random_state=self.random_state,
        )
        self.leaves_ = fitted.leaves(training.M)
        # who shares a leaf is all that counts; what the leaves say is not kept
        nothing = np.zeros((len(fitted.forest.values), 1))
        self.regression_ = replace(fitted, forest=replace(fitted.forest, values=nothing))
        progress("forest", 1, 1)

    def _check(self) -> None:
        name = type(self).__name__
        check_forest(
            name,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
        )
        check_count(name, "n_components", self.n_components)
        for parameter in ("price", "loss"):
            value = getattr(self, parameter)
            if not isinstance(value, Real) or not 0 <= float(value) <= 1:
                raise BadParameter(name, parameter, "a float in the range [0, 1]", value)

    def _predict(self, M: Matrix) -> Matrix:
        weights = self.regression_.shares(self.leaves_, M) * self.votes_
        weights /= weights.sum(axis=1, keepdims=True)
        lost = (self.gains_ < -self.loss).astype(np.float64)
        found: Matrix = weights @ (self.gains_ - self.price * lost)
        return found

    def _state(self) -> State:
        return {
            "regression": self.regression_.state(),
            "gains": self.gains_.astype(np.float32),
            "votes": self.votes_,
            "leaves": self.leaves_.astype(np.int32),
        }

    def _restore(self, reader: StateReader) -> None:
        self._check()
        self.regression_ = MetaRegression.restore(reader.part("regression"), 1)
        forest = self.regression_.forest
        self.gains_ = reader.array("gains", ("n", "m")).astype(np.float64)
        self.votes_ = reader.array("votes", ("n",))
        self.leaves_ = reader.array("leaves", ("n", len(forest.roots)), "i").astype(np.intp)
        if (self.votes_ <= 0).any():
            raise reader.damaged("a dataset has no vote")
        # every leaf has datasets, as it was grown on them, and no dataset is elsewhere
        if not np.array_equal(np.unique(self.leaves_), np.arange(len(forest.values))):
            raise reader.damaged("the datasets' leaves are not those of the forest")


def _gains(training: Training, reference: str) -> Matrix:
    """Performance less the reference's; what is missing is a small loss."""
    P = training.P
    # NaN in a dataset's median only where it has no value at all, which there is none of
    behind = np.nanmedian(P, axis=1)
    if reference in training.models:
        column = P[:, training.models.index(reference)]
        behind = np.where(np.isnan(column), behind, column)
    gains = P - behind[:, np.newaxis]
    known = ~np.isnan(gains)
    means = np.where(known, gains, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # a model that never had a value comes last, whatever the others do
    instead = np.where(known.any(axis=0), np.minimum(means, 0.0) - _SHY, -1.0)
    return np.where(known, gains, instead)


def _components(gains: Matrix, votes: npt.NDArray[np.float64], count: int) -> Matrix:
    """Main components of the gains, larger ones larger; as many as there are, at most."""
    centred = gains - np.average(gains, axis=0, weights=votes)
    _, _, axes = np.linalg.svd(centred * np.sqrt(votes)[:, np.newaxis], full_matrices=False)
    components: Matrix = centred @ axes[:count].T
    return components
