"""Labelled datasets, evaluation of models on them, the shipped matrix, training of learners."""

from metaod.history._datasets import FolderEntry, LabelledDataset, iter_folder
from metaod.history._evaluation import (
    FIXED_REFERENCES,
    Evaluation,
    Reference,
    evaluate_models,
    mega_ensemble,
)
from metaod.history._fingerprint import FINGERPRINT_FORMAT, fingerprint
from metaod.history._metrics import MEASURES, Measures, measure
from metaod.history._shipped import RECIPES, find_artifact, shipped_folder
from metaod.history._training import REFERENCE, TrainingData, train

__all__ = [
    "FINGERPRINT_FORMAT",
    "FIXED_REFERENCES",
    "MEASURES",
    "RECIPES",
    "REFERENCE",
    "Evaluation",
    "FolderEntry",
    "LabelledDataset",
    "Measures",
    "Reference",
    "TrainingData",
    "evaluate_models",
    "find_artifact",
    "fingerprint",
    "iter_folder",
    "measure",
    "mega_ensemble",
    "shipped_folder",
    "train",
]
