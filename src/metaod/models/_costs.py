"""Expected time and memory of fitting a model to a table and scoring its rows, as ``MetaOD`` does.

``costs.json``, written by ``research measure-costs``, has a law for each built-in family.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Self

from metaod.errors import BadParameter
from metaod.models._family import FEW_ROWS
from metaod.models._spec import ModelSpec


class Cost(NamedTuple):
    """Expected cost of a fit on one core of a machine like the one measured.

    Parameters
    ----------
    seconds, n_bytes : float
        Time, and memory beyond the table itself; NaN if unknown.
    """

    seconds: float
    n_bytes: float

    @property
    def is_known(self) -> bool:
        """Whether the family has a law."""
        return not math.isnan(self.seconds)

    @classmethod
    def total(cls, costs: "Iterable[Cost]") -> "Cost":
        """Return the cost of fits one after another: the sum of times, the largest memory.

        Unknown costs are left out; the result is unknown if all are.

        Examples
        --------
        >>> Cost.total([Cost(1.0, 300.0), Cost(2.0, 100.0)])
        Cost(seconds=3.0, n_bytes=300.0)
        """
        known = [cost for cost in costs if cost.is_known]
        if not known:
            return UNKNOWN
        return cls(sum(cost.seconds for cost in known), max(cost.n_bytes for cost in known))

    def why_over(
        self, max_seconds: float | None = None, max_bytes: float | None = None
    ) -> str | None:
        """Return why a fit of this cost is not started; None if it is allowed or unknown.

        Examples
        --------
        >>> Cost(seconds=90, n_bytes=0).why_over(max_seconds=60)
        'would take about 90 s, the limit is 60 s'
        """
        if max_seconds is not None and self.seconds > max_seconds:
            return f"would take about {self.seconds:.3g} s, the limit is {max_seconds:.3g} s"
        if max_bytes is not None and self.n_bytes > max_bytes:
            needed, allowed = self.n_bytes / 2**20, max_bytes / 2**20
            return f"would take about {needed:.3g} MiB, the limit is {allowed:.3g} MiB"
        return None


UNKNOWN = Cost(math.nan, math.nan)


@dataclass(frozen=True)
class CostLaw:
    """Time and memory of a fit by the table's shape and one hyperparameter.

    ``seconds = exp(offset + offsets[model]) * work ** work_exponent * (start + n_rows ** rows *
    n_columns ** columns)``; beyond ``linear_from`` rows the time grows in proportion to the rows.

    Parameters
    ----------
    offset, start, rows, columns, work_exponent : float
        Constants of the time.
    linear_from : int or None
        Number of rows above which time is proportional to the rows.
    work : str or None
        The hyperparameter that sets the amount of work: neighbours, trees, cuts.
    work_default : float
        Its value where a model does not set it.
    offsets : mapping of str to float
        Correction of the logarithm for a model, by its id.
    median_offset : float
        Correction for a model that is not in ``offsets``.
    per_value, per_row, per_row_and_work, per_pair : float
        Bytes of memory for each value, row, row times work, and pair of rows of the table.
    pairs_at_most : float or None
        Limit of the memory for pairs.
    scoring : CostLaw or None
        Time to score new rows. If there is none, a new row takes as long as a row of a fit.
    learned : float
        For the scoring of new rows: the power of the rows that were learned from, in units of
        :data:`FEW_ROWS`.
    """

    offset: float
    start: float = 0.0
    rows: float = 1.0
    columns: float = 1.0
    work_exponent: float = 0.0
    linear_from: int | None = None
    work: str | None = None
    work_default: float = 1.0
    offsets: Mapping[str, float] = field(default_factory=dict, repr=False)
    median_offset: float = 0.0
    per_value: float = 8.0
    per_row: float = 0.0
    per_row_and_work: float = 0.0
    per_pair: float = 0.0
    pairs_at_most: float | None = None
    scoring: "CostLaw | None" = None
    learned: float = 0.0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a law as ``costs.json`` holds it."""
        seconds = dict(data["seconds"])
        shared = {"work": data["work"], "work_default": data["work_default"]}
        scoring = data.get("scoring")
        return cls(
            **shared,
            work_exponent=seconds.pop("work"),
            offsets=data["offsets"],
            median_offset=data["median_offset"],
            **seconds,
            **data.get("bytes", {}),
            scoring=None if scoring is None else cls.from_json({**scoring, **shared}),
            learned=data.get("learned", 0.0),
        )

    def cost(self, spec: ModelSpec, n_rows: int, n_columns: int) -> Cost:
        """Return the cost of a fit to all rows."""
        curved = min(n_rows, self.linear_from or n_rows)
        size = float(self.start + curved**self.rows * (n_rows / curved) * n_columns**self.columns)
        value = dict(spec.params).get(self.work) if self.work else None
        # PyOD's HBOS also takes a string, "auto"
        work = float(value) if isinstance(value, int | float) and value > 0 else self.work_default
        log_factor = self.offset + self.offsets.get(spec.id, self.median_offset)
        log_factor += self.work_exponent * math.log(work)
        linear = n_rows * (self.per_value * n_columns + self.per_row + self.per_row_and_work * work)
        pairs = self.per_pair * n_rows**2
        if self.pairs_at_most is not None:
            pairs = min(pairs, self.pairs_at_most)
        return Cost(math.exp(log_factor) * size, float(linear + pairs))


