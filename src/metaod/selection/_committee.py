"""The fixed pick: the average of a committee of models, the same for every table."""

import re
from dataclasses import dataclass, replace

from metaod.models import COMMITTEE, Cost, ModelSpec, average_of, expected_costs
from metaod.selection._candidates import Candidates, Constraints
from metaod.selection._explanation import family_names

COMMITTEE_ID = average_of(*COMMITTEE).id
"""Id of the average of the whole committee."""

_PARAMETER = re.compile(r"^[a-z_]+=\S+ ")  # at the beginning of a reason


@dataclass(frozen=True)
class CommitteePick:
    """The average of the members that can be used, its cost, and the members that cannot."""

    best: ModelSpec
    cost: Cost
    left_out: dict[ModelSpec, str]

    @classmethod
    def for_table(
        cls, shape: tuple[int, int], constraints: Constraints, *, owner: str = "select"
    ) -> "CommitteePick":
        """Leave out members that do not apply to a prepared table of that shape or are too costly.

        If all others together exceed ``max_seconds``, the slowest of them are left out too.
        """
        limit = constraints.max_seconds
        found = Candidates.among(
            COMMITTEE, shape, replace(constraints, max_seconds=None), owner=owner
        )
        members, left_out = list(found.costs), dict(found.passed_over)
        members.sort(key=lambda spec: (found.costs[spec].seconds, spec.id))
        while True:
            best = average_of(*members) if len(members) > 1 else members[0]
            [cost] = expected_costs([best], *shape, is_sampled=True)
            if limit is None or cost.seconds <= limit:
                return cls(best, cost, left_out)
            if len(members) == 1:  # tells that no model is left
                Candidates.among(members, shape, constraints, owner=owner)
            reason = f"all members together would take more than {limit:.3g} s"
            left_out[members.pop()] = reason

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
