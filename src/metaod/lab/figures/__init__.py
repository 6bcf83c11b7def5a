"""The figures of an evaluation; matplotlib is imported only when one is drawn."""

from metaod.lab.figures._curves import write_curve
from metaod.lab.figures._embedding import write_embedding
from metaod.lab.figures._ranks import write_average_rank, write_critical_difference, write_pairs
from metaod.lab.figures._timing import timing_table, write_largest, write_selection_time

__all__ = [
    "timing_table",
    "write_average_rank",
    "write_critical_difference",
    "write_curve",
    "write_embedding",
    "write_largest",
    "write_pairs",
    "write_selection_time",
]
