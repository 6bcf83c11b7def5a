"""The columns of a fitted preparation: one class per way to use a column.

A class fits itself to the values of a column, encodes rows as its part of the matrix, and is saved
by its fields. To add a way, write a class with a `tag`, `fit` and `encode`, add it to `Column`, and
choose it in `fit_column`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, Message, Setting, UserError
from metaod.tables._column_values import (
    Cells,
    Numbers,
    are_dates,
    counts_rows,
    names_identifier,
    without_few_repeats,
)
from metaod.tables._drift import Usual
from metaod.tables._notations import Notation, NumberKind
from metaod.tables._objects import Labels, spread
from metaod.tables._record import UNUSED_DATES, Cause, ColumnKind, ColumnRecord
from metaod.tables._roles import Roles

SURPRISAL_UNIT = 2.5
"""Nats of surprisal that count as one standard deviation."""

_ACTIONS: dict[NumberKind, str] = {
    "numeric": "kept",
    "boolean": "0 and 1",
    "date": "days since 1970-01-01",
    "duration": "seconds",
}
_LARGEST_EXACT = 2.0**53  # larger whole numbers are rounded: ids of 16 digits and more
_FEW_LEVELS = 20  # text of more levels is called text, not a category

_Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """What was found in the rows that were encoded."""

    gaps: npt.NDArray[np.bool_]  # rows whose value is missing or infinite
    n_infinite: int = 0
    n_unseen: int = 0
    notes: tuple[str, ...] = ()
    labels: Labels | None = None  # of a category

    def counted(self, record: ColumnRecord) -> ColumnRecord:
        """Return the column's record with the counts of these rows."""
        n_missing = int(np.count_nonzero(self.gaps)) - self.n_infinite
        counts = (record.n_missing, record.n_infinite, record.n_unseen)
        if counts == (n_missing, self.n_infinite, self.n_unseen):
            return record
        return replace(
            record, n_missing=n_missing, n_infinite=self.n_infinite, n_unseen=self.n_unseen
        )


@dataclass(frozen=True)
class FittedColumn:
    """What all columns of a fitted preparation have, whatever is made of them."""

    is_fixed: ClassVar[bool] = False  # whether the outputs are in fixed units
    record: ColumnRecord
    note: str
    usual: Usual | None  # outputs or categories of the fitted rows, to compare new ones with
    kind: NumberKind | None  # None for text, and for a column without values
    notation: Notation | None  # of its text, if that is not plain

    @property
    def name(self) -> str:
        """The column's name."""
        return self.record.name

    def typed(self, cells: Cells) -> tuple[Cells, str]:
        """Return a column of later rows with the type of the fitted one, and a note."""
        return (cells, "") if self.kind is None else cells.typed(self.kind, self.notation)

    def output_names(self) -> tuple[str, ...]:
        """Return the names that the outputs should have."""
        return (self.name,)

    def counted_in(self, cells: Cells) -> Self:
        """Return the column as decided, with the counts of other rows."""
        found = self.encode(cells, np.empty((len(cells.series), len(self.output_names()))))  # type: ignore[attr-defined]  # every column encodes
        return replace(self, record=found.counted(self.record))


