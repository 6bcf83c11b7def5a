"""Evidence from other rows with the same values: where a column decides another one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.wrong_cells._columns import Codes, Column, Values, hashes_of

_LEAST_AGREEMENT = 0.75  # of rows with their group, beyond what the frequencies give
_MOST_DETERMINANTS = 40
_MOST_DEPENDENT = 80
_LAST = np.iinfo(np.int64).max
_MOST_GROUPS = 0.8  # groups by reference rows: most of them have one row otherwise


@dataclass(eq=False)
class Contradictions:
    """For each row of a column, how other rows with the same value of another column differ.

    Parameters
    ----------
    strength : ndarray of float
        How well the other column decides this one; 0 if the row contradicts no group.
    ahead : ndarray of float
        How many more rows of the group have the usual value, as a logarithm.
    share : ndarray of float
        The usual value's share of the group.
    n_against, n_for : ndarray of float
        Columns whose groups contradict the value, and whose groups have it as the usual one.
    as_cause : ndarray of float
        Columns that the row's group by this column contradicts: then this cell may be wrong.
    usual : ndarray of int
        The code of the usual value; -1 without a contradiction.
    by : ndarray of int
        The place of the other column; -1 without a contradiction.
    """

    strength: Values
    ahead: Values
    share: Values
    n_against: Values
    n_for: Values
    as_cause: Values
    usual: Codes
    by: Codes

    @classmethod
    def none(cls, n_rows: int) -> "Contradictions":
        """Return no contradictions."""
        strength, ahead, share, n_against, n_for, as_cause = np.zeros((6, n_rows))
        nothing = np.full(n_rows, -1)
        return cls(strength, ahead, share, n_against, n_for, as_cause, nothing, nothing.copy())

    def evidence(self) -> dict[str, Values]:
        """Return it as evidence."""
        return {
            "group strength": self.strength,
            "group ahead": self.ahead,
            "group share": self.share,
            "groups against": self.n_against,
            "groups for": self.n_for,
            "contradicts as cause": self.as_cause,
        }


def find_contradictions(columns: Sequence[Column], reference: Codes) -> list[Contradictions]:
    """Compare every row with the rows that share a value of a column that decides another."""
    n_rows = len(columns[0].codes)
    found = [Contradictions.none(n_rows) for _ in columns]
    determinants = [p for p, column in enumerate(columns) if _may_decide(column, reference)]
    dependents = [p for p, column in enumerate(columns) if _may_depend(column, reference)]
    names = [column.name for column in columns]
    determinants = sorted(determinants, key=lambda p: (len(columns[p].distinct), names[p]))
    for cause in determinants[-_MOST_DETERMINANTS:]:
        for effect in dependents[:_MOST_DEPENDENT]:
            if cause == effect:
                continue
            strength = _strength(columns[cause], columns[effect], reference)
            if strength >= _LEAST_AGREEMENT:
                _compare(columns, cause, effect, strength, found)
    return found


def _may_decide(column: Column, reference: Codes) -> bool:
    own = column.codes[reference]
    n_distinct = len(np.unique(own[own >= 0]))
    return 2 <= n_distinct <= _MOST_GROUPS * len(reference)


def _may_depend(column: Column, reference: Codes) -> bool:
    own = column.codes[reference]
    return 2 <= len(np.unique(own[own >= 0])) <= 0.9 * len(reference)


def _strength(cause: Column, effect: Column, reference: Codes) -> float:
    """Return how often a row agrees with the others of its group, less what chance gives."""
    x, y = cause.codes[reference], effect.codes[reference]
    x, y = x[(x >= 0) & (y >= 0)], y[(x >= 0) & (y >= 0)]
    if len(x) < 20:
        return 0.0
    groups = _Groups.of(x, y, len(cause.distinct), len(effect.distinct))
    several = groups.sizes >= 2
    n_grouped = groups.sizes[several].sum()
    if n_grouped < 0.2 * len(x) or several.sum() < 2:
        return 0.0
    agreeing = groups.most[several] - 1
    share = agreeing.sum() / (groups.sizes[several] - 1).sum()
    base = np.bincount(y).max() / len(y)
    if base > 0.98:
        return 0.0
    return float((share - base) / (1 - base))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows by the value of a cause: sizes, the most frequent effect and how many rows have it."""

    sizes: Codes
    most: Codes
    usual: Codes
    of_pair: Codes  # rows of the pair of values that each row has

    @classmethod
    def of(cls, x: Codes, y: Codes, n_x: int, n_y: int) -> "_Groups":
        pairs, inverse, counts = np.unique(
            x * np.int64(n_y) + y, return_inverse=True, return_counts=True
        )
        cause, effect = pairs // n_y, pairs % n_y
        order = np.lexsort((effect, counts, cause))
        last = np.flatnonzero(np.append(cause[order][1:] != cause[order][:-1], True))
        sizes = np.bincount(x, minlength=n_x)
        most, usual = np.zeros(n_x, dtype=np.int64), np.zeros(n_x, dtype=np.int64)
        at = order[last]
        most[cause[at]], usual[cause[at]] = counts[at], effect[at]
        return cls(sizes, most, usual, counts[inverse])


