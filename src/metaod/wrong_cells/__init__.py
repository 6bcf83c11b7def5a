"""Find the wrong cells of a table: evidence for every cell, a learned score, findings."""

from metaod.wrong_cells._columns import row_keys
from metaod.wrong_cells._finder import WrongCellFinder, find_wrong_cells
from metaod.wrong_cells._findings import (
    CONFIDENT,
    Collector,
    Finding,
    FindingGroup,
    WrongCells,
)

__all__ = [
    "CONFIDENT",
    "Collector",
    "Finding",
    "FindingGroup",
    "WrongCellFinder",
    "WrongCells",
    "find_wrong_cells",
    "row_keys",
]
