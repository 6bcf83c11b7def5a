"""The models that may be picked for a table, given the user's constraints and their cost.

The committee is a fixed pick: the average of seven models, the same for every table.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

from metaod.errors import BadParameter, Message, Setting, UserError, counted
from metaod.models import (
    COMMITTEE,
    SPACES,
    Cost,
    ModelSpec,
    average_of,
    expected_costs,
    model_space,
    registered_families,
)
from metaod.options import Picking
from metaod.selection._explanation import family_names

Models = str | ModelSpec | Iterable[str | ModelSpec]

# default limit of a pick's expected memory beyond the table: the larger of a number of bytes and a
# number of copies of the table
_MAX_BYTES, _TABLE_COPIES = 2.0 * 2**30, 4.0


def memory_for(shape: tuple[int, int]) -> float:
    """Return the most memory that a pick for a prepared table may take beside it."""
    return max(_MAX_BYTES, _TABLE_COPIES * 8 * shape[0] * shape[1])


_NOT_IN_SPACE = "not in the space"
_NOT_SINGLE = "an average, and only single models may be picked"
_SLOWER = "another one takes less time"
_PARAMETER = re.compile(r"^[a-z_]+=\S+ ")  # at the beginning of a reason


@dataclass(frozen=True)
class Candidates:
    """The models that may be picked with their costs, and the other models with the reason."""

    costs: dict[ModelSpec, Cost]
    passed_over: dict[ModelSpec, str]

    @classmethod
    def among(
        cls,
        models: Sequence[ModelSpec],
        shape: tuple[int, int],
        picking: Picking,
        *,
        owner: str = "select",
        n_learned: int | None = None,
    ) -> "Candidates":
        """Sort models into candidates and others, for a prepared table of that shape.

        Each is fitted to as many rows as its family learns from, or to ``n_learned``.
        """
        known = set().union(*(_names_of(spec) for spec in models))
        space = _named(picking.space, "space", known, owner)
        excluded = _named(picking.exclude, "exclude", known, owner) or set()
        max_bytes = picking.max_bytes
        if isinstance(max_bytes, str):  # "auto"
            max_bytes = memory_for(shape)
        costs: dict[ModelSpec, Cost] = {}
        passed_over: dict[ModelSpec, str] = {}
        too_costly: dict[ModelSpec, Cost] = {}
        is_sampled = n_learned is None
        expected = expected_costs(models, *shape, is_sampled=is_sampled, n_learned=n_learned)
        for spec, cost in zip(models, expected, strict=True):
            reason = spec.why_not(*shape)
            if picking.pick == "learned-single" and spec.is_average:
                reason = _NOT_SINGLE
            elif space is not None and not _is_in(spec, space):
                reason = _NOT_IN_SPACE
            elif _names_of(spec) & excluded:
                reason = "excluded"
            if reason is None:
                reason = cost.why_over(picking.max_seconds, max_bytes)
                if reason is not None:
                    too_costly[spec] = cost
            if reason is None:
                costs[spec] = cost
            else:
                passed_over[spec] = reason
        if not costs:
            reasons = _main_reasons(passed_over, too_costly, picking.max_seconds)
            where = f"a table of {counted(shape[0], 'row')} and {counted(shape[1], 'column')}"
            names = ("max_seconds", "exclude", "space", "pick")
            loosen = "change {max_seconds}, {exclude}, {space} or {pick}"
            remedy = Message("loosen", loosen, **{name: Setting(name) for name in names})
            what = f"no model is left to pick from: {reasons}"
            raise UserError(what, where=where, remedy=remedy, code="no-model")
        return cls(costs, passed_over)


def _names_of(spec: ModelSpec) -> set[str]:
    """Return ids and families of the model and its members."""
    return {name for part in (spec, *spec.members) for name in (part.id, part.detector)}


def new_models(space: Models | None, known: Sequence[ModelSpec]) -> list[ModelSpec]:
    """Return the models that a space names of families that the learner does not know."""
    items = [space] if space is None or isinstance(space, str | ModelSpec) else list(space)
    families = {part.detector for spec in known for part in spec.members}
    found: list[ModelSpec] = []
    for item in items:
        name = item.id if isinstance(item, ModelSpec) else str(item)
        family = name.partition("(")[0].strip()
        if family in families or family not in registered_families():
            continue
        if family == name:
            found += model_space("all", detectors=name)
        else:
            with suppress(BadParameter):  # of text that is no id
                found.append(ModelSpec.parse(name))
    return list(dict.fromkeys(found))


def _is_in(spec: ModelSpec, names: set[str]) -> bool:
    """Whether the model itself or all of its members are named."""
    return bool({spec.id, spec.detector} & names) or all(
        {member.id, member.detector} & names for member in spec.members
    )


def _named(given: Models | None, parameter: str, known: set[str], owner: str) -> set[str] | None:
    """Return the ids and families that the items name; an item may also be a model space."""
    if given is None:
        return None
    if isinstance(given, str | ModelSpec):
        given = [given]
    elif not isinstance(given, Iterable):
        raise _not_named(given, parameter, known, owner)
    # excluding a family that the learner cannot pick anyway is no mistake
    harmless = set(registered_families()) if parameter == "exclude" else set()
    spelling = {name.lower(): name for name in known | harmless}
    names: set[str] = set()
    for item in given:
        name = item.id if isinstance(item, ModelSpec) else str(item)
        if name in SPACES:
            names.update(spec.id for spec in model_space(name))
            continue
        name = spelling.get(name.lower(), name)
        if name not in known and "(" in name:
            with suppress(BadParameter):  # of text that is no id
                name = ModelSpec.parse(name).id
        if name not in known | harmless:
            raise _not_named(name, parameter, known, owner)
        names.add(name)
    return names


def _not_named(given: object, parameter: str, known: set[str], owner: str) -> BadParameter:
    families = sorted((name for name in known if "(" not in name), key=str.lower)
    spaces = ", ".join(SPACES)
    legal = f"a space ({spaces}), a family ({', '.join(families)}) or the id of a model"
    spelling = {name.lower(): name for name in (*SPACES, *known)}
    text = str(given).lower()
    family, parenthesis, _ = text.partition("(")  # of an id: its family's first
    alike = [name for name in spelling if parenthesis and name.startswith(f"{family}(")]
    close = get_close_matches(text, alike or spelling, n=1)
    meant = f"Did you mean '{spelling[close[0]]}'? " if close else ""
    return BadParameter(
        owner, parameter, legal, given, remedy=f"{meant}'metaod models --all' lists all"
    )


def _main_reasons(
    passed_over: dict[ModelSpec, str], too_costly: dict[ModelSpec, Cost], max_seconds: float | None
) -> str:
    """List the three main reasons, with the number of models for each."""
    counts = Counter(reason for spec, reason in passed_over.items() if spec not in too_costly)
    if too_costly:
        # every model has another cost: the least shows how far off the limit is
        limit = max_seconds or float("inf")
        slow = [spec for spec, cost in too_costly.items() if cost.seconds > limit]
        if slow:
            least = min(slow, key=lambda spec: (too_costly[spec].seconds, spec.id))
        else:
            least = min(too_costly, key=lambda spec: (too_costly[spec].n_bytes, spec.id))
        kind = "quickest" if slow else "smallest"
        counts[f"too costly (the {kind} {passed_over[least]})"] = len(too_costly)
    # models outside the space explain least why nothing is left
    reasons = sorted(counts, key=lambda reason: (reason == _NOT_IN_SPACE, -counts[reason]))
    return ", ".join(f"{counts[reason]} × {reason}" for reason in reasons[:3])


@dataclass(frozen=True)
class CommitteePick:
    """The average of the members that can be used, its cost, and the members that cannot."""

    best: ModelSpec
    cost: Cost
    left_out: dict[ModelSpec, str]

    @classmethod
    def for_table(
        cls, shape: tuple[int, int], picking: Picking, *, owner: str = "select"
    ) -> "CommitteePick":
        """Leave out members that do not apply to a prepared table of that shape or are too costly.

        If all others together exceed ``max_seconds``, the slowest of them are left out too. The
        last one may be replaced by another: alone, a model may learn from more rows.
        """
        n_learned = average_of(*COMMITTEE).learned_rows(shape[0])
        found = Candidates.among(COMMITTEE, shape, picking, owner=owner, n_learned=n_learned)
        costs, left_out = dict(found.costs), dict(found.passed_over)
        limit = picking.max_seconds
        while limit is not None and len(costs) > 1 and Cost.total(costs.values()).seconds > limit:
            slowest = max(costs, key=lambda spec: (costs[spec].seconds, spec.id))
            del costs[slowest]
            left_out[slowest] = f"all members together would take more than {limit:.3g} s"
        if len(costs) > 1:
            return cls(average_of(*costs), Cost.total(costs.values()), left_out)
        alone = Candidates.among(COMMITTEE, shape, picking, owner=owner)
        best = min(alone.costs, key=lambda spec: (spec not in costs, alone.costs[spec].seconds))
        reasons = {**alone.passed_over, **left_out}
        return cls(
            best,
            alone.costs[best],
            {spec: reasons.get(spec, _SLOWER) for spec in COMMITTEE if spec != best},
        )

    @property
    def warnings(self) -> list[str]:
        """A warning that names the families of the members that are left out."""
        if not self.left_out:
            return []
        reasons: dict[str, list[str]] = {}
        for spec, reason in self.left_out.items():
            reasons.setdefault(_PARAMETER.sub("", reason), []).append(spec.id)
        parts = [f"{family_names(models)} ({reason})" for reason, models in reasons.items()]
        n_used = len(COMMITTEE) - len(self.left_out)
        used = f"the committee scores with {n_used} of its {len(COMMITTEE)} models"
        return [f"{used}, without {' and '.join(parts)}"]
