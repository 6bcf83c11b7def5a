"""Patterns: cells that are wrong, or rows that are unusual, in the same way.

What a cell or a row shares with others is a sign of it. Of all signs the one that most have is a
pattern, then the one that most of the others have, and so on.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom

from metaod.errors import counted, cut_name, listed
from metaod.wrong_cells._findings import KINDS, Finding, certainty, short

_SHOWN_VALUES = 5
_FEWEST_TOGETHER = 3
_LONGEST_STEP = 3  # from a row of a run to the next one
_NEARLY_ALL, _FEW = 0.9, 0.3  # of a pattern's rows and of all rows have a shared value
_BY_CHANCE = 1e-3
_LIKE_A_SLIP = 0.02  # of the cells that break a rule, by chance
_MOST_LEVELS, _MOST_COMPARED = 20, 20_000

Form = Literal["slip", "exchanged", "code", "value", "run", "kind", "column", "reasons"]
_WEIGHTS = {"run": 1.1, "kind": 0.8, "column": 0.5}  # of what says more or less than a slip
_FEWEST_ROWS = {"kind": 3, "column": 5}  # of signs under which different errors may be told as one


class Sign(NamedTuple):
    """What cells or rows share: a form, its key, and how much it counts for each of them."""

    form: Form
    key: tuple[Any, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Pattern:
    """Cells that are wrong, or rows that are unusual, in the same way; or one finding alone.

    Parameters
    ----------
    rows : tuple of int
        The rows, counted from 0, the most certain first.
    columns : tuple of str
        The columns of what is wrong or unusual.
    what : str
        What the rows share.
    findings : tuple of Finding
        The wrong cells, the most certain first; none of unusual rows.
    where : str
        A run of rows, or a value of another column that nearly all of the rows have and few others.
    """

    rows: tuple[int, ...]
    columns: tuple[str, ...]
    what: str
    findings: tuple[Finding, ...] = ()
    where: str = ""

    @property
    def kind(self) -> str:
        """The kind of most findings, a key of `KINDS`; "unusual" of unusual rows."""
        return _commonest(self.findings) if self.findings else "unusual"

    @property
    def score(self) -> float:
        """The mean probability that a cell is wrong; 0 of unusual rows."""
        return float(np.mean([own.score for own in self.findings])) if self.findings else 0.0

    @property
    def certainty(self) -> str:
        """The score in words."""
        return certainty(self.score)

    def sentence(self) -> str:
        """Describe the pattern in a line.

        Examples
        --------
        >>> found = [Finding(row, "q3", 99, "1 to 5", "code", 0.9) for row in (4, 7)]
        >>> print(find_patterns(found)[0].sentence())
        2 rows: 99 in 'q3'; 1 to 5 would be usual; looks like a code for missing
        """
        if len(self.rows) == 1 and self.findings:
            return "; ".join(own.sentence() for own in self.findings)
        n_rows, n_cells = len(self.rows), len(self.findings)
        count = counted(n_rows, "row") if n_cells <= n_rows else counted(n_cells, "cell")
        if self.where.startswith("rows "):
            return f"{self.where}: {self.what}"
        return f"{count}{' ' if self.where else ''}{self.where}: {self.what}"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, without the findings; rows are counted from 1."""
        rows, words = [row + 1 for row in self.rows], {"what": self.what, "where": self.where}
        known = {"kind": self.kind, "score": self.score, "sentence": self.sentence(), **words}
        return {**known, "columns": list(self.columns), "rows": rows}


def find_patterns(findings: Sequence[Finding]) -> tuple[Pattern, ...]:
    """Return patterns of findings, and the others one by one: those that hold most errors first."""
    signs: dict[Sign, list[int]] = {}
    for place, own in enumerate(findings):
        for sign in _signs(own):
            signs.setdefault(sign, []).append(place)
    for sign, places in list(signs.items()):
        if sign.form == "column":
            signs |= _runs(sign.key, places, findings)
    left = set(range(len(findings)))
    found = []
    for sign, places in choose(signs, [own.row for own in findings]):
        left.difference_update(places)
        found.append(_pattern(sign, [findings[place] for place in places]))
    singles = (findings[place] for place in sorted(left))
    found += [Pattern((own.row,), (own.column,), own.reason(), (own,)) for own in singles]
    return tuple(sorted(found, key=lambda own: -sum(each.score for each in own.findings)))