@dataclass(frozen=True)
class NumberColumn(FittedColumn):
    """Keeps numbers as they are; missing and infinite values become `fill`."""

    tag: ClassVar[str] = "numbers"
    kind: NumberKind
    fill: float

    @classmethod
    def fit(cls, cells: Cells, column: Numbers, roles: Roles, reason: str) -> "Column":
        """Fit to numbers, unless a rule says that they are not used."""
        values, name = column.values, cells.name
        usual = Usual.of_numbers(values)
        finite = np.isfinite(values)
        n_bad = len(values) - int(finite.sum())
        n_missing = int(np.isnan(values).sum()) if n_bad else 0
        shown = values[finite] if n_bad else values
        record = ColumnRecord(
            name, column.kind, "kept", n_missing=n_missing, n_infinite=n_bad - n_missing
        )
        notation = None if cells.written is None else cells.written.notation
        for kind, why in _why_not_numbers(record, column, shown, roles):
            unused = UnusedColumn.instead(record, kind, why, note=column.note, usual=usual)
            is_known = n_missing < len(values)
            return replace(unused, kind=column.kind if is_known else None, notation=notation)
        fill = float(shown.mean() > 0.5) if column.kind == "boolean" else _median(shown)
        record = replace(record, action=_ACTIONS[column.kind], fill=fill, reason=reason)
        return cls(record, column.note, usual, column.kind, notation, fill)

    def encode(self, cells: Cells, out: _Values) -> Encoded:
        """Write the numbers."""
        column = cells.numbers()
        gaps = ~np.isfinite(column.values)
        n_gaps = int(np.count_nonzero(gaps))
        out[:, 0] = np.where(gaps, self.fill, column.values) if n_gaps else column.values
        n_missing = int(np.count_nonzero(np.isnan(column.values))) if n_gaps else 0
        return Encoded(gaps, n_gaps - n_missing, notes=(column.note,) if column.note else ())


@dataclass(frozen=True)
class CategoryColumn(FittedColumn):
    """Writes -log of the share of the fitted rows that have the same value, in fixed units.

    A missing value is a value like any other. An unseen one has the share of one row.
    """

    tag: ClassVar[str] = "surprisal"
    is_fixed: ClassVar[bool] = True
    categories: tuple[str, ...]
    counts: tuple[int, ...]
    n_rows: int

    def __post_init__(self) -> None:
        n_known = len(self.categories)
        is_counted = min(self.counts, default=0) > 0 and sum(self.counts) <= self.n_rows
        if len(self.counts) != n_known or not is_counted:
            raise ValueError(f"{n_known} categories do not fit {self.n_rows} rows")

    @classmethod
    def fit(cls, cells: Cells, column: Labels, distinct_share: float) -> "Column":
        """Fit to labels, unless a rule says that they are not used."""
        counts = column.counts()
        n_rows, n_shown = len(column.codes), int(counts.sum())
        present = dict(zip(column.texts, counts.tolist(), strict=True))
        if not counts.all():  # declared categories may be in no row
            present = {text: count for text, count in present.items() if count}
        n_levels = len(present)
        kind: ColumnKind = "category" if column.declared or n_levels <= _FEW_LEVELS else "text"
        record = ColumnRecord(
            cells.name, kind, "surprisal", n_missing=n_rows - n_shown, n_levels=n_levels
        )
        usual = Usual.of_labels(column)
        if not present:
            return UnusedColumn.instead(record, "empty", "no value in any row", usual=usual)
        if n_levels == 1:
            why = _same_value(record)
            categories = tuple(present)
            return UnusedColumn.instead(record, "constant", why, usual=usual, categories=categories)
        if n_levels >= distinct_share * n_shown:
            why = f"{n_levels:,} distinct texts in {n_shown:,} rows"
            return UnusedColumn.instead(record, "identifier", why, usual=usual)
        texts = tuple(sorted(present))
        return cls(
            record, "", usual, None, None, texts, tuple(map(present.__getitem__, texts)), n_rows
        )

    def counted_in(self, cells: Cells) -> "CategoryColumn":
        """Return the column as decided, with the counts of other rows."""
        labels = cells.as_text().labels()
        counts = dict(zip(labels.texts, labels.counts().tolist(), strict=True))
        known = {text: counts[text] for text in sorted(counts) if counts[text]}
        column = replace(self, categories=tuple(known), counts=tuple(known.values()))
        return super(CategoryColumn, replace(column, n_rows=len(cells.series))).counted_in(cells)

    def output_names(self) -> tuple[str, ...]:
        """Return the name of the surprisal."""
        return (f"{self.name} surprisal",)

    def encode(self, cells: Cells, out: _Values) -> Encoded:
        """Write the surprisal."""
        cells = cells.as_text()
        column = cells.labels(self.categories)
        counts = dict(zip(self.categories, self.counts, strict=True))
        found = np.array([counts.get(text, 0) for text in column.texts], dtype=np.int64)
        rows = spread(found, self.n_rows - sum(self.counts), column.codes)
        out[:, 0] = (math.log(self.n_rows) - np.log(np.maximum(rows, 1))) / SURPRISAL_UNIT
        return _compared(column, self.categories, cells.series.dtype)


