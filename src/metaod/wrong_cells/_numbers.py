"""Evidence on numbers and dates: how extreme, how far from what is expected, and which slip."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._expectation import Expected

_SUSPICIOUS = 1.5  # residuals or spreads; slips of other cells are not tried
_MOST_DIGITS_TRIED = 400  # cells of a column, the most suspicious ones
_MOST_TRIED = 200_000  # cells of a column
_LONGEST = 12  # characters of a number whose digits are tried
_MOST_EDITS = 3 * _LONGEST
_DIGIT = re.compile("[0-9]")
_CODES = (-1.0, 0.0, 9.0, 99.0, 999.0, 9999.0, 99999.0, -9.0, -99.0, -999.0, -9999.0, 88.0, 888.0)
_EPOCHS = (-25567.0, -25568.0, 0.0, 2932896.0, -719162.0)  # 1900-01-01, 1970, 9999-12-31, year 1
SHIFTS = (10.0, 0.1, 100.0, 0.01, 1000.0, 0.001)
UNITS = tuple(
    factor
    for unit in (2.54, 0.45359, 1.609344, 3.28084, 60.0, 3.6, 28.3495)
    for factor in (unit, 1 / unit)
)
_YEAR = 365.2425
_MOST_DECIMALS = 8
_BESIDE = (1, 1, 0, 1, 1)  # the four values around one

_DISTANCES = (
    "outside", "outside mapped", "rows beyond", "share beyond", "isolation", "isolation mapped",
    "gap",
)  # fmt: skip

SLIPS = ("decimal", "sign", "unit", "digits", "swapped")


@dataclass(eq=False)
class Slips:
    """For the suspicious cells of a column, how well a slip explains them.

    Parameters
    ----------
    rows : ndarray of int
        The cells that were tried.
    left : dict of str to ndarray
        For each slip, the residual that is left if the cell is corrected.
    values : dict of str to ndarray
        The corrected values.
    """

    rows: Codes
    left: dict[str, Values] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)

    def add(self, name: str, residuals: Values, values: Values) -> None:
        """Take the best of several corrections, (cells, corrections), of one slip."""
        best = np.argmin(residuals, axis=1)
        at = np.arange(len(best))
        self.left[name], self.values[name] = residuals[at, best], values[at, best]


def extremes(column: Column) -> dict[str, Values]:
    """Return evidence on the distinct values of a column by themselves."""
    values, counts = column.distinct.astype(np.float64), column.counts.astype(np.float64)
    scale, total = column.scale, max(counts.sum(), 1.0)
    below = np.cumsum(counts)
    above = total - below + counts
    beyond = np.minimum(below, above)  # rows at least as extreme
    mapped = scale.map(values)
    isolation = _isolation(values, counts, below, above, scale.middle_value)
    mapped_isolation = _isolation(mapped, counts, below, above, 0.0)
    with np.errstate(over="ignore"):
        gaps = np.log1p(100 * _nearest(values) / max(scale.high - scale.low, 1e-300))
    mode = int(np.argmax(counts)) if len(counts) else 0
    mode_share = counts[mode] / total if len(counts) else 0.0
    from_mode = scale.distances(values, values[mode]) if len(values) else values
    decimals = np.array([_decimals(value) for value in values.tolist()], dtype=np.float64)
    digits = np.floor(np.log10(np.maximum(np.abs(values), 0.1)))
    signs = np.array([counts[values < 0].sum(), counts[values > 0].sum()]) / total
    neighbours = _around(counts)
    is_code = are_codes(column)
    at_edge = (below == counts) | (above == counts)
    return {
        "outside": np.log1p(scale.outside(values)),
        "outside mapped": np.abs(mapped),
        "rows beyond": np.log10(beyond),
        "share beyond": np.log10(beyond / total),
        "isolation": isolation,
        "isolation mapped": mapped_isolation,
        "gap": gaps,
        "from mode": np.where(mode_share > 0.5, np.log1p(from_mode), 0.0),
        "spike": np.log((counts + 0.5) / (neighbours + 0.5)),
        "code": is_code + 1.0 * (is_code & at_edge),
        "decimals": decimals - _weighted_quantile(decimals, counts, 0.95),
        "digits": digits - _weighted_quantile(digits, counts, 0.5),
        "sign": np.where(values < 0, signs[1], np.where(values > 0, signs[0], 0.0)),
    }


def extremes_of_rows(column: Column) -> dict[str, Values]:
    """Return evidence on the values of all rows by themselves.

    In context, how far a value lies from others is measured from what is usual in its row.
    """
    found = {name: column.spread(own, 0.0) for name, own in extremes(column).items()}
    if column.given is not None:
        own = extremes(column.in_context)
        found |= {name: column.in_context.spread(own[name], 0.0) for name in _DISTANCES}
    return found


def are_codes(column: Column) -> npt.NDArray[np.bool_]:
    """Tell which distinct values of a column are usual codes for missing; none of two values is."""
    codes = _EPOCHS if column.kind == "date" else _CODES
    return np.isin(column.distinct.astype(np.float64), codes) & (len(column.distinct) > 2)


def _isolation(
    values: Values, counts: Values, below: Values, above: Values, middle: float
) -> Values:
    """Return by how much values exceed the one that twice as many rows and two reach, as a log."""
    if not len(values):
        return values
    total = below[-1]
    low = np.searchsorted(below, np.minimum(2 * below + 2, total))
    high = np.searchsorted(-above, -np.minimum(2 * above + 2, total), side="right") - 1
    inner = np.where(values < middle, low, np.maximum(high, 0))
    inner = np.clip(inner, 0, len(values) - 1)
    own = np.abs(values - middle)
    other = np.abs(values[inner] - middle)
    spread = _weighted_quantile(np.abs(values - middle), counts, 0.5)
    floor = max(spread, 1e-12 * float(own.max(initial=0.0)), 1e-300)
    return np.asarray(np.log((own + floor) / (np.minimum(other, own) + floor)))


def _nearest(values: Values) -> Values:
    """Return the distance of each distinct value, which rise, to the next one."""
    if len(values) < 2:
        return np.zeros(len(values))
    steps = np.pad(np.diff(values), 1, constant_values=np.inf)
    return np.asarray(np.minimum(steps[1:], steps[:-1]))


def _around(counts: Values) -> Values:
    """Return the mean count of the four values around each one."""
    if not len(counts):
        return counts
    total, n_values = (np.convolve(own, _BESIDE)[2:-2] for own in (counts, np.ones(len(counts))))
    return np.asarray(total / np.maximum(n_values, 1))


def _decimals(value: float) -> int:
    text = f"{value:.10g}"
    if "e" in text or "." not in text:
        return 0
    return min(len(text) - text.index(".") - 1, _MOST_DECIMALS)


def decimals_of(column: Column) -> int:
    """Return how many decimals the numbers of a column have."""
    if len(column.distinct) > 2_000:
        values = column.distinct[:: len(column.distinct) // 1_000]
        return int(np.quantile([_decimals(value) for value in values.tolist()], 0.95))
    decimals = np.array([_decimals(value) for value in column.distinct.tolist()], dtype=float)
    return int(_weighted_quantile(decimals, column.counts.astype(float), 0.95))


def known_decimals(column: Column) -> int | None:
    """Return the decimals of a column of numbers; None if they have many, or are too small."""
    if column.kind != "number":
        return None
    decimals = decimals_of(column)
    is_small = max(abs(column.scale.low), abs(column.scale.high)) < 1  # such as 1e-05
    is_known = column.is_whole or decimals > 0 or not is_small
    return decimals if is_known and decimals < _MOST_DECIMALS else None


def _weighted_quantile(values: Values, counts: Values, place: float) -> float:
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    below = np.cumsum(counts[order])
    return float(values[order[min(np.searchsorted(below, place * below[-1]), len(order) - 1)]])


@dataclass(frozen=True, eq=False)
class Residuals:
    """How far the numbers of a column are from what is expected.

    Parameters
    ----------
    values : ndarray of float
        The differences on the column's scale; 0 if a number is missing.
    unit : float
        Their usual size.
    """

    values: npt.NDArray[np.float32]
    unit: float = 1.0

    @classmethod
    def of(cls, column: Column, expected: Values, reference: Codes) -> Self:
        """Take the differences of a column, and their size in the reference rows."""
        if not len(expected):
            return cls(np.zeros(len(column.codes), dtype=np.float32))
        values = np.nan_to_num(column.mapped - expected).astype(np.float32)
        known = np.abs(values[reference][column.present[reference]])
        if not len(known):
            return cls(values)
        unit = max(float(np.median(known)) * 1.4826, float(np.quantile(known, 0.9)) / 1.645 * 0.5)
        return cls(values, max(unit, 0.02))

    @property
    def sizes(self) -> Values:
        """How large they are, in units."""
        return np.abs(self.values, dtype=np.float64) / self.unit


def residual_evidence(
    column: Column, expected: Expected, residuals: Residuals, reference: Codes
) -> dict[str, Values]:
    """Return how far numbers are from what their rows lead to expect."""
    sizes, unit, present = np.abs(residuals.values), residuals.unit, column.present
    local = sizes / (expected.spread + 0.1 * unit)
    mapped = column.mapped[present]
    spread_of_column = max(float(np.std(np.clip(mapped, -4, 4))) if len(mapped) else 1.0, 1e-9)
    linear = Residuals.of(column, expected.linear, reference)
    n_beyond, lead = leads(sizes, present, unit)
    return {
        "residual lead": lead,
        "local residual lead": leads(local, present, 1.0)[1],
        "linear residual lead": leads(linear.sizes, present, 1.0)[1],
        "linear residual": np.log1p(linear.sizes),
        "linear predictability": np.full(len(sizes), min(linear.unit / spread_of_column, 3.0)),
        "residual": np.log1p(residuals.sizes),
        "local residual": np.log1p(local),
        "residual size": sizes,
        "residual rank": np.log10(n_beyond),
        "predictability": np.full(len(sizes), min(unit / spread_of_column, 3.0)),
        "signed residual": np.sign(residuals.values),
    }


def leads(sizes: Values, present: npt.NDArray[np.bool_], unit: float) -> tuple[Values, Values]:
    """Return how many cells are at least as large as each, and its lead over others.

    The lead is a logarithm: by how much it exceeds the size that twice as many cells and two reach.
    """
    ordered = np.sort(sizes[present])
    n_beyond = np.maximum(len(ordered) - np.searchsorted(ordered, sizes, side="left"), 1)
    if not len(ordered):
        return n_beyond.astype(np.float64), np.zeros(len(sizes))
    others = ordered[np.maximum(len(ordered) - 2 * n_beyond - 2, 0)]
    lead = np.log((sizes + unit) / (np.minimum(others, sizes) + unit))
    return n_beyond.astype(np.float64), np.where(present, lead, 0.0)


def find_slips(
    columns: Sequence[Column],
    expected: Sequence[Expected],
    residuals: Sequence[Residuals],
    place: int,
    partners: Sequence[int],
    suspicion: Values,
) -> Slips:
    """Try whether a usual slip explains the suspicious numbers of a column.

    Residuals are counted in the column's usual residual. ``partners`` are the columns with which
    cells may have been exchanged.
    """
    column = columns[place]
    rows = np.flatnonzero((suspicion > np.log1p(_SUSPICIOUS)) & column.present)
    if len(rows) > _MOST_TRIED:
        rows = np.sort(rows[np.argsort(-suspicion[rows], kind="stable")[:_MOST_TRIED]])
    slips = Slips(rows)
    if not len(rows) or column.kind == "truth":
        return slips
    values = column.values[rows]

    def add(name: str, candidates: Values) -> None:
        left = _left(column, candidates, expected[place], rows, residuals[place].unit)
        slips.add(name, left, candidates)

    if column.kind == "date":
        years = values[:, None] + _YEAR * np.array([1, -1, 10, -10, 100, -100, 1000])
        add("digits", np.column_stack([years, _day_and_month(values)]))
    else:
        add("decimal", values[:, None] * np.array(SHIFTS))
        add("sign", -values[:, None])
        fahrenheit = np.column_stack([values * 1.8 + 32, (values - 32) / 1.8])
        add("unit", np.column_stack([values[:, None] * np.array(UNITS), fahrenheit]))
        add("digits", _edited(values, suspicion[rows]))
    _add_swaps(slips, columns, expected, residuals, place, partners)
    return slips


def _day_and_month(days: Values) -> Values:
    """Return dates with day and month exchanged, or as they are."""
    stamps = (days.astype(np.int64)).astype("datetime64[D]")
    months = stamps.astype("datetime64[M]")
    month, day = months.astype(np.int64) % 12, (stamps - months).astype(np.int64)
    years = stamps.astype("datetime64[Y]").astype("datetime64[M]")
    swapped = (years + np.minimum(day, 11)).astype("datetime64[D]") + month
    return np.where(day < 12, swapped.astype(np.int64), days)


def _edited(values: Values, suspicion: Values) -> Values:
    """Return the values with two digits exchanged, or one dropped or doubled; padded with NaN."""
    found = np.full((len(values), _MOST_EDITS), np.inf)
    for place in np.argsort(-suspicion, kind="stable")[:_MOST_DIGITS_TRIED].tolist():
        own = edits(values[place])
        found[place, : len(own)] = own
    return found


def edits(number: float) -> list[float]:
    """Return a number with two digits exchanged, or one dropped or doubled.

    >>> edits(20)
    [2.0, 0.0, 220.0, 2.0, 200.0]
    """
    return [float(text) for text in _edits(f"{number:.10g}") if _DIGIT.search(text)]


def _edits(text: str) -> Iterator[str]:
    if "e" in text or len(text) > _LONGEST:
        return
    for i, mark in enumerate(text):
        if not mark.isdigit():
            continue
        if text[i + 1 : i + 2].isdigit() and text[i + 1] != mark:
            yield text[:i] + text[i + 1] + mark + text[i + 2 :]
        yield text[:i] + text[i + 1 :]  # a digit too many
        yield text[: i + 1] + mark + text[i + 1 :]  # one too few


def _add_swaps(
    slips: Slips,
    columns: Sequence[Column],
    expected: Sequence[Expected],
    residuals: Sequence[Residuals],
    place: int,
    partners: Sequence[int],
) -> None:
    """Try to exchange cells with those of other columns of numbers of the same kind."""
    column, rows = columns[place], slips.rows
    best = np.full(len(rows), np.inf)
    value = np.full(len(rows), np.nan)
    for other in partners:
        partner = columns[other]
        if other == place or partner.kind != column.kind:
            continue
        theirs, ours = partner.values[rows], column.values[rows]
        here = _left(column, theirs, expected[place], rows, residuals[place].unit)
        there = _left(partner, ours, expected[other], rows, residuals[other].unit)
        before = residuals[other].sizes[rows]
        # both cells must fit better than they do now
        left = np.where(there < 0.5 * before, np.maximum(here, there), np.inf)
        left = np.where(np.isnan(left), np.inf, left)
        value = np.where(left < best, theirs, value)
        best = np.minimum(best, left)
    slips.left["swapped"], slips.values["swapped"] = best, value


def _left(column: Column, values: Values, expected: Expected, rows: Codes, unit: float) -> Values:
    """Return the residuals of other values of some cells, one or several for each."""
    middle = expected.place[rows].reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(np.abs(column.map(values, rows) - middle) / unit)


def slip_evidence(slips: Slips, before: Values) -> dict[str, Values]:
    """Return for each slip by how much it shortens the residual, and the shortest that is left."""
    evidence = {f"slip {name}": np.zeros(len(before)) for name in SLIPS}
    shortest = evidence["slip left"] = np.full(len(before), 9.0)
    own = before[slips.rows]
    for name, left in slips.left.items():
        gain = np.log((own + 0.3) / (np.minimum(left, own) + 0.3))
        evidence[f"slip {name}"][slips.rows] = gain
        shortest[slips.rows] = np.minimum(shortest[slips.rows], left)
    return evidence
