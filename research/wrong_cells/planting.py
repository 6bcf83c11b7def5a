"""Plant errors of known kinds into a table.

>>> import pandas as pd
>>> table = pd.DataFrame({"age": range(29, 49), "city": ["Rome", "Oslo"] * 10})
>>> planted = plant(table, ["decimal shift"], 0.05, 0)
>>> planted.mask.sum(), planted.frame["age"].between(29, 49).sum()
(np.int64(1), np.int64(19))

A kind is planted only where it changes the cell and where the column can hold it. Columns of whole
numbers stay whole, decimals are kept, and a column that receives a word becomes text as it would
be in a file.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from research.wrong_cells import slips

Rows = npt.NDArray[np.int64]
Values = npt.NDArray[Any]

MODES = ("scattered", "clustered", "systematic")
"""Any cells of some rows; runs of adjacent rows of a column; one kind in a part of one column."""

_FACTORS = (10.0, 100.0, 1000.0, 0.1, 0.01)
_UNITS = (2.54, 0.4536, 1.609, 1 / 2.54, 1 / 0.4536, 1 / 1.609, np.nan, -np.nan)
_CODES = (99.0, 999.0, -1.0, 0.0, -999.0, 9999.0, -99.0, -9.0, 9.0, 99999.0)
_DATE_CODES = ("1900-01-01", "1970-01-01", "9999-12-31", "0000-00-00")
_WORD_CODES = ("?", "-", "xxx", "unknown", "0", "none", "N/A?")
_MOST_DECIMALS = 6
_MOST_LEVELS = 60
_LARGEST = 2.0**53
_FEWEST_MEASURED = 8  # a column with fewer numbers holds codes, which nobody converts
_MOST_ALIKE = 0.9  # share of the commonest level beyond which any column tells the level
_HOLDS = 0.98  # share of rows in which a dependency of a table holds


@dataclass(frozen=True)
class Planted:
    """A table with errors.

    ``mask`` marks the changed cells and ``kinds`` holds the place of their kind in ``KINDS`` plus
    one, 0 where nothing was changed. ``repeated`` marks both rows of a planted repetition (their
    cells are not marked), and ``source`` is the position of a row in the table that was given.
    """

    frame: pd.DataFrame
    mask: npt.NDArray[np.bool_]
    kinds: npt.NDArray[np.int8]
    repeated: npt.NDArray[np.bool_]
    source: Rows

    @property
    def rows(self) -> npt.NDArray[np.bool_]:
        """Rows with a changed cell, and repeated rows."""
        wrong: npt.NDArray[np.bool_] = self.mask.any(axis=1) | self.repeated
        return wrong


def plant(
    frame: pd.DataFrame,
    kinds: Collection[str] | None = None,
    share: float = 0.01,
    rng: np.random.Generator | int = 0,
    *,
    mode: str = "scattered",
) -> Planted:
    """Return a copy of a table with errors.

    Parameters
    ----------
    frame : DataFrame
        A table; it is not changed.
    kinds : collection of str, optional
        Names of ``KINDS``; all of them by default. A kind that no column can hold is left out.
    share : float, default=0.01
        Rows with an error, as a share of all rows, at least one row; in the mode ``systematic``
        the share of one column's cells.
    rng : Generator or int, default=0
        Source of the draws.
    mode : {"scattered", "clustered", "systematic"}, default="scattered"
        Where the errors lie, see ``MODES``.
    """
    rng = np.random.default_rng(rng)
    table = _Table(frame)
    fits = np.array(
        [
            [name in (kinds or KINDS) and KINDS[name].fits(table, place) for place in table.places]
            for name in KINDS
        ]
    ).reshape(len(KINDS), len(table.columns))
    errors = _Errors(table, rng, together=mode != "scattered")
    count = max(1, round(share * len(frame)))
    for _ in range(3):  # a draw may hit cells that it cannot change
        missing = count - errors.n_rows
        if not fits.any() or missing <= 0:
            break
        for kind, place, rows in _draws(fits, missing, len(frame), rng, mode):
            KINDS[list(KINDS)[kind]].plant(errors, kind + 1, place, rows)
        if mode == "systematic":
            break
    return errors.planted()


def plant_any(
    frame: pd.DataFrame,
    rng: np.random.Generator | int,
    kinds: Collection[str] | None = None,
    mode: str | None = None,
) -> Planted:
    """Plant errors in a drawn amount, .1 to 10 % of the rows or 5 to 20 % of a column.

    The mode is drawn too if none is given.
    """
    rng = np.random.default_rng(rng)
    mode = mode or str(rng.choice(MODES, p=(0.7, 0.15, 0.15)))
    low, high = (0.05, 0.2) if mode == "systematic" else (0.001, 0.1)
    return plant(
        frame, kinds, float(np.exp(rng.uniform(np.log(low), np.log(high)))), rng, mode=mode
    )


def add_dependencies(frame: pd.DataFrame, rng: np.random.Generator | int) -> pd.DataFrame:
    """Return a table with a further column that follows from others: a sum, product or group.

    Few public tables have such columns and many tables of users do.
    """
    rng = np.random.default_rng(rng)
    table = _Table(frame)
    numbers = [p for p in table.places if table.columns[p].is_number and table.columns[p].varies]
    groups = [p for p in table.places if 6 <= table.columns[p].n_levels <= len(frame) / 4]
    made: Any = None
    if len(numbers) >= 2 and (rng.random() < 0.6 or not groups):
        one, two = (table.columns[p] for p in rng.choice(numbers, 2, replace=False))
        sign, product = rng.choice([-1, 1]), rng.random() < 0.3
        made = one.values * two.values if product else one.values + sign * two.values
        made = made.round(_MOST_DECIMALS)
    elif groups:
        column = table.columns[int(rng.choice(groups))]
        coarse = rng.integers(2, column.n_levels // 2 + 1)
        made = np.array([f"group {code % coarse}" for code in range(column.n_levels)], object)
        made = np.where(column.codes >= 0, made[column.codes], None)
    if made is None:
        return frame
    name = next(name for name in ("total", "total_1", "total_2", "…") if name not in frame)
    extended = frame.copy()
    extended.insert(int(rng.integers(len(table.columns) + 1)), name, made)
    return extended


def _draws(
    fits: npt.NDArray[np.bool_], count: int, n_rows: int, rng: np.random.Generator, mode: str
) -> Iterator[tuple[int, int, Rows]]:
    """Yield kinds, columns and rows in which to plant."""
    some = np.flatnonzero(fits.any(axis=1))
    if mode == "scattered":
        rows = rng.permutation(n_rows)[:count]
        cells = np.repeat(rows, rng.choice([1, 2, 3, 4], len(rows), p=(0.7, 0.15, 0.1, 0.05)))
        drawn = rng.choice(some, len(cells))
        places = np.array([rng.choice(np.flatnonzero(fits[kind])) for kind in drawn])
        keys = drawn * fits.shape[1] + places
        order = np.argsort(keys, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            yield int(drawn[part[0]]), int(places[part[0]]), np.unique(cells[part])
        return
    if mode == "clustered":
        lengths = np.minimum(rng.integers(2, 13, max(1, count // 7)), n_rows)
    else:
        lengths = np.array([count])
    starts = rng.integers(0, n_rows - lengths + 1)
    runs = [np.arange(start, start + n) for start, n in zip(starts, lengths, strict=True)]
    if mode == "systematic" and rng.random() < 0.5:
        runs = [np.sort(rng.permutation(n_rows)[:count])]
    for rows in runs:
        kind = int(rng.choice(some))
        yield kind, int(rng.choice(np.flatnonzero(fits[kind]))), rows


class _Column:
    """What kinds ask about a column: numbers as floats, all else as texts."""

    def __init__(self, series: "pd.Series[Any]") -> None:
        self.dtype = series.dtype
        self.is_number = pd.api.types.is_numeric_dtype(series) and series.dtype != bool
        self.gaps = series.isna().to_numpy(bool)
        if self.is_number:
            self.values: Values = series.to_numpy(np.float64, na_value=np.nan)
            self.gaps = self.gaps | ~np.isfinite(self.values)
        else:
            self.values = series.astype(object).to_numpy(object).copy()
            if pd.api.types.infer_dtype(self.values, skipna=True) != "string":
                texts = [str(value) for value in self.values[~self.gaps]]
                midnight = all(text.endswith(" 00:00:00") for text in texts)
                self.values[~self.gaps] = [text[:-9] for text in texts] if midnight else texts
        self.known = self.values[~self.gaps]

    @cached_property
    def decimals(self) -> int:
        """Digits after the point; one more than the most if there are many."""
        if not self.is_number:
            return 0
        some = self.known[:: max(1, len(self.known) // 300)]
        close = (np.abs(some - some.round(d)).max(initial=0) < 1e-9 for d in range(_MOST_DECIMALS))
        return next((d for d, yes in enumerate(close) if yes), _MOST_DECIMALS)

    @cached_property
    def _factorised(self) -> tuple[Rows, Values]:
        codes, levels = pd.factorize(self.values, use_na_sentinel=True)
        return codes.astype(np.int64), np.asarray(levels)

    @property
    def codes(self) -> Rows:
        return self._factorised[0]

    @property
    def levels(self) -> Values:
        return self._factorised[1]

    @property
    def n_levels(self) -> int:
        return len(self.levels)

    @property
    def varies(self) -> bool:
        return self.n_levels > 1

    @property
    def is_category(self) -> bool:
        few = 2 <= self.n_levels <= min(_MOST_LEVELS, max(2, len(self.values) // 5))
        return few and (not self.is_number or (self.decimals == 0 and self.n_levels <= 20))

    @property
    def is_measured(self) -> bool:
        """Whether it holds numbers that are counted or measured, and no codes."""
        return self.is_number and self.n_levels >= _FEWEST_MEASURED

    @cached_property
    def is_date(self) -> bool:
        some = () if self.is_number else self.known[:30]
        return len(some) > 0 and sum(bool(slips.DATE.match(text)) for text in some) >= 0.9 * len(
            some
        )

    @cached_property
    def has_letters(self) -> bool:
        some = () if self.is_number or self.is_date else self.known[:30]
        return sum(any(sign.isalpha() for sign in text) for text in some) > 0.5 * len(some)

    @cached_property
    def spread(self) -> float:
        return float(self.known.std()) if self.is_number and len(self.known) else 0.0

    @cached_property
    def size(self) -> float:
        """The logarithm of the usual size of the numbers, or of the length of the texts."""
        if self.is_number:
            return float(np.log10(np.median(np.abs(self.known)) + 1e-6)) if len(self.known) else 0.0
        return 2 * float(np.log10(np.mean([len(text) for text in self.known[:100]] or [1])))

    def written(self, value: float) -> str:
        """Write a number as a file would hold it."""
        return f"{value:.0f}" if self.decimals == 0 and value.is_integer() else repr(value)


class _Table:
    """The columns of a table and how they depend on each other."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.columns = [_Column(frame.iloc[:, place]) for place in range(frame.shape[1])]
        self.places = range(len(self.columns))

    @cached_property
    def partner(self) -> list[int | None]:
        """For each column the one beside it that is most like it, if any is."""

        def distance(place: int, other: int) -> float:
            one, two = self.columns[place], self.columns[other]
            alike = (one.is_number, one.is_date, one.has_letters, one.decimals) == (
                two.is_number,
                two.is_date,
                two.has_letters,
                two.decimals,
            ) and min(one.n_levels, two.n_levels) >= (_FEWEST_MEASURED if one.is_number else 2)
            return abs(one.size - two.size) if alike else np.inf

        found: list[int | None] = []
        for place in self.places:
            beside = [p for p in (place - 1, place + 1) if p in self.places]
            best = min(beside, key=lambda other: distance(place, other), default=place)
            found.append(best if best != place and distance(place, best) < 1 else None)
        return found

    @cached_property
    def determining(self) -> dict[int, int]:
        """Columns whose level follows from that of another column, and that column."""
        n_rows = len(self.frame)
        found = {}
        several = [p for p in self.places if 2 <= self.columns[p].n_levels <= n_rows / 3]
        for place in several:
            to = self.columns[place].codes
            if np.bincount(to + 1).max() > _MOST_ALIKE * n_rows:
                continue
            for other in several:
                of, n_levels = self.columns[other].codes, self.columns[other].n_levels
                if other == place or n_levels < self.columns[place].n_levels:
                    continue
                first = np.empty(n_levels + 1, dtype=np.int64)
                first[of[::-1]] = to[::-1]
                if (first[of] == to).mean() >= _HOLDS:
                    found[place] = other
                    break
        return found

    @cached_property
    def related(self) -> frozenset[int]:
        """Numbers that are a sum, difference, product or ratio of two others, and these."""
        numbers = [
            p for p in self.places if self.columns[p].is_number and self.columns[p].n_levels > 10
        ][:20]
        rows = np.unique(np.linspace(0, len(self.frame) - 1, 80).astype(int))
        if len(numbers) < 3 or len(rows) < 20:
            return frozenset()
        X = np.column_stack([self.columns[p].values[rows] for p in numbers])
        X = np.where(np.isfinite(X), X, np.nan)
        pairs = np.array(list(combinations(range(len(numbers)), 2)))
        found: set[int] = set()
        one, two = X[:, pairs[:, 0]], X[:, pairs[:, 1]]
        for result, place in enumerate(numbers):
            target = X[:, [result]]
            for both in (one + two, one * two):
                close = np.abs(both - target) <= 1e-6 * np.abs(target) + 1e-9
                close &= (one != 0) & (two != 0)
                for first, second in pairs[close.mean(axis=0) >= _HOLDS]:
                    if result not in (first, second):
                        found |= {place, numbers[first], numbers[second]}
        return frozenset(found)

    @cached_property
    def repeats(self) -> bool:
        """Whether rows repeat already."""
        return bool(self.frame.duplicated().any())

    @cached_property
    def key(self) -> int | None:
        """A column of distinct whole numbers or texts without which rows do not repeat either."""
        for place, column in enumerate(self.columns):
            if (
                column.n_levels == len(self.frame) > 1
                and not column.is_date
                and not column.decimals
            ):
                others = self.frame.drop(columns=self.frame.columns[place])
                return place if others.shape[1] and not others.duplicated().any() else None
        return None


