"""What fitting a model is expected to cost on a table, as the user runs it: PyOD's own detector.

``pretrained/costs.json`` holds a law for each family: a start that does not depend on the table,
plus a power of the rows times a power of the columns, all times a power of the hyperparameter that
sets the amount of work (neighbours, trees, cuts), with an offset for each model of the spaces. A
density has so many centres at most that its time grows with the rows alone from some number on.
``tools/measure_costs.py`` measures and fits it; the file says how far it is off.
"""

import json
import math
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from metaod.errors import BadParameter
from metaod.models._averages import members_of
from metaod.models._spec import ModelSpec

__all__ = ["Cost", "expected_cost", "expected_costs", "together", "why_too_costly"]


class Cost(NamedTuple):
    """What a fit is expected to take on one core of a machine like the one measured.

    Parameters
    ----------
    seconds : float
        Time; NaN where nothing is known of the family.
    n_bytes : float
        Memory beyond the table itself; NaN where nothing is known of the family.
    """

    seconds: float
    n_bytes: float

    @property
    def is_known(self) -> bool:
        """Whether the family was measured."""
        return not math.isnan(self.seconds)


UNKNOWN = Cost(math.nan, math.nan)


def together(costs: Iterable[Cost]) -> Cost:
    """What several fits one after another cost: all of the time, the largest of the memory.

    What is unknown is left out; where nothing is known, neither is the whole.

    Examples
    --------
    >>> together([Cost(1.0, 300.0), Cost(2.0, 100.0)])
    Cost(seconds=3.0, n_bytes=300.0)
    """
    known = [cost for cost in costs if cost.is_known]
    if not known:
        return UNKNOWN
    return Cost(sum(cost.seconds for cost in known), max(cost.n_bytes for cost in known))


def expected_cost(spec: ModelSpec, n_rows: int, n_columns: int) -> Cost:
    """What fitting the model on a table of that shape is expected to cost.

    A model of a known family that is in none of the spaces follows its family's law with the
    family's median offset; of an unknown family nothing is known.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    n_rows, n_columns : int
        Shape of the prepared table, each at least 1.

    Examples
    --------
    >>> spec = ModelSpec("ABOD", {"n_neighbors": 100})
    >>> expected_cost(spec, 20_000, 10).seconds > 10 * expected_cost(spec, 1_000, 10).seconds
    True
    """
    [cost] = expected_costs([spec], n_rows, n_columns)
    return cost


def expected_costs(specs: Iterable[ModelSpec], n_rows: int, n_columns: int) -> list[Cost]:
    """:func:`expected_cost` of many models on one table, in their order.

    An average costs what its members do together.
    """
    for name, count in (("n_rows", n_rows), ("n_columns", n_columns)):
        if not count >= 1:
            raise BadParameter("expected_costs", name, "a number of at least 1", count)
    laws = _laws()
    sizes = {name: _size(law["seconds"], n_rows, n_columns) for name, law in laws.items()}
    found: dict[ModelSpec, Cost] = {}

    def of_model(spec: ModelSpec) -> Cost:
        # averages have members in common
        if spec not in found:
            found[spec] = _of_model(spec, laws.get(spec.detector), sizes, n_rows, n_columns)
        return found[spec]

    return [together(map(of_model, members_of(spec))) for spec in specs]


def _of_model(
    spec: ModelSpec,
    law: dict[str, Any] | None,
    sizes: dict[str, float],
    n_rows: int,
    n_columns: int,
) -> Cost:
    if law is None:
        return UNKNOWN
    work = _work(law, spec)
    log_factor = (
        law["seconds"]["offset"]
        + law["offsets"].get(spec.id, law["median_offset"])
        + law["seconds"]["work"] * math.log(work)
    )
    seconds = math.exp(log_factor) * sizes[spec.detector]
    return Cost(seconds, _bytes(law["bytes"], work, n_rows, n_columns))


def why_too_costly(
    cost: Cost, max_seconds: float | None = None, max_bytes: float | None = None
) -> str | None:
    """Why a model of that cost is not fitted; None where the limits allow it or it is unknown.

    Examples
    --------
    >>> why_too_costly(Cost(seconds=90, n_bytes=0), max_seconds=60)
    'would take about 90 s, the limit is 60 s'
    """
    if max_seconds is not None and cost.seconds > max_seconds:
        return f"would take about {cost.seconds:.3g} s, the limit is {max_seconds:.3g} s"
    if max_bytes is not None and cost.n_bytes > max_bytes:
        needed, allowed = cost.n_bytes / 2**20, max_bytes / 2**20
        return f"would take about {needed:.3g} MiB, the limit is {allowed:.3g} MiB"
    return None


@cache
def _laws() -> dict[str, Any]:
    text = files("metaod.models").joinpath("costs.json").read_text("utf-8")
    laws: dict[str, Any] = json.loads(text)["families"]
    return laws


def _size(law: dict[str, Any], n_rows: int, n_columns: int) -> float:
    curved = min(n_rows, law["linear_from"] or n_rows)
    rows = curved ** law["rows"] * (n_rows / curved)
    return float(law["start"] + rows * n_columns ** law["columns"])


def _work(law: dict[str, Any], spec: ModelSpec) -> float:
    """Value of the hyperparameter that sets the amount of work, the detector's own if not given."""
    value = dict(spec.params).get(law["work"])
    # PyOD's HBOS also takes a word, and what is no count at all is for its fit to refuse
    if isinstance(value, int | float) and value > 0:
        return float(value)
    return float(law["work_default"])


def _bytes(law: dict[str, float], work: float, n_rows: int, n_columns: int) -> float:
    linear = n_rows * (
        law["per_value"] * n_columns + law["per_row"] + law["per_row_and_work"] * work
    )
    pairs = law["per_pair"] * n_rows**2
    at_most = law["pairs_at_most"]
    return float(linear + (pairs if at_most is None else min(pairs, at_most)))