def _compare(
    columns: Sequence[Column],
    cause: int,
    effect: int,
    strength: float,
    found: list[Contradictions],
) -> None:
    x, y = columns[cause].codes, columns[effect].codes
    rows = np.flatnonzero((x >= 0) & (y >= 0))
    groups = _Groups.of(
        x[rows], y[rows], len(columns[cause].distinct), len(columns[effect].distinct)
    )
    own = x[rows]
    most, size = groups.most[own], groups.sizes[own]
    is_usual = groups.usual[own] == y[rows]
    against = ~is_usual & (most > groups.of_pair)
    theirs = found[effect]
    theirs.n_for[rows[is_usual & (most > 1)]] += 1
    at = rows[against]
    ahead = np.log(most[against] / groups.of_pair[against])
    weight = strength * ahead
    better = weight > theirs.strength[at] * theirs.ahead[at]
    chosen = at[better]
    theirs.strength[chosen] = strength
    theirs.ahead[chosen] = ahead[better]
    theirs.share[chosen] = (most / size)[against][better]
    theirs.usual[chosen] = groups.usual[own[against][better]]
    theirs.by[chosen] = cause
    theirs.n_against[at] += 1
    found[cause].as_cause[at] += 1


def rows_alike(
    columns: Sequence[Column], positions: Codes
) -> tuple[dict[str, npt.NDArray[np.bool_]], Codes]:
    """Find rows that repeat: exactly, and but for a column that should name each row.

    Returns which rows repeat an earlier one by their ``positions``, and the position of the first
    row of each that does. Rows of an earlier table, at negative positions, repeat nothing.
    """
    rest = [column for column in columns if not is_key(column)]
    exact, first = repeats(hashes_of(columns), positions)
    near, first_near = np.zeros(len(exact), dtype=np.bool_), first
    if rest:
        near, first_near = repeats(hashes_of(rest), positions)
    near &= ~exact
    if len(rest) < 4 or near.mean() > 0.05:
        near[:] = False
    if exact.mean() > 0.2:
        exact[:] = False
    return {"repeated": exact, "nearly repeated": near}, np.where(exact, first, first_near)


def is_key(column: Column) -> bool:
    """Whether nearly every row has its own value, as a number of an invoice has."""
    n_present = int(column.present.sum())
    if column.kind == "date" or n_present < 20 or len(column.distinct) < 0.98 * n_present:
        return False
    return not (column.is_number and bool(np.any(column.distinct.astype(np.float64) % 1)))


def repeats(
    hashes: npt.NDArray[np.uint64], positions: Codes
) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Return which rows have the hash of an earlier one by their positions, and the first's."""
    _, inverse = np.unique(hashes, return_inverse=True)
    positions = np.where(positions < 0, _LAST, positions)
    first = np.full(inverse.max(initial=-1) + 1, _LAST)
    np.minimum.at(first, inverse, positions)
    own = first[inverse]
    return own < positions, own