class _Errors:
    """The errors of a table while they are planted."""

    def __init__(self, table: _Table, rng: np.random.Generator, *, together: bool) -> None:
        self.table, self.rng, self._together = table, rng, together
        self.letters = random.Random(int(rng.integers(2**62)))  # noqa: S311 - quicker for one value
        self._values: list[Values] = [column.values.copy() for column in table.columns]
        self._words: list[dict[int, str]] = [{} for _ in table.columns]
        self._kinds = np.zeros((len(table.frame), len(table.columns)), dtype=np.int8)
        self._copies: list[tuple[int, bool]] = []

    @property
    def n_rows(self) -> int:
        return int(self._kinds.any(axis=1).sum()) + len(self._copies)

    def options(self, options: Sequence[Any], n: int) -> Values:
        """Draw an option for each of n cells, or one for all where errors lie together."""
        drawn = self.rng.integers(len(options), size=1 if self._together else n)
        return np.asarray(options)[np.broadcast_to(drawn, n)]

    def put(self, kind: int, place: int, rows: Rows, values: Sequence[Any] | Values) -> None:
        """Set cells that have no error yet to other values; None where there is no other."""
        column = self.table.columns[place]
        for row, value in zip(rows.tolist(), values, strict=True):
            if value is None or self._kinds[row, place]:
                continue
            new = value
            if column.is_number:
                try:
                    new = float(value)
                except ValueError:
                    self._words[place][row] = value
                    new = np.nan
                else:
                    if new == column.values[row] or np.isinf(new):
                        continue
            elif value == column.values[row]:
                continue
            self._values[place][row] = new
            self._kinds[row, place] = kind

    def swap(self, kind: int, place: int, rows: Rows) -> None:
        """Swap different cells of a column and its partner."""
        other = self.table.partner[place]
        if other is None:
            return
        one, two = self.table.columns[place], self.table.columns[other]
        free = ~(self._kinds[rows, place].astype(bool) | self._kinds[rows, other].astype(bool))
        rows = rows[free & ~one.gaps[rows] & ~two.gaps[rows]]
        rows = rows[one.values[rows] != two.values[rows]]
        self.put(kind, place, rows, two.values[rows])
        self.put(kind, other, rows, one.values[rows])

    def repeat(self, rows: Rows, *, new_key: bool) -> None:
        """Repeat rows without errors."""
        self._copies += [(row, new_key) for row in rows.tolist() if not self._kinds[row].any()]

    def planted(self) -> Planted:
        frame = self.table.frame
        n_rows = len(frame)
        copies = {row: key for row, key in self._copies if not self._kinds[row].any()}
        copied = np.array(list(copies), dtype=np.int64)
        beside = self.rng.random(len(copied)) < 0.5
        after = np.where(beside, copied + 1, self.rng.integers(n_rows + 1, size=len(copied)))
        order = np.insert(np.arange(n_rows), after, copied)
        is_copy = np.insert(np.zeros(n_rows, dtype=bool), after, values=True)
        made = {place: self._series(place) for place in self.table.places}
        new = pd.DataFrame(
            {place: series.array[order] for place, series in made.items()}, copy=False
        )
        new.columns = frame.columns
        at = [place for place in np.flatnonzero(is_copy) if copies[order[place]]]
        if self.table.key is not None and at:
            new.isetitem(self.table.key, self._new_keys(new.iloc[:, self.table.key], at).array)
        kinds = self._kinds[order]
        return Planted(new, kinds > 0, kinds, np.isin(order, copied), order)

    def _series(self, place: int) -> "pd.Series[Any]":
        column, changed = self.table.columns[place], self._kinds[:, place] > 0
        original = self.table.frame.iloc[:, place].reset_index(drop=True)
        if not changed.any():
            return original
        values, words = self._values[place], self._words[place]
        if not column.is_number:
            values[column.gaps & ~changed] = None
            return pd.Series(values)
        if words:
            texts = [None if np.isnan(v) else column.written(v) for v in values.tolist()]
            for row, word in words.items():
                texts[row] = word
            return pd.Series(texts, dtype=object)
        if column.dtype.kind in "iu" and np.abs(values).max() < _LARGEST:  # not with gaps
            whole = original.to_numpy(np.int64, copy=True)
            whole[changed] = values[changed]
            return pd.Series(whole)
        return pd.Series(values, dtype=column.dtype if column.dtype.kind == "f" else np.float64)

    def _new_keys(self, keys: "pd.Series[Any]", at: list[Any]) -> "pd.Series[Any]":
        column, keys = self.table.columns[self.table.key or 0], keys.copy()
        for number, row in enumerate(at, 1):
            if column.is_number:
                new: Any = column.known.max() + number
                whole = pd.api.types.is_numeric_dtype(keys)
                keys.iloc[row] = keys.dtype.type(new) if whole else column.written(new)
            else:
                keys.iloc[row] = f"{keys.iloc[row]}{number}"
        return keys


