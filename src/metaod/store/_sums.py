"""References whose members are scored in several slices: their sums in a store, and their cells."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from sqlalchemy import Connection

from metaod.history import Evaluation, Reference, ReferenceSum, evaluation_of
from metaod.models import Mode, ModelSpec, Scored
from metaod.store import _rows as rows
from metaod.store._store import Store

Sums = dict[str, frozenset[ModelSpec]]
"""The members of the sums of one reference on one dataset, by the name of the sum."""


def _ignore(_dataset: str, _scored: Sequence[Scored]) -> None:
    """Keep no scores."""


class _Finished(Exception):
    """Another builder has evaluated the reference."""


def disjoint(sums: Sums) -> Sums:
    """Choose sums that share no member, the largest first.

    Builders that cut a dataset differently may write sums that overlap. A sum that shares no
    member with the chosen ones does not change the choice.
    """
    chosen: Sums = {}
    covered: set[ModelSpec] = set()
    for name, members in sorted(sums.items(), key=lambda item: (-len(item[1]), item[0])):
        if covered.isdisjoint(members):
            chosen[name] = members
            covered |= members
    return chosen


class SlicedReferences:
    """The references that go on without some members, such as the Mega Ensemble.

    Each slice writes the sum of its members' scores with its evaluations, in one transaction. When
    the sums in the store cover all members, the reference is evaluated and they are deleted. So
    nothing is computed twice if a build ends between two slices, or if several builders share the
    slices of a dataset. Sums of another version or number of trials are ignored: they may be those
    of another builder.

    Parameters
    ----------
    store : Store
        The store.
    references : sequence of Reference
        The references of a build; those that need all members are ignored.
    trials : int
        Trials of a random member.
    mode : Mode
        The mode of the scores.
    keep : callable, optional
        Called with a dataset and the scores of a reference before its cells are written.
    """

    def __init__(
        self,
        store: Store,
        references: Sequence[Reference],
        trials: int,
        mode: Mode,
        keep: Callable[[str, Sequence[Scored]], None] = _ignore,
    ) -> None:
        self._store, self._trials, self._mode, self._keep = store, trials, mode, keep
        self._references = {item.spec.id: item for item in references if not item.all_needed}

    def stored(self) -> dict[str, dict[str, Sums]]:
        """Return the members of the sums, by dataset, reference and the name of the sum."""
        return {
            name: {
                model: {key: frozenset(part.members) for key, (part, _) in parts.items()}
                for model, parts in self._parts(name).items()
            }
            for name in self._store.datasets_with_sums()
        }

    def members(self, fingerprint: str) -> dict[str, frozenset[ModelSpec]]:
        """Return the members in the sums of one dataset, by reference."""
        return {
            model: frozenset(total.members)
            for model, (total, _, _) in self._totals(fingerprint).items()
        }

    def drop(self, fingerprint: str, model: str, names: Iterable[str]) -> None:
        """Delete sums of a reference whose members are scored anew."""
        self._store.drop_sums(fingerprint, self._mode, model, names)

    def finish(self, fingerprint: str) -> list[Evaluation]:
        """Evaluate the references whose sums are complete, write their cells and return them."""
        counts = self._store.count_summed(fingerprint, self._mode, self._trials)
        if not any(
            counts.get(model, 0) >= len(item.members) for model, item in self._references.items()
        ):
            return []
        written = []
        for model, (total, labels, names) in self._totals(fingerprint).items():
            item = self._references[model]
            if set(total.members) != set(item.members):
                continue
            trials = range(self._trials if item.is_random else 1)
            scored = [total.finish(item, trial) for trial in trials]
            self._keep(fingerprint, scored)
            y = np.frombuffer(labels, dtype=np.int8)
            evaluations = [
                evaluation_of(one, y, self._mode, seeded=item.is_random) for one in scored
            ]
            first = partial(self._delete, model, names)
            try:
                self._store.record_task(fingerprint, evaluations, first=first)
            except _Finished:
                continue
            written += evaluations
        return written

    def _delete(self, model: str, names: set[str], connection: Connection, dataset: int) -> None:
        """Delete the sums that are evaluated."""
        # two builders may write the last two slices, and both find the sums complete
        if rows.delete_sums(connection, dataset, self._mode, model, names) < len(names):
            raise _Finished

    def _parts(self, fingerprint: str) -> dict[str, dict[str, tuple[ReferenceSum, bytes]]]:
        """Read the sums of one dataset with their labels, by reference and name."""
        parts: dict[str, dict[str, tuple[ReferenceSum, bytes]]] = {}
        for record in self._store.sums(fingerprint):
            is_own = record.mode == self._mode and record.is_of(self._trials)
            if is_own and record.model in self._references:
                found = (ReferenceSum.from_bytes(record.content), record.labels)
                parts.setdefault(record.model, {})[record.slice] = found
        return parts

    def _totals(self, fingerprint: str) -> dict[str, tuple[ReferenceSum, bytes, set[str]]]:
        """Add sums that do not overlap, by reference; with the labels and the sums' names."""
        totals = {}
        for model, parts in self._parts(fingerprint).items():
            names = disjoint({name: frozenset(part.members) for name, (part, _) in parts.items()})
            total, labels = ReferenceSum(), b""
            for name in names:
                part, own = parts[name]
                total.add_sum(part)
                labels = labels or own
            totals[model] = (total, labels, set(names))
        return totals
