"""What is usual for a row: in its group, after its past, and with its other cells.

A number is compared with a middle and a spread of its own row, on the column's scale, raw or
logarithmic. What is left, in spreads, takes the number's place in the matrix; the search for wrong
cells compares with the same middles and spreads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._state import Shape
from metaod.errors import BadColumn, Message, Setting, counted, listed
from metaod.tables._columns import Column, FittedColumn, NumberColumn, UnusedColumn
from metaod.tables._drift import Usual
from metaod.tables._groups import FEWEST_VALUES, fit_groups
from metaod.tables._objects import Labels
from metaod.tables._others import Others
from metaod.tables._past import Past
from metaod.tables._record import IN_CONTEXT
from metaod.tables._roles import Roles
from metaod.tables._table import Rows

_UNIT = 0.4  # as of combinations
_CENTRAL = 1.645  # spreads on either side of the usual range: nine of ten values
_LARGEST = 1e150  # of numbers that are squared

_WORDS = {  # of the note on the context
    "by": "in their own group of {by} ({n})",
    "over": "by their past in the order of {over}",
    "target": "by {target} alone, which the others explain",
    "high": "by high values of {high}",
    "low": "by low values of {low}",
}

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Given:
    """What is usual for the numbers of rows, given their context.

    Parameters
    ----------
    context : Context
        What it comes from.
    values : ndarray of float, shape (rows, columns)
        The numbers, NaN if missing; the columns are those of the context.
    middles, spreads : ndarray of float, shape (rows, columns)
        What is usual, on each column's scale.
    runs : ndarray of int, shape (rows, columns)
        For how many rows a number has stayed the same, in order; 1 without an order.
    stuck : ndarray of float, shape (rows, columns)
        How surprising that is, in nats.
    groups : Codes
        The group of each row, one number beyond all groups for a new one.
    """

    context: "Context"
    values: Values
    middles: Values
    spreads: Values
    runs: Codes
    stuck: Values
    groups: Codes

    @property
    def compared(self) -> tuple[Values, Values, Values]:
        """The numbers, the middles and the spreads."""
        return self.values, self.middles, self.spreads

    @cached_property
    def residuals(self) -> Values:
        """How far numbers are from what is usual, in spreads; 0 on a side that does not count.

        A number that stays the same for too long is far from usual, too.
        """
        own = self.context.on_scale(self.values)
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.clip((own - self.middles) / self.spreads, -_LARGEST, _LARGEST)
            sides = np.array(self.context.sides)
            found = np.where(found * sides < 0, 0.0, found)
            found = np.copysign(np.hypot(found, np.log1p(self.stuck) / _UNIT), found)
        return np.where(np.isinf(self.values), self.values, found)

    def applied(self, rows: Rows) -> Rows:
        """Return the rows with what is left of their numbers."""
        changed = {}
        for place, name in enumerate(self.context.names):
            cells = rows.cells(name)
            series = pd.Series(self.residuals[:, place], cells.series.index, name=name)
            changed[name] = replace(cells, series=series, written=None)
        return rows.replaced(changed)

    def take(self, rows: Any) -> Self:
        """Return some of the rows."""
        arrays = {own.name: getattr(self, own.name)[rows] for own in fields(self)[1:]}
        return replace(self, **arrays)

    def of(self, name: str) -> tuple[Values, Values, bool] | None:
        """Return the middles and spreads of a column, and whether it is on logarithms.

        None if the user named no context of the column.
        """
        context = self.context
        if name not in context.names or not (context.by or context.over or name in context.target):
            return None
        place = self.context.names.index(name)
        return self.middles[:, place], self.spreads[:, place], self.context.is_log[place]

    def usual(self, row: int, name: str, spreads: Any = (-_CENTRAL, _CENTRAL)) -> Values:
        """Return the ends of the usual range of a row's number, or other points, in its units."""
        place = self.context.names.index(name)
        points = self.middles[row, place] + np.asarray(spreads) * self.spreads[row, place]
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(points) if self.context.is_log[place] else points)

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Whether each row is of a group that the fitted table has."""
        return np.asarray(self.groups < len(self.context.groups))

    @cached_property
    def words(self) -> npt.NDArray[np.object_]:
        """Names of the context of each row: with region 'North'."""
        names = [self.context.words(group) for group in range(len(self.context.groups) + 1)]
        return np.array(names, dtype=object)[self.groups]

    def value(self, row: int, name: str) -> float:
        """Return a row's number in its units."""
        return float(self.values[row, self.context.names.index(name)])

    def run(self, row: int, name: str) -> int:
        """Return for how many rows a number has stayed the same, if that is surprising; else 0."""
        place = self.context.names.index(name)
        return int(self.runs[row, place]) if self.stuck[row, place] > 0 else 0


