"""What is said of a suspicious cell: its kind, what would be usual, and a correction."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._culprits import Corrections
from metaod.wrong_cells._dependencies import is_key
from metaod.wrong_cells._evidence import FEATURES, CellEvidence, TableEvidence
from metaod.wrong_cells._numbers import SHIFTS, UNITS, edits
from metaod.wrong_cells._texts import LOOKALIKES

_NAMES = {"number": "a number", "date": "a date", "truth": "a truth value"}
_FITS = 2.0  # usual residuals that a corrected value may have left
_LEAST_GAIN = 0.7
_FAR = np.log1p(3.0)
_ISOLATED = 0.7
_JUMP = np.log1p(6.0)
_SPIKE = 1.0
_LEAST_RATIO = 1.0
_PATTERN = 2.5
_PROBABLE = 0.5
_USUAL_SHARE = 0.01  # of the rows have a number that occurs
_FEWEST_ALIKE = 10  # rows with the same value of another column
_MOST_ALIKE = 20_000  # rows among which they are looked for
_NARROW = 0.5  # of the usual range
_DIGITS = 12  # of a corrected number
_WIDTH = 1.645  # spreads on either side of the usual range: nine of ten values
_NUMBER = re.compile(r"(?<![A-Za-z])-?(?=[OolISB.,;]*[0-9])[0-9OolISB.,;]+")
_NEARLY_ALL = 0.97  # of the rows follow a rule that corrects words
_ONE_SIGN = 0.9  # of the rows have numbers of the other sign
_MOST_UNITS = 4  # of those that are tried, that an expected range may fit
_COMMON = 0.1  # of the rows: a value beside another one is no code for missing

# numbers that differ by less than this share are the same: units are often rounded
_SAME = {"decimal": 1e-9, "unit": 3e-4, "formula": 1e-3}
_HANDICAPS = {"unit": 0.7, "digits": 0.7}  # of slips that can be made in many ways

Described = tuple[str, str, str, Any]  # kind, expected, why, suggestion


def describe(
    evidence: TableEvidence,
    columns: Sequence[Column],
    place: int,
    cells: Codes,
    corrections: Corrections,
) -> Iterator[tuple[str, str, str, str, Any]]:
    """Describe some of the cells of a column: what is expected, kind, why, slip, suggestion."""
    own = evidence.cells[place]
    slip_places = {row: place for place, row in enumerate(own.slips.rows.tolist())}
    counted = evidence.counted.least.get(place, np.zeros(evidence.n_rows))
    for cell, row in zip(cells.tolist(), own.rows[cells].tolist(), strict=True):
        facts = dict(zip(FEATURES, own.features[cell].tolist(), strict=True))
        facts["counted"] = float(counted[row])
        described = _of_any(evidence, own, row, facts)
        found = corrections.get((place, row))
        if described is None and found is not None and found.value is not None:
            described = _corrected(own, columns, found.kind, found.value, found.given)
            if _is_code(own.column, row, facts):
                described = "code", *described[1:]
        if described is None and not own.column.is_number:
            described = _exchanged(own.column, columns, row)
        if described is None and not _is_explained(own, facts):
            described = _by_rule(evidence, columns, place, row)
        if described is None and own.column.is_number:
            described = _number(own, columns, row, facts, slip_places.get(row))
        kind, expected, why, suggestion = described or _text(own, columns, row, facts)
        yield expected, kind, why, _slip(own, columns, row, kind, suggestion), suggestion


def _of_any(
    evidence: TableEvidence, own: CellEvidence, row: int, facts: dict[str, float]
) -> Described | None:
    if facts["misfit"]:
        usual = _NAMES[own.column.kind] if own.column.is_number else ""
        return "type", usual, "", _repaired(evidence, own, row)
    if facts["missing"]:
        return "missing", *_usual(own, row), _suggestion(own, row)
    if facts["repeated"] or facts["nearly repeated"]:
        return "duplicate", f"a copy of row {evidence.first_alike[row] + 1:,}", "", None
    return ("key", "", "", None) if facts["key repeated"] else None


def _corrected(
    own: CellEvidence, columns: Sequence[Column], kind: str, value: float, given: Sequence[int]
) -> Described:
    """Describe a number that breaks rules by the one that would mend them."""
    right = _rounded(own.column, value, own.decimals)
    why = "" if kind == "swapped" else _given(columns, given)
    return kind, own.column.style.text(right), why, right


def _given(columns: Sequence[Column], places: Sequence[int]) -> str:
    names = ", ".join(columns[place].name for place in places[:3])
    return f"given {names}" + (", ..." if len(places) > 3 else "")


def _by_rule(
    evidence: TableEvidence, columns: Sequence[Column], place: int, row: int
) -> Described | None:
    """Name what the first broken rule leads to expect; formulas are named otherwise."""
    rule = evidence.counted.rule(place, row)
    if rule is None or rule.kind == "formula":
        return None
    if rule.kind == "form":
        return "pattern", "", "", None
    first, second = rule.places
    other = columns[second if place == first else first]
    if rule.kind == "order":
        if other.scale.outside(other.values[row]) > _FITS:
            return None  # it is the other date that is wrong
        word = "or later" if place == first else "or earlier"
        return "order", f"{other.shown(other.values[row])} {word}", f"given {other.name}", None
    column, condition = columns[place], _condition(other, row)
    if column.is_number and not column.is_few:
        low, high = _usual_with(column, other, row)
        return ("number", _range(column, low, high), condition, None) if low > -np.inf else None
    usual = np.bincount(column.codes[column.present & (other.codes == other.codes[row])]).argmax()
    return "dependency", _written(column, int(usual)), condition, None


def _is_explained(own: CellEvidence, facts: dict[str, float]) -> bool:
    """Whether the cell by itself tells what is wrong."""
    if own.column.is_number:
        return _is_isolated(facts)
    return max(facts["same folded"], facts["near frequent"], facts["near word"]) > 0


def _is_isolated(facts: dict[str, float]) -> bool:
    return max(facts["isolation"], facts["isolation mapped"]) > _ISOLATED


def _repaired(evidence: TableEvidence, own: CellEvidence, row: int) -> Any:
    """Return the number that a stray text probably means, if it would not be unexpected.

    If the number follows from other columns, it is the one that follows.
    """
    column = own.column
    found = _NUMBER.findall(column.misfits[row])
    if column.kind != "number" or len(found) != 1:
        return None
    try:
        number = float(found[0].translate(LOOKALIKES).replace(",", ".").replace(";", "."))
    except ValueError:
        return None
    left = abs(column.map(number, row) - own.expected.place[row]) / own.unit
    follows = _following(evidence, own, row)
    if follows is not None and not np.isclose(number, follows, rtol=_SAME["formula"], atol=0.0):
        return follows
    return number if column.scale.outside(number) < _FITS and left < 2 * _FITS else None


def _following(evidence: TableEvidence, own: CellEvidence, row: int) -> Any:
    """Return the number of a cell that follows from the other columns of its row, if any does."""
    columns = [cells.column for cells in evidence.cells]
    place = columns.index(own.column)
    for first, cells in enumerate(evidence.cells):
        formula = cells.formula
        places = (first, *formula.terms) if formula is not None and formula.slopes else ()
        if formula is not None and place in places:
            numbers = [1.0 if p == place else float(columns[p].values[row]) for p in places]
            value = formula.solved(numbers, places.index(place))
            if not np.isnan(value) and formula.holds >= _NEARLY_ALL:
                return _rounded(own.column, value, own.decimals)
    return None


def _number(
    own: CellEvidence,
    columns: Sequence[Column],
    row: int,
    facts: dict[str, float],
    slip: int | None,
) -> Described:
    column = own.column
    if own.formula is not None and facts["formula"] > 0:
        value = _rounded(column, own.formula.value[row], own.decimals)
        given = _given(columns, own.formula.terms)
        return "formula", column.style.text(value), given, value
    if _is_code(column, row, facts):
        return "code", *_usual(own, row), None
    n_digits = column.n_digits if is_key(column) else None
    if n_digits:  # numbers that name things cannot be corrected
        is_other = len(f"{abs(column.values[row]):.0f}") != n_digits
        return "digits" if is_other else "number", f"{n_digits} digits" * is_other, "", None
    if slip is not None and (found := _best_slip(own, row, facts, slip)):
        name, value = found
        return name, column.style.text(value), "", value
    if facts["group ahead"] > _LEAST_RATIO:
        return _contradicting(own, columns, row)
    is_far = _is_isolated(facts)
    if column.given is not None:  # what is far from the usual values of its row may be common
        is_far &= not column.scale.low <= column.values[row] <= column.scale.high
    kind = "far" if is_far else "series" if facts["series"] > _JUMP else "number"
    kind = "copied" if own.copied[row] else kind
    return kind, *(_conditional(own, columns, row) or _usual(own, row)), None


def _is_code(column: Column, row: int, facts: dict[str, float]) -> bool:
    """Whether a number looks like a code for missing: 0 beside many 1 is a value like any other."""
    is_odd = max(facts["residual"], facts["outside"]) > _FAR or facts["counted"] > 0
    if not (facts["code"] and is_odd and (facts["code"] > 1 or facts["spike"] > _SPIKE)):
        return False
    beside = np.isin(column.values[row] + np.array([-1.0, 1.0]), column.distinct)
    return not (beside.any() and column.counts[column.codes[row]] > _COMMON * column.below[-1])


def _best_slip(
    own: CellEvidence, row: int, facts: dict[str, float], place: int
) -> tuple[str, Any] | None:
    """Return the slip that explains a number best, and the number that was meant."""
    column, found, most = own.column, _of_usual_number(own.column, row), _LEAST_GAIN
    if found is not None:
        return found
    value, (low, high) = float(column.values[row]), column.ends_beside(row)
    for name, left in own.slips.left.items():
        handicap = _HANDICAPS.get(name, 0.0) if column.kind == "number" else 0.0
        gain, number = facts[f"slip {name}"] - handicap, own.slips.values[name][place]
        keeps_odd_sign = facts["sign"] >= _ONE_SIGN and number * value >= 0
        if left[place] >= _FITS or gain <= most or not low <= number <= high or keeps_odd_sign:
            continue
        if name == "unit" and not _tells_units(own, row):
            continue
        is_computed = name in ("decimal", "unit")
        if not is_computed and column.is_whole and number % 1:
            continue  # a number of a column of whole numbers was not exchanged with 44.4
        right = _rounded(column, number, own.decimals if is_computed else None)
        if not is_computed or _factor(own, row, name, right):
            found, most = (name, right), gain
    return found


def _tells_units(own: CellEvidence, row: int) -> bool:
    """Whether so little is expected of a number that few units would do."""
    column = own.column
    if column.is_whole and column.is_few:
        return False
    tried = column.map(column.values[row] * np.array([UNITS]), [row])
    left = np.abs(tried - own.expected.place[row]) / own.unit
    return bool(np.count_nonzero(left < _FITS) <= _MOST_UNITS)


def _of_usual_number(column: Column, row: int) -> tuple[str, Any] | None:
    """Return the slip that makes a rare number of one that a hundredth of the rows have."""
    number = float(column.values[row])
    if column.kind != "number" or not number:
        return None
    shifted = [float(f"{number * shift:.{_DIGITS}g}") for shift in SHIFTS]
    low, high = column.scale.low, column.scale.high
    is_usual = np.isin(column.distinct, shifted) & (low <= column.distinct)
    of_shifts = column.counts * (is_usual & (column.distinct <= high))
    if of_shifts.any() and not low <= number <= high:
        return "decimal", column.value(float(column.distinct[of_shifts.argmax()]))
    of_slips = column.counts * np.isin(column.distinct, [*shifted, *edits(number)])
    most = int(of_slips.argmax())
    fewest = max(_FEWEST_ALIKE, _USUAL_SHARE * column.below[-1], column.counts[column.codes[row]])
    if of_slips[most] <= fewest:
        return None
    meant = float(column.distinct[most])
    return "decimal" if meant in shifted else "digits", column.value(meant)


def _text(
    own: CellEvidence, columns: Sequence[Column], row: int, facts: dict[str, float]
) -> Described:
    code = int(own.column.codes[row])
    better = own.better.get(code)
    if better is not None and facts["same folded"] > 0:
        return "spacing", repr(better), "", better
    if better is not None and max(facts["near frequent"], facts["near word"]) > 0:
        return "spelling", repr(better) if better else "", "", better or None
    if facts["blanks"]:
        text = " ".join(str(own.column.distinct[code]).split())
        return "spacing", repr(text), "", text
    if facts["group ahead"] > 0 and facts["group strength"] > 0:
        return _contradicting(own, columns, row)
    if facts["pattern"] > _PATTERN or facts["coarse pattern"] > _PATTERN:
        return "pattern", "", "", None
    kind = "copied" if own.copied[row] else "category"
    return kind, *_usual(own, row), _suggestion(own, row)


def _exchanged(column: Column, columns: Sequence[Column], row: int) -> Described | None:
    """Describe a text that was exchanged: both are more frequent in the column of the other."""
    for other in columns:
        if other.is_number or other is column or not (other.present[row] and column.present[row]):
            continue
        ours, theirs = (own.distinct[own.codes[row]] for own in (column, other))
        is_theirs = other.count_of(ours) > column.count_of(ours)
        if is_theirs and column.count_of(theirs) > other.count_of(theirs):
            return "swapped", repr(theirs), "", theirs
    return None


def _contradicting(own: CellEvidence, columns: Sequence[Column], row: int) -> Described:
    """Name the usual value of rows with the same value of another column."""
    found = own.contradictions
    cause = columns[int(found.by[row])]
    usual = int(found.usual[row])
    suggestion = _value(own.column, usual)
    return "dependency", _written(own.column, usual), _condition(cause, row), suggestion


def _conditional(own: CellEvidence, columns: Sequence[Column], row: int) -> tuple[str, str] | None:
    """Return the range of the rows that share a value, if a number is usual but for that."""
    column = own.column
    value = column.values[row]
    if column.given is not None or not column.scale.low <= value <= column.scale.high:
        return None
    for cause in (columns[place] for place in own.related):
        if cause.is_few and cause.present[row]:
            low, high = _usual_with(column, cause, row)
            is_narrow = high - low < _NARROW * (column.scale.high - column.scale.low)
            if is_narrow and not low <= value <= high:
                return _range(column, low, high), _condition(cause, row)
    return None


def _usual_with(column: Column, cause: Column, row: int) -> tuple[float, float]:
    """Return the usual range of the rows with a row's value of another column."""
    alike = cause.codes[:_MOST_ALIKE] == cause.codes[row]
    numbers = column.values[:_MOST_ALIKE][alike]
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < _FEWEST_ALIKE:
        return -np.inf, np.inf
    low, high = np.quantile(numbers, [0.05, 0.95], method="closest_observation")
    return float(low), float(high)


