"""Errors that counting shows, whatever history teaches: it has too few of them.

What chance would give is counted in the table itself. Numbers of documents would repeat if they
were drawn, whole rows would not; a rule that holds in nearly all rows would often be broken if its
columns had nothing to do with each other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.wrong_cells._apart import apart
from metaod.wrong_cells._columns import Codes, Column, Values, hashes_of
from metaod.wrong_cells._dependencies import Contradictions, is_key, repeats
from metaod.wrong_cells._formulas import Formula
from metaod.wrong_cells._texts import form_of

Which = npt.NDArray[np.bool_]
Form = Callable[[str], str | int]

_ROW = 0.8  # the probability that a row that repeats, and not by chance, is an error
_NEAR_ROW = 0.6  # the same but for a column that should name each row
_KEY = 0.6  # that the later one of two equal keys is wrong
_USUAL = 0.2  # the most for a contradiction that is usual in its group
_FORM = 0.6  # that a text of another form than nearly all is wrong
BROKEN = 0.45  # that the most suspicious cell of a broken rule is wrong
_SIGMAS = 3  # by which more rows repeat than chance gives
_TIMES = 20  # chance would give so many times as many
_TIMES_OF_KEYS = 3  # the same at least, of keys
_FEWEST_ROWS = 50
_MOST_BROKEN = 0.01  # of the rows break a rule
_MOST_REPEATED = 0.05  # of the rows; more are usual in the table
_MOST_RELATED = 0.2  # of the variance of columns that count as independent
_MOST_INDEPENDENT = 12
_SAMPLED = 20_000  # keys whose numbers are read

_MOST_VALUES = 64  # of a column whose values are compared with other columns
_MOST_CODES = 10  # the same, of numbers
_MOST_CAUSES = 5
_LEAST_RELATED = 0.01  # of the variance that a cause explains
_RARELY = 70  # times as many by chance, for values that hardly ever occur together
_HALF = 200  # times as many by chance: half of such values are wrong
_FEWEST_TEXTS = 30  # of a column of names or addresses
_MOST_TEXTS = 2_000  # that tell whether there is a usual form
_LONG = 10  # characters of codes that have one length
_LONGEST_FORM = 40  # characters of texts that may have one
_FAR = 0.3  # of the width of a group: so far beyond it lies a number
_FEWEST_ALIKE = 5  # rows of a group that share another value than its usual one
_LEAST_ALIKE = 0.01  # of the rows of the group
_MOST_EXCEPTIONS = 0.005  # of the rows of a group


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule that nearly all rows follow, and the rows that break it.

    Parameters
    ----------
    kind : {"order", "formula", "together", "form"}
        Dates in an order, numbers that follow from others, values that occur together, or texts of
        one form.
    places : tuple of int
        The columns, of which one must be wrong; the one that follows from the others comes first.
    rows : ndarray of int
        The rows that break it.
    score : float or ndarray of float
        The probability that the raised one of these cells is wrong, in each row.
    """

    kind: Literal["order", "formula", "together", "form"]
    places: tuple[int, ...]
    rows: Codes
    score: Values | float = BROKEN


