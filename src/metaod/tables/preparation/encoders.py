"""What is done to a column: each encoder turns one column into its part of the matrix.

An encoder is settled once, on the rows that the preparation is fitted with, and applied to those
rows and to later ones in the same way. Its fields are plain values, so that it can be saved.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables.preparation.forms import NumberKind, Numbers
from metaod.tables.preparation.reading import read_as, read_as_labels, read_column

__all__ = ["Counts", "Drop", "Encoder", "Frequency", "KeepNumbers", "MarkMissing", "OneHot"]

# a longer category is cut in the name of its output column
_LONGEST_CATEGORY = 60

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """What an encoder met in a column."""

    n_missing: int = 0
    n_infinite: int = 0
    n_unseen: int = 0
    note: str = ""


class Encoder(Protocol):
    """Turns one column into zero or more columns of the matrix."""

    tag: ClassVar[str]

    @property
    def marks_missing(self) -> bool:
        """Whether the last output is 1 where the value is missing and 0 elsewhere."""
        ...

    def output_names(self, name: str) -> tuple[str, ...]:
        """Name the outputs of the column called `name`."""
        ...

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:
        """Write every cell of `out`, which has a column per output."""
        ...


@dataclass(frozen=True)
class KeepNumbers:
    """Numbers as they are; what is missing or infinite becomes `fill`."""

    tag: ClassVar[str] = "numbers"
    kind: NumberKind
    fill: float
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        """Name the outputs."""
        return (name, _missing(name)) if self.marks_missing else (name,)

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:
        """Write the numbers, and the indicator if there is one."""
        column = read_as(series, self.kind)
        finite = np.isfinite(column.values)
        n_bad = len(finite) - int(np.count_nonzero(finite))
        out[:, 0] = np.where(finite, column.values, self.fill) if n_bad else column.values
        if self.marks_missing:
            out[:, 1] = ~finite
        n_missing = int(np.count_nonzero(np.isnan(column.values))) if n_bad else 0
        return Counts(n_missing, n_bad - n_missing, note=column.note)


@dataclass(frozen=True)
class OneHot:
    """A column of 0 and 1 per category; an unseen category is 0 in all of them."""

    tag: ClassVar[str] = "one-hot"
    categories: tuple[str, ...]
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        """Name the outputs."""
        names = [f"{name}={_shortened(category)}" for category in self.categories]
        return (*names, _missing(name)) if self.marks_missing else tuple(names)

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:
        """Write the categories' columns."""
        column = read_as_labels(series)
        places = {category: place for place, category in enumerate(self.categories)}
        # the appended -1 is what code -1, a missing value, looks up
        place = np.array([places.get(text, -1) for text in column.texts] + [-1])[column.codes]
        missing = column.codes < 0
        rows = np.flatnonzero(place >= 0)
        out[:] = 0.0
        out[rows, place[rows]] = 1.0
        if self.marks_missing:
            out[missing, -1] = 1.0
        n_missing = int(missing.sum())
        return Counts(n_missing, n_unseen=len(series) - len(rows) - n_missing)


@dataclass(frozen=True)
class Frequency:
    """The share of the fitted rows that have the same value; 0 for an unseen one."""

    tag: ClassVar[str] = "frequency"
    categories: tuple[str, ...]
    shares: tuple[float, ...]
    missing_share: float
    marks_missing: bool

    def output_names(self, name: str) -> tuple[str, ...]:
        """Name the outputs."""
        own = f"{name} frequency"
        return (own, _missing(name)) if self.marks_missing else (own,)

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:
        """Write the shares, and the indicator if there is one."""
        column = read_as_labels(series)
        shares = dict(zip(self.categories, self.shares, strict=True))
        looked_up = [shares.get(text, 0.0) for text in column.texts]
        # the appended share is what code -1, a missing value, looks up
        out[:, 0] = np.array([*looked_up, self.missing_share])[column.codes]
        missing = column.codes < 0
        if self.marks_missing:
            out[:, 1] = missing
        unseen = np.array([text not in shares for text in column.texts] + [False])[column.codes]
        return Counts(int(missing.sum()), n_unseen=int(unseen.sum()))


@dataclass(frozen=True)
class MarkMissing:
    """Nothing of the column but where its values are missing or infinite."""

    tag: ClassVar[str] = "missing"
    marks_missing: ClassVar[bool] = True

    def output_names(self, name: str) -> tuple[str, ...]:
        """Name the output."""
        return (_missing(name),)

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:
        """Write the indicator."""
        column = read_column(series)
        if isinstance(column, Numbers):
            out[:, 0] = ~np.isfinite(column.values)
            n_missing = int(np.isnan(column.values).sum())
            return Counts(n_missing, int(out[:, 0].sum()) - n_missing)
        out[:, 0] = column.codes < 0
        return Counts(int(out[:, 0].sum()))


@dataclass(frozen=True)
class Drop:
    """Nothing of the column at all; on later rows it is not even read."""

    tag: ClassVar[str] = "drop"
    marks_missing: ClassVar[bool] = False

    def output_names(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - as every encoder
        """Name no output."""
        return ()

    def encode(self, series: "pd.Series[Any]", out: Matrix) -> Counts:  # noqa: ARG002 - likewise
        """Write nothing; count what can be counted without reading."""
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind == "f"
        n_infinite = int(np.isinf(series.to_numpy()).sum()) if plain else 0
        return Counts(int(series.isna().sum()), n_infinite)


def _missing(name: str) -> str:
    return f"{name}=missing"


def _shortened(category: str) -> str:
    if len(category) <= _LONGEST_CATEGORY:
        return category
    return f"{category[: _LONGEST_CATEGORY - 1]}…"
