"""References whose members are scored in several slices: their sums in a store, and their cells."""

from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection

from metaod.history import ENGINE_VERSION, Evaluation, Reference, ReferenceSum, evaluation_of
from metaod.models import Mode, ModelSpec, Scored
from metaod.store import _rows as rows
from metaod.store._store import Store


def _ignore(_: Scored) -> None:
    """Keep no scores."""


class _Finished(Exception):
    """Another builder has evaluated the references."""


class SlicedReferences:
    """The references that go on without some members, such as the Mega Ensemble.

    Each slice writes the sum of its members' scores with its evaluations, in one transaction. When
    the sums in the store cover all members, the reference is evaluated and they are deleted. So
    nothing is computed twice if a build ends between two slices, or if several builders share the
    slices of a dataset.

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
    """

    def __init__(
        self, store: Store, references: Sequence[Reference], trials: int, mode: Mode
    ) -> None:
        self._store, self._trials, self._mode = store, trials, mode
        self._references = {item.spec.id: item for item in references if not item.all_needed}

    def stored(self) -> dict[str, dict[str, frozenset[ModelSpec]]]:
        """Return the members in the sums of each dataset, by reference.

        Sums of another version or number of trials, or that overlap, have no members.
        """
        return {name: self.members(name) for name in self._store.datasets_with_sums()}

    def members(self, fingerprint: str) -> dict[str, frozenset[ModelSpec]]:
        """Return the members in the sums of one dataset, by reference."""
        return {
            model: frozenset([] if total is None else total[0].members)
            for model, total in self._totals(fingerprint).items()
        }

    def drop(self, fingerprint: str, model: str) -> None:
        """Delete the sums of a reference that must be summed anew."""
        self._store.drop_sums(fingerprint, self._mode, model)

    def finish(
        self, fingerprint: str, keep: Callable[[Scored], None] = _ignore
    ) -> list[Evaluation]:
        """Evaluate the references whose sums are complete, write their cells and return them."""
        counts = self._store.count_summed(fingerprint)
        complete = {
            model
            for model, item in self._references.items()
            if counts.get((self._mode.value, model), 0) >= len(item.members)
        }
        if not complete:
            return []
        evaluations = []
        for model, found in self._totals(fingerprint).items():
            item = self._references[model]
            if found is None or set(found[0].members) != set(item.members):
                continue
            total, labels = found
            for trial in range(self._trials if item.is_random else 1):
                scored = total.finish(item, trial)
                keep(scored)
                y = np.frombuffer(labels, dtype=np.int8)
                evaluations.append(evaluation_of(scored, y, self._mode, seeded=item.is_random))
        try:
            self._store.record_task(fingerprint, evaluations, first=self._check_unfinished)
        except _Finished:
            return []
        return evaluations

    def _check_unfinished(self, connection: Connection, dataset: int) -> None:
        # two builders may write the last two slices, and both find the sums complete
        if not rows.count_summed(connection, dataset):
            raise _Finished

    def _totals(self, fingerprint: str) -> dict[str, tuple[ReferenceSum, bytes] | None]:
        totals: dict[str, tuple[ReferenceSum, bytes] | None] = {}
        for record in self._store.sums(fingerprint):
            item = self._references.get(record.model)
            if item is None or record.mode != self._mode:
                continue
            total, labels = totals.setdefault(record.model, (ReferenceSum(), b"")) or (None, b"")
            part = ReferenceSum.from_bytes(record.content)
            is_alike = (record.trials, record.engine_version) == (self._trials, ENGINE_VERSION)
            is_new = total is not None and set(part.members).isdisjoint(total.members)
            if total is None or not is_alike or not is_new:
                totals[record.model] = None
                continue
            total.add_sum(part)
            totals[record.model] = (total, labels or record.labels)
        return totals
