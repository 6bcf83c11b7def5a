"""Labelled datasets, evaluation of models on them, the shipped matrix, training of learners."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
    from metaod.history._datasets import FolderEntry, LabelledDataset, iter_folder
    from metaod.history._evaluation import (
        DEFAULT_FOREST,
        REFERENCE_MODELS,
        Evaluation,
        MegaEnsemble,
        check_figures,
        evaluate_models,
    )
    from metaod.history._fingerprint import FINGERPRINT_FORMAT, fingerprint
    from metaod.history._metrics import MEASURES, Measures, measure
    from metaod.history._shipped import RECIPES, find_artifact, shipped_folder
    from metaod.history._training import TrainingData, train

__all__ = [
    "DEFAULT_FOREST",
    "FINGERPRINT_FORMAT",
    "MEASURES",
    "RECIPES",
    "REFERENCE_MODELS",
    "Evaluation",
    "FolderEntry",
    "LabelledDataset",
    "Measures",
    "MegaEnsemble",
    "TrainingData",
    "check_figures",
    "evaluate_models",
    "find_artifact",
    "fingerprint",
    "iter_folder",
    "measure",
    "shipped_folder",
    "train",
]

__getattr__ = exports(__name__)
