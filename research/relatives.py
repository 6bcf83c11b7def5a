"""Related tables: pairs that share rows or columns, and the origins that they join."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sqlalchemy import update

from metaod.errors import UserError
from metaod.history import FolderEntry
from metaod.store import DatasetRecord, Store
from metaod.store import _schema as schema
from research.sketches import SAMPLE_SIZES, Sketch, sketch

# two unrelated tables share elements at this rate at least
_LEAST_CHANCE = 0.003
# the estimate of chance is itself uncertain
_MARGIN = 1.5
SHIPPED = Path(__file__).with_name("sketches.parquet")
"""Sketches of the shipped datasets."""

_MIN_SHARED = 4
_SIGNIFICANCE = 1e-6

_WORDS = {
    "raw": "rows",
    "scaled": "rows, up to the scale of columns",
    "rows": "rows, up to the scale of columns",
    "ends": "the ends of columns, up to their scale",
}


@dataclass(frozen=True)
class Relation:
    """What two tables share.

    Parameters
    ----------
    one, other : str
        The tables.
    kind : {"raw", "scaled", "rows", "ends"}
        The sample of the sketch that shows the largest share: values of the same rows, the same
        after scaling, whole scaled rows, or the ends of columns.
    share_of_one, share_of_other : float
        Share of the first table's sampled elements that the second table has, and the reverse.
    shared, compared : int
        The number of sampled elements that both have, of how many.
    chance : float
        The share that unrelated tables of such values would have at most.
    p_value : float
        Probability of so many by chance.
    """

    one: str
    other: str
    kind: str
    share_of_one: float
    share_of_other: float
    shared: int
    compared: int
    chance: float
    p_value: float

    @property
    def share(self) -> float:
        """The larger of the two shares."""
        return max(self.share_of_one, self.share_of_other)

    def __str__(self) -> str:
        shares = f"{self.share_of_one:.0%} of {self.one} in {self.other}"
        return f"{shares}, {self.share_of_other:.0%} the other way: {_WORDS[self.kind]}"


def compare_sketches(
    one: Sketch, other: Sketch, names: tuple[str, str] = ("one", "other")
) -> Relation | None:
    """Return what two tables share, or None if it is no more than chance explains."""
    found = []
    for kind in SAMPLE_SIZES:
        a, b = one.samples[kind], other.samples[kind]
        bound = min(a.bound, b.bound)
        # both samples are complete below the smaller bound
        x, y = a.hashes[a.hashes < bound], b.hashes[b.hashes < bound]
        shared = len(np.intersect1d(x, y, assume_unique=True))
        if shared < _MIN_SHARED:
            continue
        compared = min(len(x), len(y))
        chance = min(1.0, max(_LEAST_CHANCE, _MARGIN * max(a.chance, b.chance)))
        p_value = _at_least(shared, compared, chance)
        shares = (shared / len(x), shared / len(y))
        if p_value <= _SIGNIFICANCE:
            found.append(Relation(*names, kind, *shares, shared, compared, chance, p_value))
    return max(found, key=lambda item: item.share, default=None)


def _at_least(count: int, trials: int, chance: float) -> float:
    """Return the probability of at least `count` successes, by the binomial distribution."""
    if chance >= 1.0:
        return 1.0
    terms = (
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(count, trials + 1)
    )
    return min(1.0, math.fsum(terms))


def find_relatives(
    sketches: Mapping[str, Sketch], *, only: Iterable[str] | None = None
) -> list[Relation]:
    """Find all pairs of tables that share rows or columns.

    Parameters
    ----------
    sketches : mapping of str to Sketch
        The tables' sketches by name.
    only : iterable of str, optional
        Only pairs with one of these tables.

    Returns
    -------
    list of Relation
        The most certain first.
    """
    names = list(sketches)
    wanted = set(names if only is None else only)
    candidates: set[tuple[int, int]] = set()
    for kind in SAMPLE_SIZES:
        parts = [sketches[name].samples[kind].hashes for name in names]
        tables = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        hashes = np.concatenate([np.empty(0, np.uint32), *parts])
        order = np.argsort(hashes, kind="stable")
        borders = np.flatnonzero(np.diff(hashes[order])) + 1
        shared: Counter[tuple[int, int]] = Counter()
        for group in np.split(tables[order], borders):
            if len(group) > 1:
                shared.update(combinations(group.tolist(), 2))
        candidates |= {pair for pair, count in shared.items() if count >= _MIN_SHARED}
    found = []
    for i, j in sorted(candidates):
        pair = names[i], names[j]
        if wanted & set(pair):
            relation = compare_sketches(sketches[pair[0]], sketches[pair[1]], pair)
            if relation is not None:
                found.append(relation)
    return sorted(found, key=lambda item: (item.p_value, -item.share, item.one, item.other))


def join_origins(origins: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Give the tables of related origins one origin.

    Parameters
    ----------
    origins : mapping of str to str
        The origin of each table.
    pairs : iterable of (str, str)
        Related tables.

    Returns
    -------
    dict of str to str
        For each origin that is joined to another, the origin that stands for both: that of the
        most tables, then the shortest name, then the first.
    """
    counts = Counter(origins.values())
    parent = {origin: origin for origin in counts}

    def root(origin: str) -> str:
        while parent[origin] != origin:
            origin = parent[origin]
        return origin

    for pair in pairs:
        one, other = (root(origins[name]) for name in pair)
        parent[one] = other
    groups: dict[str, list[str]] = {}
    for origin in counts:
        groups.setdefault(root(origin), []).append(origin)
    joined: dict[str, str] = {}
    for group in groups.values():
        name = min(group, key=lambda origin: (-counts[origin], len(origin), origin))
        joined |= {origin: name for origin in group if origin != name}
    return joined


