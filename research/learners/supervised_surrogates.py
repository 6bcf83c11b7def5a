"""Supervised Surrogates: the performance of each model, predicted from meta-features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaod.learners import Learner, OnStep
from metaod.learners._forests import MetaRegression
from metaod.learners._training import Training
from metaod.models import Matrix
from research.learners.performance import completed


@dataclass
class SupervisedSurrogates(Learner):
    """Scores models by the performance that a random forest predicts from meta-features.

    One forest has all models as outputs; its leaves hold mean rows of the performance matrix in
    single precision. Missing cells are estimated first (see
    :func:`~research.learners.performance.completed`); a model without any value is always last.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    min_samples_leaf : int, default=10
        Minimal number of datasets in a leaf. Every leaf stores a value for every model, at most
        ``n_estimators * n_datasets / min_samples_leaf`` rows.
    max_features : float, default=0.1
        Share of the meta-features that a split may choose from; a tenth is three times quicker
        than a third and not worse.
    random_state : int, default=0
        Seed.

    References
    ----------
    L. Xu, F. Hutter, J. Shen, H. Hoos, K. Leyton-Brown: SATzilla2012, improved algorithm selection
    based on cost-sensitive classification models. SAT Challenge 2012.

    Examples
    --------
    >>> P = np.array([[0.1, 0.5], [0.7, 0.3]] * 20)
    >>> M = np.array([[0.0], [1.0]] * 20)
    >>> SupervisedSurrogates(n_estimators=10).fit(P, M).choose([0.9])
    'model 0'
    """

    n_estimators: int = 100
    min_samples_leaf: int = 10
    max_features: float = 0.1
    random_state: int = 0

    name: ClassVar[str] = "supervised_surrogates"
    title: ClassVar[str] = "SS"
    summary: ClassVar[str] = "performance regressed onto meta-features by a random forest"
    is_random: ClassVar[bool] = True
    learned: ClassVar[Mapping[str, Any]] = {
        "regression": MetaRegression,
    }

    def _fit(self, training: Training, progress: OnStep) -> None:
        progress("forest", 0, 1)
        fitted = MetaRegression.fit(training.M, completed(training.P), **self.params())
        # the leaves are most of an artifact: single precision halves its size
        self.regression_ = fitted.with_values(fitted.forest.values.astype(np.float32))
        progress("forest", 1, 1)

    def _predict(self, M: Matrix) -> Matrix:
        return self.regression_.predict(M)

    def _check_learned(self) -> None:
        if self.regression_.forest.n_outputs != len(self.models_):
            raise ValueError("the forest does not predict the models")
