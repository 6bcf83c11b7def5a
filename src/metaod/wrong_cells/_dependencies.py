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
_MOST_VALUES = 0.9  # of a column that depends on others, by reference rows
_FEWEST_ROWS = 20
_MOST_USUAL = 0.98  # of the rows have one value: nothing is left to decide


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
    present = [np.unique(own.codes[reference[own.present[reference]]]) for own in columns]
    shares = [len(own) / len(reference) if len(own) > 1 else np.inf for own in present]
    determinants = [place for place, share in enumerate(shares) if share <= _MOST_GROUPS]
    determinants.sort(key=lambda place: (len(columns[place].distinct), columns[place].name))
    dependents = [place for place, share in enumerate(shares) if share <= _MOST_VALUES]
    for cause in determinants[-_MOST_DETERMINANTS:]:
        for effect in dependents[:_MOST_DEPENDENT]:
            if cause == effect:
                continue
            strength = _Groups.of(columns[cause], columns[effect], reference).strength
            if strength >= _LEAST_AGREEMENT:
                _compare(columns, cause, effect, strength, found)
    return found


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows by the value of a cause: sizes, the most frequent effect and how many rows have it."""

    rows: Codes  # those with both values
    causes: Codes  # their values
    effects: Codes
    sizes: Codes
    most: Codes
    usual: Codes
    of_pair: Codes  # rows of the pair of values that each row has

    @classmethod
    def of(cls, cause: Column, effect: Column, rows: Codes) -> "_Groups":
        """Group those of the rows that have both values."""
        rows = rows[cause.present[rows] & effect.present[rows]]
        x, y = cause.codes[rows], effect.codes[rows]
        n_x, n_y = len(cause.distinct), len(effect.distinct)
        pairs, inverse, counts = np.unique(
            x * np.int64(n_y) + y, return_inverse=True, return_counts=True
        )
        order = np.lexsort((pairs % n_y, counts, pairs // n_y))
        is_last = np.diff(pairs[order] // n_y, append=-1) != 0
        at = order[is_last]
        most, usual = np.zeros((2, n_x), dtype=np.int64)
        most[pairs[at] // n_y], usual[pairs[at] // n_y] = counts[at], pairs[at] % n_y
        return cls(rows, x, y, np.bincount(x, minlength=n_x), most, usual, counts[inverse])

    @property
    def strength(self) -> float:
        """How often a row agrees with the others of its group, less what chance gives."""
        if len(self.rows) < _FEWEST_ROWS:
            return 0.0
        several = self.sizes >= 2
        sizes = self.sizes[several]
        base = np.bincount(self.effects).max() / len(self.rows)
        if sizes.sum() < 0.2 * len(self.rows) or len(sizes) < 2 or base > _MOST_USUAL:
            return 0.0
        share = (self.most[several] - 1).sum() / (sizes - 1).sum()
        return float((share - base) / (1 - base))


def _compare(
    columns: Sequence[Column],
    cause: int,
    effect: int,
    strength: float,
    found: list[Contradictions],
) -> None:
    groups = _Groups.of(columns[cause], columns[effect], np.arange(len(columns[cause].codes)))
    own = groups.causes
    most, size, usual = groups.most[own], groups.sizes[own], groups.usual[own]
    is_usual = usual == groups.effects
    against = ~is_usual & (most > groups.of_pair)
    theirs = found[effect]
    theirs.n_for[groups.rows[is_usual & (most > 1)]] += 1
    at = groups.rows[against]
    ahead = np.log(most[against] / groups.of_pair[against])
    better = strength * ahead > theirs.strength[at] * theirs.ahead[at]
    chosen = at[better]
    theirs.strength[chosen] = strength
    theirs.ahead[chosen] = ahead[better]
    theirs.share[chosen] = (most / size)[against][better]
    theirs.usual[chosen] = usual[against][better]
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
    near, first_near = repeats(hashes_of(rest or columns), positions)
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
