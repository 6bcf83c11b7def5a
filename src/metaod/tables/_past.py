"""What is usual at a time: the season, the level of the rows before, and how long numbers stay.

How much of the past counts is learned for each column: all of it if the numbers return to one
level, few rows if they wander. Rows of the same time and group have one past, and their median is
what later rows see; the positions of rows in the table do not count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._state import Shape
from metaod.errors import Message, Setting, counted
from metaod.tables._columns import Column, NumberColumn
from metaod.tables._groups import usual_size
from metaod.tables._record import date_text, number_text
from metaod.tables._table import Rows

MOST_KEPT = 20_000
"""Rows of the past that are saved, the latest ones."""

_MEMORIES = (1, 4, 16, 64)  # rows of the past that may count
_FEW = 4  # of them
_MUCH_BETTER = 0.9  # a shorter memory must leave so much less than a longer one
_BETTER = 0.95  # and a season so much less than none
_FEWEST_IN_SEASON = 4  # rows of each hour, weekday or month, in the mean
_SEASONS = {"hour": 2.0, "weekday": 14.0, "hour of week": 28.0, "month": 730.0}
"""The days that a table must span."""
_N_BINS = {"hour": 24, "weekday": 7, "hour of week": 168, "month": 12}
_JUMP = 6.0  # usual differences
_LEAST_LEFT = 0.02  # of the spread of a group
_FEWEST_RUNS = 5  # of a number, from which its longest usual run is known
_MOST_STICKY = 20  # numbers with many runs, a column
_MOST_COMPARED = 20  # columns, to tell whether a date orders the rows
_SORTED = 0.9  # of the rows follow the row before in the order of a date
_CLOSE = 0.5  # of the usual distance from the middle, to the row before
_LEAST_RATE = 0.01
_FEWEST_STUCK = 5  # rows
_REGULAR = 0.1  # steps that differ by less are equal; if so many differ, a long one is no gap
_SHARED = 0.4  # of the rows have the time of the row before

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Season:
    """What is usual in each hour, weekday or month, of all groups or of each.

    Parameters
    ----------
    name : str
        What repeats.
    profile : ndarray of float, shape (bins or groups x bins, columns)
        What is usual; 0 where it does not count.
    """

    name: str
    profile: Annotated[npt.NDArray[np.float64], Shape(None, "d")]

    def __post_init__(self) -> None:
        n_bins = _N_BINS.get(self.name)
        if n_bins is None or not len(self.profile) or len(self.profile) % n_bins:
            raise ValueError(f"a season {self.name!r:.40} that does not fit its profile")

    def at(self, groups: Codes, times: Values) -> Values:
        """Return what is usual at times; nothing in groups that were not fitted."""
        bins, n_bins = _bins(self.name, times), _N_BINS[self.name]
        bins += n_bins * groups if len(self.profile) > n_bins else 0
        profile = np.append(self.profile, self.profile[:1] * 0, 0)
        return np.asarray(profile[bins.clip(max=len(self.profile))])

    @classmethod
    def all_of(cls, values: Values, groups: Codes, times: Values) -> "Iterator[Season]":
        """Yield the seasons that tell something of numbers, after those before."""
        before = _least_left(values, groups)
        for name, span in _SEASONS.items() if len(times) else ():
            bins, n_bins = _bins(name, times), _N_BINS[name]
            for n_groups in sorted({1, int(groups.max()) + 1}):
                n_rows = len(times) / (n_bins * n_groups)  # in a bin
                if np.ptp(times) < span or n_rows < _FEWEST_IN_SEASON:
                    continue
                own = bins + n_bins * groups if n_groups > 1 else bins
                known = pd.DataFrame(values).groupby(own).median()
                profile = np.zeros((n_bins * n_groups, values.shape[1]))
                profile[known.index] = np.nan_to_num(known.to_numpy())
                after = _least_left(values - profile[own], groups)
                # less is left by chance, too: a median of few rows lies near each of them
                is_better = after <= _BETTER * (1 - 1.5 / n_rows) * before
                if is_better.any():
                    profile[:, ~is_better] = 0.0
                    yield cls(name, profile)
                    values, before = values - profile[own], np.where(is_better, after, before)


@dataclass(frozen=True, eq=False)
class Sticky:
    """How long numbers of a column usually stay the same.

    Parameters
    ----------
    rate : float
        The share of rows with the number of the row before, but for the longest runs.
    n_runs : int
        Runs in the fitted rows.
    values, longest : tuple
        Numbers with many runs, and their second longest run.
    """

    rate: float
    n_runs: int
    values: tuple[float, ...]
    longest: tuple[int, ...]

    @classmethod
    def of(cls, values: Values, lengths: Codes) -> Self:
        """Learn from the numbers and the lengths of runs."""
        usual = np.sort(lengths)[: len(lengths) - max(1, len(lengths) // 100)]
        rate = float((usual - 1).sum() / max(usual.sum(), 1))
        runs = pd.Series(lengths).groupby(values)
        counts = runs.count()
        frequent = counts[counts >= _FEWEST_RUNS].nlargest(_MOST_STICKY).index
        second = {float(own): int(np.sort(lengths[values == own])[-2]) for own in frequent}
        second = {value: longest for value, longest in second.items() if longest > 1}
        return cls(max(rate, _LEAST_RATE), len(lengths), tuple(second), tuple(second.values()))

    def surprise(self, values: Values, lengths: Codes) -> Values:
        """Return how surprising runs are, in nats: their length, and how many there are."""
        found = -(lengths - 1) * np.log(self.rate) - np.log(max(self.n_runs, 1))
        for value, longest in zip(self.values, self.longest, strict=True):
            found[(values == value) & (lengths <= 2 * longest)] = 0.0
        return np.where(lengths >= _FEWEST_STUCK, np.maximum(found, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class Past:
    """The fitted rows in order, and what they tell of a row; numbers are in spreads of its group.

    Parameters
    ----------
    seasons : tuple of Season
        What repeats.
    memory : tuple of int
        How many rows before count for a column; 0 for the group's own middle.
    middle, spread : ndarray of float, shape (columns,)
        What is left of the fitted rows: its middle and size.
    sticky : tuple of Sticky
        How long numbers stay the same.
    is_date : bool
        Whether times are days since 1970, not numbers of any kind.
    groups, times, rows : ndarray
        The group, the time and the numbers of rows in order.
    """

    seasons: tuple[Season, ...]
    memory: tuple[int, ...]
    middle: Annotated[npt.NDArray[np.float64], Shape("d")]
    spread: Annotated[npt.NDArray[np.float64], Shape("d")]
    sticky: tuple[Sticky, ...]
    is_date: bool
    groups: Annotated[npt.NDArray[np.int64], Shape("h")]
    times: Annotated[npt.NDArray[np.float64], Shape("h")]
    rows: Annotated[npt.NDArray[np.float64], Shape("h", "d", missing=True)]

    def __post_init__(self) -> None:
        if {len(self.memory), len(self.sticky)} != {len(self.middle)}:
            raise ValueError("columns that do not fit their past")

    @classmethod
    def fit(cls, groups: Codes, times: Values, own: Values, *, is_date: bool) -> Self:
        """Learn from the numbers of rows."""
        groups, times, rows, _ = _in_order(groups, times, own)
        seasons = tuple(Season.all_of(rows, groups, times)) if is_date else ()
        left = rows - sum(season.at(groups, times) for season in seasons)
        memory = _memories(left, groups)
        left = left - _levels(left, groups, memory)
        middle = np.nan_to_num(_median(left))
        spread = np.fmax(usual_size(left - middle), _LEAST_LEFT)  # also of a column of gaps
        sticky = []
        for own_rows in rows.T:
            first, lengths = _runs(own_rows, groups)
            sticky.append(Sticky.of(own_rows[first], lengths))
        found = seasons, memory, middle, spread, tuple(sticky), is_date
        return cls(*found, groups, times, rows)

    def given(
        self, groups: Codes, times: Values, own: Values
    ) -> tuple[Values, Values, Codes, Values]:
        """Return what is usual for rows, its spread, for how long they stay, and the surprise."""
        groups, times, rows, place = self._with(groups, times, own)
        left = rows.copy()
        for season in self.seasons:
            left -= season.at(groups, times)
        usual = rows - left + _levels(left, groups, self.memory) + self.middle
        runs, stuck = np.ones(rows.shape, dtype=np.int64), np.zeros(rows.shape)
        for column, sticky in enumerate(self.sticky):
            first, lengths = _runs(rows[:, column], groups)
            of_rows = np.cumsum(np.isin(np.arange(len(rows)), first)) - 1
            runs[:, column] = lengths[of_rows]
            stuck[:, column] = sticky.surprise(rows[first, column], lengths)[of_rows]
        found = np.full(own.shape, np.nan)
        known = np.flatnonzero(place >= 0)
        place = place[known]
        found[known] = usual[place]
        of_rows, surprises = np.ones(own.shape, dtype=np.int64), np.zeros(own.shape)
        is_same = own[known] == rows[place]
        of_rows[known] = np.where(is_same, runs[place], 1)
        surprises[known] = np.where(is_same, stuck[place], 0.0)
        spread = np.where(np.isnan(found), 1.0, self.spread)  # that of the group without a past
        return np.nan_to_num(found), spread, of_rows, surprises

    def latest(self) -> Self:
        """Return it with the latest rows alone."""
        kept = np.sort(np.argsort(-self.times, kind="stable")[:MOST_KEPT])
        groups, times, rows = self.groups[kept], self.times[kept], self.rows[kept]
        return replace(self, groups=groups, times=times, rows=rows)

    def _with(
        self, groups: Codes, times: Values, own: Values
    ) -> tuple[Codes, Values, Values, Codes]:
        """Put rows in order with the fitted ones, which count where both have a time and group."""
        groups, times, rows, place = _in_order(groups, times, own)
        n_known = len(self.times)
        groups = np.concatenate([self.groups, groups])
        times = np.concatenate([self.times, times])
        is_new = np.arange(len(times)) >= n_known
        order = np.lexsort((is_new, times, groups))
        first = _changes(groups[order], times[order])
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = np.cumsum(first) - 1
        kept = order[first]
        both = np.concatenate([self.rows, rows])
        place = np.where(place >= 0, numbers[n_known:][place] if len(rows) else -1, -1)
        return groups[kept], times[kept], both[kept], place

    def notes(self, groups: Codes, times: Values, name: str, words: Sequence[str]) -> list[Message]:
        """Say which steps between rows are too long, and whether several rows share most times.

        `words` name the groups, if there are any.
        """
        known = np.flatnonzero(~np.isnan(times))
        order = known[np.lexsort((times[known], groups[known]))]
        groups, times = groups[order], times[order]
        steps = np.diff(times)
        inside = groups[1:] == groups[:-1]
        if not words and len(steps) and np.mean(steps == 0) > _SHARED:
            what = "Most times in {column} have several rows; {by} can tell them apart."
            return [Message("shared-times", what, column=repr(name), by=Setting("by"))]
        inside &= steps > 0
        if not inside.any():
            return []
        usual = float(np.median(steps[inside]))
        is_gap = inside & (steps > 1.5 * usual)
        is_regular = np.mean(np.abs(steps[inside] / usual - 1) < _REGULAR) > 1 - _REGULAR
        if not is_regular or not is_gap.any():
            return []
        longest = int(np.argmax(np.where(is_gap, steps, 0.0)))
        start = float(times[longest])
        what = "{column} has {n}; the longest is {steps} steps long, after {start}{where}."
        values = {
            "n": counted(int(is_gap.sum()), "gap"),
            "steps": round(float(steps[longest]) / usual),
            "start": date_text(start) if self.is_date else number_text(start),
            "where": f" {words[groups[longest]]}" if words else "",
        }
        return [Message("gaps", what, column=repr(name), **values)]


def order_notes(columns: Sequence[Column], rows: Rows) -> list[Message]:
    """Say that a date orders the rows, if numbers hardly differ from those of the row before.

    A date by which the rows are not nearly sorted, as a date of birth, does not order them.
    """
    numbers = [own.name for own in columns if isinstance(own, NumberColumn)]
    values = [rows.cells(name).numbers().values for name in numbers[:_MOST_COMPARED]]
    for column in columns:
        if column.record.kind != "date" or column.record.cause or not values:
            continue
        times = rows.cells(column.name).numbers().values
        steps = np.diff(times[np.isfinite(times)])
        if max((steps >= 0).sum(), (steps <= 0).sum()) < _SORTED * len(steps):
            continue
        order = np.argsort(times, kind="stable")[: np.count_nonzero(np.isfinite(times))]
        if np.count_nonzero(np.diff(times[order])) < _SHARED * len(times):
            continue
        own = np.column_stack(values)[order]
        sizes = usual_size(own - _median(own))
        if (usual_size(np.diff(own, axis=0)) < _CLOSE * sizes).any():
            what = (
                "Rows are not compared with those before them: values that stay the same (a stuck "
                "sensor), and most jumps, are found only with {over}."
            )
            return [Message("order-not-used", what, over=Setting("over", column.name))]
    return []


def _in_order(groups: Codes, times: Values, own: Values) -> tuple[Codes, Values, Values, Codes]:
    """Return groups, times and numbers of distinct times in order, and each row's place there.

    Rows of one time and group have their median; rows without a time have the place -1.
    """
    known = np.flatnonzero(~np.isnan(times))
    order = known[np.lexsort((times[known], groups[known]))]
    groups, times, rows = groups[order], times[order], own[order]
    first = _changes(groups, times)
    numbers = np.cumsum(first) - 1
    place = np.full(len(own), -1, dtype=np.int64)
    place[order] = numbers
    if not first.all():
        rows = pd.DataFrame(rows).groupby(numbers).median().to_numpy()
    return groups[first], times[first], rows, place


def _changes(*keys: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return where one of the keys differs from the row before."""
    first = np.ones(len(keys[0]), dtype=np.bool_)
    first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return first