def named(store: Store) -> dict[str, DatasetRecord]:
    """Return the datasets of a store by name; those of one name also by fingerprint."""
    records = store.datasets()
    count = Counter(record.name for record in records)
    return {
        item.name if count[item.name] == 1 else f"{item.name} {item.fingerprint}": item
        for item in records
    }


def sketches_of(
    records: Mapping[str, DatasetRecord], data: Iterable[FolderEntry]
) -> dict[str, Sketch]:
    """Return sketches by name: of shipped datasets, and of those whose tables are given."""
    shipped = pd.read_parquet(SHIPPED).set_index("dataset")["sketch"]
    names = {record.fingerprint: name for name, record in records.items()}
    found = {names[key]: Sketch.from_bytes(shipped[key]) for key in names if key in shipped.index}
    for entry in data:
        dataset = entry.load()
        name = names.get(dataset.fingerprint)
        if name is not None and name not in found:
            found[name] = sketch(dataset.X)
    return found


def join_related(store: Store, pairs: Mapping[tuple[str, str], str]) -> list[tuple[str, str, str]]:
    """Give related datasets of a store one origin.

    Parameters
    ----------
    store : Store
        The store that is written.
    pairs : mapping of (str, str) to str
        Related datasets by name, each pair with the reason.

    Returns
    -------
    list of (str, str, str)
        The datasets whose origin changed, with the old and the new origin.
    """
    records = named(store)
    for name in {name for pair in pairs for name in pair} - records.keys():
        remedy = "correct the list of pairs"
        raise UserError(f"no dataset is called {name!r}", where=str(store), remedy=remedy)
    joined = join_origins({name: item.origin for name, item in records.items()}, pairs)
    table, changed = schema.datasets, []
    with store.writer_lock(), store.writing() as connection:
        for name, record in records.items():
            if record.origin in joined:
                origin = joined[record.origin]
                chosen = update(table).where(table.c.fingerprint == record.fingerprint)
                connection.execute(chosen.values(origin=origin))
                changed.append((name, record.origin, origin))
    return changed
