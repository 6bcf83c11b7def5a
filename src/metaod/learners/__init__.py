"""Learners: fit on a performance matrix and meta-features, then predict a score for every model."""

from typing import TYPE_CHECKING

from metaod._lazy import exports
from metaod._state import Shape

if TYPE_CHECKING:
    from metaod.learners._base import Learner, OnStep
    from metaod.learners._cleaning import Cleaning
    from metaod.learners._forests import FlatForest
    from metaod.learners._registry import (
        learner_class,
        learner_classes,
        make_learner,
        register_learner,
    )
    from metaod.learners._training import origin_folds

__all__ = [
    "Cleaning",
    "FlatForest",
    "Learner",
    "OnStep",
    "Shape",
    "learner_class",
    "learner_classes",
    "make_learner",
    "origin_folds",
    "register_learner",
]

__getattr__ = exports(__name__)
