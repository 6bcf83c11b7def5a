"""Slices of a dataset's models: the parts in which a costly dataset is computed.

A slice is a set of work units (``ModelSpec.work_unit``). The cut depends on the models and on the
shape of the table, not on what a store lacks, so several builders cut alike.

What slices repeat: reading and preparing the table, a neighbour search in each family that needs
one, and the members of fixed averages in other slices (three at most). Averages that may be
picked stay in one slice with all their members. The Mega Ensemble is summed over the slices.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from operator import attrgetter

from metaod.history import Reference
from metaod.models import (
    Budget,
    Cost,
    ModelSpec,
    expected_costs,
    is_average,
    members_of,
    total_cost,
)
from metaod.store._tasks import BuildTask

SLICE_SECONDS = 120.0
"""Expected time above which a dataset is cut; the cost laws are the upper side of what it takes."""


@dataclass(frozen=True)
class Slice:
    """Models and references that are evaluated together.

    `members` has the models whose scores are added to references summed over all slices. `seconds`
    is the time that it is expected to take.
    """

    name: str
    specs: frozenset[ModelSpec]
    references: frozenset[ModelSpec]
    members: frozenset[ModelSpec]
    seconds: float


class Slicer:
    """Cuts the models of a build into slices for a table of any shape.

    Parameters
    ----------
    specs : sequence of ModelSpec
        The models and averages.
    references : sequence of Reference
        The reference models.
    trials : int
        Trials of a random model.
    budget : Budget
        The limits of one cell.
    """

    def __init__(
        self,
        specs: Sequence[ModelSpec],
        references: Sequence[Reference],
        trials: int,
        budget: Budget,
    ) -> None:
        self._specs, self._trials, self._budget = tuple(specs), trials, budget
        self._whole = tuple(item for item in references if item.all_needed)
        self._summed = tuple(item for item in references if not item.all_needed)
        members = chain.from_iterable(item.members for item in references)
        models = [*filter(_is_single, specs), *filter(_is_single, members)]
        self._unit = cache(attrgetter("work_unit"))
        by_unit: dict[tuple[object, ...], list[ModelSpec]] = defaultdict(list)
        for spec in dict.fromkeys(models):
            by_unit[self._unit(spec)].append(spec)
        together = set(chain.from_iterable(map(members_of, filter(is_average, specs))))
        self._units: list[list[ModelSpec]] = [[]]  # the first has the members of averages
        for unit in by_unit.values():
            if together.isdisjoint(unit):
                self._units.append(unit)
            else:
                self._units[0] += unit
        self._known: dict[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = {}
        self.of = lru_cache(maxsize=1024)(self._of)

    def expected(self, specs: Iterable[ModelSpec], n_rows: int, n_columns: int) -> Cost:
        """Return the expected time and memory of scoring models of the same units together."""
        by_unit: dict[tuple[object, ...], list[Cost]] = defaultdict(list)
        specs = tuple(specs)
        for spec, cost in zip(specs, expected_costs(specs, n_rows, n_columns), strict=True):
            # a cell beyond the budget is stopped, or not started
            seconds = min(cost.seconds, self._budget.seconds) * self._times(spec)
            n_bytes = cost.n_bytes if cost.n_bytes <= self._budget.bytes else 0.0
            by_unit[self._unit(spec)].append(Cost(seconds, n_bytes))
        # the largest model of a unit computes nearly all that the others need
        costs = [
            Cost(max(c.seconds for c in own), max(c.n_bytes for c in own))
            for own in ([c for c in unit if c.is_known] for unit in by_unit.values())
            if own
        ]
        return total_cost(costs) if costs else Cost(0.0, 0.0)

    def cut(
        self,
        task: BuildTask,
        n_rows: int,
        n_columns: int,
        summed: Mapping[str, Collection[ModelSpec]],
    ) -> Iterator[BuildTask]:
        """Yield the slices of a task on a table of that shape that lack anything.

        ``summed`` has the members, by reference, whose sums the store has already.
        """
        slices = self.of(n_rows, n_columns)
        seconds = [part.seconds for part in slices]
        for k, part in enumerate(slices):
            references = tuple(item for item in task.references if item.spec in part.references)
            sums = [
                replace(
                    item,
                    members=tuple(
                        member
                        for member in item.members
                        if member in part.members and member not in summed.get(item.spec.id, ())
                    ),
                )
                for item in task.references
                if not item.all_needed and item not in references
            ]
            specs = tuple(spec for spec in task.specs if spec in part.specs)
            ids = {*(spec.id for spec in specs), *(item.spec.id for item in references)}
            own = replace(
                task,
                specs=specs,
                references=references,
                lacking=self._lacking(task.lacking, ids),
                schemas=task.schemas if k == 0 else (),
                keep=task.keep & {*ids, *(item.spec.id for item in sums)},
                slice=part.name,
                summed=tuple(item for item in sums if item.members),
                cost=task.cost * (seconds[k] + 1.0) / (sum(seconds) + len(seconds)),
                shape=(n_rows, n_columns),
            )
            if own.lacking or own.schemas or own.keep or own.summed:
                yield own

    def _lacking(
        self, lacking: frozenset[tuple[str, int]], ids: set[str]
    ) -> frozenset[tuple[str, int]]:
        own = frozenset(pair for pair in lacking if pair[0] in ids)
        # most datasets of a new store lack the same: ten thousand tasks share one set
        return self._known.setdefault(own, own)

    def _times(self, spec: ModelSpec) -> int:
        return self._trials if spec.is_random else 1

    def _slice(
        self,
        name: str,
        specs: Iterable[ModelSpec],
        references: Iterable[ModelSpec],
        members: Iterable[ModelSpec],
        shape: tuple[int, int],
    ) -> Slice:
        specs, members = frozenset(specs), frozenset(members)
        singles = tuple(filter(_is_single, specs | members))
        seconds = self.expected(singles, *shape).seconds
        return Slice(name, specs, frozenset(references), members, seconds)

    def _of(self, n_rows: int, n_columns: int) -> tuple[Slice, ...]:
        """Return the slices for a table of that shape."""
        costs = [self.expected(unit, n_rows, n_columns).seconds for unit in self._units]
        count = min(math.ceil(sum(costs) / SLICE_SECONDS), sum(cost > 0 for cost in costs))
        parts: list[list[ModelSpec]] = [[] for _ in range(max(count, 1))]
        filled = [0.0] * len(parts)
        order = sorted(range(len(costs)), key=lambda unit: (-costs[unit], unit))
        # the first part has the averages; else the most costly unit goes to the emptiest part
        for unit in [0, *(unit for unit in order if unit > 0)]:
            part = 0 if unit == 0 else min(range(len(parts)), key=lambda k: (filled[k], k))
            parts[part] += self._units[unit]
            filled[part] += costs[unit]
        return tuple(self._slices(parts, n_rows, n_columns))

    def _slices(self, parts: list[list[ModelSpec]], n_rows: int, n_columns: int) -> Iterator[Slice]:
        where = {spec: k for k, part in enumerate(parts) for spec in part}
        summed = {member for item in self._summed for member in item.members}
        homes: dict[ModelSpec, int] = {}
        for item in self._whole:
            members = list(chain.from_iterable(map(members_of, item.members)))
            costs = expected_costs(members, n_rows, n_columns)
            first = max(range(len(costs)), key=lambda k: (costs[k].seconds, k))
            # where its most costly member is computed anyway
            homes[item.spec] = where[members[first]]
        shape = (n_rows, n_columns)
        for k, part in enumerate(parts):
            own = [spec for spec in self._specs if where.get(spec, 0) == k]
            whole = [spec for spec, home in homes.items() if home == k]
            if len(parts) == 1:
                everything = [*whole, *(item.spec for item in self._summed)]
                yield self._slice("", own, everything, (), shape)
            else:
                name = f"{k + 1}/{len(parts)}"
                yield self._slice(name, own, whole, summed.intersection(part), shape)


def _is_single(spec: ModelSpec) -> bool:
    return not is_average(spec)