@dataclass(frozen=True)
class Kind:
    """A kind of error: which columns can hold it, and how it is planted in rows of one."""

    fits: Callable[[_Table, int], bool]
    plant: Callable[[_Errors, int, int, Rows], None]


def _numbers(
    change: Callable[[_Errors, _Column, Values], Values], *, measured: bool = False
) -> Kind:
    """Return a kind that changes known numbers and keeps their decimals."""

    def plant_numbers(errors: _Errors, kind: int, place: int, rows: Rows) -> None:
        column = errors.table.columns[place]
        rows = rows[~column.gaps[rows]]
        new = change(errors, column, column.values[rows])
        if column.decimals < _MOST_DECIMALS:
            new = new.round(column.decimals) + 0.0  # no -0.0
        errors.put(kind, place, rows, new)

    def fits(table: _Table, place: int) -> bool:
        column = table.columns[place]
        return column.is_measured if measured else column.is_number and len(column.known) > 0

    return Kind(fits, plant_numbers)


def _texts(
    slip: Callable[[str, random.Random], str | None], holds: Callable[[_Column], bool]
) -> Kind:
    """Return a kind that changes how known values are written."""

    def plant_texts(errors: _Errors, kind: int, place: int, rows: Rows) -> None:
        column = errors.table.columns[place]
        rows = rows[~column.gaps[rows]]
        texts = column.values[rows].tolist()
        texts = [column.written(value) for value in texts] if column.is_number else texts
        errors.put(kind, place, rows, [slip(text, errors.letters) for text in texts])

    return Kind(lambda table, place: holds(table.columns[place]), plant_texts)


