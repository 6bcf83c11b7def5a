"""A table as read: columns as they came, an optional label, and where it came from."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """A table as read, before preparation.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns as they came, without the label; row order and index are the caller's.
    label : numpy.ndarray of int8 or None
        1 for an outlier, 0 otherwise; only where the caller named a label column. It is for
        evaluation: nothing that selects or scores ever receives it.
    source : str
        The file's path, or what kind of object it was.
    warnings : tuple of str
        What the reader thought worth telling.
    typed : bool
        Whether the types of the columns are decided, as `read_table` does: the preparation does
        not interpret text then.
    """

    frame: pd.DataFrame
    label: npt.NDArray[np.int8] | None = None
    source: str = "table"
    warnings: tuple[str, ...] = field(default=())
    typed: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns, the label not counted."""
        return int(self.frame.shape[1])

    @property
    def index(self) -> "pd.Index[Any]":
        """The rows' own index, with which scores can be joined back."""
        return self.frame.index

    def __repr__(self) -> str:
        labelled = "" if self.label is None else f", {int(self.label.sum())} labelled outliers"
        return f"Table({self.source!r}: {self.n_rows} rows × {self.n_columns} columns{labelled})"
