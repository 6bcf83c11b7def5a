"""Find the wrong cells of a table: evidence for every cell, a learned score, findings."""

from metaod.wrong_cells._columns import row_keys
from metaod.wrong_cells._finder import WrongCellFinder, find_wrong_cells
from metaod.wrong_cells._findings import (
    CERTAIN,
    CONFIDENT,
    Collector,
    Finding,
    WrongCells,
)
from metaod.wrong_cells._patterns import Pattern, Sign, choose, find_patterns, with_shared_values

__all__ = [
    "CERTAIN",
    "CONFIDENT",
    "Collector",
    "Finding",
    "Pattern",
    "Sign",
    "WrongCellFinder",
    "WrongCells",
    "choose",
    "find_patterns",
    "find_wrong_cells",
    "row_keys",
    "with_shared_values",
]
