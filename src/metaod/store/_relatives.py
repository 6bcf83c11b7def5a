"""Related datasets of a store, and the origins that they join."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from metaod.errors import UserError
from metaod.history import FolderEntry, Relation, find_relatives, join_origins
from metaod.store import _rows as rows
from metaod.store._schema import DatasetRecord, JoinedOrigin
from metaod.store._store import Store


def stored_relatives(store: Store) -> list[Relation]:
    """Find the pairs of datasets that share rows or columns, by name, the most certain first."""
    names = {item.fingerprint: name for name, item in _by_name(store).items()}
    return find_relatives({names[key]: sketch for key, sketch in store.sketches().items()})


def _by_name(store: Store) -> dict[str, DatasetRecord]:
    """Return the datasets by name; those of one name also by fingerprint."""
    records = store.datasets()
    count = Counter(record.name for record in records)
    return {
        item.name if count[item.name] == 1 else f"{item.name} {item.fingerprint}": item
        for item in records
    }


def datasets_without_sketch(store: Store) -> list[str]:
    """Return the names of the datasets that cannot be compared with others."""
    sketched = store.sketches()
    return [item.name for item in store.datasets() if item.fingerprint not in sketched]


def join_relatives(
    store: Store, by_hand: Iterable[tuple[str, str, str]] = ()
) -> list[tuple[DatasetRecord, JoinedOrigin]]:
    """Give related datasets one origin; the origins of the catalogue and the evidence are kept.

    Joins start from the origins of the catalogue: a second call gives the same result.

    Parameters
    ----------
    store : Store
        The store that is written.
    by_hand : iterable of (str, str, str)
        Further pairs of related datasets by name, each with the reason.

    Returns
    -------
    list of (DatasetRecord, JoinedOrigin)
        The datasets whose origin is now another than in the catalogue.
    """
    records = _by_name(store)
    before = store.joined_origins()
    origins = {
        name: before[record.fingerprint].catalogue_origin
        if record.fingerprint in before
        else record.origin
        for name, record in records.items()
    }
    pairs = {(item.one, item.other): str(item) for item in stored_relatives(store)}
    for one, other, reason in by_hand:
        for name in (one, other):
            if name not in records:
                remedy = "correct the list of pairs"
                raise UserError(f"no dataset is called {name!r}", where=str(store), remedy=remedy)
        pairs.setdefault((one, other), f"{one} and {other}: {reason}")
    joined = join_origins(origins, pairs)
    evidence: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for (one, other), text in pairs.items():
        if origins[one] != origins[other]:
            # the first pair of two origins is the most certain
            evidence[origins[one]].setdefault(origins[other], text)
            evidence[origins[other]].setdefault(origins[one], text)
    written = []
    with store.writer_lock(), store.writing() as connection:
        for name, record in records.items():
            own, key = origins[name], record.fingerprint
            note = None
            if own in joined:
                note = JoinedOrigin(key, own, "; ".join(evidence[own].values()))
            origin = joined.get(own, own)
            if note is not None or record.origin != origin or key in before:
                rows.replace_origin(connection, key, origin, note)
            if note is not None:
                written.append((replace(record, origin=origin), note))
    return written


@dataclass(frozen=True)
class Placed:
    """New datasets with their origins, which may be those of relatives, and what to tell.

    `new` has them as they were before; `origins` those of the datasets that the store had.
    """

    records: tuple[DatasetRecord, ...]
    joined: tuple[JoinedOrigin, ...]
    notes: tuple[str, ...]
    new: tuple[tuple[DatasetRecord, FolderEntry], ...]
    origins: dict[str, str]


def place(store: Store, new: Sequence[tuple[DatasetRecord, FolderEntry]]) -> Placed:
    """Look for relatives of new datasets, in the store and among themselves.

    A dataset gets the origin of its closest relative unless its list names an origin.
    """
    with store.reading() as connection:
        return _place(connection, new)


def _place(connection: Connection, new: Sequence[tuple[DatasetRecord, FolderEntry]]) -> Placed:
    stored = {record.fingerprint: record for record in rows.read_datasets(connection)}
    sketches = rows.read_sketches(connection)
    known = {key: record for key, record in stored.items() if key in sketches}
    records, joined, notes = [], [], []
    for record, _ in new:
        if record.sketch is not None:
            sketches[record.fingerprint] = record.sketch
    unknown = [record.fingerprint for record, _ in new if record.fingerprint not in stored]
    relations = find_relatives(sketches, only=unknown)
    for read, entry in new:
        record, key = read, read.fingerprint
        closest = None if key in stored else _closest(key, relations, known)
        if closest is not None:
            relation, relative = closest
            if not entry.origin_is_listed and relative.origin != record.origin:
                joined.append(JoinedOrigin(key, record.origin, _named(relation, record, relative)))
                record = replace(record, origin=relative.origin)
                notes.append(f"{_named(relation, record, relative)}; it gets the same origin")
            elif relative.origin != record.origin:
                remedy = "`metaod db relatives --join` gives them one origin"
                notes.append(f"{_named(relation, record, relative)}; {remedy}")
        records.append(record)
        known.setdefault(key, record)
    origins = {key: record.origin for key, record in stored.items()}
    return Placed(tuple(records), tuple(joined), tuple(notes), tuple(new), origins)


def _closest(
    key: str, relations: Iterable[Relation], known: dict[str, DatasetRecord]
) -> tuple[Relation, DatasetRecord] | None:
    for relation in relations:
        pair = (relation.one, relation.other)
        if key in pair:
            other = pair[1 - pair.index(key)]
            if other in known:
                return relation, known[other]
    return None


def _named(relation: Relation, record: DatasetRecord, relative: DatasetRecord) -> str:
    names = {record.fingerprint: record.name, relative.fingerprint: relative.name}
    return str(replace(relation, one=names[relation.one], other=names[relation.other]))


def add_datasets(
    store: Store, new: Sequence[tuple[DatasetRecord, FolderEntry]]
) -> tuple[int, tuple[str, ...]]:
    """Add datasets, each with the origin of its relatives; return how many are new, and notes."""
    placed = place(store, new)
    return write_placed(store, placed), placed.notes


def write_placed(store: Store, placed: Placed) -> int:
    """Write new datasets and what is known of their origins; return how many are new.

    If another builder has added datasets or joined origins meanwhile, they are placed again.
    """

    def write() -> int:
        with store.writing() as connection:
            now = {item.fingerprint: item.origin for item in rows.read_datasets(connection)}
            final = placed if now == placed.origins else _place(connection, placed.new)
            origins = {record.fingerprint: record.origin for record in final.records}
            count = rows.insert_datasets(connection, final.records)
            for note in final.joined:
                rows.replace_origin(connection, note.dataset, origins[note.dataset], note)
            return count

    return store.repeat(write)