def together(cells: Sequence[Finding], n_rows: int) -> set[int]:
    """Return the places of uncertain cells that are findings as so many are hardly alike by chance.

    They are suspicious cells of neighbouring rows in a column, or cells that break a rule by the
    same factor or lack the same part.

    Parameters
    ----------
    cells : sequence of Finding
        All suspicious cells of a table.
    n_rows : int
        Its rows.
    """
    found: set[int] = set()
    columns: dict[str, list[int]] = {}
    slips: dict[tuple[str, str], list[int]] = {}
    for place, own in enumerate(cells):
        if own.kind != "pattern":  # numbered names are written alike in neighbouring rows
            columns.setdefault(own.column, []).append(place)
        if own.kind == "formula":
            slips.setdefault((own.column, own.slip), []).append(place)
    n_broken = Counter(own.column for own in cells if own.kind == "formula")
    explained: set[int] = set()  # rows: a broken rule is one error, in whichever column it is seen
    # a total without tax can be told as a net amount plus tax; the former is the usual mistake
    order = sorted(slips.items(), key=lambda item: (item[0][1].startswith("plus"), -len(item[1])))
    for (column, slip), places in order:
        new = [place for place in places if cells[place].row not in explained]
        chance = binom.sf(len(new) - 1, n_broken[column], _LIKE_A_SLIP)
        if slip and len(new) >= _FEWEST_TOGETHER and chance <= _BY_CHANCE:
            found.update(new)
            explained.update(cells[place].row for place in new)
    for column, places in columns.items():
        beside = 1 - (1 - len(places) / n_rows) ** _LONGEST_STEP
        for run in _runs((column,), places, cells).values():
            if n_rows * beside ** (len(run) - 1) <= _BY_CHANCE:
                found.update(run)
    return found


def choose(
    signs: Mapping[Sign, Sequence[int]], rows: Sequence[int]
) -> Iterator[tuple[Sign, list[int]]]:
    """Yield the sign that most members share, then that of most of the others; a few rows at least.

    Parameters
    ----------
    signs : mapping of Sign to sequence of int
        The places of the members that have each sign.
    rows : sequence of int
        The row of each member.
    """
    free = [True] * len(rows)
    heap = [(-own.weight * len(places), i, own) for i, (own, places) in enumerate(signs.items())]
    heapify(heap)
    while heap:
        worth, order, sign = heappop(heap)
        places = [place for place in signs[sign] if free[place]]
        if len({rows[place] for place in places}) < _FEWEST_ROWS.get(sign.form, 2):
            continue
        if (now := -sign.weight * len(places)) > worth:  # others have taken some
            heappush(heap, (now, order, sign))
            continue
        for place in places:
            free[place] = False
        yield sign, places


def _signs(own: Finding) -> Iterator[Sign]:
    if own.kind == "swapped" and own.slip:
        pair = sorted((own.column, own.slip.removeprefix("with ")))
        yield Sign("exchanged", tuple(pair))
    elif own.slip:
        yield Sign("slip", (own.column, own.slip))
    if own.kind == "code":
        yield Sign("code", (short(own.value),))
    elif own.kind not in ("missing", "duplicate"):
        yield Sign("value", (own.column, short(own.value)))
    if own.kind != "formula":  # such cells have unrelated causes if they share no slip
        yield Sign("kind", (own.column, own.kind), _WEIGHTS["kind"])
    yield Sign("column", (own.column,), _WEIGHTS["column"])


def _runs(
    key: tuple[Any, ...], places: Sequence[int], cells: Sequence[Finding]
) -> dict[Sign, list[int]]:
    """Return the runs of neighbouring rows among cells of a column."""
    order = np.array(sorted(places, key=lambda place: cells[place].row))
    rows = np.array([cells[place].row for place in order.tolist()])
    runs = np.split(order, np.flatnonzero(np.diff(rows) > _LONGEST_STEP) + 1)
    kept = (sorted(own.tolist()) for own in runs if len(own) >= _FEWEST_TOGETHER)
    return {Sign("run", (*key, own[0]), _WEIGHTS["run"]): own for own in kept}