def _values(
    choose: Callable[[_Errors, int, Rows], Sequence[Any] | Values],
    fits: Callable[[_Table, int], bool],
) -> Kind:
    """Return a kind that puts chosen values into known cells."""

    def plant_values(errors: _Errors, kind: int, place: int, rows: Rows) -> None:
        rows = rows[~errors.table.columns[place].gaps[rows]]
        errors.put(kind, place, rows, choose(errors, place, rows))

    return Kind(fits, plant_values)


def _unit(errors: _Errors, _column: _Column, values: Values) -> Values:
    factors = errors.options(range(len(_UNITS)), len(values))
    fahrenheit, celsius = values * 1.8 + 32, (values - 32) / 1.8
    scaled = values * np.asarray(_UNITS)[factors]
    return np.asarray(np.select([factors == 6, factors == 7], [fahrenheit, celsius], scaled))


def _far(errors: _Errors, column: _Column, values: Values) -> Values:
    spread = column.spread or max(1.0, abs(column.known[0]))
    steps = spread * np.exp(errors.rng.uniform(np.log(3), np.log(100), len(values)))
    up = errors.rng.random(len(values)) < 0.7
    return np.asarray(np.where(up, column.known.max() + steps, column.known.min() - steps))


def _code(errors: _Errors, place: int, rows: Rows) -> list[Any]:
    column = errors.table.columns[place]
    options: Sequence[Any] = _DATE_CODES if column.is_date else _WORD_CODES
    if column.is_number:
        low, high = column.known.min(), column.known.max()
        # among measured numbers a code inside the range repeats; among counts it is like any other
        options = [code for code in _CODES if column.decimals or not low <= code <= high]
    options = [code for code in options if not (column.levels == code).any()]
    return [errors.rng.choice(options)] * len(rows) if options else [None] * len(rows)


