"""Relations between columns: text that is related to other columns, and unusual combinations.

A text column that is unrelated to every other column is not used, because its rare values would
look like outliers. A number that is usual in the table can be unusual for its row's category.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from metaod.tables._columns import CategoryColumn, Column, NumberColumn, UnusedColumn, free_name
from metaod.tables._objects import Labels, spread
from metaod.tables._order import hash_of_name, row_hashes
from metaod.tables._record import UNRELATED
from metaod.tables._roles import Roles
from metaod.tables._table import Rows

_Values = npt.NDArray[np.float64]
_Codes = npt.NDArray[np.intp]

MOST_ROWS = 20_000
"""Rows that relations are measured on, drawn with a seed from a larger table."""

_SIGNIFICANT = 0.01  # chance that an unrelated column seems related to one of the others
_MOST_COMPARISONS = 100_000
_MOST_LEVELS = 20
_FEWEST_IN_LEVEL = 8  # rarer levels are compared as one
_FEWEST_EXPECTED = 5  # rows of a pair of levels, for a chi-square test
_MOST_PAIRS = 100
_FEWEST_FOR_SPREAD = 20  # rows of a category
_FEWEST_VALUES = 10  # a number with fewer distinct values is a category itself
_LEAST_SPREAD = 0.1  # of a category, as a share of the spread of all rows
_TAIL = 0.025
_WINSORISED = 1.08  # a normal variable's standard deviation, by that of its values cut at _TAIL
_BEYOND = 3.0  # spreads by which a combination has to be more unusual than the number alone
_UNIT = 0.4
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Pair:
    """What is usual for a number in each level of a category, and in the whole table."""

    category: str
    number: str
    levels: tuple[str, ...]
    middles: tuple[float, ...]
    spreads: tuple[float, ...]
    middle: float
    spread: float

    def __post_init__(self) -> None:
        n_levels = {len(self.levels), len(self.middles), len(self.spreads)}
        if len(n_levels) > 1 or min(self.spread, *self.spreads, 1.0) <= 0:
            raise ValueError("a pair of columns has no spread for each level")

    def places(self, column: Labels) -> _Codes:
        """Return the place of each row's level among the levels; -1 if it is none of them."""
        places = {level: place for place, level in enumerate(self.levels)}
        found = np.array([places.get(text, -1) for text in column.texts], dtype=np.intp)
        return np.asarray(spread(found, -1, column.codes))

    def excess(self, place: _Codes, values: _Values) -> _Values:
        """Return by how many spreads values are more unusual for their level than for the table.

        0 for a gap (NaN).
        """
        middles, spreads = np.append(self.middles, self.middle), np.append(self.spreads, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # differences of huge values
            alone = np.abs(values - self.middle) / self.spread
            within = np.abs(values - middles[place]) / spreads[place]
            excess = np.nan_to_num(within - alone, nan=0.0) - _BEYOND
        return np.where(place >= 0, np.maximum(excess, 0.0), 0.0)


def combinations(
    pairs: Sequence[Pair], labels: Mapping[str, Labels], numbers: Mapping[str, _Values]
) -> _Values:
    """Return how unusual each row's combination of a category and a number is, in fixed units.

    0 for a row without unusual combinations.
    """
    n_rows = len(next(iter(numbers.values())))
    largest = np.zeros(n_rows)
    # all pairs of a category have the same levels
    places = {pair.category: pair.places(labels[pair.category]) for pair in pairs}
    for pair in pairs:
        found = pair.excess(places[pair.category], numbers[pair.number])
        np.maximum(largest, found, out=largest)
    return np.asarray(np.log1p(largest) / _UNIT)


def related_columns(
    labels: Mapping[str, Labels], numbers: Mapping[str, _Values]
) -> tuple[set[str], list[Pair]]:
    """Return the text columns that are related to another column, and the pairs to measure.

    Text and numbers (NaN for gaps) are those of the same rows. With too many columns to compare,
    all text counts as related, and there are no pairs.
    """
    if len(labels) * (len(labels) + len(numbers) - 1) > _MOST_COMPARISONS:
        return set(labels), []
    codes = {name: _merged(column, _FEWEST_IN_LEVEL) for name, column in labels.items()}
    frequent = {
        name: _merged(column, max(_FEWEST_IN_LEVEL, (_FEWEST_EXPECTED * len(own)) ** 0.5))
        for (name, column), own in zip(labels.items(), codes.values(), strict=True)
    }
    ranks = {name: _ranks(values) for name, values in numbers.items()}
    names = [*ranks, *codes]
    related, found = set(), []
    for name, own in codes.items():
        others = [other for other in names if other != name]
        chances = [
            _chance_by_rank(own, ranks[other])
            if other in ranks
            else _chance_by_table(frequent[name], frequent[other])
            for other in others
        ]
        limit = _SIGNIFICANT / max(1, len(others))
        if min(chances, default=1.0) <= limit:
            related.add(name)
        found += [
            (chance, name, other)
            for chance, other in zip(chances, others, strict=True)
            if chance <= limit and other in ranks
        ]
    found.sort()  # by chance, then by name: the order of columns does not matter
    pairs = [_pair(a, labels[a], b, numbers[b]) for _, a, b in found[:_MOST_PAIRS]]
    return related, [pair for pair in pairs if pair is not None]


def _merged(column: Labels, fewest: float) -> _Codes:
    """Return the level of each row, a gap being one; rare levels and all beyond 20 are one."""
    codes = np.where(column.codes < 0, len(column.texts), column.codes)
    counts = np.bincount(codes, minlength=len(column.texts) + 1)
    order = np.argsort(-counts, kind="stable")[: _MOST_LEVELS - 1]
    frequent = order[counts[order] >= fewest]
    level = np.full(len(counts), len(frequent), dtype=np.intp)
    level[frequent] = np.arange(len(frequent))
    _, dense = np.unique(level[codes], return_inverse=True)
    return dense.astype(np.intp, copy=False)


def _ranks(values: _Values) -> _Values:
    ranks = pd.Series(values).rank()
    return np.asarray((ranks - ranks.mean()).fillna(0.0))  # a gap is no evidence


def _chance_by_rank(codes: _Codes, ranks: _Values) -> float:
    """Return the p-value of an analysis of variance of a number's ranks by level."""
    counts = np.bincount(codes)
    n_rows, n_levels = len(codes), len(counts)
    total = float(ranks @ ranks)
    if n_levels < 2 or n_rows <= n_levels or total == 0:
        return 1.0
    sums = np.bincount(codes, ranks)
    between = float((sums**2 / counts).sum())
    within = max(total - between, 1e-12 * total) / (n_rows - n_levels)
    ratio = between / (n_levels - 1) / within
    return float(scipy.special.fdtrc(n_levels - 1, n_rows - n_levels, ratio))


def _chance_by_table(codes: _Codes, others: _Codes) -> float:
    """Return the p-value of a chi-square test of independence of two columns' levels."""
    shape = (int(codes.max()) + 1, int(others.max()) + 1)
    if min(shape) < 2:
        return 1.0
    observed = np.bincount(codes * shape[1] + others, minlength=shape[0] * shape[1]).reshape(shape)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(codes)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(scipy.special.chdtrc((shape[0] - 1) * (shape[1] - 1), statistic))


def _pair(category: str, column: Labels, number: str, values: _Values) -> Pair | None:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    frequent = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    frequent = np.sort(frequent[counts[frequent] >= _FEWEST_FOR_SPREAD])
    given = ~np.isnan(values)
    codes, values = column.codes[given], values[given]
    if len(np.unique(values)) <= _FEWEST_VALUES:
        return None
    all_spread = _spread(values)
    if all_spread == 0:
        return None
    levels, middles, spreads = [], [], []
    for level in frequent:
        own = values[codes == level]
        if len(own) == 0:
            own = values  # nothing is known of the level
        levels.append(column.texts[level])
        middles.append(_median(own))
        spreads.append(max(_spread(own), _LEAST_SPREAD * all_spread))
    if not levels:
        return None
    middle = _median(values)
    return Pair(category, number, tuple(levels), tuple(middles), tuple(spreads), middle, all_spread)


def _median(values: _Values) -> float:
    return float(np.median(values / 2) * 2)  # the sum of two huge values overflows


def _spread(values: _Values) -> float:
    """Return the standard deviation without the influence of the outermost values."""
    half = values / 2  # differences of huge values overflow, and so do their squares
    low, high = np.quantile(half, [_TAIL, 1 - _TAIL])
    scale = float(max(abs(low), abs(high)))
    if scale == 0:
        return 0.0
    deviation = float((np.clip(half, low, high) / scale).std())
    return min(2 * _WINSORISED * deviation * scale, _LARGEST)


def find_evidence(
    columns: list[Column], rows: Rows, roles: Roles
) -> tuple[list[Column], tuple[Pair, ...]]:
    """Leave out text that is unrelated to every other column, and find pairs to measure."""
    if not any(isinstance(column, CategoryColumn) for column in columns):
        return columns, ()
    sample = rows
    if len(rows) > MOST_ROWS:
        order = np.argsort(_hashes_of(rows, columns), kind="stable")
        drawn = np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)
        sample = rows.take(np.sort(order[drawn]))
    labels, numbers = _labels_and_numbers(columns, sample)
    related, measured = related_columns(labels, numbers)
    kept = {*related, *roles.named("only"), *roles.named("category")}
    if not numbers and not kept.intersection(labels):
        return columns, ()  # there is nothing else to score by
    one_sided = {*roles.named("high"), *roles.named("low")}  # the side of a pair is not known
    pairs = tuple(own for own in measured if own.category in kept and own.number not in one_sided)
    parts = labels, numbers
    if pairs and sample is not rows:
        names = {name for pair in pairs for name in (pair.category, pair.number)}
        parts = _labels_and_numbers([item for item in columns if item.name in names], rows)
    is_unusual = bool(pairs) and bool(combinations(pairs, *parts).any())
    left = [
        UnusedColumn.instead(
            column.record,
            column.record.kind,
            UNRELATED,
            cause="unrelated",
            usual=column.usual,
            categories=column.categories,
        )
        if isinstance(column, CategoryColumn) and column.name not in kept
        else column
        for column in columns
    ]
    return left, pairs if is_unusual else ()


