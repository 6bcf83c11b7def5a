"""Learners: ``fit`` on a performance matrix and meta-features, ``predict`` scores over models."""

from metaod.learners.base import Choice, Learner
from metaod.learners.registry import learner_class, learner_classes, make_learner

__all__ = ["Choice", "Learner", "learner_class", "learner_classes", "make_learner"]
