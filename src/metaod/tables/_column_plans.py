"""Plan how each column is encoded, from the rows that the preparation is fitted with."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.tables._column_types import ColumnTyper, Written
from metaod.tables._column_values import (
    NumberKind,
    Numbers,
    read_as,
    read_as_labels,
    read_column,
    read_in_notation,
    read_in_own_notation,
)
from metaod.tables._dates import are_dates
from metaod.tables._drift import Usual
from metaod.tables._encoders import Drop, Encoder, KeepNumbers, Surprisal
from metaod.tables._notations import Notation, same_quantity
from metaod.tables._objects import Labels
from metaod.tables._record import Action, ColumnKind, ColumnRecord
from metaod.tables._roles import Roles

_ACTIONS: dict[NumberKind, Action] = {
    "numeric": "kept",
    "boolean": "0 and 1",
    "date": "days since 1970-01-01",
    "duration": "seconds",
}


_LARGEST_EXACT = 2.0**53  # larger whole numbers are rounded: ids of 16 digits and more
_FEW_LEVELS = 20  # text of more levels is called text, not a category


@dataclass(frozen=True)
class PlanRules:
    """The checked parameters of a `Preparation`, which documents them."""

    max_bytes: int | None
    distinct_share: float

    def __post_init__(self) -> None:
        limit, share = self.max_bytes, self.distinct_share
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1
        ):
            legal = "an int in the range [1, inf) or None"
            raise BadParameter("Preparation", "max_bytes", legal, limit)
        if (
            isinstance(share, bool)
            or not isinstance(share, int | float | np.integer | np.floating)
            or not 0 <= share <= 1
        ):
            legal = "a float in the range [0, 1]"
            raise BadParameter("Preparation", "distinct_share", legal, share)


@dataclass(frozen=True)
class ColumnPlan:
    """How a column is encoded, with the counts of the fitted rows."""

    record: ColumnRecord
    encoder: Encoder
    note: str = ""
    notation: Notation | None = None  # of numbers, dates or durations that are text
    usual: Usual | None = None  # values of the fitted rows, to compare new ones with

    @property
    def n_outputs(self) -> int:
        return len(self.encoder.output_names(self.record.name))

    def without_outputs(self, kind: ColumnKind, reason: str) -> "ColumnPlan":
        """Return a plan that does not use the column, but still compares its categories."""
        plan = _unused(self.record, kind, reason)
        if isinstance(self.encoder, Surprisal):
            encoder = Drop(categories=self.encoder.categories)
            plan = replace(plan, encoder=encoder, usual=self.usual)
        return plan


def as_fitted(
    column: "pd.Series[Any]",
    plan: ColumnPlan,
    written: Mapping[str, Written],
    missing: frozenset[str],
) -> "tuple[pd.Series[Any], str]":
    """Read the text of a column in the notation of the fitted rows, if they had one.

    Where they held plain numbers, text is read in its own notation. Also return a note if a column
    is read in another notation than its own or that of the fitted rows.
    """
    own, notation, note = written.get(plan.record.name), plan.notation, ""
    if not plan.record.is_used:
        return column, note
    if own is None or len(own.labels.codes) != len(column):
        return _read_text(column, plan, missing)
    is_plain = notation is None and plan.record.kind not in ("category", "text")
    if own.notation == notation or (is_plain and same_quantity(own.notation)):
        return column, note
    cells = own.labels.to_series().to_numpy()
    text = pd.Series(cells, index=column.index, name=column.name, dtype=object)
    if notation is None:
        return text, note
    read = read_in_notation(text, notation, missing)
    if not read.equals(column.astype(read.dtype)):
        note = f"read as {notation.words()}, as the fitted rows were"
    return read, note


def _read_text(
    column: "pd.Series[Any]", plan: ColumnPlan, missing: frozenset[str]
) -> "tuple[pd.Series[Any], str]":
    if plan.notation is not None:
        return read_in_notation(column, plan.notation, missing), ""
    if not isinstance(plan.encoder, KeepNumbers):
        return column, ""
    column, words = read_in_own_notation(column, plan.encoder.kind, missing)
    return column, f"read as {words}" if words else ""


def plan_column(
    series: "pd.Series[Any]",
    rules: PlanRules,
    roles: Roles,
    missing: frozenset[str],
    typer: ColumnTyper,
) -> ColumnPlan:
    """Plan a column. Without words for `missing` text its type is decided: text is not parsed."""
    name = str(series.name)
    role = roles.role_of(name)
    if roles.is_unused(name):
        kind: ColumnKind = "identifier" if role == "id" else "ignored"
        return leave_out(series, kind, roles.reason(name), missing)
    column, reason = read_column(series, missing), ""
    if role == "category":
        column = replace(read_as_labels(series, missing), declared=True)
    elif missing and isinstance(column, Labels) and not column.declared:
        typed, what = typer.type_labels(name, column)
        if typed is not None:
            column, reason = read_column(typed, missing), f"its text is all {what}"
    if role in ("date", "time") and (isinstance(column, Labels) or column.kind != "date"):
        column = read_as(series, "date", missing, role=role)
    if isinstance(column, Numbers):
        # an unused column keeps its note: it may be constant through rounding
        plan = _plan_numbers(name, column, roles, reason)
        plan = replace(plan, note=column.note, usual=Usual.of_numbers(column.values))
    else:
        plan = replace(_plan_labels(name, column, rules), usual=Usual.of_codes(column.codes))
    if name in typer.written:
        plan = replace(plan, notation=typer.written[name].notation)
    return _counted(plan, series, missing) if isinstance(plan.encoder, Drop) else plan


def leave_out(
    series: "pd.Series[Any]", kind: ColumnKind, reason: str, missing: frozenset[str]
) -> ColumnPlan:
    """Plan not to use a column, not even its gaps."""
    record = ColumnRecord(str(series.name), kind, "dropped", reason=reason)
    return _counted(ColumnPlan(record, Drop()), series, missing)


def _counted(plan: ColumnPlan, series: "pd.Series[Any]", missing: frozenset[str]) -> ColumnPlan:
    # counted as in later rows: the same rows always get the same record
    found = plan.encoder.encode(series, np.empty((len(series), 0)), missing)
    return replace(plan, record=found.counted(plan.record))


def _plan_numbers(name: str, column: Numbers, roles: Roles, reason: str) -> ColumnPlan:
    values = column.values
    finite = np.isfinite(values)
    n_bad = len(values) - int(finite.sum())
    n_missing = int(np.isnan(values).sum()) if n_bad else 0
    shown = values[finite] if n_bad else values
    record = ColumnRecord(
        name, column.kind, "kept", n_missing=n_missing, n_infinite=n_bad - n_missing
    )
    if shown.size == 0:
        return _unused(record, "empty", "no finite value in any row")
    if column.note and name not in roles.named("only") and np.abs(shown).min() > _LARGEST_EXACT:
        return _unused(record, "identifier", "whole numbers of so many digits name things")
    if shown.min() == shown.max():
        return _unused(record, "constant", _same_value(record))
    if column.whole and name not in roles.named("only"):
        why = ""
        if names_identifier(name) and pd.unique(shown).size == shown.size:
            why = "its name says so and all its values are distinct"
        elif n_bad == 0 and counts_rows(values):
            why = "its values number the rows"
        if why:
            return _unused(record, "identifier", why)
    surely_dates = column.whole and roles.may_leave_out(name) and are_dates(name, shown)
    if surely_dates or (column.kind == "date" and name not in roles.named("time")):
        why = f"dates are not used unless named in 'time' (--time {name!r})"
        return _unused(record, "date", why)
    fill = float(shown.mean() > 0.5) if column.kind == "boolean" else _median(shown)
    record = replace(record, action=_ACTIONS[column.kind], fill=fill, reason=reason)
    return ColumnPlan(record, KeepNumbers(column.kind, fill))


def _median(values: npt.NDArray[np.float64]) -> float:
    # numpy's median takes three times longer for few values, which counts in wide tables
    half = len(values) // 2
    first = half if len(values) % 2 else half - 1
    ordered = np.partition(values, (first, half))
    low, high = float(ordered[first]), float(ordered[half])
    middle = (low + high) / 2
    # the sum of the two middle values can overflow
    return middle if math.isfinite(middle) else low / 2 + high / 2


def _plan_labels(name: str, column: Labels, rules: PlanRules) -> ColumnPlan:
    n_rows = len(column.codes)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    n_shown = int(counts.sum())
    n_missing = n_rows - n_shown
    texts = [text for text, count in zip(column.texts, counts, strict=True) if count]
    counts = counts[counts > 0]
    kind: ColumnKind = "category" if column.declared or len(texts) <= _FEW_LEVELS else "text"
    record = ColumnRecord(name, kind, "surprisal", n_missing=n_missing, n_levels=len(texts))
    if not texts:
        return _unused(record, "empty", "no value in any row")
    if len(texts) == 1:
        plan = _unused(record, "constant", _same_value(record))
        return replace(plan, encoder=Drop(categories=tuple(texts)))
    if len(texts) >= rules.distinct_share * n_shown:
        why = f"{len(texts):,} distinct texts in {n_shown:,} rows"
        return _unused(record, "identifier", why)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    encoder = Surprisal(
        categories=tuple(texts[position] for position in order),
        counts=tuple(int(counts[position]) for position in order),
        n_rows=n_rows,
    )
    return ColumnPlan(record, encoder)


def _same_value(record: ColumnRecord) -> str:
    gaps = " that has one" if record.n_missing + record.n_infinite else ""
    return f"the same value in every row{gaps}"


def _unused(record: ColumnRecord, kind: ColumnKind, reason: str) -> ColumnPlan:
    numeric = record.kind == "numeric"
    record = replace(record, kind=kind, action="dropped", reason=reason, n_levels=0)
    return ColumnPlan(record, Drop(numeric))


# boundaries inside camelCase and before the last capital of an acronym: userId, IDNumber
_WORD_STARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_LETTERS = re.compile(r"[\W\d_]+")

_LAST_WORDS = frozenset(
    {"id", "uuid", "guid", "identifier", "key", "rowid", "sku", "ean", "gtin", "iban", "isbn"}
)
_NUMBER_WORDS = frozenset({"no", "nr", "num", "number"})  # after another word: invoice no
_LAST_LETTERS = ("nummer", "nr")  # of German compounds: Kundennummer, Belegnr
_WHOLE_NAMES = frozenset(
    {"index", "idx", "row", "rownum", "rownumber", "rowindex", "unnamed", "id code"}
    | {
        f"{thing} {word}"
        for thing in ("row", "record", "line", "serial", "sequence")
        for word in ("index", "idx")
    }
)


def names_identifier(name: str) -> bool:
    """Whether a column's name means an identifier: a price index or a bid is a measurement.

    >>> names = ("ID", "userID", "Unnamed: 0", "Kunden-Nr", "Order #", "bid", "idle", "price index")
    >>> list(filter(names_identifier, names))
    ['ID', 'userID', 'Unnamed: 0', 'Kunden-Nr', 'Order #']
    """
    words = [word.lower() for word in _NOT_LETTERS.split(_WORD_STARTS.sub(" ", name)) if word]
    if not words:
        return False
    return (
        name.rstrip().endswith("#")
        or words[-1] in _LAST_WORDS
        or (len(words) > 1 and words[-1] in _NUMBER_WORDS)
        or words[-1].endswith(_LAST_LETTERS)
        or " ".join(words) in _WHOLE_NAMES
    )


_FEWEST_NUMBERED = 20  # rows
_NEARLY_A_LINE = 0.98  # the squared correlation of a sorted normal variable with its ranks is 0.955


def counts_rows(values: npt.NDArray[np.float64]) -> bool:
    """Whether whole numbers count the rows of the file: numbers of orders, lines or seconds.

    They rise or fall with every row, and nearly evenly, or mostly by the same step. A table that is
    sorted by a measurement differs: its values are dense in the middle and sparse at the ends.

    >>> counts_rows(np.arange(1000.0, 1100.0)), counts_rows(np.arange(30.0) ** 3)
    (True, False)
    """
    if len(values) < _FEWEST_NUMBERED:
        return False
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    if np.unique(steps, return_counts=True)[1].max() > len(steps) / 2:
        return True
    correlation = np.corrcoef(values, np.arange(len(values)))[0, 1]
    return bool(correlation**2 > _NEARLY_A_LINE)


def name_outputs(plans: Sequence[ColumnPlan]) -> list[ColumnPlan]:
    """Give every output a unique name; columns that keep their name come first."""
    taken = {plan.record.name for plan in plans}
    named = []
    for plan in plans:
        own = plan.record.name
        outputs = []
        for wanted in plan.encoder.output_names(own):
            name, number = wanted, 1
            while name != own and name in taken:
                number += 1
                name = f"{wanted} ({number})"
            taken.add(name)
            outputs.append(name)
        named.append(replace(plan, record=replace(plan.record, outputs=tuple(outputs))))
    return named