@dataclass(frozen=True, eq=False)
class Counted:
    """What counting shows of a table.

    Parameters
    ----------
    least : mapping of int to ndarray of float
        The least probability that each cell is wrong, by the places of columns with any.
    rules : sequence of Rule
        Broken rules.
    usual : mapping of int to ndarray of bool
        Cells that contradict other rows and have too many like them to be wrong, by column, and
        rows that repeat by chance.
    """

    least: Mapping[int, Values]
    rules: Sequence[Rule]
    usual: Mapping[int, Which]

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        weights: Values,
        positions: Codes,
        reference: Codes,
        alike: Mapping[str, Which],
        naming: int,
        formulas: Mapping[int, Formula],
        contradictions: Sequence[Contradictions],
        better: Mapping[int, Mapping[int, str]],
    ) -> Self:
        """Count in a table; rows that repeat are shown at the column that names rows.

        ``better`` are the better spellings of codes, for each column of text.
        """
        keys = [is_key(column) for column in columns]
        least = {naming: _of_rows(columns, weights, keys, *alike.values())}
        for place in np.flatnonzero(keys).tolist():
            is_later, _ = repeats(columns[place].hashes, positions)
            is_later &= columns[place].present & (positions >= 0)
            of_keys = _of_keys(columns[place], is_later)
            least[place] = np.maximum(least.get(place, 0.0), of_keys)
        for place, column in enumerate(columns):
            least[place] = np.maximum(least.get(place, 0.0), apart(column))
        least = {place: own for place, own in least.items() if own.any()}
        rules = [
            *_broken_orders(columns, reference),
            *_broken_formulas(formulas),
            *_never_together(columns, weights, reference),
            *_broken_forms(columns),
        ]
        usual = {
            place: _are_usual(columns, place, own, better.get(place, {}))
            for place, own in enumerate(contradictions)
            if np.any(own.by >= 0)
        }
        by_chance = np.any([*alike.values()], axis=0)
        if naming in least:
            by_chance &= least[naming] == 0
        if by_chance.any():
            usual[naming] = by_chance | usual.get(naming, False)
        return cls(least, [rule for rule in rules if len(rule.rows)], usual)

    def cells(self, place: int) -> Codes:
        """Return the rows of a column of which counting shows anything."""
        shown = [rule.rows for rule in self.rules if place in rule.places]
        return np.unique(np.concatenate([np.flatnonzero(self.least.get(place, [])), *shown]))

    def raised(
        self, scores: Sequence[Values], rows: Sequence[Codes], enough: float
    ) -> list[Values]:
        """Return the scores of cells as counting corrects them.

        If no cell of a broken rule has a score that is enough, the one that breaks most rules is
        raised, or of several the most suspicious one; of a formula, the number that it gives.
        """
        raised = [own.copy() for own in scores]
        for place, usual in self.usual.items():
            most = np.where(usual[rows[place]], _USUAL, 1.0)
            raised[place] = np.minimum(scores[place], most)
        for place, least in self.least.items():
            raised[place] = np.maximum(raised[place], least[rows[place]])
        n_broken: Counter[tuple[int, int]] = Counter()
        for rule in self.rules:
            for place in rule.places:
                n_broken.update((place, row) for row in rule.rows.tolist())
        for rule in self.rules:
            cells = [np.searchsorted(rows[place], rule.rows) for place in rule.places]
            least = np.broadcast_to(rule.score, len(rule.rows)).tolist()
            for row, score, *at in zip(rule.rows.tolist(), least, *cells, strict=True):
                found = [raised[place][own] for place, own in zip(rule.places, at, strict=True)]
                if max(found) >= enough:
                    continue
                choices = range(1 if rule.kind == "formula" else len(found))
                first = max(choices, key=lambda n: (n_broken[rule.places[n], row], found[n]))
                raised[rule.places[first]][at[first]] = max(found[first], score)
        return raised

    def rule(self, place: int, row: int) -> Rule | None:
        """Return the first rule that a cell breaks."""
        own = (rule for rule in self.rules if place in rule.places and row in rule.rows)
        return next(own, None)


def _are_usual(
    columns: Sequence[Column], place: int, found: Contradictions, better: Mapping[int, str]
) -> Which:
    """Tell which contradictions are usual: several rows of a group share the same other value."""
    own = columns[place]
    usual = np.zeros(len(own.codes), dtype=np.bool_)
    for by in np.unique(found.by[found.by >= 0]).tolist():
        cause, at = columns[by], np.flatnonzero(found.by == by)
        known = np.flatnonzero(cause.present & own.present)
        pairs = cause.codes * np.int64(len(own.distinct)) + own.codes
        values, counts = np.unique(pairs[known], return_counts=True)
        n_alike = counts[np.searchsorted(values, pairs[at])]
        n_group = cause.counts[cause.codes[at]]
        usual[at] = (n_alike >= _FEWEST_ALIKE) & (n_alike >= _LEAST_ALIKE * n_group)
    return usual & ~np.isin(own.codes, list(better))