def _labels_and_numbers(
    columns: Sequence[Column], rows: Rows
) -> tuple[dict[str, Labels], dict[str, npt.NDArray[np.float64]]]:
    """Read the text and the numbers that are used; gaps among numbers are NaN."""
    labels, numbers = {}, {}
    for column in columns:
        if isinstance(column, UnusedColumn):
            continue
        out = np.empty((len(rows), 1))
        found = column.encode(rows.cells(column.name), out)
        if found.labels is not None:
            labels[column.name] = found.labels
        else:
            numbers[column.name] = np.where(found.gaps, np.nan, out[:, 0])
    return labels, numbers


def gap_surprisal(column: Column, n_rows: int) -> float:
    """Return -log of the share of the fitted rows with a gap in the column, of one if none has."""
    record = column.record
    if not record.counts_gaps:
        return 0.0
    return float(np.log(n_rows / max(1, record.n_missing + record.n_infinite)))


def name_evidence(columns: Sequence[Column], pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Name the columns of evidence that the table has, unlike any other column."""
    records = [column.record for column in columns]
    has_gaps = any(
        record.n_missing + record.n_infinite > 0 and record.kind != "empty" and record.counts_gaps
        for record in records
    )
    taken = {name for record in records for name in (record.name, *record.outputs)}
    wanted = [*(["gaps"] if has_gaps else []), *(["combinations"] if pairs else [])]
    return tuple(free_name(name, taken) for name in wanted)


def check_evidence(
    columns: Sequence[Column], pairs: Sequence[Pair], evidence: Sequence[str]
) -> None:
    """Raise ValueError if saved pairs or columns of evidence do not fit the columns."""
    numbers = {column.name for column in columns if isinstance(column, NumberColumn)}
    categories = {column.name for column in columns if isinstance(column, CategoryColumn)}
    for pair in pairs:
        if pair.category not in categories or pair.number not in numbers:
            raise ValueError(f"there is no pair of {pair.category!r} and {pair.number!r}")
    if len(evidence) not in (len(pairs[:1]), len(pairs[:1]) + 1):
        raise ValueError("columns of evidence do not fit the pairs")


def _hashes_of(rows: Rows, columns: Sequence[Column]) -> Any:
    named = {column.name: rows.frame[column.name] for column in columns}
    hashed: Any = (
        (pd.util.hash_pandas_object(series, index=False).to_numpy("u8"), hash_of_name(name))
        for name, series in named.items()
    )
    return row_hashes(hashed)
