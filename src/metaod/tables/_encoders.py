"""Encoders: each turns one column into its part of the matrix; their fields are plain values."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import log
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import UserError
from metaod.tables._column_values import NumberKind, read_as, read_as_labels, read_column
from metaod.tables._objects import Labels, spread
from metaod.tables._record import ColumnRecord

SURPRISAL_UNIT = 2.5
"""Nats of surprisal that count as one standard deviation."""

_Column: TypeAlias = "pd.Series[Any]"
_Matrix = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.bool_]
_Words = frozenset[str]


@dataclass(frozen=True)
class Encoded:
    """What was found in the rows that were encoded."""

    gaps: _Rows  # rows whose value is missing or infinite
    n_infinite: int = 0
    n_unseen: int = 0
    note: str = ""

    def counted(self, record: ColumnRecord) -> ColumnRecord:
        """Return the column's record with the counts of these rows."""
        n_missing = int(np.count_nonzero(self.gaps)) - self.n_infinite
        counts = (record.n_missing, record.n_infinite, record.n_unseen)
        if counts == (n_missing, self.n_infinite, self.n_unseen):
            return record
        return replace(
            record, n_missing=n_missing, n_infinite=self.n_infinite, n_unseen=self.n_unseen
        )


class Encoder(Protocol):
    """Turns one column into zero or more columns of the matrix."""

    tag: ClassVar[str]
    fixed: ClassVar[bool]  # whether the outputs are in fixed units

    def output_names(self, name: str) -> tuple[str, ...]: ...

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Encoded:
        """Write every cell of `out`, a column per output; `missing` are words of missing text."""
        ...


@dataclass(frozen=True)
class KeepNumbers:
    """Keeps numbers as they are; missing and infinite values become `fill`."""

    tag: ClassVar[str] = "numbers"
    fixed: ClassVar[bool] = False
    kind: NumberKind
    fill: float

    def output_names(self, name: str) -> tuple[str, ...]:
        return (name,)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Encoded:
        column = read_as(series, self.kind, missing)
        gaps = ~np.isfinite(column.values)
        n_gaps = int(np.count_nonzero(gaps))
        out[:, 0] = np.where(gaps, self.fill, column.values) if n_gaps else column.values
        n_missing = int(np.count_nonzero(np.isnan(column.values))) if n_gaps else 0
        return Encoded(gaps, n_gaps - n_missing, note=column.note)


@dataclass(frozen=True)
class Surprisal:
    """Writes -log of the share of the fitted rows that have the same value, in fixed units.

    A missing value is a value like any other. An unseen one has the share of one row.
    """

    tag: ClassVar[str] = "surprisal"
    fixed: ClassVar[bool] = True
    categories: tuple[str, ...]
    counts: tuple[int, ...]
    n_rows: int

    def output_names(self, name: str) -> tuple[str, ...]:
        return (f"{name} surprisal",)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Encoded:
        column = self.read(series, missing)
        counts = dict(zip(self.categories, self.counts, strict=True))
        found = np.array([counts.get(text, 0) for text in column.texts], dtype=np.int64)
        rows = spread(found, self.n_rows - sum(self.counts), column.codes)
        out[:, 0] = (log(self.n_rows) - np.log(np.maximum(rows, 1))) / SURPRISAL_UNIT
        return _compared(column, self.categories, series.dtype)

    def read(self, series: _Column, missing: _Words) -> Labels:
        # a word that is a fitted category is not missing
        return read_as_labels(series, missing.difference(self.categories))


def _compared(column: Labels, categories: Sequence[str], dtype: Any) -> Encoded:
    """Count the gaps and the unseen categories; say if most are numbers where text was."""
    known = set(categories)
    is_new = np.array([text not in known for text in column.texts], dtype=bool)
    gaps, n_unseen = column.codes < 0, int(np.count_nonzero(spread(is_new, False, column.codes)))
    note = ""
    if pd.api.types.is_numeric_dtype(dtype) and 2 * n_unseen > np.count_nonzero(~gaps):
        note = "held text in the first table and holds numbers now, which count as new values"
    return Encoded(gaps, n_unseen=n_unseen, note=note)


@dataclass(frozen=True)
class Drop:
    """Writes nothing; of later rows only the gaps are counted, and values not in `categories`."""

    tag: ClassVar[str] = "drop"
    fixed: ClassVar[bool] = False
    numeric: bool = False  # whether text may spell infinite numbers
    categories: tuple[str, ...] = ()  # none if new values are no news

    def output_names(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - see Encoder
        return ()

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Encoded:  # noqa: ARG002 - see Encoder
        try:
            if self.categories:
                words = missing.difference(self.categories)
                return _compared(read_as_labels(series, words), self.categories, series.dtype)
            column = read_column(series, missing)
        except UserError:  # the values are of no use
            return Encoded(series.isna().to_numpy(dtype=bool, copy=True))
        if self.numeric and isinstance(column, Labels):
            with suppress(UserError):
                column = read_as(series, "numeric", missing)
        if isinstance(column, Labels):
            return Encoded(column.codes < 0)
        return Encoded(~np.isfinite(column.values), int(np.count_nonzero(np.isinf(column.values))))
