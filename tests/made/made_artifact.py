"""A made-up learner, and artifacts of it, for the tests of artifacts."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from made_history import history

from metaod.artifacts import Artifact, read_container, write_container
from metaod.learners import FlatForest, Learner


@dataclass
class Foresting(Learner):
    """A small learner with nested state, a forest and parameters."""

    name: ClassVar[str] = "foresting"
    title: ClassVar[str] = "Foresting"
    summary: ClassVar[str] = "for tests"
    learned: ClassVar[dict] = {"forests": tuple[FlatForest, ...], "note": str}

    n_trees: int = 5
    random_state: int = 0

    def _fit(self, training, progress):
        X = np.nan_to_num(training.M)
        params = {"random_state": self.random_state, "n_estimators": self.n_trees, "max_depth": 3}
        self.forests_ = (FlatForest.fit(X, np.nan_to_num(training.P), **params),)
        self.note_ = "é"

    def _predict(self, M):
        return self.forests_[0].predict(np.nan_to_num(M))

    def _check_learned(self):
        if self.forests_[0].n_features != len(self.features_):
            raise ValueError("the forest takes other features")


def fitted(kind=Foresting, **parameters):
    learner = kind(**parameters).fit(*history())
    return Artifact(learner, measure="ap", n_origins=12, datasets=tuple(history()[0].index))


def forged(source, path, change):
    """Write a copy of an artifact with a changed content."""
    content = read_container(source, "learner")
    change(content)
    write_container(path, "learner", content)