def _other_level(errors: _Errors, place: int, rows: Rows) -> Values:
    """Another level of the column, all of them equally likely."""
    column = errors.table.columns[place]
    step = errors.rng.integers(1, column.n_levels, len(rows))
    return np.asarray(column.levels[(column.codes[rows] + step) % column.n_levels])


def _other_row(errors: _Errors, place: int, rows: Rows) -> Values:
    column = errors.table.columns[place]
    new = column.values[rows]
    for _ in range(4):
        same = new == column.values[rows]
        new = np.where(same, errors.rng.choice(column.known, len(rows)), new)
    return np.asarray(new)


def _row_above(errors: _Errors, place: int, rows: Rows) -> Values:
    column = errors.table.columns[place]
    above = np.maximum(rows - 1, 0)
    return np.where(column.gaps[above], column.values[rows], column.values[above])


def _dependent(errors: _Errors, place: int, rows: Rows) -> list[Any]:
    """Another level where several rows tell which one is right."""
    other = errors.table.columns[errors.table.determining[place]]
    several = np.bincount(other.codes[other.codes >= 0], minlength=other.n_levels) >= 3
    clear = (other.codes[rows] >= 0) & several[other.codes[rows]]
    new = _other_level(errors, place, rows)
    return [value if yes else None for value, yes in zip(new, clear, strict=True)]


