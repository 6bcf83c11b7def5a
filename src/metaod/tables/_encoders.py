"""Encoders: each turns one column into its part of the matrix; their fields are plain values."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables._column_values import NumberKind, Numbers, read_as, read_as_labels, read_column
from metaod.tables._objects import Labels, spread
from metaod.tables._text_values import parse_number

_LONGEST_CATEGORY = 60  # a longer one is cut in the name of its output column

_Column: TypeAlias = "pd.Series[Any]"
_Matrix = npt.NDArray[np.float64]
_Words = frozenset[str]


@dataclass(frozen=True)
class Counts:
    n_missing: int = 0
    n_infinite: int = 0
    n_unseen: int = 0
    note: str = ""


class Encoder(Protocol):
    """Turns one column into zero or more columns of the matrix."""

    tag: ClassVar[str]

    @property
    def marks_missing(self) -> bool: ...  # the last output is 1 where the value is missing

    def output_names(self, name: str) -> tuple[str, ...]: ...

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:
        """Write every cell of `out`, a column per output; `missing` are words of missing text."""
        ...


@dataclass(frozen=True)
class KeepNumbers:
    """Keeps numbers as they are; missing and infinite values become `fill`."""

    tag: ClassVar[str] = "numbers"
    kind: NumberKind
    fill: float
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        return (name, _missing(name)) if self.marks_missing else (name,)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:
        column = read_as(series, self.kind, missing)
        finite = np.isfinite(column.values)
        n_bad = len(finite) - int(np.count_nonzero(finite))
        out[:, 0] = np.where(finite, column.values, self.fill) if n_bad else column.values
        if self.marks_missing:
            out[:, 1] = ~finite
        n_missing = int(np.count_nonzero(np.isnan(column.values))) if n_bad else 0
        return Counts(n_missing, n_bad - n_missing, note=column.note)


@dataclass(frozen=True)
class OneHot:
    """Writes a column of 0 and 1 per category; an unseen category is 0 in all of them."""

    tag: ClassVar[str] = "one-hot"
    categories: tuple[str, ...]
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        names = [f"{name}={_shortened(category)}" for category in self.categories]
        return (*names, _missing(name)) if self.marks_missing else tuple(names)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:
        # a word that is a fitted category is not missing
        column = read_as_labels(series, missing.difference(self.categories))
        positions = {category: position for position, category in enumerate(self.categories)}
        known = np.array([positions.get(text, -1) for text in column.texts], dtype=np.intp)
        position = spread(known, -1, column.codes)
        gaps = column.codes < 0
        rows = np.flatnonzero(position >= 0)
        out[:] = 0.0
        out[rows, position[rows]] = 1.0
        if self.marks_missing:
            out[gaps, -1] = 1.0
        n_missing = int(gaps.sum())
        return Counts(n_missing, n_unseen=len(series) - len(rows) - n_missing)


@dataclass(frozen=True)
class Frequency:
    """Writes the share of the fitted rows that have the same value; 0 for an unseen one."""

    tag: ClassVar[str] = "frequency"
    categories: tuple[str, ...]
    shares: tuple[float, ...]
    missing_share: float
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        own = f"{name} frequency"
        return (own, _missing(name)) if self.marks_missing else (own,)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:
        column = read_as_labels(series, missing.difference(self.categories))
        shares = dict(zip(self.categories, self.shares, strict=True))
        found = np.array([shares.get(text, 0.0) for text in column.texts], dtype=np.float64)
        out[:, 0] = spread(found, self.missing_share, column.codes)
        gaps = column.codes < 0
        if self.marks_missing:
            out[:, 1] = gaps
        unseen = np.array([text not in shares for text in column.texts], dtype=bool)
        return Counts(int(gaps.sum()), n_unseen=int(spread(unseen, False, column.codes).sum()))


@dataclass(frozen=True)
class MarkMissing:
    """Writes only where the column's values are missing or infinite."""

    tag: ClassVar[str] = "missing"
    marks_missing: ClassVar[bool] = True

    def output_names(self, name: str) -> tuple[str, ...]:
        return (_missing(name),)

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:
        column = read_column(series, missing)
        values = column.values if isinstance(column, Numbers) else _numbers_in(column)
        out[:, 0] = ~np.isfinite(values)
        n_missing = int(np.isnan(values).sum())
        return Counts(n_missing, int(out[:, 0].sum()) - n_missing)


@dataclass(frozen=True)
class Drop:
    """Writes nothing; the column is not even read in later rows."""

    tag: ClassVar[str] = "drop"
    marks_missing: ClassVar[bool] = False

    def output_names(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - see Encoder
        return ()

    def encode(self, series: _Column, out: _Matrix, missing: _Words) -> Counts:  # noqa: ARG002 - see Encoder
        is_float = isinstance(series.dtype, np.dtype) and series.dtype.kind == "f"
        n_infinite = int(np.isinf(series.to_numpy()).sum()) if is_float else 0
        return Counts(int(series.isna().sum()), n_infinite)


def _numbers_in(column: Labels) -> _Matrix:
    """Read labels that all spell numbers; other labels become 0."""
    parsed = [parse_number(text) for text in column.texts]
    is_text = column.declared or None in parsed
    values = np.array([0.0 if is_text else value for value in parsed], dtype=np.float64)
    return spread(values, np.nan, column.codes)


def _missing(name: str) -> str:
    return f"{name}=missing"


def _shortened(category: str) -> str:
    is_long = len(category) > _LONGEST_CATEGORY
    return f"{category[: _LONGEST_CATEGORY - 1]}…" if is_long else category
