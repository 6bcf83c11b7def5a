"""Drift: how the columns of new rows differ from those of the fitted rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.tables._objects import Labels
from metaod.tables._record import (
    IN_CONTEXT,
    ColumnRecord,
    Drift,
    DriftKind,
    PreparationRecord,
    date_text,
)

_TAIL = 0.01  # share of the fitted rows on each side of the usual range
_LEAST_EXCESS = 0.02  # a smaller rise of a share is not reported
_LEAST_SHIFT = 0.1  # share of the rows that must have other values than before
_LEVEL = 0.001  # probability that drift is reported for a table of the same distribution
_N_COMPARISONS = 3  # of a column
_MOST_SHARES = 50  # that are known of a column
_FEWEST_EXPECTED = 5.0  # rows of a category that is compared alone

_Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Usual:
    """What is expected of a column's values, counted in the fitted rows.

    As many rows have a category alone as new rows will have an unseen one (Good and Turing).
    The shares of values are counted up to points of a number, and in the largest categories; of
    the others in no category.
    """

    low: float | None = None  # ends of the usual range
    high: float | None = None
    n_outside: int = 0
    n_alone: int = 0
    n_values: int = 0
    points: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()  # of values up to each point, or in each category

    def __post_init__(self) -> None:
        if min(self.n_outside, self.n_alone, self.n_values, *self.counts, 0) < 0:
            raise ValueError("a negative count")
        if len(self.counts) != len(self.points) + len(self.categories):
            raise ValueError("counts that do not fit their values")
        if max(self.counts, default=0) > self.n_values:
            raise ValueError("more values counted than there are")

    @classmethod
    def of_numbers(cls, values: npt.NDArray[np.float64]) -> "Usual":
        """Take the range of the central 98 % of the finite values."""
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return cls()
        first, last = _tail_places(finite.size)
        ordered = np.sort(finite)
        low, high = float(ordered[first]), float(ordered[last])
        places = np.linspace(0, finite.size - 1, min(finite.size, _MOST_SHARES)).astype(np.intp)
        points = np.unique(ordered[places])
        counts = np.searchsorted(ordered, points, side="right")
        return cls(
            low, high, _count_outside(finite, low, high), n_values=finite.size,
            points=tuple(points.tolist()), counts=tuple(counts.tolist()),
        )  # fmt: skip

    def shown_range(self, *, is_date: bool) -> dict[str, Any]:
        """Return the ends of the usual range; dates as text."""
        ends = {"low": self.low, "high": self.high}
        if not is_date:
            return ends
        return {name: None if end is None else date_text(end) for name, end in ends.items()}

    @classmethod
    def of_labels(cls, labels: Labels) -> "Usual":
        """Count the rows of the largest categories, and the categories of a single row."""
        counts = dict(zip(labels.texts, labels.counts().tolist(), strict=True))
        n_alone = sum(count == 1 for count in counts.values())
        largest = sorted(counts, key=lambda text: (-counts[text], text))[:_MOST_SHARES]
        largest = [text for text in largest if counts[text] > 1]
        return cls(
            n_alone=n_alone, n_values=sum(counts.values()), categories=tuple(largest),
            counts=tuple(counts[text] for text in largest),
        )  # fmt: skip


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
    labels: Mapping[str, Labels],
    gaps: Mapping[str, _Rows],
    known: _Rows | None,
) -> tuple[Drift, ...]:
    """Compare the new rows, whose matrix is X, with the fitted ones; also their labels by column.

    Rows with gaps in a column have no output of their own there. Of columns in context only the
    rows of known groups are compared.

    Columns in use come first, and of these the largest drift.

    A share is reported if it is higher than chance explains. After k of n fitted rows, the share
    among all rows has the posterior Beta(k + 1, n - k + 1).
    """
    found = []
    start = 0
    for expected, before, after in zip(usual, fitted.columns, new.columns, strict=True):
        now, values = after, X[:, start : start + len(before.outputs)]
        start += len(before.outputs)
        is_gap = gaps.get(before.name, np.zeros(len(X), dtype=np.bool_))
        if known is not None and before.action == IN_CONTEXT:
            values, is_gap = values[known], is_gap[known]
            now = replace(after, n_missing=int(is_gap.sum()), n_infinite=0)
        n_rows, values = len(values), values[~is_gap]
        if not n_rows:
            continue
        for kind, count, n_fitted in _counts(expected, before, now, values):
            share, expected_share = count / n_rows, n_fitted / fitted.n_rows
            if share - expected_share >= _LEAST_EXCESS:
                chance = _chance(count, n_rows, n_fitted, fitted.n_rows)
                drift = Drift(
                    before.name, kind, count, share, expected_share, is_used=before.is_used
                )
                if kind == "range" and expected is not None and before.action != IN_CONTEXT:
                    drift = replace(drift, **expected.shown_range(is_date=before.kind == "date"))
                found.append((chance, drift))
        if expected is not None:
            of_column = labels.get(before.name)
            found += _other_shares(expected, before, values, of_column)
    level = _LEVEL / (_N_COMPARISONS * len(fitted.columns))
    drifts = [drift for chance, drift in found if chance < level]
    moved = {own.column for own in drifts if own.kind in ("range", "categories")}
    drifts = [own for own in drifts if own.kind != "shares" or own.column not in moved]
    return tuple(
        sorted(drifts, key=lambda drift: (not drift.is_used, -abs(drift.expected - drift.share)))
    )


def _other_shares(
    usual: Usual,
    before: ColumnRecord,
    values: npt.NDArray[np.float64],
    labels: Labels | None,
) -> Iterator[tuple[float, Drift]]:
    """Yield the value whose share differs most, if enough rows have other values, and the chance.

    Kolmogorov and Smirnov's test for numbers, a G-test for categories.
    """
    high, value = None, ""
    if usual.points and before.is_used:
        n_new = len(values)
        counts = np.searchsorted(np.sort(values[:, 0]), usual.points, side="right")
        known = np.array(usual.counts)
        moved, chance = _kolmogorov_smirnov(known, usual.n_values, counts, n_new)
    elif usual.categories and labels is not None:
        by_text = dict(zip(labels.texts, labels.counts().tolist(), strict=True))
        n_new = sum(by_text.values())
        counts = np.array([by_text.get(text, 0) for text in usual.categories])
        known = np.array(usual.counts)
        moved, chance = _g_test(known, usual.n_values, counts, n_new)
    else:
        return
    if moved < _LEAST_SHIFT:
        return
    place = int(np.argmax(np.abs(counts / n_new - known / usual.n_values)))
    if usual.categories:
        value = usual.categories[place]
    elif before.kind == "boolean":
        value = "true" if usual.points[place] >= 1 else "false"
    elif before.action != IN_CONTEXT:
        high = float(usual.points[place])
    count, share = int(counts[place]), float(known[place] / usual.n_values)
    drift = Drift(
        before.name, "shares", count, count / n_new, share, is_used=before.is_used, value=value
    )
    if high is not None:
        end = date_text(high) if before.kind == "date" else high
        drift = replace(drift, high=end)
    yield chance, drift


_Counts = npt.NDArray[np.int64]


def _kolmogorov_smirnov(
    known: _Counts, n_known: int, new: _Counts, n_new: int
) -> tuple[float, float]:
    """Return the largest difference of two distributions at some points, and its p-value at most.

    Between the points the difference may be larger, so the test is conservative.
    """
    from scipy.special import kolmogorov  # noqa: PLC0415 - heavy

    if not n_new:
        return 0.0, 1.0
    difference = float(np.max(np.abs(known / n_known - new / n_new)))
    return difference, float(
        kolmogorov(difference * math.sqrt(n_known * n_new / (n_known + n_new)))
    )


def _g_test(known: _Counts, n_known: int, new: _Counts, n_new: int) -> tuple[float, float]:
    """Return the share of rows that must change to have the known shares, and the p-value.

    Categories in which few rows are expected are compared together.
    """
    from scipy.special import chdtrc  # noqa: PLC0415 - heavy

    if not n_new:
        return 0.0, 1.0
    totals = np.array([n_known, n_new])
    alone = (known + new) * totals.min() >= _FEWEST_EXPECTED * totals.sum()
    table = np.array([known[alone], new[alone]]).T
    rest = totals - table.sum(axis=0)
    if rest.sum() * totals.min() >= _FEWEST_EXPECTED * totals.sum():
        table = np.vstack([table, rest])
    elif not len(table):
        return 0.0, 1.0
    else:
        table[-1] += rest
    expected = np.outer(table.sum(axis=1), totals / totals.sum())
    logs = np.log(np.where(table > 0, table / expected, 1.0))
    shares = table / totals
    moved = float(np.abs(shares[:, 0] - shares[:, 1]).sum() / 2)
    return moved, float(chdtrc(max(len(table) - 1, 1), 2 * (table * logs).sum()))


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