@dataclass(frozen=True)
class UnusedColumn(FittedColumn):
    """Writes nothing; of later rows only the gaps are counted, and values not in `categories`."""

    tag: ClassVar[str] = "drop"
    categories: tuple[str, ...]  # none if new values are not counted

    @classmethod
    def instead(
        cls,
        record: ColumnRecord,
        kind: ColumnKind,
        reason: str,
        *,
        cause: Cause = "",
        note: str = "",
        usual: Usual | None = None,
        categories: tuple[str, ...] = (),
    ) -> "UnusedColumn":
        """Leave out a column for a reason."""
        record = replace(
            record, kind=kind, action="dropped", reason=reason, cause=cause, n_levels=0
        )
        # an unused column keeps its note: it may be constant through rounding
        return cls(record, note, usual, None, None, categories)

    def typed(self, cells: Cells) -> tuple[Cells, str]:
        """Return a column of later rows with the type of the fitted one, if it can be read."""
        try:
            return super().typed(cells)[0], ""
        except UserError:  # the values are of no use
            return cells, ""

    def output_names(self) -> tuple[str, ...]:
        """Return no names."""
        return ()

    def encode(self, cells: Cells, out: _Values) -> Encoded:  # noqa: ARG002 - has no outputs
        """Count gaps and new values."""
        try:
            if self.categories:
                text = cells.as_text()
                labels = text.labels(self.categories)
                return _compared(labels, self.categories, text.series.dtype)
            column = cells.read()
        except UserError:  # the values are of no use
            return Encoded(cells.series.isna().to_numpy(dtype=bool, copy=True))
        if isinstance(column, Labels):
            return Encoded(column.codes < 0)
        return Encoded(~np.isfinite(column.values), int(np.count_nonzero(np.isinf(column.values))))


Column = NumberColumn | CategoryColumn | UnusedColumn


def fit_column(cells: Cells, roles: Roles, distinct_share: float, reason: str = "") -> Column:
    """Decide how to use a column; `reason` says why its text became numbers."""
    role = roles.role_of(cells.name)
    if role == "ignore":
        return leave_out(cells, "ignored", roles.reason(cells.name))
    if role == "id":
        return leave_out(cells, "identifier", roles.reason(cells.name), cause="id")
    if role == "by":
        return leave_out(cells, "category", "says in which group a row is", cause="context")
    if role == "over":
        return _order(cells, roles)
    column: Numbers | Labels
    if role == "category":
        column = replace(cells.as_text().labels(), declared=True)
    else:
        column = cells.read()
    if role in ("date", "time") and (isinstance(column, Labels) or column.kind != "date"):
        cells, _ = cells.typed("date", role=role)
        column = cells.read()
    fitted = (
        NumberColumn.fit(cells, column, roles, reason)
        if isinstance(column, Numbers)
        else CategoryColumn.fit(cells, column, distinct_share)
    )
    # gaps are counted as in later rows, so that the same rows always get the same record
    return fitted.counted_in(cells) if isinstance(fitted, UnusedColumn) else fitted


def _order(cells: Cells, roles: Roles) -> UnusedColumn:
    """Keep how a column is read that orders the rows."""
    if cells.name in roles.named("date"):
        cells, _ = cells.typed("date", role="date")
    column = cells.read()
    if isinstance(column, Labels) or column.kind == "boolean":
        remedy = Message("order", "{over} takes a column of times or numbers", over=Setting("over"))
        raise BadColumn(cells.name, "has no order: it holds no times or numbers", remedy=remedy)
    record = ColumnRecord(cells.name, column.kind, "kept")
    why = "says in which order the rows are"
    unused = UnusedColumn.instead(record, column.kind, why, cause="context")
    notation = None if cells.written is None else cells.written.notation
    return replace(unused, kind=column.kind, notation=notation).counted_in(cells)


