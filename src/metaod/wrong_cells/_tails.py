"""Numbers that lie in the tail of their column and show nothing else: rare, but not wrong."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from metaod.wrong_cells._columns import Column, Values
from metaod.wrong_cells._evidence import FEATURES, CellEvidence
from metaod.wrong_cells._numbers import extremes_of_rows, leads

_USUAL, _ORDER = 0.2, 0.05  # scores of a tail end between them and their sum, in their order
_UNPREDICTABLE = 0.8  # of the spread of a column is left by its prediction
_APART = 0.5  # isolation of a number that a gap separates from others
_MANY = 0.1  # of the numbers: what so many share is not apart
_MIRRORED = 20  # times as many numbers as small of the usual sign as of the other
_FEWEST_BESIDE, _MOST_BESIDE = 0.03, 0.5  # of the rows, beside a value that most have
_OTHER_SIGNS = (
    "misfit", "missing", "formula", "order", "group ahead", "key repeated", "repeated",
    "nearly repeated", "decimals",
)  # fmt: skip

Marks = npt.NDArray[np.bool_]


def without_tails(scores: Values, cells: CellEvidence) -> Values:
    """Return the scores of a column's cells; those of a tail are no findings."""
    if cells.column.kind != "number" or not len(cells.rows) or not len(cells.column.distinct):
        return scores
    return np.where(_are_of_tails(cells), np.minimum(scores, _USUAL + _ORDER * scores), scores)


def _are_of_tails(cells: CellEvidence) -> Marks:
    """Tell which numbers the row does not predict, no gap separates and nothing else marks.

    Beside a value that most rows have, numbers are compared with each other.
    """
    own = dict(zip(FEATURES, cells.features.T, strict=True))
    linear = own["linear predictability"]  # 0 without a linear model
    left = np.minimum(own["predictability"], np.where(linear > 0, linear, np.inf))
    is_plain = left >= _UNPREDICTABLE
    mode = int(cells.column.counts.argmax())
    n_beside = cells.column.below[-1] - cells.column.counts[mode]
    if _FEWEST_BESIDE <= n_beside / cells.column.below[-1] <= _MOST_BESIDE:
        is_beside = cells.column.codes[cells.rows] != mode
        of_rows = extremes_of_rows(_without(cells.column, mode))
        own |= {name: values[cells.rows] for name, values in of_rows.items()}
        n_beyond, lead = leads(np.expm1(own["residual"]), is_beside, 1.0)
        is_plain = is_beside & ((lead < _APART) | (n_beyond >= _MANY * n_beside))
    isolation = np.maximum(own["isolation"], own["isolation mapped"])
    isolation[own["share beyond"] >= np.log10(_MANY)] = 0.0
    is_near = _of_inner(isolation, cells) < _APART
    is_marked = np.any([own[name] > 0 for name in _OTHER_SIGNS], axis=0)
    is_plain &= is_near & ~is_marked & ~((own["code"] > 0) & (own["spike"] > 0))
    return np.asarray(is_plain & ~_have_odd_sign(cells.column, cells.column.values[cells.rows]))


def _of_inner(isolation: Values, cells: CellEvidence) -> Values:
    """Return the largest isolation of numbers between each and the middle: of groups as a whole."""
    values = cells.column.values[cells.rows]
    side = np.sign(values - cells.column.scale.middle_value)
    order = np.argsort(np.abs(values - cells.column.scale.middle_value), kind="stable")
    found = np.zeros(len(values))
    for own in (order[side[order] < 0], order[side[order] > 0]):
        found[own] = np.maximum.accumulate(isolation[own])
    return found


def _without(column: Column, code: int) -> Column:
    """Return a column in which a value is missing."""
    codes = np.where(column.codes == code, -1, column.codes - (column.codes > code))
    return replace(column, codes=codes, distinct=np.delete(column.distinct, code))


def _have_odd_sign(column: Column, values: Values) -> Marks:
    """Tell which numbers have the rarer sign, and far more numbers as small have the other one."""
    known = np.sort(column.values[column.present])
    sign = -1.0 if len(known) and known[len(known) // 2] < 0 else 1.0
    ordered, values = np.sort(sign * known), sign * values
    first, last = (np.searchsorted(ordered, 0.0, side=side) for side in ("left", "right"))
    n_between = first - np.searchsorted(ordered, values, side="right")
    n_mirrored = np.searchsorted(ordered, -values, side="right") - last
    return np.asarray((values < 0) & (n_mirrored >= _MIRRORED * (n_between + 1)))
