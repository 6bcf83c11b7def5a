"""Gain forest: gains over isolation forest on similar tables, minus a price for losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from metaod._legal import Number, Whole, parameters
from metaod._state import Shape
from metaod.learners._base import Learner, OnStep
from metaod.learners._forests import Indices, MetaRegression
from metaod.learners._parameters import forest_parameters
from metaod.learners._training import Training
from metaod.models import Matrix

_MISSING_LOSS = 0.02  # assumed at least for a model without a value on a dataset


@dataclass
class GainForest(Learner):
    """Scores models by their gain over a reference model on similar datasets.

    A random forest, fitted on the gains, gives every historical dataset a weight for a new table:
    how often they share a leaf; the datasets of a leaf share its weight, and the datasets of an
    origin share one vote. The score of a model is its weighted mean gain over the reference, minus
    a price for the weighted share of datasets with a loss of more than ``loss``.

    The targets are differences to the reference, not performance, because differences have a
    similar size on all datasets. The forest is fitted on their main components, because hundreds
    of models are correlated and a single model's gains are mostly noise.

    Parameters
    ----------
    reference : str, default="IForest(n_estimators=100, max_features=1.0)"
        Id of the reference model; if it is none of the models, the median model of each dataset.
    price : float, default=0.1
        Price of a certain loss; 0 uses the mean gain only.
    loss : float, default=0.05
        A model loses where it is behind the reference by more than this.
    n_components : int, default=20
        Number of main components of the gains that the forest is fitted on.
    n_estimators : int, default=500
        Trees.
    min_samples_leaf : int, default=5
        Minimal number of datasets in a leaf.
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
    summary: ClassVar[str] = "gains over iForest on similar tables, minus a penalty for losses"
    is_random: ClassVar[bool] = True
    legal = parameters(n_components=Whole(1), price=Number(0, 1, "[]"), loss=Number(0, 1, "[]"))
    learned: ClassVar[Mapping[str, Any]] = {
        "regression": MetaRegression,
        "gains": Shape("n", "m"),
        "votes": Shape("n"),
        "leaves": Annotated[Indices, Shape("n", None)],
    }

    def _fit(self, training: Training, progress: OnStep) -> None:
        progress("forest", 0, 1)
        # single precision, as in the file
        self.gains_ = _gains(training, self.reference).astype(np.float32).astype(np.float64)
        self.votes_ = 1.0 / np.bincount(training.groups)[training.groups]
        targets = _components(self.gains_, self.votes_, self.n_components)
        fitted = MetaRegression.fit(
            training.M, targets, sample_weight=self.votes_, **forest_parameters(self)
        )
        self.leaves_ = fitted.leaves(training.M)
        # only the leaves are used, not their values
        self.regression_ = fitted.with_values(np.zeros((len(fitted.forest.values), 1)))
        progress("forest", 1, 1)

    def _predict(self, M: Matrix) -> Matrix:
        weights = self.regression_.leaf_weights(self.leaves_, M) * self.votes_
        weights /= weights.sum(axis=1, keepdims=True)
        lost = (self.gains_ < -self.loss).astype(np.float64)
        return np.asarray(weights @ (self.gains_ - self.price * lost))

    def _check_learned(self) -> None:
        forest = self.regression_.forest
        if (self.votes_ <= 0).any():
            raise ValueError("a dataset has no vote")
        if self.leaves_.shape[1] != len(forest.roots) or forest.n_outputs != 1:
            raise ValueError("the leaves or values are not those of the forest")
        # every leaf of the forest holds a training dataset
        if not np.array_equal(np.unique(self.leaves_), np.arange(len(forest.values))):
            raise ValueError("the datasets' leaves are not those of the forest")


def _gains(training: Training, reference: str) -> Matrix:
    """Return performance minus the reference's; a missing value is a small loss."""
    P = training.P
    # every row has at least one value
    baseline = np.nanmedian(P, axis=1)
    if reference in training.models:
        column = P[:, training.models.index(reference)]
        baseline = np.where(np.isnan(column), baseline, column)
    gains = P - baseline[:, np.newaxis]
    known = ~np.isnan(gains)
    means = np.where(known, gains, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # a model without any value comes last
    assumed = np.where(known.any(axis=0), np.minimum(means, 0.0) - _MISSING_LOSS, -1.0)
    return np.where(known, gains, assumed)


def _components(gains: Matrix, votes: Matrix, count: int) -> Matrix:
    """Return at most ``count`` main components of the gains, not scaled."""
    centred = gains - np.average(gains, axis=0, weights=votes)
    _, _, axes = np.linalg.svd(centred * np.sqrt(votes)[:, np.newaxis], full_matrices=False)
    return np.asarray(centred @ axes[:count].T)
