"""MetaOD: learned."""

import pandas as pd

import metaod
from metaod.artifacts import Artifact
from metaod.history import RECIPES, TrainingData, train
from metaod.learners import make_learner

RECIPE = RECIPES["default"]


def fit(history: TrainingData) -> Artifact:
    """Train the default learner."""
    return train(history, make_learner(RECIPE.learner, **RECIPE.params))


def select(table: pd.DataFrame, fitted: Artifact) -> str:
    """Return the learner's pick."""
    return metaod.select(table, learner=fitted, pick="learned").best.id