def _pattern(sign: Sign, findings: Sequence[Finding]) -> Pattern:
    rows = tuple(dict.fromkeys(own.row for own in findings))
    columns = tuple(dict.fromkeys(own.column for own in findings))
    what, where = "", ""
    if sign.form == "slip":
        what = " ".join(map(cut_name, sign.key))
    elif sign.form == "exchanged":
        what, columns = f"{' and '.join(sign.key)} exchanged", sign.key
    else:
        what = _values_and_reason(findings, columns)
    if sign.form == "run":
        least, most = min(rows), max(rows)
        where = f"rows {least + 1:,} to {most + 1:,}"
        if len(rows) == most - least + 1 and len({short(own.value) for own in findings}) == 1:
            first = findings[0]
            state = "missing" if first.value is None else f"stuck at {first.text}"
            what = f"{cut_name(columns[0])} {state}"
    return Pattern(rows, columns, what, tuple(findings), where)


def _values_and_reason(findings: Sequence[Finding], columns: Sequence[str]) -> str:
    """Name the values of a pattern, and what is wrong with them."""
    kind = KINDS[_commonest(findings)]
    if all(own.kind == "missing" and not own.written for own in findings):
        return f"{listed(columns)} {kind}"
    values = list(dict.fromkeys(own.text for own in findings))
    if len(values) > 1:
        shown = ", ".join(values[:_SHOWN_VALUES]) + (", ..." if len(values) > _SHOWN_VALUES else "")
        return f"{listed(columns)} ({shown}); {kind}"
    reasons = {own.reason() for own in findings}
    return f"{values[0]} in {listed(columns)}; {kind if len(reasons) > 1 else reasons.pop()}"


def _commonest(findings: Sequence[Finding]) -> str:
    return Counter(own.kind for own in findings).most_common(1)[0][0]


# the value of another column that the rows of a pattern share


def with_shared_values(
    patterns: Sequence[Pattern],
    frame: pd.DataFrame,
    rows_of: Callable[[list[int]], pd.DataFrame],
) -> tuple[Pattern, ...]:
    """Name the category that nearly all rows of a pattern have and few others.

    Parameters
    ----------
    patterns : sequence of Pattern
        The patterns; runs and those of few rows stay as they are.
    frame : DataFrame
        The table, or a sample of it.
    rows_of : callable
        Returns rows by their positions, with the frame's columns.
    """
    wanted = sorted({row for own in patterns if _is_wide(own) for row in own.rows})
    if not wanted:
        return tuple(patterns)
    sample = frame.iloc[:: -(-len(frame) // _MOST_COMPARED)]
    categories = [name for name in sample if _is_category(sample[name])]
    shares = {name: sample[name].value_counts(normalize=True) for name in categories}
    values = rows_of(wanted)[categories].set_axis(wanted)
    return tuple(
        replace(own, where=_shared(own, values, shares)) if _is_wide(own) else own
        for own in patterns
    )


def _is_wide(own: Pattern) -> bool:
    return len(own.rows) >= _FEWEST_TOGETHER and not own.where


def _is_category(values: "pd.Series[Any]") -> bool:
    return values.dtype.kind in "Ob" or values.nunique() <= _MOST_LEVELS


def _shared(own: Pattern, values: pd.DataFrame, shares: "Mapping[Any, pd.Series[float]]") -> str:
    least, found = log(_BY_CHANCE / max(len(shares), 1)), ""
    for name in (name for name in shares if name not in own.columns):
        counts = values.loc[list(own.rows), name].value_counts()
        n_alike = int(counts.iloc[0]) if len(counts) else 0
        share = float(shares[name].get(counts.index[0], 0.0)) if n_alike else 1.0
        if n_alike < _NEARLY_ALL * len(own.rows) or not 0 < share <= _FEW:
            continue
        if n_alike * log(share) < least:
            least, found = n_alike * log(share), f"with {cut_name(name)} {short(counts.index[0])}"
    return found
