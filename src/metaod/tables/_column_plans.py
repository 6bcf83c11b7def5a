"""Plan how each column is encoded, from the rows that the preparation is fitted with."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.tables._column_types import ColumnTyper
from metaod.tables._column_values import (
    NumberKind,
    Numbers,
    read_as,
    read_as_labels,
    read_column,
)
from metaod.tables._dates import are_dates
from metaod.tables._drift import Usual
from metaod.tables._encoders import Drop, Encoder, Frequency, KeepNumbers, MarkMissing, OneHot
from metaod.tables._notations import Notation
from metaod.tables._objects import Labels
from metaod.tables._record import Action, ColumnKind, ColumnRecord, listed
from metaod.tables._roles import Roles

_ACTIONS: dict[NumberKind, Action] = {
    "numeric": "kept",
    "boolean": "0 and 1",
    "date": "days since 1970-01-01",
    "duration": "seconds",
}


@dataclass(frozen=True)
class PlanRules:
    """The checked parameters of a `Preparation`, which documents them."""

    max_categories: int
    max_columns: int
    max_bytes: int | None
    indicator_share: float
    distinct_share: float

    def __post_init__(self) -> None:
        _check_count("max_categories", self.max_categories, 0)
        _check_count("max_columns", self.max_columns, 1)
        if self.max_bytes is not None:
            _check_count("max_bytes", self.max_bytes, 1, otherwise=" or None")
        _check_share("indicator_share", self.indicator_share)
        _check_share("distinct_share", self.distinct_share)

    def are_many(self, n_gaps: int, n_rows: int) -> bool:
        return bool(n_gaps > self.indicator_share * n_rows)


def _check_count(name: str, value: object, least: int, otherwise: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        legal = f"an int in the range [{least}, inf){otherwise}"
        raise BadParameter("Preparation", name, legal, value)


def _check_share(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or not 0 <= value <= 1
    ):
        raise BadParameter("Preparation", name, "a float in the range [0, 1]", value)


@dataclass(frozen=True)
class ColumnPlan:
    """How a column is encoded, with the counts of the fitted rows."""

    record: ColumnRecord
    encoder: Encoder
    note: str = ""
    narrower: "ColumnPlan | None" = None  # with fewer outputs, if the matrix would be too wide
    notation: Notation | None = None  # of numbers, dates or durations that are text
    usual: Usual | None = None  # values of the fitted rows, to compare new ones with

    @property
    def n_outputs(self) -> int:
        return len(self.encoder.output_names(self.record.name))


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
        return leave_out(series, "identifier" if role == "id" else "ignored", roles.reason(name))
    column, reason = read_column(series, missing), ""
    if role == "category":
        column = replace(read_as_labels(series, missing), declared=True)
    elif missing and isinstance(column, Labels) and not column.declared:
        typed, what = typer.type_labels(name, column)
        if typed is not None:
            column, reason = read_column(typed, missing), f"its text is all {what}"
    if role in ("date", "time") and (isinstance(column, Labels) or column.kind != "date"):
        column = read_as(series, "date", missing, why=f"is named in {role!r}")
    if isinstance(column, Numbers):
        # an unused column keeps its note: it may be constant through rounding
        plan = replace(_plan_numbers(name, column, rules, roles, reason), note=column.note)
        plan = replace(plan, usual=Usual.of_numbers(column.values))
    else:
        plan = replace(_plan_labels(name, column, rules), usual=Usual.of_codes(column.codes))
    if name in typer.written:
        plan = replace(plan, notation=typer.written[name].notation)
    return _counted(plan, series) if isinstance(plan.encoder, Drop) else plan


def leave_out(series: "pd.Series[Any]", kind: ColumnKind, reason: str) -> ColumnPlan:
    """Plan not to use a column, not even its gaps."""
    record = ColumnRecord(str(series.name), kind, "dropped", reason=reason)
    return _counted(ColumnPlan(record, Drop()), series)


def _counted(plan: ColumnPlan, series: "pd.Series[Any]") -> ColumnPlan:
    # counted as in later rows: the same rows always get the same record
    counts = plan.encoder.encode(series, np.empty((len(series), 0)), frozenset())
    record = replace(plan.record, n_missing=counts.n_missing, n_infinite=counts.n_infinite)
    return replace(plan, record=record)


def _plan_numbers(
    name: str, column: Numbers, rules: PlanRules, roles: Roles, reason: str
) -> ColumnPlan:
    values = column.values
    finite = np.isfinite(values)
    n_bad = len(values) - int(finite.sum())
    n_missing = int(np.isnan(values).sum()) if n_bad else 0
    shown = values[finite] if n_bad else values
    record = ColumnRecord(
        name, column.kind, "kept", n_missing=n_missing, n_infinite=n_bad - n_missing
    )
    if shown.size == 0:
        return _unused(record, "empty", "no finite value in any row", len(values), rules)
    if shown.min() == shown.max():
        return _unused(record, "constant", _same_value(record), len(values), rules)
    if column.whole and name not in roles.only:
        why = ""
        if names_identifier(name) and pd.unique(shown).size == shown.size:
            why = "its name says so and all its values are distinct"
        elif n_bad == 0 and counts_rows(values):
            why = "its values number the rows"
        if why:
            return _unused(record, "identifier", why, len(values), rules)
    surely_dates = column.whole and roles.may_leave_out(name) and are_dates(name, shown)
    if surely_dates or (column.kind == "date" and name not in roles.time):
        why = f"dates are not used unless named in 'time' (--time {name!r})"
        return _unused(record, "date", why, len(values), rules)
    if column.kind == "boolean":
        fill = float(shown.mean() > 0.5)
        marks = n_missing > 0  # a category of its own
    else:
        fill = _median(shown)
        marks = rules.are_many(n_bad, len(values))
    record = replace(record, action=_ACTIONS[column.kind], fill=fill, reason=reason)
    return ColumnPlan(record, KeepNumbers(column.kind, fill, marks))


def _median(values: npt.NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        middle = float(np.median(values))
    # the sum of the two middle values can overflow
    return middle if np.isfinite(middle) else float(np.median(values / 2) * 2)


def _plan_labels(name: str, column: Labels, rules: PlanRules) -> ColumnPlan:
    n_rows = len(column.codes)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    n_shown = int(counts.sum())
    n_missing = n_rows - n_shown
    texts = [text for text, count in zip(column.texts, counts, strict=True) if count]
    counts = counts[counts > 0]
    record = ColumnRecord(name, "category", "one-hot", n_missing=n_missing)
    if not texts:
        return _unused(record, "empty", "no value in any row", n_rows, rules)
    if len(texts) == 1:
        return _unused(record, "constant", _same_value(record), n_rows, rules)
    if len(texts) >= rules.distinct_share * n_shown:
        why = f"{len(texts):,} distinct texts in {n_shown:,} rows"
        return _unused(record, "identifier", why, n_rows, rules)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    encoder = Frequency(
        categories=tuple(texts[position] for position in order),
        shares=tuple(float(counts[position] / n_rows) for position in order),
        missing_share=n_missing / n_rows,
        marks_missing=rules.are_many(n_missing, n_rows),
    )
    if len(texts) <= rules.max_categories:
        narrower = _plan_frequency(record, encoder, n_rows, rules)
        return ColumnPlan(record, OneHot(encoder.categories, n_missing > 0), narrower=narrower)
    kind: ColumnKind = "category" if column.declared else "text"
    return _plan_frequency(replace(record, kind=kind), encoder, n_rows, rules)


def _plan_frequency(
    record: ColumnRecord, encoder: Frequency, n_rows: int, rules: PlanRules
) -> ColumnPlan:
    shares = {*encoder.shares, *([encoder.missing_share] if record.n_missing else [])}
    if len(shares) == 1:
        return _unused(record, "constant", "its values are all equally frequent", n_rows, rules)
    reason = f"{len(encoder.categories):,} distinct values"
    return ColumnPlan(replace(record, action="frequency", reason=reason), encoder)


def _same_value(record: ColumnRecord) -> str:
    gaps = " that has one" if record.n_missing + record.n_infinite else ""
    return f"the same value in every row{gaps}"


def _unused(
    record: ColumnRecord, kind: ColumnKind, reason: str, n_rows: int, rules: PlanRules
) -> ColumnPlan:
    """Drop a column, but keep an indicator of its gaps if these are many."""
    n_gaps = record.n_missing + record.n_infinite
    if n_gaps < n_rows and rules.are_many(n_gaps, n_rows):
        record = replace(record, kind=kind, action="indicator only", reason=reason)
        return ColumnPlan(record, MarkMissing())
    return ColumnPlan(replace(record, kind=kind, action="dropped", reason=reason), Drop())


# boundaries inside camelCase and before the last capital of an acronym: userId, IDNumber
_WORD_STARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_LETTERS = re.compile(r"[\W\d_]+")

_LAST_WORDS = frozenset({"id", "uuid", "guid", "identifier", "key", "rowid"})
_WHOLE_NAMES = frozenset(
    {"index", "idx", "row", "rownum", "rownumber", "rowindex", "unnamed"}
    | {f"id {word}" for word in ("number", "no", "num", "nr", "code")}
    | {
        f"{thing} {word}"
        for thing in ("row", "record", "line", "serial", "sequence")
        for word in ("number", "no", "num", "nr", "index", "idx")
    }
)


def names_identifier(name: str) -> bool:
    """Whether a column's name means an identifier: a price index or a bid is a measurement.

    >>> names = ("ID", "userID", "Unnamed: 0", "bid", "idle", "price index")
    >>> list(filter(names_identifier, names))
    ['ID', 'userID', 'Unnamed: 0']
    """
    words = [word.lower() for word in _NOT_LETTERS.split(_WORD_STARTS.sub(" ", name)) if word]
    return bool(words) and (words[-1] in _LAST_WORDS or " ".join(words) in _WHOLE_NAMES)


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


def limit_width(
    plans: Iterable[ColumnPlan], max_columns: int
) -> tuple[list[ColumnPlan], list[str]]:
    """Encode the widest one-hot columns by frequency until the matrix is narrow enough."""
    kept = list(plans)
    total = sum(plan.n_outputs for plan in kept)
    wide = [
        (plan.n_outputs, position, plan.narrower)
        for position, plan in enumerate(kept)
        if plan.narrower is not None
    ]
    wide.sort(key=lambda entry: entry[:2], reverse=True)
    changed = []
    for n_outputs, position, narrower in wide:
        if total <= max_columns:
            break
        total += narrower.n_outputs - n_outputs
        kept[position] = replace(narrower, usual=kept[position].usual)
        changed.append(position)
    kept = [replace(plan, narrower=None) for plan in kept]
    if not changed:
        return kept, []
    names = [kept[position].record.name for position in sorted(changed)]
    message = (
        f"One-hot encoding would have led to more than {max_columns:,} columns (max_columns); "
        f"encoded by frequency instead: {listed(names)}."
    )
    return kept, [message]


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
        record = replace(
            plan.record,
            outputs=tuple(outputs),
            indicator=outputs[-1] if plan.encoder.marks_missing else None,
        )
        named.append(replace(plan, record=record))
    return named