@cache
def _measured_laws() -> dict[str, CostLaw]:
    text = files("metaod.models").joinpath("costs.json").read_text("utf-8")
    return {name: CostLaw.from_json(law) for name, law in json.loads(text)["families"].items()}


def _law_of(name: str) -> CostLaw | None:
    return _measured_laws().get(name)


def expected_costs(
    specs: Iterable[ModelSpec],
    n_rows: int,
    n_columns: int,
    *,
    is_sampled: bool = False,
    n_learned: int | None = None,
) -> list[Cost]:
    """Return the expected cost of fitting each model to a prepared table and scoring its rows.

    A model is fitted to all rows; if ``is_sampled``, to :meth:`ModelSpec.learned_rows` of them, or
    else to ``n_learned``, and it scores the others as new rows. A model outside the spaces follows
    its family's law with the family's median offset; its cost is unknown if the family has no law.
    An average costs as much as its members together.

    Examples
    --------
    >>> spec = ModelSpec("ABOD", {"n_neighbors": 100})
    >>> [small], [large] = (expected_costs([spec], n_rows, 10) for n_rows in (1_000, 20_000))
    >>> large.seconds > 10 * small.seconds
    True
    """
    _check_shape("expected_costs", n_rows, n_columns)

    @cache  # averages have members in common
    def of_model(spec: ModelSpec, n_fitted: int) -> Cost:
        law = _law_of(spec.detector)
        if law is None:
            return UNKNOWN
        fit = law.cost(spec, n_fitted, n_columns)
        n_new = n_rows - n_fitted
        scoring = _scoring_seconds(spec, n_new, n_columns, n_fitted)
        # in blocks: what stays is a score of every row
        return Cost(fit.seconds + scoring, fit.n_bytes + 8 * n_new)

    def of_pick(spec: ModelSpec) -> Cost:
        n_fitted = spec.learned_rows(n_rows) if is_sampled else n_learned or n_rows
        return Cost.total(of_model(member, n_fitted) for member in spec.members)

    return [of_pick(spec) for spec in specs]


def expected_scoring(
    specs: Iterable[ModelSpec], n_rows: int, n_columns: int, n_learned: int = FEW_ROWS
) -> list[float]:
    """Return the seconds that each model is expected to take to score new rows.

    The models are fitted to ``n_learned`` rows. NaN if the cost is unknown.

    Examples
    --------
    >>> [one, ten] = (expected_scoring([ModelSpec("KNN")], n, 20)[0] for n in (10**5, 10**6))
    >>> round(ten / one)
    10
    """
    _check_shape("expected_scoring", n_rows, n_columns)
    return [
        sum(_scoring_seconds(member, n_rows, n_columns, n_learned) for member in spec.members)
        for spec in specs
    ]


def _scoring_seconds(spec: ModelSpec, n_rows: int, n_columns: int, n_learned: int) -> float:
    law = _law_of(spec.detector)
    if law is None:
        return math.nan
    if n_rows == 0:
        return 0.0
    if law.scoring is None:
        return n_rows / n_learned * law.cost(spec, n_learned, n_columns).seconds
    by_law = law.scoring.cost(spec, n_rows, n_columns)
    return float(by_law.seconds * (n_learned / FEW_ROWS) ** law.scoring.learned)


def _check_shape(owner: str, n_rows: int, n_columns: int) -> None:
    for name, count in (("n_rows", n_rows), ("n_columns", n_columns)):
        if not count >= 1:
            raise BadParameter(owner, name, "a number of at least 1", count)
