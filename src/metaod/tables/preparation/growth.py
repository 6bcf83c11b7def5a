"""Keeping the matrix within bounds, and its columns' names apart."""

from collections.abc import Iterable
from dataclasses import replace

from metaod.tables.preparation.decisions import FittedColumn
from metaod.tables.preparation.record import listed

__all__ = ["limit_width", "name_outputs", "width"]


def width(column: FittedColumn) -> int:
    """Count the outputs of a column."""
    return len(column.encoder.output_names(column.record.name))


def limit_width(
    columns: Iterable[FittedColumn], max_columns: int
) -> tuple[list[FittedColumn], list[str]]:
    """Encode the widest one-hot columns by frequency until the matrix is narrow enough.

    Columns that are not one-hot encoded are never touched: a table of numbers that is wider than
    the limit stays as it is.

    Returns
    -------
    columns : list of FittedColumn
        In the same order.
    messages : list of str
        At most one, naming the columns that were encoded otherwise.
    """
    kept = list(columns)
    total = sum(map(width, kept))
    wide = [
        (width(column), place, column.narrower)
        for place, column in enumerate(kept)
        if column.narrower is not None
    ]
    wide.sort(key=lambda entry: entry[:2], reverse=True)
    changed = []
    for present, place, narrower in wide:
        if total <= max_columns:
            break
        total += width(narrower) - present
        kept[place] = narrower
        changed.append(place)
    kept = [replace(column, narrower=None) for column in kept]
    if not changed:
        return kept, []
    names = [kept[place].record.name for place in sorted(changed)]
    message = (
        f"One-hot encoding would have led to more than {max_columns:,} columns (max_columns); "
        f"encoded by frequency instead: {listed(names)}."
    )
    return kept, [message]


def name_outputs(columns: Iterable[FittedColumn]) -> list[FittedColumn]:
    """Give every output a name of its own; the table's own names come first."""
    columns = list(columns)
    taken = {column.record.name for column in columns}
    named = []
    for column in columns:
        own = column.record.name
        outputs = []
        for wanted in column.encoder.output_names(own):
            name, number = wanted, 1
            while name != own and name in taken:
                number += 1
                name = f"{wanted} ({number})"
            taken.add(name)
            outputs.append(name)
        record = replace(
            column.record,
            outputs=tuple(outputs),
            indicator=outputs[-1] if column.encoder.marks_missing else None,
        )
        named.append(replace(column, record=record))
    return named
