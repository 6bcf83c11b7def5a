"""Labelled datasets, evaluation of models on them, the shipped matrix, training of learners."""

from metaod.history._datasets import (
    LABELLED_FILE_ENDINGS,
    FolderEntry,
    LabelledDataset,
    holds_variables,
    iter_folder,
    read_labelled,
)
from metaod.history._evaluation import (
    ENGINE_VERSION,
    Evaluation,
    evaluate_models,
)
from metaod.history._fingerprint import FINGERPRINT_FORMAT, fingerprint
from metaod.history._metrics import MEASURES, Measures, average_precision, measure, round_scores
from metaod.history._references import (
    FIXED_REFERENCES,
    Reference,
    mega_ensemble,
)
from metaod.history._relatives import (
    Relation,
    compare_sketches,
    find_relatives,
    join_origins,
)
from metaod.history._shipped_learners import (
    FOLDS,
    RECIPES,
    default_cache_dir,
    find_artifact,
    shipped_training_data,
    train_shipped,
    will_train,
)
from metaod.history._shipped_matrix import (
    MIXED_COLLECTIONS,
    final_origins,
    shipped_cells,
    shipped_datasets,
    shipped_folder,
    shipped_matrix,
    shipped_metafeatures,
)
from metaod.history._sketches import SKETCH_VERSION, Sketch, sketch
from metaod.history._training import REFERENCE, TrainingData, train

__all__ = [
    "ENGINE_VERSION",
    "FINGERPRINT_FORMAT",
    "FIXED_REFERENCES",
    "FOLDS",
    "LABELLED_FILE_ENDINGS",
    "MEASURES",
    "MIXED_COLLECTIONS",
    "RECIPES",
    "REFERENCE",
    "SKETCH_VERSION",
    "Evaluation",
    "FolderEntry",
    "LabelledDataset",
    "Measures",
    "Reference",
    "Relation",
    "Sketch",
    "TrainingData",
    "average_precision",
    "compare_sketches",
    "default_cache_dir",
    "evaluate_models",
    "final_origins",
    "find_artifact",
    "find_relatives",
    "fingerprint",
    "holds_variables",
    "iter_folder",
    "join_origins",
    "measure",
    "mega_ensemble",
    "read_labelled",
    "round_scores",
    "shipped_cells",
    "shipped_datasets",
    "shipped_folder",
    "shipped_matrix",
    "shipped_metafeatures",
    "shipped_training_data",
    "sketch",
    "train",
    "train_shipped",
    "will_train",
]