def _of_keys(column: Column, is_later: Which) -> Values:
    """Return the probability that a key is wrong, of the later rows with an earlier one's value.

    Keys are unique by design if numbers drawn from their range would have repeated far more often.
    """
    n_repeated = int(np.count_nonzero(is_later))
    expected = _repeats_by_chance(column) if n_repeated else 0.0
    if expected - _SIGMAS * np.sqrt(expected) < _TIMES_OF_KEYS * n_repeated:
        return np.zeros(len(is_later))
    if column.is_number:  # ranks with ties leave out the next number
        numbers = column.distinct.astype(np.float64)
        steps, counts = np.unique(np.diff(numbers), return_counts=True)
        step = steps[counts.argmax()] if 2 * counts.max() > counts.sum() else 1.0
        is_later = is_later & column.spread(np.isin(numbers + step, numbers), False)
    return np.asarray(_KEY * is_later)


def _repeats_by_chance(column: Column) -> float:
    """Return how many pairs would be equal if the numbers in keys were drawn from their ranges."""
    drawn = np.argsort(pd.util.hash_array(column.distinct), kind="stable")[:_SAMPLED]
    keys = pd.Series(column.distinct[drawn])
    if column.is_number:
        parts = pd.DataFrame({"number": keys.astype(np.float64), "around": ""})
    else:
        found = keys.astype(str).str.extract(r"^(.*?)(\d{1,15})(\D*)$", expand=True)
        number = pd.to_numeric(found[1], errors="coerce")
        parts = pd.DataFrame({"number": number, "around": found[0] + "\0" + found[2]})
    scale = len(column.distinct) / len(drawn)
    expected = 0.0
    for _, numbers in parts.dropna().groupby("around")["number"]:
        if len(numbers) >= _FEWEST_ROWS // 2:
            low, high = np.quantile(numbers, [0.01, 0.99])
            expected += (len(numbers) * scale) ** 2 / (2 * ((high - low) / 0.98 + 1))
    return expected


def _of_rows(
    columns: Sequence[Column], weights: Values, keys: Sequence[bool], exact: Which, near: Which
) -> Values:
    """Return the probability that rows that repeat others are errors."""
    everything = range(len(columns))
    rest = [place for place in everything if not keys[place]]
    return np.maximum(
        _ROW * _certainty(columns, weights, everything, exact),
        _NEAR_ROW * _certainty(columns, weights, rest, near),
    )


def _certainty(
    columns: Sequence[Column], weights: Values, places: Sequence[int], which: Which
) -> Values:
    """Return the share of repeated rows that chance does not give, among those as improbable."""
    n_found, n_rows = np.count_nonzero(which), len(which)
    if not n_found or n_rows < _FEWEST_ROWS or n_found > _MOST_REPEATED * n_rows:
        return np.zeros(n_rows)
    counts = [
        columns[place].spread(columns[place].counts, np.count_nonzero(~columns[place].present))
        for place in places
    ]
    chosen: list[int] = []
    expected = np.full(n_rows, float(n_rows))  # rows that are equal by chance
    rarest = sorted(range(len(places)), key=lambda n: (counts[n].mean(), columns[places[n]].name))
    for own in rarest:
        tied = np.maximum(weights[places[own], chosen], weights[chosen, places[own]])
        if len(chosen) < _MOST_INDEPENDENT and np.all(tied <= _MOST_RELATED):
            chosen.append(places[own])
            expected *= np.maximum(counts[own] - 2, 0.5) / n_rows  # without the two rows
    order = np.argsort(expected, kind="stable")
    expected = np.maximum(expected, _repeats_like_neighbours(columns, weights, places))
    found, by_chance = np.cumsum(which[order]), np.cumsum(expected[order]) / 2
    is_more = found > by_chance + _SIGMAS * np.sqrt(by_chance)
    share = np.empty(n_rows)
    share[order] = np.where(is_more, found / (found + by_chance), 0.0)
    return share * which * min(1.0, 2 * (1 - n_found / (_MOST_REPEATED * n_rows)))


