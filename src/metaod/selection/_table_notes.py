"""What a user should know of how their table became a matrix."""

from metaod.tables import PreparationRecord, listed

__all__ = ["much_filled_in", "table_notes"]

_MUCH = 0.2
"""Share of a table's values above which filling them in is told."""

_MOST = 0.5
"""Share of a column's values above which filling them in is told."""


def table_notes(record: PreparationRecord, *, fitted: bool = True) -> tuple[str, ...]:
    """What was done to a table that may change what its scores mean.

    Columns that were dropped, infinite values, columns that are mostly missing, many missing
    values, and the preparation's own messages.

    Parameters
    ----------
    record : PreparationRecord
        What was done.
    fitted : bool, default=True
        Whether the preparation was fitted to this table; of another one, columns that were dropped
        in fitting are not told again.
    """
    notes = []
    unused: dict[str, list[str]] = {}
    for column in record.columns:
        if not column.is_used:
            unused.setdefault(column.kind, []).append(column.name)
    if fitted and unused:
        kinds = "; ".join(f"{kind}: {listed(names)}" for kind, names in unused.items())
        notes.append(f"Columns whose values are not used: {kinds}.")
    used = [column for column in record.columns if column.is_used]
    infinite = [column for column in used if column.n_infinite]
    if infinite:
        count = sum(column.n_infinite for column in infinite)
        values = "1 infinite value" if count == 1 else f"{count:,} infinite values"
        names = listed([column.name for column in infinite])
        notes.append(f"Treated as missing: {values} in {names}.")
    empty = [column.name for column in used if column.n_missing == record.n_rows]
    if empty:
        notes.append(f"Missing in every row and filled in: {listed(empty)}.")
    gaps = {column.name: column.n_missing + column.n_infinite for column in used}
    mostly = [name for name, n in gaps.items() if n > _MOST * record.n_rows and name not in empty]
    if mostly:
        notes.append(f"Missing in most rows and filled in: {listed(mostly)}.")
    return (*notes, *much_filled_in(record), *record.messages)


def much_filled_in(record: PreparationRecord) -> tuple[str, ...]:
    """A line where many of a table's values were missing, else nothing."""
    share = record.imputed_share
    return (f"{share:.0%} of the values were missing and filled in",) if share > _MUCH else ()
