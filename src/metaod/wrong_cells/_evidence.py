"""The evidence on every cell that has any: a row of features for the learned score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._counting import Counted
from metaod.wrong_cells._dependencies import (
    Contradictions,
    find_contradictions,
    is_key,
    rows_alike,
)
from metaod.wrong_cells._expectation import Expected, association, expected_cells, surprise
from metaod.wrong_cells._formulas import (
    Formula,
    broken_orders,
    find_durations,
    find_formulas,
    find_series,
)
from metaod.wrong_cells._numbers import (
    Residuals,
    Slips,
    extremes_of_rows,
    find_slips,
    known_decimals,
    leads,
    residual_evidence,
    slip_evidence,
)
from metaod.wrong_cells._texts import spellings

LogOdds = Callable[[npt.NDArray[np.float32]], Values]
LOWEST = -7.0
"""The log odds of cells that are not looked at."""

_OF_NUMBERS = (
    "outside", "outside mapped", "rows beyond", "share beyond", "isolation", "isolation mapped",
    "gap", "from mode", "spike", "code", "decimals", "digits", "sign",
    "residual", "local residual", "residual size", "residual rank", "predictability",
    "linear residual", "linear predictability", "signed residual",
    "residual lead", "local residual lead", "linear residual lead",
    "slip decimal", "slip sign", "slip unit", "slip digits", "slip swapped",
    "slip left", "formula", "formula holds", "order", "series",
)  # fmt: skip
_OF_TEXTS = (
    "share", "near frequent", "same folded", "pattern", "coarse pattern", "length", "letters",
    "word", "near word", "blanks", "foreign",
)  # fmt: skip
_OF_BOTH = (
    "count", "rarity", "surprise", "surprise lead", "own probability", "best probability",
    "odds of best", "group strength", "group ahead", "group share", "groups against", "groups for",
    "contradicts as cause", "misfit", "missing", "missing share", "missing in row",
    "key repeated", "repeated", "nearly repeated", "related columns", "rest of row",
)  # fmt: skip
_OF_COLUMNS = ("is number", "is date", "log distinct", "distinct share", "mode share")
_OF_TABLES = ("log rows", "log columns")

FEATURES = (*_OF_NUMBERS, *_OF_TEXTS, *_OF_BOTH, *_OF_COLUMNS, *_OF_TABLES)
"""Names of the features of a cell by itself."""

_PLACES = {name: place for place, name in enumerate(FEATURES)}

# a cell with more of one of these is looked at
_LOOKED_AT = {
    "residual": np.log1p(1.9),
    "local residual": np.log1p(2.4),
    "linear residual": np.log1p(2.2),
    "outside": np.log1p(0.5),
    "isolation": 0.5,
    "isolation mapped": 0.5,
    "from mode": 0.0,
    "slip decimal": 0.5,
    "formula": 0.0,
    "order": 0.0,
    "series": np.log1p(4.0),
    "decimals": 0.5,
    "near frequent": 0.0,
    "same folded": 0.0,
    "pattern": 2.0,
    "coarse pattern": 1.5,
    "length": 3.0,
    "near word": 0.0,
    "blanks": 0.5,
    "foreign": 0.5,
    "surprise": 0.7,
    "group strength": 0.0,
    "contradicts as cause": 1.5,
    "misfit": 0.5,
    "key repeated": 0.5,
    "repeated": 0.5,
    "nearly repeated": 0.5,
}
_MOST_MISSING = 0.005  # of a column whose gaps are looked at
_MOST_RELATED = 3  # columns that may be named as a condition
_MOST_PARTNERS = 64  # columns with which cells may have been exchanged: those that tell most
_RARE_LETTERS = 0.7
_FEW_BEYOND = np.log10(3.5)


@dataclass(frozen=True, eq=False)
class CellEvidence:
    """The cells of a column that are looked at.

    Parameters
    ----------
    column : Column
        The column.
    rows : ndarray of int
        The cells.
    features : ndarray of float32, shape (cells, features)
        Evidence on each, in the order of `FEATURES`.
    alone : ndarray of float
        Log odds that they are wrong, by this evidence.
    expected : Expected
        What their rows lead to expect, of all rows.
    contradictions : Contradictions
        Other rows with the same values.
    formula : Formula or None
        The rule that the column follows.
    slips : Slips
        Slips that would explain numbers.
    better : mapping of int to str
        Better spellings of distinct texts, by code; empty if several texts may be meant.
    unit : float
        The usual residual, on the column's scale.
    related : sequence of int
        The places of the columns that tell most about it.
    copied : ndarray of bool
        Whether all rows hold the value of the row before in time, which few do.
    decimals : int or None
        The decimals of its numbers; None if they have many.
    """

    column: Column
    rows: Codes
    features: npt.NDArray[np.float32]
    alone: Values
    expected: Expected
    contradictions: Contradictions
    formula: Formula | None
    slips: Slips
    better: Mapping[int, str]
    unit: float
    related: Sequence[int]
    copied: npt.NDArray[np.bool_]
    decimals: int | None


@dataclass(frozen=True, eq=False)
class TableEvidence:
    """The evidence on a table: of each column, which rows repeat others, what counting shows."""

    cells: list[CellEvidence]
    first_alike: Codes
    counted: Counted
    n_rows: int


def gather(
    columns: Sequence[Column],
    positions: Codes,
    reference: Codes,
    seed: int,
    log_odds: LogOdds,
    n_jobs: int | None = None,
) -> TableEvidence:
    """Return the evidence on the cells of a table; trees learn from the reference rows.

    ``positions`` are those of the rows in the table: the first of rows that are alike is right.
    ``log_odds`` tells from their features how likely cells are wrong; the least likely are dropped.
    """
    n_rows = len(columns[0].codes)
    bins = np.stack([column.bins(reference) for column in columns])
    weights = association(columns, bins, reference)
    expected = expected_cells(columns, bins, weights, reference, seed, n_jobs)
    contradictions = find_contradictions(columns, reference)
    formulas = find_durations(columns, reference)
    formulas |= find_formulas(columns, weights, reference, seed)
    orders = broken_orders(columns, weights, reference)
    series, copies = find_series(columns)
    alike, first_alike = rows_alike(columns, positions)
    # rows are named by a key, or by anything but a date
    ranks = [(not is_key(column), column.kind == "date", column.name) for column in columns]
    naming = ranks.index(min(ranks))
    texts = {p: spellings(own) for p, own in enumerate(columns) if not own.is_number}
    better = {place: own for place, (_, own) in texts.items()}
    counted = Counted.of(
        columns, weights, positions, reference, alike, naming, formulas, contradictions, better
    )
    missing_in_row = np.sum([~column.present for column in columns], axis=0)
    residuals = [
        Residuals.of(column, own.place, reference)
        for column, own in zip(columns, expected, strict=True)
    ]
    deviations = np.column_stack(
        [_deviations(*own) for own in zip(columns, expected, residuals, strict=True)]
    )
    related = deviations @ (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)).T
    rest = (deviations.sum(axis=1, keepdims=True) - deviations) / max(len(columns) - 1, 1)
    shape = {"log rows": np.log(n_rows), "log columns": np.log(len(columns))}
    cells = []
    for place, column in enumerate(columns):
        own: dict[str, Values | float] = {
            **shape,
            **_of_column(column, positions >= 0),
            **contradictions[place].evidence(),
            # a row that repeats is shown at one column
            **{name: np.float64(place == naming) * which for name, which in alike.items()},
            "order": orders[place],
            "series": series[place],
            "missing in row": missing_in_row,
            "related columns": related[:, place],
            "rest of row": rest[:, place],
        }
        if (formula := formulas.get(place)) is not None:
            own |= formula.evidence()
        if len(surprises := surprise(expected[place])):
            own |= surprises
            size = np.maximum(surprises["surprise"], 0.0)
            own["surprise lead"] = leads(size, column.present, 1.0)[1]
        related_to = np.argsort(-weights[place], kind="stable").tolist()
        slips = Slips(np.empty(0, dtype=np.int64))
        if column.is_number:
            own |= extremes_of_rows(column)
            own |= residual_evidence(column, expected[place], residuals[place], reference)
            odd = np.maximum(np.asarray(own["residual"]), np.asarray(own["outside"]))
            partners = related_to[:_MOST_PARTNERS]
            slips = find_slips(columns, expected, residuals, place, partners, odd)
            own |= slip_evidence(slips, residuals[place].sizes)
        else:
            of_distinct, _ = texts[place]
            own |= {name: column.spread(values, 0.0) for name, values in of_distinct.items()}
        shown = counted.cells(place)
        rows = np.union1d(_looked_at(column, own), shown)
        features = np.zeros((len(rows), len(FEATURES)), dtype=np.float32)
        for name, values in own.items():
            is_scalar = np.ndim(values) == 0
            features[:, _PLACES[name]] = values if is_scalar else np.asarray(values)[rows]
        alone = log_odds(features)
        kept = (alone > LOWEST) | np.isin(rows, shown)
        cells.append(
            CellEvidence(
                column, rows[kept], features[kept], alone[kept], expected[place],
                contradictions[place], formulas.get(place), slips, better.get(place, {}),
                residuals[place].unit, related_to[:_MOST_RELATED], copies[place],
                known_decimals(column),
            )
        )  # fmt: skip
    return TableEvidence(cells, first_alike, counted, n_rows)


def _deviations(
    column: Column, expected: Expected, residuals: Residuals
) -> npt.NDArray[np.float32]:
    """Return how far each cell is from what is expected; 0 if it is missing."""
    if len(expected.place):
        return np.log1p(residuals.sizes).astype(np.float32)
    found = np.maximum(surprise(expected).get("surprise", np.zeros(len(column.codes))), 0)
    return np.where(column.present, found, 0).astype(np.float32)


def _of_column(column: Column, is_new: npt.NDArray[np.bool_]) -> dict[str, Values | float]:
    n_rows, n_present = len(column.codes), max(int(column.present.sum()), 1)
    uses = np.bincount(column.codes[is_new & column.present], minlength=len(column.distinct))
    repeats = column.spread(uses > 1, False)
    surprisal = -np.log(np.maximum(column.counts, 1) / n_present)
    rarity = surprisal - float((column.counts / n_present) @ surprisal)
    return {
        "is number": float(column.is_number),
        "is date": float(column.kind == "date"),
        "log distinct": float(np.log1p(len(column.distinct))),
        "distinct share": len(column.distinct) / n_present,
        "mode share": float(column.counts.max(initial=0)) / n_present,
        "count": column.spread(np.log(np.maximum(column.counts, 1)), 0.0),
        "rarity": column.spread(rarity, 0.0),
        "misfit": column.misfitting.astype(np.float64),
        "missing": (~column.present & ~column.misfitting).astype(np.float64),
        "missing share": 1 - n_present / n_rows,
        "key repeated": repeats * float(is_key(column)),
    }


def _looked_at(column: Column, own: Mapping[str, Values | float]) -> Codes:
    """Return the cells with any evidence that they are wrong."""
    n_rows = len(column.codes)
    found = np.zeros(n_rows, dtype=np.bool_)
    for name, least in _LOOKED_AT.items():
        if name in own:
            found |= np.asarray(own[name]) > least
    if column.is_number:
        found |= (np.asarray(own["rows beyond"]) <= _FEW_BEYOND) & column.present
        found |= np.asarray(own["code"]) > 1
    else:
        found |= (np.asarray(own["letters"]) < _RARE_LETTERS) & column.present
    missing = ~column.present & ~column.misfitting
    found &= ~missing
    if missing.sum() <= max(1, _MOST_MISSING * n_rows):
        found |= missing
    return np.flatnonzero(found)