def _condition(cause: Column, row: int) -> str:
    return f"with {cause.name} {_written(cause, int(cause.codes[row]))}"


def _usual(own: CellEvidence, row: int) -> tuple[str, str]:
    """Return what is usual in the row: a range of numbers, or the most probable categories."""
    column, expected = own.column, own.expected
    if column.is_number:
        words = "" if column.given is None else column.given.words[row]
        width = _WIDTH * float(np.hypot(expected.spread[row], 0.5 * own.unit))
        ends = np.array([-width, width]) + expected.place[row]
        low, high = _within(column, column.back(ends, [row, row]), row)
        is_told = low <= high and not low <= column.values[row] <= high
        return (_range(column, low, high), words) if is_told else ("", "")
    usual = _probable(own, row)
    return ("" if usual is None else _written(column, usual)), ""


def _range(column: Column, low: float, high: float) -> str:
    """Write a range, with so many digits that its ends are told apart."""
    n_digits = 4
    if high > low:
        n_digits = max(4, 2 + int(np.ceil(np.log10(max(abs(low), abs(high)) / (high - low)))))
    ends = (column.shown(number, n_digits) for number in (low, high))
    return " to ".join(dict.fromkeys(ends))


def _within(column: Column, ends: Values, row: int) -> tuple[float, float]:
    """Return a range within the values of other rows, rounded as they are; NaN beyond them."""
    least, most = column.ends_beside(row)
    if ends[1] < least or ends[0] > most:
        return np.nan, np.nan
    low, high = np.clip(ends, least, most)
    if column.is_whole:
        low, high = np.ceil(low), np.floor(max(high, np.ceil(low)))
    return float(low), float(high)


