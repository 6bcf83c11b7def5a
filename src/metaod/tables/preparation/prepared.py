"""A prepared table: the matrix and where it came from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables.preparation.record import PreparationRecord

__all__ = ["PreparedTable"]


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table as a finite matrix, with the record of how it became one.

    Parameters
    ----------
    X : numpy.ndarray of float64
        Finite, C-contiguous, a row for every row of the table, in its order.
    names : tuple of str
        The matrix's columns.
    index : pandas.Index
        The table's index, with which scores can be joined back.
    record : PreparationRecord
        What was done to every column of the table.
    source : str
        Where the table came from.
    """

    X: npt.NDArray[np.float64]
    names: tuple[str, ...]
    index: "pd.Index[Any]"
    record: PreparationRecord
    source: str = "table"

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return f"PreparedTable({self.source!r}: {n_rows} rows × {n_columns} columns)"
