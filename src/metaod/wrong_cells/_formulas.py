"""Evidence from rules between numbers: sums, products, orders, and series in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._numbers import decimals_of

_MOST_COLUMNS = 40
_MOST_TERMS = 12
_N_DRAWS = 24
_MEASURED = 600  # rows
_LEAST_HOLDING = 0.85
_LEAST_EXACT = 0.97  # the same of a rule between whole numbers that are not rounded
_FEWEST_ADDED = 2  # whole numbers; the same number in two columns is no sum
_FEWEST_DISTINCT = 8  # of a number that follows from others
_FEWEST_TERMS = 3  # of a number that others follow from
_LEAST_GAIN = 0.02  # a rule must be so much finer than the column's spread
_LEAST_ORDERED = 0.985  # of the rows have two columns in an order
_FEWEST_ORDERED = 50
_MOST_EQUAL = 0.9
_LEAST_RELATED = 0.3  # of the variance of numbers that are compared
_PER_DAY = (1.0, 24.0, 1440.0, 1 / 7, 12 / 365.25, 1 / 365.25)  # units in which time is counted
_MOST_DATES = 6
_MOST_COPIES = 0.02  # of a column's rows, where they are a sign of an error

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Formula:
    """A rule that gives a column from others, in nearly all rows.

    Parameters
    ----------
    deviation : ndarray of float
        By how many tolerances each row's value differs; 0 where the rule cannot be applied.
    value : ndarray of float
        What the rule gives; NaN where it cannot be applied.
    holds : float
        Share of rows in which it holds.
    terms : tuple of int
        Places of the other columns.
    slopes : tuple of float
        How much each of them adds, then a constant; empty for times between dates.
    is_product : bool
        Whether logarithms are added.
    """

    deviation: Values
    value: Values
    holds: float
    terms: tuple[int, ...]
    slopes: tuple[float, ...] = ()
    is_product: bool = False

    def evidence(self) -> dict[str, Values]:
        """Return it as evidence."""
        broken = self.deviation > 1
        return {
            "formula": np.where(broken, np.log1p(self.deviation), 0.0),
            "formula holds": np.where(np.isnan(self.value), 0.0, self.holds),
        }

    def left(self, numbers: Sequence[float]) -> float:
        """Return what the rule leaves of the first number, given the other ones; NaN if nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first, *others = np.log(numbers) if self.is_product else numbers
        *slopes, constant = self.slopes or (np.nan,)
        return float(first - constant - np.dot(slopes, others[: len(slopes)]))

    def solved(self, numbers: Sequence[float], place: int) -> float:
        """Return the number at a place that follows from the other ones; the first is the value."""
        slope = 1.0 if place == 0 else -self.slopes[place - 1]
        step = self.left(numbers) / slope
        return float(numbers[place] * np.exp(-step) if self.is_product else numbers[place] - step)


