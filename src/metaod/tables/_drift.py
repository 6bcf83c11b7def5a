"""Find drift: new rows that differ from what the fitted rows lead one to expect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.tables._record import ColumnRecord, Drift, DriftKind, PreparationRecord, date_text

_TAIL = 0.01  # share of the fitted rows on each side of the usual range
_LEAST_EXCESS = 0.02  # a smaller rise of a share is not reported
_LEVEL = 0.001  # probability that drift is reported for a table of the same distribution


@dataclass(frozen=True)
class Usual:
    """What the fitted rows lead one to expect of a column's values, counted in these rows.

    As many rows have a category alone as new rows will have an unseen one (Good and Turing).
    """

    low: float | None = None  # ends of the usual range
    high: float | None = None
    n_outside: int = 0
    n_alone: int = 0

    @classmethod
    def of_numbers(cls, values: npt.NDArray[np.float64]) -> "Usual":
        """Take the range of the central 98 % of the finite values."""
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return cls()
        first, last = _tail_places(finite.size)
        ordered = np.partition(finite, (first, last))
        low, high = float(ordered[first]), float(ordered[last])
        return cls(low, high, _count_outside(finite, low, high))

    def shown_range(self, *, is_date: bool) -> dict[str, Any]:
        """Return the ends of the usual range; dates as text."""
        ends = {"low": self.low, "high": self.high}
        if not is_date:
            return ends
        return {name: None if end is None else date_text(end) for name, end in ends.items()}

    @classmethod
    def of_codes(cls, codes: npt.NDArray[np.intp]) -> "Usual":
        """Count the categories of a single row; gaps have code -1."""
        return cls(n_alone=int(np.count_nonzero(np.bincount(codes[codes >= 0]) == 1)))


@cache
def _tail_places(n_values: int) -> tuple[int, int]:
    """Return the places of the usual range's ends among sorted values.

    Quantiles of each column take 100 µs of numpy's own time, which counts in wide tables.
    """
    ends = [_TAIL, 1 - _TAIL]
    first, last = np.quantile(np.arange(n_values), ends, method="closest_observation")
    return int(first), int(last)


def find_drift(
    usual: Sequence[Usual | None],
    fitted: PreparationRecord,
    new: PreparationRecord,
    X: npt.NDArray[np.float64],
) -> tuple[Drift, ...]:
    """Compare the new rows, whose matrix is X, with the fitted ones.

    Columns in use come first, and of these the largest drift.

    A share is reported if it is higher than chance explains. After k of n fitted rows, the share
    among all rows has the posterior Beta(k + 1, n - k + 1).
    """
    found = []
    start = 0
    for expected, before, now in zip(usual, fitted.columns, new.columns, strict=True):
        values = X[:, start : start + len(before.outputs)]
        start += len(before.outputs)
        for kind, count, n_fitted in _counts(expected, before, now, values):
            share, expected_share = count / new.n_rows, n_fitted / fitted.n_rows
            if share - expected_share >= _LEAST_EXCESS:
                chance = _chance(count, new.n_rows, n_fitted, fitted.n_rows)
                drift = Drift(
                    before.name, kind, count, share, expected_share, is_used=before.is_used
                )
                if kind == "range" and expected is not None:
                    drift = replace(drift, **expected.shown_range(is_date=before.kind == "date"))
                found.append((chance, drift))
    level = _LEVEL / (2 * len(fitted.columns))  # two comparisons a column
    drifts = [drift for chance, drift in found if chance < level]
    return tuple(
        sorted(drifts, key=lambda drift: (not drift.is_used, drift.expected - drift.share))
    )


def _counts(
    usual: Usual | None, before: ColumnRecord, now: ColumnRecord, values: npt.NDArray[np.float64]
) -> Iterator[tuple[DriftKind, int, int]]:
    """Yield how many of the new rows are unusual, and how many of the fitted ones were."""
    if before.counts_gaps:
        yield "gaps", now.n_missing + now.n_infinite, before.n_missing + before.n_infinite
    if usual is None:
        return
    if usual.low is None or usual.high is None:
        yield "categories", now.n_unseen, usual.n_alone
    elif before.is_used:
        yield "range", _count_outside(values[:, 0], usual.low, usual.high), usual.n_outside


def _count_outside(values: npt.NDArray[np.float64], low: float, high: float) -> int:
    return int(np.count_nonzero((values < low) | (values > high)))


def _chance(count: int, n_rows: int, n_fitted: int, n_fitted_rows: int) -> float:
    """Return the probability of as many rows or more, if the new rows are like the fitted ones."""
    from scipy.stats import betabinom  # noqa: PLC0415 - heavy, and seldom needed

    return float(betabinom.sf(count - 1, n_rows, n_fitted + 1, n_fitted_rows - n_fitted + 1))
