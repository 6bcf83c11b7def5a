"""Find the wrong cells of a table: evidence for every cell, a learned score, findings."""

from metaod.wrong_cells._finder import WrongCellFinder, find_wrong_cells
from metaod.wrong_cells._findings import (
    CONFIDENT,
    KINDS,
    Collector,
    Finding,
    FindingGroup,
    WrongCells,
    group,
)

__all__ = [
    "CONFIDENT",
    "KINDS",
    "Collector",
    "Finding",
    "FindingGroup",
    "WrongCellFinder",
    "WrongCells",
    "find_wrong_cells",
    "group",
]
