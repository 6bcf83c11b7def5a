"""Whether a store is sound: the file itself, and every cell against its trials."""

from collections.abc import Iterator

from sqlalchemy import Connection

from metaod.store import _rows as rows
from metaod.store import _sqlite as sqlite
from metaod.store._cells import aggregate
from metaod.store._store import Store

__all__ = ["find_faults"]


def find_faults(store: Store) -> list[str]:
    """Read everything that the store holds, and say what contradicts what.

    Every record must be legal, and every cell what its trials give; an imported cell
    has none, or fewer than it stands for.

    Examples
    --------
    >>> with Store("sqlite://", create=True) as store:
    ...     find_faults(store)
    []
    """
    with store.reading() as connection:
        faults = sqlite.find_damage(connection) if store.place.is_sqlite else []
        for dataset, key in sorted(rows.dataset_keys(connection).items()):
            try:
                faults += [f"{dataset}: {fault}" for fault in _of_dataset(connection, key)]
            except ValueError as error:
                # a record that is not legal does not come out of its row
                faults.append(f"{dataset}: {error}")
    return faults


def _of_dataset(connection: Connection, key: int) -> Iterator[str]:
    rows.read_metafeatures(connection, key)
    trials = aggregate(rows.read_evaluations(connection, key))
    computed = {cell.place: cell for cell in trials}
    stored = {cell.place: cell for cell in rows.read_cells(connection, key)}
    for place in sorted(computed.keys() | stored.keys()):
        cell, expected = stored.get(place), computed.get(place)
        what = f"the {place[0]} cell of {place[1]}"
        if cell is None:
            yield f"{what} is lacking, although there are trials"
        elif expected is None and not cell.imported:
            yield f"{what} is there without its trials"
        elif expected is not None and cell.imported and cell.n_trials > expected.n_trials:
            continue  # it stays until there are as many trials
        # as text, in which NaN equals NaN and every number is exact
        elif expected is not None and repr(cell) != repr(expected):
            yield f"{what} is not what its trials give"
