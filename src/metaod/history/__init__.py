"""Labelled datasets, evaluation of models on them, the shipped matrix, training of learners."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
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

__getattr__ = exports(
    __name__,
    _datasets="FolderEntry LabelledDataset iter_folder",
    _evaluation="FIXED_REFERENCES Evaluation Reference evaluate_models mega_ensemble",
    _fingerprint="FINGERPRINT_FORMAT fingerprint",
    _metrics="MEASURES Measures measure",
    _shipped="RECIPES find_artifact shipped_folder",
    _training="REFERENCE TrainingData train",
)
