"""Which cell of a row is wrong if its numbers break a rule that nearly all rows follow.

One wrong number explains a broken sum: the one whose correction mends all broken rules, breaks no
other one, and gives a number that its column could have. The others of the rule are no findings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metaod.wrong_cells._columns import Column, Values
from metaod.wrong_cells._counting import BROKEN, Rule
from metaod.wrong_cells._evidence import CellEvidence, TableEvidence
from metaod.wrong_cells._formulas import Formula

_NOT_BLAMED = 0.25  # the most for other cells of a broken rule
_WHOLE = 0.05  # so near to a whole number is one that follows from others


@dataclass(frozen=True)
class Correction:
    """What mends a rule: its kind, the number, and the places from which it follows."""

    kind: Literal["formula", "swapped"]
    value: float | None
    given: tuple[int, ...]


Corrections = Mapping[tuple[int, int], Correction]
"""By place and row."""


def blamed(
    scores: Sequence[Values], columns: Sequence[Column], evidence: TableEvidence
) -> tuple[list[Values], Corrections]:
    """Return the scores of cells with one culprit in each broken rule, and its correction."""
    scores = [own.copy() for own in scores]
    formulas = {p: own.formula for p, own in enumerate(evidence.cells) if own.formula is not None}
    rules = [own for own in evidence.counted.rules if own.kind == "formula"]
    rules = [own for own in rules if formulas[own.places[0]].slopes]
    of_rows: dict[int, list[Rule]] = {}
    for rule in rules:
        for row in rule.rows.tolist():
            of_rows.setdefault(row, []).append(rule)
    corrections: dict[tuple[int, int], Correction] = {}
    for row, broken in of_rows.items():
        own, left = _Row(row, columns, evidence.cells, rules, formulas, scores), broken
        while left:
            found = own.exchanged(left) or own.culprit(left)
            mended = [rule for rule in left if not found.keys().isdisjoint(rule.places)]
            own.blame(found, mended)
            corrections |= {(place, row): correction for place, correction in found.items()}
            left = [rule for rule in left if rule not in mended]
    return scores, corrections


@dataclass(frozen=True)
class _Row:
    """A row that breaks rules."""

    row: int
    columns: Sequence[Column]
    cells: Sequence[CellEvidence]
    rules: Sequence[Rule]
    formulas: Mapping[int, Formula]
    scores: Sequence[Values]

    def exchanged(self, broken: Iterable[Rule]) -> dict[int, Correction]:
        """Return the corrections of two cells that mend a rule if they are exchanged."""
        for rule in broken:
            formula, numbers = self.formulas[rule.places[0]], self._numbers(rule)
            allowed = abs(formula.left(numbers)) / formula.deviation[self.row]
            likely = max(rule.places, key=self._score)
            for n, other in enumerate(rule.places[1:], start=1):
                turned = [numbers[n], *numbers[1:n], numbers[0], *numbers[n + 1 :]]
                if likely in (rule.places[0], other) and abs(formula.left(turned)) <= allowed:
                    return {
                        rule.places[0]: Correction("swapped", numbers[n], (other,)),
                        other: Correction("swapped", numbers[0], rule.places[:1]),
                    }
        return {}

    def culprit(self, broken: Sequence[Rule]) -> dict[int, Correction]:
        """Return the correction of the cell that is to blame for most broken rules."""
        ranks = {}
        for rule in broken:
            for n, place in enumerate(rule.places):
                value = self.formulas[rule.places[0]].solved(self._numbers(rule), n)
                given = (*rule.places[:n], *rule.places[n + 1 :])
                is_possible = self._is_possible(place, value)
                is_known = is_possible and (n == 0 or self._is_precise(rule, n))
                correction = Correction("formula", value if is_known else None, given)
                rank = self._blame(place), is_possible, self._is_odd(place), self._score(place)
                if n == 0 or place not in ranks:
                    ranks[place] = rank, correction
        first = max(ranks, key=lambda place: ranks[place][0])
        return {first: ranks[first][1]}

    def blame(self, found: Mapping[int, Correction], mended: Sequence[Rule]) -> None:
        """Give the culprits the highest score, and other cells a low one if they are usual."""
        places = {place for rule in mended for place in rule.places}
        most = max(BROKEN, *map(self._score, places))
        for place in places:
            at = np.searchsorted(self.cells[place].rows, self.row)
            if place in found:
                self.scores[place][at] = most
            elif not self._is_odd(place):
                self.scores[place][at] = min(self.scores[place][at], _NOT_BLAMED)

    def _numbers(self, rule: Rule) -> list[float]:
        return [float(self.columns[place].values[self.row]) for place in rule.places]

    def _blame(self, place: int) -> int:
        """Return how many rules with the cell are broken, less those that are kept."""
        total = 0
        for rule in self.rules:
            formula = self.formulas[rule.places[0]]
            if place in rule.places and not np.isnan(formula.value[self.row]):
                total += 1 if formula.deviation[self.row] > 1 else -1
        return total

    def _is_possible(self, place: int, value: float) -> bool:
        if np.isnan(value):
            return False
        low, high = self.columns[place].ends_beside(self.row)
        decimals = self.cells[place].decimals
        shown = value if decimals is None else round(value, decimals)
        return low <= shown <= high and (decimals != 0 or abs(value - shown) <= _WHOLE)

    def _is_precise(self, rule: Rule, n: int) -> bool:
        """Whether a number follows from a rounded one to its last decimal."""
        steps = [0.5 * 10.0 ** -(self.cells[rule.places[i]].decimals or 0) for i in (0, n)]
        numbers, formula = self._numbers(rule), self.formulas[rule.places[0]]
        moved = formula.solved([numbers[0] + steps[0], *numbers[1:]], n)
        return abs(moved - formula.solved(numbers, n)) <= 1.01 * steps[1]

    def _is_odd(self, place: int) -> bool:
        """Whether nearly no other row has so large or so small a number."""
        low, high = self.columns[place].ends_beside(self.row)
        return not low <= self.columns[place].values[self.row] <= high

    def _score(self, place: int) -> float:
        return float(self.scores[place][np.searchsorted(self.cells[place].rows, self.row)])