def _relation(errors: _Errors, place: int, rows: Rows) -> Values:
    """A number a little above or below, as an ordinary number of the column."""
    column = errors.table.columns[place]
    step = np.exp(errors.rng.uniform(np.log(0.02), np.log(0.5), len(rows)))
    step *= errors.rng.choice([-1, 1], len(rows)) * np.maximum(np.abs(column.values[rows]), 1e-3)
    unit = 10.0**-column.decimals
    step = np.where(np.abs(step) < unit, np.copysign(unit, step), step)
    return (column.values[rows] + step).round(column.decimals)


def _known(table: _Table, place: int) -> bool:
    """A column with any value."""
    return len(table.columns[place].known) > 0


def _distinct(table: _Table, place: int) -> bool:
    """A column with values to confuse: its cells are not all the same."""
    return table.columns[place].varies


KINDS: dict[str, Kind] = {
    "sign": _numbers(lambda _errors, _column, values: -values),
    "decimal shift": _numbers(
        lambda errors, _column, values: values * errors.options(_FACTORS, len(values)),
        measured=True,
    ),
    "unit": _numbers(_unit, measured=True),
    "swap": Kind(
        lambda table, place: table.partner[place] is not None,
        lambda errors, kind, place, rows: errors.swap(kind, place, rows),
    ),
    "sentinel": _values(_code, _known),
    "digit slip": _texts(slips.digit_slip, lambda c: c.is_number or c.is_date or not c.has_letters),
    "typo": _texts(slips.typo, lambda column: column.has_letters),
    "form": _texts(slips.changed_form, lambda column: column.has_letters),
    "other category": _values(_other_level, lambda table, place: table.columns[place].is_category),
    "other row": _values(_other_row, _distinct),
    "row above": _values(_row_above, _distinct),
    "far outlier": _numbers(_far),
    "stray word": _texts(slips.stray_word, lambda column: column.is_number or column.is_date),
    "date form": _texts(slips.wrong_date, lambda column: column.is_date),
    "gap": _values(
        lambda _errors, _place, rows: [np.nan] * len(rows),
        lambda table, place: not table.columns[place].gaps.any(),
    ),
    "dependency": _values(_dependent, lambda table, place: place in table.determining),
    "relation": _values(_relation, lambda table, place: place in table.related),
    "repeated row": Kind(
        lambda table, place: place == 0 and not table.repeats,
        lambda errors, _kind, _place, rows: errors.repeat(rows, new_key=False),
    ),
    "repeated row, new key": Kind(
        lambda table, place: place == 0 and table.key is not None and not table.repeats,
        lambda errors, _kind, _place, rows: errors.repeat(rows, new_key=True),
    ),
}
"""The kinds of errors. Digit slips and typos are those of `slips`; ``form`` is case, spaces and
encoding, ``gap`` a missing value in a column without any, ``dependency`` a level that another
column contradicts, ``relation`` a broken sum or ratio."""