def _repeats_like_neighbours(
    columns: Sequence[Column], weights: Values, places: Sequence[int]
) -> Values:
    """Return how many rows would equal each, by how many differ from it in one column alone.

    Columns that depend on each other agree more often, given the others, than by themselves: as
    often as the root of the latter.
    """
    hashes = hashes_of([columns[place] for place in places])
    n_alike, expected = _sizes(hashes), np.zeros(len(hashes))
    for place in places:
        shares = columns[place].counts / max(columns[place].counts.sum(), 1)
        is_related = weights[place, list(places)].max() > _LEAST_RELATED
        agreement = min((shares @ shares) ** (0.5 if is_related else 1.0), 1 - _LEAST_ALIKE)
        n_near = _sizes(hashes - hashes_of([columns[place]])) - n_alike
        expected = np.maximum(expected, n_near * agreement / (1 - agreement))
    return expected


def _sizes(keys: npt.NDArray[np.uint64]) -> Codes:
    """Return how many rows have the key of each row."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _broken_orders(columns: Sequence[Column], reference: Codes) -> Iterator[Rule]:
    """Find the rows that break an order of two dates, which nearly all rows keep."""
    dates = [place for place, column in enumerate(columns) if column.kind == "date"]
    for first, second in permutations(dates, 2):
        one, other = columns[first].values, columns[second].values
        a, b = one[reference], other[reference]
        known = ~np.isnan(a) & ~np.isnan(b)
        a, b = a[known], b[known]
        if len(a) < _FEWEST_ROWS:
            continue
        broken = np.mean(a > b)
        by_chance = np.searchsorted(np.sort(b), a, side="left").mean() / len(b)
        if broken <= _MOST_BROKEN and by_chance >= max(0.05, _TIMES * broken):
            yield Rule("order", (second, first), np.flatnonzero(one > other))


def _broken_formulas(formulas: Mapping[int, Formula]) -> Iterator[Rule]:
    for place, formula in formulas.items():
        if formula.holds >= 1 - _MOST_BROKEN and len(formula.value) >= _FEWEST_ROWS:
            broken = np.flatnonzero(formula.deviation > 1)
            yield Rule("formula", (place, *formula.terms), broken)


def _broken_forms(columns: Sequence[Column]) -> Iterator[Rule]:
    """Find texts without the form or the mark that nearly all of a column have.

    Of numbered names (`AB-1234`) the form counts, of long ones the length too, of other short texts
    each mark, as the @ of addresses.
    """
    for place, column in enumerate(columns):
        if column.is_number or len(column.distinct) < _FEWEST_TEXTS:
            continue
        drawn = np.argsort(pd.util.hash_array(column.distinct), kind="stable")[:_MOST_TEXTS]
        texts = column.distinct[drawn].tolist()
        if np.mean([len(text) for text in texts]) > _LONGEST_FORM:
            continue
        marks = {mark for text in texts[:5] for mark in text if not (mark.isalnum() or mark == " ")}
        is_other = np.zeros(len(column.distinct), dtype=np.bool_)
        forms: list[Form] = [form_of, _long, *(partial(_count, mark) for mark in sorted(marks))]
        for form in forms:
            if _odd_forms(form, texts, column.counts[drawn]) is not None:
                found = _odd_forms(form, column.distinct.tolist(), column.counts)
                is_other |= False if found is None else found
        yield Rule("form", (place,), np.flatnonzero(column.spread(is_other, False)), _FORM)


def _long(text: str) -> int:
    """Return the length of a long text; shorter ones grow as numbers are used up."""
    return len(text) if len(text) >= _LONG else 0


def _count(mark: str, text: str) -> int:
    return text.count(mark)


def _odd_forms(
    form: Callable[[str], str | int], texts: Sequence[str], counts: Codes
) -> Which | None:
    """Return which texts have another form than nearly all; None if there is no such form."""
    codes, kinds = pd.factorize(np.array([form(text) for text in texts]))
    shares = np.bincount(codes, counts) / counts.sum()
    usual = kinds[shares.argmax()]
    is_form = "9" in usual if isinstance(usual, str) else usual > 0
    if not is_form or shares.max() < 1 - _MOST_BROKEN:
        return None
    return np.asarray(codes != shares.argmax())


def _never_together(columns: Sequence[Column], weights: Values, reference: Codes) -> Iterator[Rule]:
    """Find cells whose value hardly ever occurs with a value of another column."""
    most = [_MOST_CODES if column.is_number else _MOST_VALUES for column in columns]
    may_group = [2 <= len(own.distinct) <= n for own, n in zip(columns, most, strict=True)]
    for place, column in enumerate(columns):
        if not may_group[place] and not (column.is_number and len(column.distinct) > _MOST_CODES):
            continue
        causes = [
            cause
            for cause in np.argsort(-weights[place], kind="stable").tolist()
            if weights[place, cause] >= _LEAST_RELATED and may_group[cause]
        ]
        for cause in causes[:_MOST_CAUSES]:
            find = _rare_pairs if may_group[place] else _beyond_groups
            yield Rule("together", (place, cause), *find(columns[cause], column, reference))


def _rare_pairs(cause: Column, column: Column, reference: Codes) -> tuple[Codes, Values]:
    """Return rows with two values that would often occur together by chance, and hardly ever do."""
    shape = len(cause.distinct), len(column.distinct)

    def counts(rows: Codes) -> tuple[Codes, Values]:
        known = rows[cause.present[rows] & column.present[rows]]
        pairs = cause.codes[known] * shape[1] + column.codes[known]
        found = np.bincount(pairs, minlength=shape[0] * shape[1]).astype(np.float64)
        return known, found.reshape(shape)

    _, seen = counts(reference)
    of_causes = seen.sum(axis=1)
    expected = np.outer(of_causes, seen.sum(axis=0)) / max(seen.sum(), 1)
    is_rare = (expected >= _RARELY * np.maximum(seen, 1)) & (
        seen <= _MOST_EXCEPTIONS * of_causes[:, None]
    )
    known, everywhere = counts(np.arange(len(cause.codes)))
    times = expected * (len(known) / max(seen.sum(), 1)) / np.maximum(everywhere, 1)
    times = np.where(is_rare, times, 0.0)[cause.codes[known], column.codes[known]]
    is_rarer = times >= _RARELY
    return known[is_rarer], times[is_rarer] / (times[is_rarer] + _HALF)


def _beyond_groups(cause: Column, column: Column, reference: Codes) -> tuple[Codes]:
    """Return rows with a number far beyond those of all rows with the same cause."""
    found: list[Codes] = []
    known = reference[cause.present[reference] & column.present[reference]]
    order = known[np.lexsort((column.values[known], cause.codes[known]))]
    groups, starts = np.unique(cause.codes[order], return_index=True)
    everything = np.sort(column.values[known])
    for group, own in zip(groups.tolist(), np.split(order, starts)[1:], strict=True):
        if len(own) < _FEWEST_ROWS:
            continue
        numbers = column.values[own]
        most = max(1, int(_MOST_EXCEPTIONS * len(own)))
        for inside, outside in ((numbers, everything), (-numbers[::-1], -everything[::-1])):
            ends = inside[::-1][: most + 1]
            is_beyond = ends[:-1] > ends[1:] + _FAR * (ends[1:] - inside[0])
            n_beyond = int(is_beyond.nonzero()[0].max(initial=-1)) + 1
            end = ends[n_beyond] + _FAR * (ends[n_beyond] - inside[0])
            n_outside = len(outside) - np.searchsorted(outside, end, side="right") - n_beyond
            by_chance = len(own) * n_outside / max(len(known) - len(own), 1)
            if end <= inside[0] or by_chance < _RARELY * max(n_beyond, 1):
                continue
            sign = 1.0 if inside is numbers else -1.0
            rows = np.flatnonzero((cause.codes == group) & (sign * column.values > end))
            if len(rows) * len(reference) <= most * len(cause.codes):
                found.append(rows)
    return (np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found])),)