def _suggestion(own: CellEvidence, row: int) -> Any:
    """Return the category that the row makes most probable, if it is probable."""
    usual = None if own.column.is_number else _probable(own, row)
    return None if usual is None else _value(own.column, usual)


def _probable(own: CellEvidence, row: int) -> int | None:
    """Return the code of the value that the row makes most probable, if it is probable."""
    column, expected = own.column, own.expected
    if not len(column.distinct) or expected.best[row] < _PROBABLE:
        return None
    return column.of_class(int(expected.best_class[row]))


def _value(column: Column, code: int) -> Any:
    value = column.distinct[code]
    return column.value(float(value)) if column.is_number else value


def _rounded(column: Column, number: float, decimals: int | None) -> Any:
    """Return a number as a value with these decimals, or without the errors of rounding."""
    shown = float(f"{number:.{_DIGITS}g}") if decimals is None else round(number, decimals)
    return column.value(float(shown))


def _written(column: Column, code: int) -> str:
    value = _value(column, code)
    return column.style.text(value) if column.is_number else repr(value)


def _slip(own: CellEvidence, columns: Sequence[Column], row: int, kind: str, right: Any) -> str:
    """Say how a number came from the right one, in words that all cells of one cause share.

    A factor of a usual slip, the part that a sum lacks or has in excess, or the column of an
    exchanged cell; empty if none explains the cell.
    """
    if kind not in ("decimal", "unit", "formula", "swapped") or not right:
        return ""
    if kind == "swapped":
        like = (c for c in columns if c.kind == own.column.kind and c is not own.column)
        same = (c for c in like if c.present[row] and c.distinct[c.codes[row]] == right)
        return next((f"with {c.name}" for c in same), "")
    value = float(own.column.values[row])
    terms = () if own.formula is None or kind != "formula" else own.formula.terms
    for name, part in ((columns[term].name, columns[term].values[row]) for term in terms):
        if part and np.isclose(abs(right - value), abs(part), rtol=_SAME[kind], atol=0.0):
            return f"{'without' if abs(value) < abs(right) else 'plus'} {name}"
    return _factor(own, row, kind, right)


def _factor(own: CellEvidence, row: int, kind: str, right: Any) -> str:
    """Name what makes a number from the right one, rounded as the column is; empty if nothing."""
    value = float(own.column.values[row])
    factors = {"decimal": SHIFTS, "unit": UNITS}.get(kind, (-1.0, *SHIFTS, *UNITS))
    made = {f"× {by:g}" if abs(by) >= 1 else f"÷ {1 / by:g}": right * by for by in factors}
    if kind == "unit":
        made |= {"× 1.8 + 32": right * 1.8 + 32, "(− 32) ÷ 1.8": (right - 32) / 1.8}
    words = min(made, key=lambda words: abs(made[words] - value))
    rounding = 0.5 * 10.0**-own.decimals if own.decimals is not None and kind != "formula" else 0.0
    is_same = abs(made[words] - value) <= rounding + _SAME[kind] * abs(made[words])
    return words if is_same else ""
