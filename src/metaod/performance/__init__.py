"""Dataset × models → scores → measures: the cells of the performance matrix."""

from metaod.performance.evaluation import ENGINE_VERSION, Evaluation, evaluate_models
from metaod.performance.metrics import MEASURES, Measures, average_precision, measure, round_scores
from metaod.performance.references import FIXED_REFERENCES, Reference, mega_ensemble

__all__ = [
    "ENGINE_VERSION",
    "FIXED_REFERENCES",
    "MEASURES",
    "Evaluation",
    "Measures",
    "Reference",
    "average_precision",
    "evaluate_models",
    "measure",
    "mega_ensemble",
    "round_scores",
]