def leave_out(cells: Cells, kind: ColumnKind, reason: str, *, cause: Cause = "") -> UnusedColumn:
    """Do not use a column, not even its gaps."""
    record = ColumnRecord(cells.name, kind, "dropped")
    return UnusedColumn.instead(record, kind, reason, cause=cause).counted_in(cells)


def _why_not_numbers(
    record: ColumnRecord, column: Numbers, shown: _Values, roles: Roles
) -> Iterator[tuple[ColumnKind, str]]:
    """Yield the kinds and reasons for which numbers, `shown` if finite, are not used."""
    name = record.name
    is_free = not roles.is_wanted(name)
    if shown.size == 0:
        yield "empty", "no finite value in any row"
    if is_free and column.note and np.abs(shown).min() > _LARGEST_EXACT:
        yield "identifier", "whole numbers of so many digits are identifiers"
    if shown.min() == shown.max():
        yield "constant", _same_value(record)
    unique = without_few_repeats(shown) if is_free and column.whole else None
    if unique is not None and names_identifier(name):
        almost = "" if len(unique) == len(shown) else "almost "
        yield "identifier", f"its name says so and {almost}all its values are distinct"
    if unique is not None and len(shown) == len(column.values) and counts_rows(unique):
        yield "identifier", "its values number the rows"
    surely_dates = column.whole and roles.may_leave_out(name) and are_dates(name, shown)
    if surely_dates or (column.kind == "date" and name not in roles.named("time")):
        yield "date", str(UNUSED_DATES)


def _same_value(record: ColumnRecord) -> str:
    gaps = " that has one" if record.n_missing + record.n_infinite else ""
    return f"the same value in every row{gaps}"


def _median(values: _Values) -> float:
    # numpy's median takes three times longer for few values, which counts in wide tables
    half = len(values) // 2
    first = half if len(values) % 2 else half - 1
    ordered = np.partition(values, (first, half))
    low, high = float(ordered[first]), float(ordered[half])
    middle = (low + high) / 2
    # the sum of the two middle values can overflow
    return middle if math.isfinite(middle) else low / 2 + high / 2


def _compared(column: Labels, categories: Sequence[str], dtype: Any) -> Encoded:
    """Count the gaps and the unseen categories; say if most are numbers where text was."""
    known = set(categories)
    is_new = np.array([text not in known for text in column.texts], dtype=bool)
    gaps, n_unseen = column.codes < 0, int(np.count_nonzero(spread(is_new, False, column.codes)))
    notes: tuple[str, ...] = ()
    if pd.api.types.is_numeric_dtype(dtype) and 2 * n_unseen > np.count_nonzero(~gaps):
        notes = ("held text in the first table and holds numbers now, which count as new values",)
    return Encoded(gaps, n_unseen=n_unseen, notes=notes, labels=column)


def n_outputs_of(column: FittedColumn) -> int:
    """Return how many columns of the matrix a column becomes; refuse a class that writes several.

    Reasons and combinations change single cells of the matrix.
    """
    n_outputs = len(column.output_names())
    if n_outputs > 1:
        what = f"{type(column).__name__} writes {n_outputs} columns for {column.name!r}"
        raise TypeError(f"{what}: a column of a table can become one column of the matrix")
    return n_outputs


def name_outputs(columns: Sequence[Column]) -> list[Column]:
    """Give every output a unique name; columns that keep their name come first."""
    taken = {column.name for column in columns}
    named: list[Column] = []
    for column in columns:
        outputs = []
        for wanted in column.output_names():
            outputs.append(wanted if wanted == column.name else free_name(wanted, taken))
            taken.add(outputs[-1])
        named.append(replace(column, record=replace(column.record, outputs=tuple(outputs))))
    return named


def free_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken, with a number if necessary."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} ({number})"
    return name
