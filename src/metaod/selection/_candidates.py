"""Which models may be picked for a table: what applies, what is allowed, what it may cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metaod.errors import BadParameter, UserError
from metaod.models import (
    SPACES,
    Cost,
    ModelSpec,
    expected_costs,
    is_average,
    members_of,
    model_space,
    registered_families,
    why_too_costly,
)
from metaod.selection._picks import Pick

__all__ = ["Candidates", "Constraints"]

Models = str | ModelSpec | Iterable[str | ModelSpec]

_NOT_ASKED_FOR = "not in the space asked for"
_NO_SINGLE = "an average, where a single model is asked for"


@dataclass(frozen=True)
class Constraints:
    """What a user allows.

    Parameters
    ----------
    space : str or iterable of str or ModelSpec, optional
        Only these, and averages of these: the name of a model space, or ids of models and names of
        families.
    exclude : str or iterable of str or ModelSpec, optional
        None of these, and no averages with one of these: ids of models and names of families.
    max_seconds : float, optional
        Only models that are expected to take no longer.
    max_bytes : float, optional
        Only models that are expected to need no more memory beyond the table.
    pick : {"ensemble", "single"}, default="ensemble"
        Whether averages may be picked.
    """

    space: Models | None = None
    exclude: Models | None = None
    max_seconds: float | None = None
    max_bytes: float | None = None
    pick: Pick = "ensemble"


@dataclass(frozen=True)
class Candidates:
    """The models that may be picked, and why the others may not.

    Parameters
    ----------
    costs : dict of ModelSpec to Cost
        The models and what each is expected to cost.
    passed_over : dict of ModelSpec to str
        The other models, and the reason.
    """

    costs: dict[ModelSpec, Cost]
    passed_over: dict[ModelSpec, str]

    @classmethod
    def among(
        cls, models: Sequence[ModelSpec], shape: tuple[int, int], constraints: Constraints
    ) -> "Candidates":
        """Sift models for a prepared table of that shape."""
        known = set().union(*(_names_of(spec) for spec in models))
        only = _names(constraints.space, "space", known)
        never = _names(constraints.exclude, "exclude", known) or set()
        costs: dict[ModelSpec, Cost] = {}
        passed_over: dict[ModelSpec, str] = {}
        too_costly: dict[ModelSpec, Cost] = {}
        for spec, cost in zip(models, expected_costs(models, *shape), strict=True):
            reason = spec.why_not(*shape)
            if constraints.pick == "single" and is_average(spec):
                reason = _NO_SINGLE
            elif only is not None and not _is_among(spec, only):
                reason = _NOT_ASKED_FOR
            elif _names_of(spec) & never:
                reason = "excluded"
            if reason is None:
                reason = why_too_costly(cost, constraints.max_seconds, constraints.max_bytes)
                if reason is not None:
                    too_costly[spec] = cost
            if reason is None:
                costs[spec] = cost
            else:
                passed_over[spec] = reason
        if not costs:
            reasons = _commonest(passed_over, too_costly, constraints)
            raise UserError(
                f"no model is left to pick from: {reasons}",
                where=f"a table of {shape[0]} rows and {shape[1]} columns",
                remedy="loosen max_seconds, max_bytes, exclude, space or pick, or give other rows",
            )
        return cls(costs, passed_over)


def _names_of(spec: ModelSpec) -> set[str]:
    """Every name that the model or one of its members goes by."""
    return {name for part in (spec, *members_of(spec)) for name in (part.id, part.detector)}


def _is_among(spec: ModelSpec, names: set[str]) -> bool:
    """Whether the model itself or all of its members are named."""
    return bool({spec.id, spec.detector} & names) or all(
        {member.id, member.detector} & names for member in members_of(spec)
    )


def _names(given: Models | None, parameter: str, known: set[str]) -> set[str] | None:
    if given is None:
        return None
    if isinstance(given, str) and given in SPACES:
        return {spec.id for spec in model_space(given)}
    legal = "families or models of the learner (see 'metaod models')"
    if isinstance(given, str | ModelSpec):
        given = [given]
    elif not isinstance(given, Iterable):
        raise BadParameter("select", parameter, legal, given)
    names = set()
    for item in given:
        name = item.id if isinstance(item, ModelSpec) else str(item)
        if name not in known and "(" in name:
            name = ModelSpec.parse(name).id
        # a family that the learner does not know it cannot pick: to exclude it is no mistake
        harmless = parameter == "exclude" and name in registered_families()
        if name not in known and not harmless:
            raise BadParameter("select", parameter, legal, name)
        names.add(name)
    return names


def _commonest(
    passed_over: dict[ModelSpec, str], too_costly: dict[ModelSpec, Cost], constraints: Constraints
) -> str:
    """How many models are left out for which reasons: three at most, the most telling first."""
    counts = Counter(reason for spec, reason in passed_over.items() if spec not in too_costly)
    if too_costly:
        # every model has a cost of its own: the least says how far off the limit is
        limit = constraints.max_seconds
        slow = [spec for spec, cost in too_costly.items() if limit and cost.seconds > limit]
        if slow:
            least = min(slow, key=lambda spec: (too_costly[spec].seconds, spec.id))
            counts[f"too costly (the quickest {passed_over[least]})"] = len(too_costly)
        else:
            least = min(too_costly, key=lambda spec: (too_costly[spec].n_bytes, spec.id))
            counts[f"too costly (the smallest {passed_over[least]})"] = len(too_costly)
    # what was not asked for says least about why the rest is out
    reasons = sorted(counts, key=lambda reason: (reason == _NOT_ASKED_FOR, -counts[reason]))
    return ", ".join(f"{counts[reason]} × {reason}" for reason in reasons[:3])
