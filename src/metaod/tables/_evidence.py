"""Evidence from several columns: text that matters, a row's gaps, and unusual combinations."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metaod.tables._columns import CategoryColumn, Column, NumberColumn, UnusedColumn, free_name
from metaod.tables._frames import Rows
from metaod.tables._objects import Labels
from metaod.tables._record import UNRELATED
from metaod.tables._relations import MOST_ROWS, Pair, Relations, combinations
from metaod.tables._roles import Roles


def find_evidence(
    columns: list[Column], rows: Rows, roles: Roles
) -> tuple[list[Column], tuple[Pair, ...]]:
    """Leave out text that is unrelated to every other column, and find pairs to measure."""
    if not any(isinstance(column, CategoryColumn) for column in columns):
        return columns, ()
    sample = rows
    if len(rows) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)
        sample = rows.take(np.sort(drawn))
    labels, numbers = _labels_and_numbers(columns, sample)
    relations = Relations.among(labels, numbers)
    kept = {*relations.related, *roles.named("only"), *roles.named("category")}
    if not numbers and not kept.intersection(labels):
        return columns, ()  # there is nothing else to score by
    pairs = tuple(pair for pair in relations.pairs if pair.category in kept)
    parts = labels, numbers
    if pairs and sample is not rows:
        names = {name for pair in pairs for name in (pair.category, pair.number)}
        parts = _labels_and_numbers([item for item in columns if item.name in names], rows)
    is_odd = bool(pairs) and bool(combinations(pairs, *parts).any())
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
    return left, pairs if is_odd else ()


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