@dataclass(frozen=True, eq=False)
class Context:
    """What is usual in each group, in order, and with other cells; fitted to a table.

    Parameters
    ----------
    by, over, target : tuple of str
        The columns of groups, that of the order, and that which the others explain.
    names : tuple of str
        The columns of numbers that are compared in context.
    sides : tuple of int
        1 if only high values of a column count, -1 for low ones, else 0.
    is_log : tuple of bool
        Whether a column is compared on logarithms.
    groups : tuple of tuple of str
        The values of `by` in each group; missing ones are empty.
    middles, spreads : ndarray of float, shape (groups + 1, columns)
        What is usual in each group, and in the whole.
    past : Past or None
        What is usual in order.
    others : Others or None
        What other cells tell of the target.
    """

    by: tuple[str, ...]
    over: tuple[str, ...]
    target: tuple[str, ...]
    names: tuple[str, ...]
    sides: tuple[int, ...]
    is_log: tuple[bool, ...]
    groups: tuple[tuple[str, ...], ...]
    middles: Annotated[npt.NDArray[np.float64], Shape(None, "d")]
    spreads: Annotated[npt.NDArray[np.float64], Shape(None, "d")]
    past: Past | None
    others: Others | None

    def __post_init__(self) -> None:
        shape = (len(self.groups) + 1, len(self.names))
        if self.middles.shape != shape or self.spreads.shape != shape or (self.spreads <= 0).any():
            raise ValueError("groups that do not fit their middles and spreads")
        if {len(self.sides), len(self.is_log)} != {len(self.names)}:
            raise ValueError("columns that do not fit their scales")
        if self.others is not None and not set(self.target) <= set(self.names):
            raise ValueError("a target that is not compared")

    @classmethod
    def fit(
        cls, columns: Sequence[Column], rows: Rows, roles: Roles
    ) -> "tuple[Context | None, Given | None]":
        """Learn what is usual; None if the user named no context."""
        by, over, target = roles.named("by"), roles.named("over"), roles.named("target")
        sides = dict.fromkeys(roles.named("high"), 1) | dict.fromkeys(roles.named("low"), -1)
        named = {*target, *sides}
        _check_numbers(columns, named)
        if not (by or over or named):
            return None, None
        names = tuple(
            column.name
            for column in columns
            if isinstance(column, NumberColumn)
            and column.kind in ("numeric", "duration")
            and (column.name in named or by or over or target)
            and (column.name in named or _varies(rows.frame[column.name]))
        )
        signs = tuple(sides.get(name, 0) for name in names)
        keys = _keys(rows, by)
        groups = tuple(sorted(set(keys)))
        if by and 2 * len(groups) > len(rows):
            what = f"holds {len(groups):,} groups in {len(rows):,} rows"
            remedy = Message(
                "groups", "name a column in {by} whose values repeat", by=Setting("by")
            )
            raise BadColumn(by[-1], what, remedy=remedy, path=rows.place.path)
        values = _numbers(rows, names)
        codes = _codes(keys, groups)
        parts = [fit_groups(own, codes, len(groups)) for own in values.T]
        is_log = tuple(part[2] for part in parts)
        shape = (len(groups) + 1, len(names))
        middles, spreads = (np.array([part[i] for part in parts]).T.reshape(shape) for i in (0, 1))
        fitted = signs, is_log, groups, middles, spreads
        context = cls(by, over, target, names, *fitted, past=None, others=None)
        if over:
            is_date = next(own for own in columns if own.name == over[0]).kind == "date"
            own = context.distances(values, middles[codes], spreads[codes])
            past = Past.fit(codes, _times(rows, over[0]), own, is_date=is_date)
            context = replace(context, past=past)
        if target:
            own = context.distances(*context.given(rows).compared)
            others = Others.fit(columns, rows, own, names, target[0])
            context = replace(context, others=others)
        return context, context.given(rows)

    def given(self, rows: Rows) -> Given:
        """Return what is usual for rows."""
        keys = _keys(rows, self.by)
        codes = _codes(keys, self.groups)
        values = _numbers(rows, self.names)
        middles, spreads = self.middles[codes], self.spreads[codes]
        runs, stuck = np.ones(values.shape, dtype=np.int64), np.zeros(values.shape)
        if self.past is not None:
            own = self.distances(values, middles, spreads)
            sequences = _sequences(keys, codes, len(self.groups))
            times = _times(rows, self.over[0])
            middle, spread, runs, stuck = self.past.given(sequences, times, own)
            middle[codes == len(self.groups)], spread[codes == len(self.groups)] = 0.0, 1.0
            middles, spreads = middles + middle * spreads, spreads * spread
            stuck[:, np.array(self.sides) != 0] = 0.0
        found = Given(self, values, middles, spreads, runs, stuck, codes)
        if self.others is not None:
            place = self.names.index(self.target[0])
            middle = self.others.given(rows, self.distances(*found.compared), self.names)
            middles, spreads = middles.copy(), spreads.copy()
            middles[:, place] += middle * spreads[:, place]
            spreads[:, place] *= self.others.spread
            found = replace(found, middles=middles, spreads=spreads)
        return found

    def columns(self, columns: Sequence[Column], given: Given) -> list[Column]:
        """Return fitted columns as they are in context: numbers by what is left of them."""
        return [self._column(column, given) for column in columns]

    def _column(self, column: Column, given: Given) -> Column:
        if self.target and column.name not in self.target:
            if not column.record.is_used:
                return column
            why = f"explains {self.target[0]!r}"
            unused = UnusedColumn.instead(column.record, column.record.kind, why, cause="context")
            return replace(unused, kind=column.kind, notation=column.notation)
        if not isinstance(column, NumberColumn) or column.name not in self.names:
            return column
        own = given.residuals[:, self.names.index(column.name)]
        fill = float(np.median(own[np.isfinite(own)]))
        record = replace(column.record, fill=fill, action=IN_CONTEXT)
        return replace(column, record=record, usual=Usual.of_numbers(own), fill=fill)

    def side(self, name: str) -> int | None:
        """Return which values of a column count: 1 for high ones, -1 low ones, 0 all; or None."""
        if self.target and name not in self.target:
            return None
        return self.sides[self.names.index(name)] if name in self.names else 0

    @property
    def needed(self) -> frozenset[str]:
        """The columns that rows must have, beside those in use."""
        others = () if self.others is None else self.others.names
        return frozenset((*self.by, *self.over, *self.names, *others))

    def saved(self) -> Self:
        """Return what is saved: the past is that of the latest rows."""
        return replace(self, past=self.past and self.past.latest())

    def on_scale(self, values: Values) -> Values:
        """Return numbers on their columns' scales."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.is_log, np.log(np.maximum(values, 1e-300)), values)

    def distances(self, values: Values, middles: Values, spreads: Values) -> Values:
        """Return how far numbers are from others, in spreads; NaN for gaps."""
        with np.errstate(invalid="ignore", over="ignore"):
            own = (self.on_scale(values) - middles) / spreads
        return np.where(np.isfinite(own), own, np.nan)

    def group_words(self, group: int) -> str:
        """Name a group; nothing if there is one, or if it is new."""
        known = self.groups[group] if group < len(self.groups) else ()
        pairs = zip(self.by, known, strict=False)
        parts = [f"{name} {text!r}" if text else f"{name} missing" for name, text in pairs]
        return f"with {', '.join(parts)}" if parts else ""

    def words(self, group: int) -> str:
        """Name a group, and what else is compared."""
        words = [own] if (own := self.group_words(group)) else []
        words += ["at that time"] if self.over else []
        return " ".join(words + (["in rows like it"] if self.target else []))

    def note(self) -> Message:
        """Say in which context rows are judged."""
        values: dict[str, str] = {"n": counted(len(self.groups), "group")}
        parts = []
        for role, words in _WORDS.items():
            side = {"high": 1, "low": -1}.get(role)
            pairs = zip(self.names, self.sides, strict=True)
            names = getattr(self, role, None) or [name for name, own in pairs if own == side]
            if names:
                parts.append(words)
                values[role] = listed(names)
        return Message("context", f"Rows are judged {', '.join(parts)}.", **values)

    def notes(self, given: Given, rows: Rows) -> list[Message]:
        """Say which rows have a new group, and what is unusual in the sequence."""
        notes = []
        is_new = ~given.is_known
        if is_new.any():
            keys = sorted({", ".join(key) for key in _keys(rows, self.by)[is_new]})
            what = (
                "{n} rows are of a group that the first table does not have ({names}); they are "
                "judged by the whole."
            )
            n_rows = f"{int(is_new.sum()):,}"
            notes.append(Message("new-groups", what, n=n_rows, names=listed(keys)))
        if self.past is not None:
            times = _times(rows, self.over[0])
            words = [
                self.group_words(group) or "in a new group" for group in range(len(self.groups) + 1)
            ]
            notes += self.past.notes(given.groups, times, self.over[0], words if self.by else ())
        return notes


def _varies(values: "pd.Series[Any]") -> bool:
    """Tell whether a column has several values and no value fills half of it, as 0 in rain does.

    The spread around such a value is nearly 0, so that all others would be far from usual.
    """
    counts = values.value_counts()
    return len(counts) >= FEWEST_VALUES and bool(2 * counts.iloc[0] <= counts.sum())


def _check_numbers(columns: Sequence[FittedColumn], named: set[str]) -> None:
    """Refuse columns that the user named and that hold no numbers to compare."""
    for column in columns:
        if column.name in named and not isinstance(column, NumberColumn):
            kind = column.record.kind
            why = f" ({column.record.reason})" if column.record.reason else ""
            remedy = Message(
                "numbers", "{target}, {high} and {low} take columns of numbers",
                target=Setting("target"), high=Setting("high"), low=Setting("low"),
            )  # fmt: skip
            raise BadColumn(column.name, f"holds no numbers to judge: {kind}{why}", remedy=remedy)


def _numbers(rows: Rows, names: Sequence[str]) -> Values:
    found = [rows.cells(name).numbers().values for name in names]
    values = np.column_stack(found) if found else np.empty((len(rows), 0))
    return np.where(np.isinf(values), values, np.clip(values, -_LARGEST, _LARGEST))


def _times(rows: Rows, name: str) -> Values:
    values = rows.cells(name).numbers().values
    return np.where(np.isfinite(values), np.clip(values, -_LARGEST, _LARGEST), np.nan)


def _keys(rows: Rows, by: Sequence[str]) -> npt.NDArray[np.object_]:
    """Return the values of each row in the columns of groups."""
    keys = np.empty(len(rows), dtype=object)
    if not by:
        keys[:] = [()] * len(rows)
        return keys
    texts = []
    for name in by:
        labels: Labels = rows.cells(name).as_text().labels()
        texts.append(np.array([*labels.texts, ""], dtype=object)[labels.codes].tolist())
    keys[:] = list(zip(*texts, strict=True))
    return keys


def _codes(keys: npt.NDArray[np.object_], groups: Sequence[tuple[str, ...]]) -> Codes:
    places: Mapping[Any, int] = {group: place for place, group in enumerate(groups)}
    return np.array([places.get(key, len(groups)) for key in keys.tolist()], dtype=np.int64)


def _sequences(keys: npt.NDArray[np.object_], codes: Codes, n_groups: int) -> Codes:
    """Return the group of each row, of which each new one has a number of its own."""
    is_new = codes == n_groups
    if not is_new.any():
        return codes
    found = codes.copy()
    found[is_new] = n_groups + pd.factorize(keys[is_new], sort=True)[0]
    return found
