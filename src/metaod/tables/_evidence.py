"""Evidence from several columns: text that matters, a row's gaps, and its odd combinations."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables._column_plans import ColumnPlan, as_fitted
from metaod.tables._column_types import Written
from metaod.tables._encoders import Surprisal
from metaod.tables._objects import Labels
from metaod.tables._record import UNRELATED
from metaod.tables._relations import MOST_ROWS, Pair, Relations, combinations
from metaod.tables._roles import Roles


def find_evidence(
    plans: list[ColumnPlan],
    frame: pd.DataFrame,
    written: Mapping[str, Written],
    missing: frozenset[str],
    roles: Roles,
) -> tuple[list[ColumnPlan], tuple[Pair, ...]]:
    """Leave out text that is unrelated to every other column, and find pairs that can be odd."""
    if not any(isinstance(plan.encoder, Surprisal) for plan in plans):
        return plans, ()
    sample, written_in_sample = frame, written
    if len(frame) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False)
        sample, written_in_sample = frame.iloc[np.sort(drawn)], {}
    labels, numbers = _labels_and_numbers(plans, sample, written_in_sample, missing)
    relations = Relations.among(labels, numbers)
    kept = {*relations.related, *roles.named("only"), *roles.named("category")}
    if not numbers and not kept.intersection(labels):
        return plans, ()  # there is nothing else to score by
    pairs = tuple(pair for pair in relations.pairs if pair.category in kept)
    parts = labels, numbers
    if pairs and sample is not frame:
        names = {name for pair in pairs for name in (pair.category, pair.number)}
        paired = [plan for plan in plans if plan.record.name in names]
        parts = _labels_and_numbers(paired, frame, written, missing)
    is_odd = bool(pairs) and bool(combinations(pairs, *parts).any())
    return [
        plan.without_outputs(plan.record.kind, UNRELATED)
        if plan.record.name in labels and plan.record.name not in kept
        else plan
        for plan in plans
    ], pairs if is_odd else ()


def _labels_and_numbers(
    plans: Sequence[ColumnPlan],
    frame: pd.DataFrame,
    written: Mapping[str, Written],
    missing: frozenset[str],
) -> tuple[dict[str, Labels], dict[str, npt.NDArray[np.float64]]]:
    """Read the text and the numbers that are used; gaps among numbers are NaN."""
    labels, numbers = {}, {}
    for plan in plans:
        name = plan.record.name
        if not plan.record.is_used:
            continue
        column, _ = as_fitted(frame[name], plan, written, missing)
        if isinstance(plan.encoder, Surprisal):
            labels[name] = plan.encoder.read(column, missing)
        else:
            values = np.empty((len(frame), 1))
            found = plan.encoder.encode(column, values, missing)
            numbers[name] = np.where(found.gaps, np.nan, values[:, 0])
    return labels, numbers


def _has_gaps(plan: ColumnPlan) -> bool:
    """Whether some of the fitted rows have a gap in the column that counts."""
    n_gaps = plan.record.n_missing + plan.record.n_infinite
    return n_gaps > 0 and plan.record.kind != "empty" and plan.record.counts_gaps


def gap_surprisal(plan: ColumnPlan, n_rows: int) -> float:
    """Return -log of the share of the fitted rows with a gap in the column, of one if none has."""
    if not plan.record.counts_gaps:
        return 0.0
    return float(np.log(n_rows / max(1, plan.record.n_missing + plan.record.n_infinite)))


def name_evidence(plans: Sequence[ColumnPlan], pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Name the columns of evidence that the table has, unlike any other column."""
    wanted = ["gaps"] if any(map(_has_gaps, plans)) else []
    wanted += ["combinations"] if pairs else []
    taken = {name for plan in plans for name in (plan.record.name, *plan.record.outputs)}
    found = []
    for name in wanted:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name} ({number})"
        found.append(free)
    return tuple(found)


def check_evidence(
    plans: Sequence[ColumnPlan], pairs: Sequence[Pair], evidence: Sequence[str]
) -> None:
    """Raise ValueError if saved pairs or columns of evidence do not fit the columns."""
    numbers = {plan.record.name for plan in plans if plan.record.is_used and not plan.encoder.fixed}
    categories = {plan.record.name for plan in plans if isinstance(plan.encoder, Surprisal)}
    for pair in pairs:
        if pair.category not in categories or pair.number not in numbers:
            raise ValueError(f"there is no pair of {pair.category!r} and {pair.number!r}")
    if len(evidence) not in (len(pairs[:1]), len(pairs[:1]) + 1):
        raise ValueError("columns of evidence do not fit the pairs")
