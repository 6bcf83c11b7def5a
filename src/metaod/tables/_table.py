"""A table as read: its columns, an optional label and its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import Message, Setting, UserError, counted
from metaod.tables._column_types import Written
from metaod.tables._original import Original


@dataclass(frozen=True)
class Table:
    """A table as read, before preparation.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns without the label; the row order and index are those of the source.
    label : numpy.ndarray of int8 or None
        1 for an outlier, 0 otherwise; for evaluation only, never to select or score.
    source : str
        The path of the file, or the type of the object.
    warnings : tuple of Message
        Warnings of the reader.
    typed : bool
        Whether the columns have their final types, as after `read_table`: text is not parsed.
    original : Original or None
        All columns as the file has them, to write them again.
    written : mapping of str to Written
        Columns whose text was read in some notation, as $1,234.50 or 18.03.2024: their text and
        notation. A fitted preparation reads later rows in its own notation.
    """

    frame: pd.DataFrame
    label: npt.NDArray[np.int8] | None = None
    source: str = "table"
    warnings: tuple[Message, ...] = ()
    typed: bool = False
    original: Original | None = None
    written: Mapping[str, Written] = field(default_factory=dict, repr=False)

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
        """The row index, to join scores to the rows."""
        return self.frame.index

    def take(self, rows: npt.NDArray[np.intp]) -> "Table":
        """Return some of the rows, without the file that they came from."""
        written = {name: own.take(rows) for name, own in self.written.items()}
        label = None if self.label is None else self.label[rows]
        frame = self.frame.iloc[rows]
        return replace(self, frame=frame, label=label, original=None, written=written)

    def checked_label(self) -> npt.NDArray[np.int8]:
        """Return the label, which must have outliers and inliers."""
        if self.label is None:
            named = "name the column that marks outliers: {set}"
            remedy = Message("name-label", named, set=Setting("label"))
            what = "the table has no label"
            raise UserError(what, where=self.source, remedy=remedy, code="no-label")
        n_outliers = int(self.label.sum())
        if n_outliers in (0, self.n_rows):
            what = f"the label marks every row as {'an outlier' if n_outliers else 'an inlier'}"
            remedy = Message("one-class", "a comparison needs outliers and inliers")
            raise UserError(what, where=self.source, remedy=remedy, code="one-class")
        return self.label

    def __repr__(self) -> str:
        size = f"{counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}"
        if self.label is not None:
            size += f", {counted(int(self.label.sum()), 'labelled outlier')}"
        return f"Table({self.source!r}: {size})"