def _bins(name: str, times: Values) -> Codes:
    days = times + 1e-7  # an hour is not exact in days
    hours = np.floor(days * 24).astype(np.int64)
    weekdays = (np.floor(days).astype(np.int64) + 3) % 7
    if name == "hour":
        return hours % 24
    if name == "weekday":
        return weekdays
    if name == "hour of week":
        return weekdays * 24 + hours % 24
    return np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12


def _levels(values: Values, groups: Codes, memory: Sequence[int]) -> Values:
    """Return the medians of the rows before, NaN if there are none; 0 for all of the past."""
    found = np.zeros(values.shape)
    for size, level in _by_memory(values, groups) if any(memory) else ():
        chosen = np.array(memory) == size
        found[:, chosen] = level[:, chosen]
    return found


def _by_memory(
    values: Values, groups: Codes, sizes: Sequence[int] = _MEMORIES
) -> Iterator[tuple[int, Values]]:
    """Yield memories, short ones first, and the medians of so many rows before.

    Where a group has fewer rows before, the longest memory counts that it has.
    """
    if not len(values):
        return
    frame, first = pd.DataFrame(values), _changes(groups)
    n_before = np.arange(len(groups)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    own = frame.groupby(np.cumsum(first)).rolling(_FEW, min_periods=_FEW // 2)
    last, few = frame.shift(1).to_numpy(), own.median().shift(1).to_numpy()
    jump = np.abs(last - few)  # a row after an outlier is compared with those before it
    found = {1: np.where(jump > _JUMP * usual_size(jump), few, last), _FEW: few}
    level = np.full(values.shape, np.nan)
    for size in sizes:
        before = found[size] if size in found else _medians_before(frame, size)
        enough = (n_before >= size)[:, None] & ~np.isnan(before)
        level = np.where(enough, before, level)
        yield size, level


def _medians_before(frame: pd.DataFrame, size: int) -> Values:
    return frame.rolling(size, min_periods=(size + 1) // 2).median().shift(1).to_numpy()


def _left(values: Values, groups: Codes, sizes: Sequence[int] = _MEMORIES) -> dict[int, Values]:
    """Return the size of what each memory leaves, by column."""
    left = {0: usual_size(values - _median(values))}
    for size, level in _by_memory(values, groups, sizes):
        rest = values - level
        left[size] = usual_size(rest - _median(rest))
    return left


def _least_left(values: Values, groups: Codes) -> Values:
    return np.asarray(np.min([*_left(values, groups, (1, _FEW)).values()], axis=0))


def _memories(values: Values, groups: Codes) -> tuple[int, ...]:
    """Return for each column the longest memory that leaves not much more than any other."""
    left = _left(values, groups)
    best = np.min([*left.values()], axis=0)
    found = np.zeros(values.shape[1], dtype=np.int64)
    for size in [*_MEMORIES, 0]:  # the last one that is good enough is the longest
        found = np.where(_MUCH_BETTER * left.get(size, best) <= best, size, found)
    return tuple(found.tolist())


def _runs(values: Values, groups: Codes) -> tuple[Codes, Codes]:
    """Return where runs of the same number begin, and how long they are; a gap is alone."""
    first = _changes(values, groups) | np.isnan(values) if len(values) else np.zeros(0, np.bool_)
    starts = np.flatnonzero(first)
    return starts, np.diff(np.append(starts, len(values)))


def _median(values: Values) -> Values:
    """Return the medians of columns without their gaps; NaN for a column of gaps."""
    return pd.DataFrame(values).median().to_numpy(np.float64)
