"""The fixed pick: the average of a committee of models, the same for every table."""

import re
from dataclasses import dataclass

from metaod.models import COMMITTEE, Cost, ModelSpec, average_of, total_cost
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
        found = Candidates.among(COMMITTEE, shape, constraints, owner=owner)
        costs, left_out = dict(found.costs), dict(found.passed_over)
        limit = constraints.max_seconds
        while limit is not None and total_cost(costs.values()).seconds > limit:
            slowest = max(costs, key=lambda spec: (costs[spec].seconds, spec.id))
            del costs[slowest]
            left_out[slowest] = f"all members together would take more than {limit:.3g} s"
        best = average_of(*costs) if len(costs) > 1 else next(iter(costs))
        return cls(best, total_cost(costs.values()), left_out)

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
