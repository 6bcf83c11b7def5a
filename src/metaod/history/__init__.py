"""Labelled datasets, performance of models on them, the shipped matrix and the shipped learners."""

from metaod.history._cache import default_cache_dir
from metaod.history._evaluation import ENGINE_VERSION, Evaluation, evaluate_models
from metaod.history._fingerprinting import FINGERPRINT_FORM, fingerprint
from metaod.history._folder import FolderEntry, iter_folder
from metaod.history._labelled import ENDING, LabelledDataset, holds_variables, read_labelled
from metaod.history._metrics import MEASURES, Measures, average_precision, measure, round_scores
from metaod.history._references import FIXED_REFERENCES, Reference, mega_ensemble
from metaod.history._shipped_learners import find_artifact, will_train
from metaod.history._shipped_matrix import (
    final_origins,
    shipped_cells,
    shipped_datasets,
    shipped_folder,
    shipped_matrix,
    shipped_metafeatures,
)
from metaod.history._training_data import REFERENCE, TrainingData, train

__all__ = [
    "ENDING",
    "ENGINE_VERSION",
    "FINGERPRINT_FORM",
    "FIXED_REFERENCES",
    "MEASURES",
    "REFERENCE",
    "Evaluation",
    "FolderEntry",
    "LabelledDataset",
    "Measures",
    "Reference",
    "TrainingData",
    "average_precision",
    "default_cache_dir",
    "evaluate_models",
    "final_origins",
    "find_artifact",
    "fingerprint",
    "holds_variables",
    "iter_folder",
    "measure",
    "mega_ensemble",
    "read_labelled",
    "round_scores",
    "shipped_cells",
    "shipped_datasets",
    "shipped_folder",
    "shipped_matrix",
    "shipped_metafeatures",
    "train",
    "will_train",
]
