"""Learners: fit on a performance matrix and meta-features, then predict a score for every model."""

from metaod.learners._base import Learner, Progress, best_model
from metaod.learners._cleaning import Cleaning
from metaod.learners._forests import FlatForest
from metaod.learners._out_of_fold import origin_folds, out_of_fold_scores
from metaod.learners._parameters import read_parameters
from metaod.learners._registry import (
    ENTRY_POINTS,
    learner_class,
    learner_classes,
    learner_names,
    make_learner,
)
from metaod.learners._state import Shape, State, StateReader, decode, encode

__all__ = [
    "ENTRY_POINTS",
    "Cleaning",
    "FlatForest",
    "Learner",
    "Progress",
    "Shape",
    "State",
    "StateReader",
    "best_model",
    "decode",
    "encode",
    "learner_class",
    "learner_classes",
    "learner_names",
    "make_learner",
    "origin_folds",
    "out_of_fold_scores",
    "read_parameters",
]
