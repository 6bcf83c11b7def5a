"""The fixed pick: the average of a committee of models, the same for every table."""

import re
from dataclasses import dataclass

from metaod.models import COMMITTEE, Cost, ModelSpec, average_of
from metaod.options import Picking
from metaod.selection._candidates import Candidates
from metaod.selection._explanation import family_names

_SLOWER = "another one takes less time"

_PARAMETER = re.compile(r"^[a-z_]+=\S+ ")  # at the beginning of a reason


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