def find_formulas(
    columns: Sequence[Column], weights: Values, reference: Codes, seed: int
) -> dict[int, Formula]:
    """Find columns that follow exactly from others in nearly all rows."""
    numeric = [
        place
        for place, column in enumerate(columns)
        if column.kind == "number" and len(column.distinct) >= _FEWEST_TERMS
    ]
    if len(numeric) < 2:
        return {}
    strength = weights[np.ix_(numeric, numeric)]
    chosen = np.sort(np.argsort(-strength.sum(axis=1), kind="stable")[:_MOST_COLUMNS])
    strength = strength[np.ix_(chosen, chosen)]
    numeric = [numeric[place] for place in chosen.tolist()]
    values = np.column_stack([columns[place].values for place in numeric])
    steps = np.array([10.0 ** -decimals_of(columns[place]) for place in numeric])
    rows = reference[:: max(1, len(reference) // _MEASURED)]
    found = {}
    for own, place in enumerate(numeric):
        if len(columns[place].distinct) < _FEWEST_DISTINCT:
            continue
        others = np.argsort(-strength[own], kind="stable")
        others = others[others != own][:_MOST_TERMS]
        rng = np.random.default_rng([seed, own])
        forms = [(False, True)] * bool((steps[others] >= 1).any()) + [(False, False), (True, False)]
        for is_product, is_exact in forms:
            candidate = _Candidate(values, steps, own, others, is_product, is_exact)
            draws = np.random.default_rng([seed, own, 1]) if is_exact else rng
            formula = candidate.of_positive(rows).formula(rows, draws)
            if formula is not None:
                terms = tuple(numeric[term] for term in formula.terms)
                found[place] = replace(formula, terms=terms)
                break
    return found


def find_durations(columns: Sequence[Column], reference: Codes) -> dict[int, Formula]:
    """Find numbers that count the time between two dates, or since one, in nearly all rows."""
    dates = [place for place, own in enumerate(columns) if own.kind == "date"][:_MOST_DATES]
    spans: dict[tuple[int, ...], Values] = {
        (end, start): columns[end].values - columns[start].values
        for end, start in permutations(dates, 2)
    }
    spans |= {(start,): -columns[start].values for start in dates}
    rows = reference[:: max(1, len(reference) // _MEASURED)]
    found = {}
    for place, column in enumerate(columns if dates else ()):
        if column.kind != "number" or len(column.distinct) < _FEWEST_DISTINCT:
            continue
        digits = decimals_of(column)
        tolerance = 0.51 * 10.0**-digits
        sample = column.values[rows]
        if not np.nanmedian(np.abs(sample - column.scale.middle_value)) > 2 * tolerance:
            continue  # nearly any offset would do
        for (terms, span), per_day in product(spans.items(), _PER_DAY):
            left = sample - per_day * span[rows]
            left = left[~np.isnan(left)]
            if len(left) < _FEWEST_ORDERED:
                continue
            offset = np.quantile(left, [0.02, 0.98]).mean()
            if np.mean(np.abs(left - offset) <= tolerance) >= _LEAST_ORDERED:
                found[place] = _duration(column.values, per_day * span + offset, digits, terms)
                break
    return found


def _duration(values: Values, given: Values, digits: int, terms: tuple[int, ...]) -> Formula:
    """Apply the rule of a duration to all rows."""
    deviation = np.abs(values - given) / (0.51 * 10.0**-digits)
    holds = float(np.mean(deviation[~np.isnan(deviation)] <= 1))
    value = np.where(np.isnan(deviation), np.nan, np.round(given, digits))
    return Formula(np.nan_to_num(deviation), value, holds, terms)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A column that may be a sum of others, or a product: a sum of logarithms."""

    values: Values  # of all columns
    steps: Values  # of their last decimals
    own: int
    others: Codes
    is_product: bool
    is_exact: bool = False  # whole numbers are not rounded

    def of_positive(self, rows: Codes) -> "_Candidate":
        """Return a candidate without the terms that a product cannot have."""
        if not self.is_product:
            return self
        positive = (self.values[np.ix_(rows, self.others)] > 0).mean(axis=0) > 0.98
        return replace(self, others=self.others[positive])

    def mapped(self, values: Values) -> Values:
        """Return values of which the rule is a sum."""
        return np.log(np.where(values > 0, values, np.nan)) if self.is_product else values

    def formula(self, rows: Codes, rng: np.random.Generator) -> Formula | None:
        """Fit the rule to the sample of rows that follow it, and apply it to all rows."""
        X = self.mapped(self.values[np.ix_(rows, self.others)])
        y = self.mapped(self.values[rows, self.own])
        usable = ~np.isnan(y) & ~np.isnan(X).any(axis=1)
        X, y = X[usable], y[usable]
        n_terms = X.shape[1]
        if n_terms == 0 or len(y) < max(30, 4 * n_terms):
            return None
        spread = float(np.subtract(*np.quantile(y, [0.9, 0.1]))) / 2.56
        if spread <= 0:
            return None
        scale = np.maximum(np.subtract(*np.quantile(X, [0.9, 0.1], axis=0)) / 2.56, 1e-12)
        offset = np.median(X, axis=0)
        A = np.column_stack([(X - offset) / scale, np.ones(len(X))])
        rounding = self.rounding(self.values[rows][usable])

        def solved(which: Any, needed: Any) -> Values:
            found = np.zeros(n_terms + 1)
            found[needed] = np.linalg.lstsq(A[np.ix_(which, needed)], y[which], rcond=1e-9)[0]
            return found

        best, coefficients = 0.0, None
        for size in sorted({min(2, n_terms), min(4, n_terms), n_terms}):
            for _ in range(_N_DRAWS // 3):
                drawn = rng.choice(len(y), size=size + 2, replace=False)
                tried = solved(drawn, np.append(np.arange(size), n_terms))
                tolerance = _tolerance(tried, scale, rounding)
                holds = float(np.mean(np.abs(A @ tried - y) <= 3 * tolerance))
                if holds > best + 1e-9 and np.median(tolerance) < _LEAST_GAIN * spread:
                    best, coefficients = holds, tried
            if best >= _LEAST_HOLDING:
                break
        if coefficients is None or best < 0.6:
            return None
        for _ in range(2):  # fit to the rows that follow it
            tolerance = _tolerance(coefficients, scale, rounding)
            follows = np.abs(A @ coefficients - y) <= 3 * tolerance
            needed = np.append(np.abs(coefficients[:-1]) > 2 * np.median(tolerance), True)
            coefficients = solved(follows, needed)
        if not needed[:-1].any():
            return None
        return self.applied(coefficients, scale, offset, spread)

    def rounding(self, values: Values) -> tuple[Values, Values]:
        """Return how far rounding moves the value, and each term, in every row."""
        of_own = np.full(len(values), 0.5 * self.steps[self.own])
        of_terms = np.tile(0.5 * self.steps[self.others], (len(values), 1))
        size = np.abs(values[:, self.own])
        if self.is_product:  # relative to the size of the values
            with np.errstate(divide="ignore", invalid="ignore"):
                of_own = of_own / size
                counts = (
                    self.steps[self.others] >= 1
                )  # whole numbers that are multiplied are counts
                of_terms = np.where(counts, 0.0, of_terms / np.abs(values[:, self.others]))
        if self.is_exact:
            of_own = of_own * (self.steps[self.own] < 1)
            of_terms = of_terms * (self.steps[self.others] < 1)
        return of_own + 1e-9 * (1 if self.is_product else size), of_terms

    def applied(
        self, coefficients: Values, scale: Values, offset: Values, spread: float
    ) -> Formula | None:
        """Apply the rule to all rows; None if it holds in too few."""
        used = np.flatnonzero(coefficients[:-1])
        others = self.others[used]
        X, y = self.mapped(self.values[:, others]), self.mapped(self.values[:, self.own])
        with np.errstate(invalid="ignore", over="ignore"):
            tolerance = _tolerance(coefficients, scale, self.rounding(self.values))
            tolerance = np.maximum(tolerance, 1e-12)
            given = (X - offset[used]) / scale[used] @ coefficients[used] + coefficients[-1]
            deviation = np.nan_to_num(np.abs(given - y) / (3 * tolerance), posinf=1e9)
            known = ~np.isnan(given - y)
            value = np.exp(given) if self.is_product else given
        if not (known.any() and np.median(tolerance[known]) < _LEAST_GAIN * spread):
            return None
        holds = float(np.mean(deviation[known] <= 1))
        if holds < (_LEAST_EXACT if self.is_exact else _LEAST_HOLDING):
            return None
        if self.is_exact and len(used) < _FEWEST_ADDED:
            return None
        slopes = coefficients[used] / scale[used]
        constant = coefficients[-1] - offset[used] @ slopes
        digits = max(0, round(-np.log10(self.steps[self.own])))
        value = np.where(known, np.round(value, digits), np.nan)
        terms, sums = tuple(others.tolist()), (*slopes.tolist(), float(constant))
        return Formula(deviation, value, holds, terms, sums, self.is_product)


def _tolerance(coefficients: Values, scale: Values, rounding: tuple[Values, Values]) -> Values:
    of_own, of_terms = rounding
    weights = np.abs(coefficients[:-1]) / scale
    # a term that is a whole number by its nature is not rounded: half of the worst case
    return np.asarray(of_own * 1.01 + 0.5 * (of_terms @ weights))


def broken_orders(columns: Sequence[Column], weights: Values, reference: Codes) -> list[Values]:
    """Return for each column and row how many pairs of columns are in the wrong order there."""
    n_rows = len(columns[0].codes)
    broken = [np.zeros(n_rows) for _ in columns]
    for first, second in permutations(range(len(columns)), 2):
        one, other = columns[first], columns[second]
        if one.kind != other.kind or one.kind not in ("date", "number"):
            continue
        is_related = len(columns) <= _MOST_COLUMNS and weights[first, second] >= _LEAST_RELATED
        if (one.kind != "date" and not is_related) or one.scale.high <= other.scale.low:
            continue
        a, b = one.values[reference], other.values[reference]
        known = ~np.isnan(a) & ~np.isnan(b)
        if known.sum() < _FEWEST_ORDERED or np.mean(a[known] == b[known]) > _MOST_EQUAL:
            continue
        if np.mean(a[known] <= b[known]) >= _LEAST_ORDERED:
            wrong = one.values > other.values
            broken[first] += wrong
            broken[second] += wrong
    return broken


def find_series(columns: Sequence[Column]) -> tuple[list[Values], list[Marks]]:
    """Return by how much numbers jump out of their series, if a date orders the rows.

    Also return which cells hold the value of the row before, in columns where few do. The date has
    a value of its own in each row, or in each row of a group by another column.
    """
    n_rows = len(columns[0].codes)
    jumps = [np.zeros(n_rows) for _ in columns]
    copies = [np.zeros(n_rows, dtype=np.bool_) for _ in columns]
    order, groups = _in_time(columns)
    if order is None:
        return jumps, copies
    follows = groups == np.roll(groups, 1)  # a row of the same group
    follows[0] = False
    inside = follows & np.roll(follows, -1)
    for place, column in enumerate(columns):
        codes = column.codes[order]
        same = (codes == np.roll(codes, 1)) & follows & (codes >= 0)
        copies[place][order] = same & (same.mean() <= _MOST_COPIES)
        if column.kind != "number" or column.is_few:
            continue
        mapped = column.mapped[order]
        before, after = np.roll(mapped, 1), np.roll(mapped, -1)
        jump = np.abs(mapped - (before + after) / 2)
        jump = np.where(inside & ~np.isnan(jump), jump, 0.0)
        # a jump from both neighbours, which agree
        apart = np.abs(np.nan_to_num(before - after))
        usual = float(np.median(jump[inside])) * 1.4826 if inside.any() else 0.0
        if 0 < usual < 0.5:
            jumps[place][order] = np.log1p(np.maximum(jump - apart / 2, 0) / max(usual, 0.02))
    return jumps, copies


def _in_time(columns: Sequence[Column]) -> tuple[Codes | None, Codes]:
    """Return an order of the rows in time and the group of each row in it; None without a date."""
    dates = [column for column in columns if column.kind == "date" and column.present.mean() > 0.9]
    dates.sort(key=lambda column: (-len(column.distinct), column.name))
    n_rows = len(columns[0].codes)
    whole = np.zeros(n_rows, dtype=np.int64)
    keys = [column for column in columns if 2 <= len(column.distinct) <= n_rows / 10]
    keys.sort(key=lambda column: (len(column.distinct), column.name))
    for date, groups in product(dates, (whole, *(key.codes for key in keys))):
        pairs = groups * np.int64(len(date.distinct) + 1) + date.codes
        if len(np.unique(pairs)) >= 0.95 * n_rows:
            order = np.lexsort((date.codes, groups))
            return order, groups[order]
    return None, whole
