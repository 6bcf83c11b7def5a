"""Find the wrong cells of a table: evidence for every cell, a learned score, and findings."""

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables import Given, Table, read_table
from metaod.wrong_cells._columns import (
    Codes,
    Column,
    Values,
    are_near,
    canonical_order,
    columns_of,
    in_order,
    joined,
    moved,
)
from metaod.wrong_cells._culprits import blamed
from metaod.wrong_cells._description import describe
from metaod.wrong_cells._evidence import FEATURES, CellEvidence, TableEvidence, gather
from metaod.wrong_cells._findings import CONFIDENT, LEAST_SCORE, Finding, WrongCells
from metaod.wrong_cells._patterns import together
from metaod.wrong_cells._scorer import Scorer, log_odds
from metaod.wrong_cells._tails import without_tails

REFERENCE_ROWS = 20_000
"""Rows that trees learn from; more rows are drawn by their content."""

KEPT_ROWS = 5_000
"""Rows that a finder keeps, to compare later rows with them."""

_FEWEST_ROWS = 10
_STUCK = np.log(100.0)  # nats: so long a run is in one of 100 tables
_MOST_CERTAIN = 0.95
_OF_WRITING = (
    "near frequent",
    "same folded",
    "near word",
    "blanks",
    "foreign",
    "misfit",
    "missing",
)
_OF_OTHERS = ("formula", "dependency", "decimal", "sign", "unit", "digits", "category")
"""Kinds of findings that depend on the other cells of the row."""
_MOST_COLUMNS = 2_000
_MOST_CELLS = 20_000  # that are described
_COLUMNS = ["row", "column", "value", "expected", "kind", "why", "slip", "suggestion", "score"]


class WrongCellFinder:
    """Learns what is usual in a table, and finds its wrong cells and those of later rows.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the trees.
    scorer : Scorer, optional
        The learned score; by default the one of the package.
    n_jobs : int or None, default=None
        Threads; -1 for one per core. The scores do not depend on it.

    Attributes
    ----------
    reference_ : Table
        The rows that later ones are compared with.
    """

    reference_: Table
    _given: Given | None
    _fitted: tuple[Table, Sequence[Column], Codes, Given | None]

    def __init__(
        self, random_state: int = 0, scorer: Scorer | None = None, n_jobs: int | None = None
    ) -> None:
        self.random_state = random_state
        self.scorer = scorer
        self.n_jobs = n_jobs

    def fit(self, table: Table, given: Given | None = None) -> Self:
        """Learn what is usual in the table, given its rows' context."""
        columns = columns_of(table, given)
        order = canonical_order(columns)
        kept = np.sort(order[:KEPT_ROWS])
        self.reference_, self._given = table.take(kept), given and given.take(kept)
        self._fitted = table, columns, order, given
        self.__dict__.pop("found_", None)
        return self

    @cached_property
    def found_(self) -> WrongCells:
        """What is probably wrong in the fitted table; looked for when it is first asked for."""
        table, columns, order, given = self._fitted
        reference = np.arange(min(len(order), REFERENCE_ROWS))
        found = with_stuck(self._find(table, columns, order, reference, given), table, given)
        del self._fitted
        return found

    def find(
        self, table: Table, given: Given | None = None, moving: Container[str] = ()
    ) -> WrongCells:
        """Find the wrong cells of later rows, beside the rows of the fitted table.

        Columns that the rows lack are not looked at. Dates in `moving` columns are all later by
        some days. If there is one such column, without another date to compare with, only dates
        far from those of the other rows are findings.
        """
        frame = self.reference_.frame
        known = replace(self.reference_, frame=frame[[n for n in frame if n in table.frame]])
        new = columns_of(table, given)
        columns = joined(moved(columns_of(known, self._given), new, moving), new)
        n_known = self.reference_.n_rows
        order = canonical_order(columns)
        reference = np.flatnonzero(order < n_known)
        dates = [own.name for own in new if own.kind == "date" and own.present.any()]
        alone = dates[0] if len(dates) == 1 and dates[0] in moving else ""
        found = self._find(table, columns, order, reference, given, n_known, alone)
        return with_stuck(found, table, given)

    def _find(
        self,
        table: Table,
        columns: Sequence[Column],
        order: Codes,
        reference: Codes,
        given: Given | None,
        n_known: int = 0,
        later_dates: str = "",
    ) -> WrongCells:
        """Find wrong cells; the first ``n_known`` rows are those of an earlier table.

        Of the column of later dates only those far from the others can be wrong by themselves.
        """
        row_scores = np.zeros(table.n_rows)
        if len(order) < _FEWEST_ROWS or len(columns) > _MOST_COLUMNS:
            return WrongCells(_frame([]).assign(together=False), row_scores)
        canonical = in_order(sorted(columns, key=lambda column: column.name), order)
        scorer = self.scorer or Scorer.shipped()
        positions = order - n_known
        alone = partial(log_odds, scorer.alone, n_jobs=self.n_jobs)
        evidence = gather(canonical, positions, reference, self.random_state, alone, self.n_jobs)
        hidden = _beyond_sides(evidence, given)
        if hidden:  # a number on a side that does not count is no evidence on other cells either
            canonical = [
                own.without(hidden[own.name]) if own.name in hidden else own for own in canonical
            ]
            evidence = gather(
                canonical, positions, reference, self.random_state, alone, self.n_jobs
            )
        learned = list(map(without_tails, scorer.score(evidence, self.n_jobs), evidence.cells))
        for own, cells in zip(learned, evidence.cells, strict=True):
            if cells.column.name == later_dates:
                is_near = are_near(cells.column.values, order >= n_known)
                own[is_near[cells.rows]] = 0.0
        learned, corrections = blamed(learned, canonical, evidence)
        scores = evidence.counted.raised(learned, [own.rows for own in evidence.cells], CONFIDENT)
        places = [
            np.flatnonzero(
                (own >= LEAST_SCORE)
                & (order[cells.rows] >= n_known)
                & _counts(cells, given)
                & ~np.isin(cells.rows, hidden.get(cells.column.name, ()))
            )
            for own, cells in zip(scores, evidence.cells, strict=True)
        ]
        second = np.zeros(table.n_rows)  # the probability of a row's second most suspicious cell
        for own, cells, at in zip(scores, evidence.cells, places, strict=True):
            rows = order[cells.rows[at]] - n_known
            second[rows] = np.maximum(second[rows], np.minimum(row_scores[rows], own[at]))
            row_scores[rows] = np.maximum(row_scores[rows], own[at])
        row_scores += (1 - row_scores) * second
        records: list[tuple[Any, ...]] = []
        for place, chosen in enumerate(_most_suspicious(scores, places)):
            column, rows = evidence.cells[place].column, evidence.cells[place].rows[chosen]
            positions = order[rows] - n_known
            values = _values(table, column, positions, rows)
            words = describe(evidence, canonical, place, chosen, corrections)
            parts = zip(positions.tolist(), values, words, scores[place][chosen], strict=True)
            records += [(row, column.name, value, *own, score) for row, value, own, score in parts]
        found = _frame(records).sort_values(
            ["score", "row", "column"], ascending=[False, True, True], ignore_index=True
        )
        found.loc[_alternatives(found), "suggestion"] = None
        described: list[Any] = found.to_dict("records")
        alike = together([Finding(**own) for own in described], table.n_rows)
        mended = {(int(order[row]) - n_known, canonical[place].name) for place, row in corrections}
        is_mended = pd.MultiIndex.from_frame(found[["row", "column"]]).isin(mended)
        is_explained = found["row"].isin([row for row, _ in mended]) & ~is_mended
        found["together"] = found.index.isin(alike) & ~is_explained
        return WrongCells(found, row_scores)


def _beyond_sides(evidence: TableEvidence, given: Given | None) -> dict[str, Codes]:
    """Return the suspicious numbers on a side that does not count, by column."""
    found = {}
    for own in evidence.cells if given is not None else ():
        side = given.context.side(own.column.name) if given is not None else 0
        rows = own.rows[(side or 0) * own.features[:, FEATURES.index("signed residual")] < 0]
        if len(rows):
            found[own.column.name] = rows
    return found


def _counts(cells: CellEvidence, given: Given | None) -> npt.NDArray[np.bool_]:
    """Tell which cells the user wants to be judged; of groups only how they are written."""
    name, features = cells.column.name, cells.features
    side = 0 if given is None else given.context.side(name)
    if side is None:
        return np.zeros(len(features), dtype=np.bool_)
    if given is not None and name in given.context.by:
        written = [FEATURES.index(own) for own in _OF_WRITING]
        return np.asarray((features[:, written] > 0).any(axis=1))
    return np.asarray(side * features[:, FEATURES.index("signed residual")] >= 0)


def with_stuck(found: WrongCells, table: Table, given: Given | None) -> WrongCells:
    """Add the numbers that stay the same for longer than chance explains."""
    if given is None or not (given.stuck > _STUCK).any():
        return found
    records, row_scores = [], found.row_scores.copy()
    for place, name in enumerate(given.context.names):
        rows = np.flatnonzero(given.stuck[:, place] > _STUCK)
        if given.context.side(name) is None:
            continue
        scores = np.minimum(1 - np.exp(-given.stuck[rows, place]), _MOST_CERTAIN)
        row_scores[rows] = np.maximum(row_scores[rows], scores)
        values = table.frame[name].iloc[rows].tolist()
        parts = zip(rows.tolist(), values, given.runs[rows, place].tolist(), scores, strict=True)
        for row, value, run, score in parts:
            why = f"unchanged for {run:,} rows"
            text = table.text(name, row) or value
            records.append((row, name, text, "", "stuck", why, "", None, score))
    stuck = _frame(records).assign(together=False)
    cells = pd.concat([own for own in (found.cells, stuck) if len(own)]).sort_values(
        ["score", "row", "column"], ascending=[False, True, True], ignore_index=True
    )
    return WrongCells(cells.drop_duplicates(["row", "column"], ignore_index=True), row_scores)


def _alternatives(cells: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Tell which corrections would fix again what a more certain one in their row fixes.

    If numbers contradict each other or a rule, one of them is wrong. Cells are in the order of
    their scores.
    """
    own = cells[cells["kind"].isin(_OF_OTHERS) & cells["suggestion"].notna()]
    is_rule = own["kind"].isin(("formula", "dependency")).groupby(own["row"]).transform("any")
    return np.asarray(cells.index.isin(own.index[is_rule & own.duplicated("row")]))


def _frame(records: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Return the described cells; values and suggestions stay as they are."""
    cells = pd.DataFrame(records, columns=_COLUMNS, dtype=object)
    return cells.astype({"row": np.int64, "score": np.float64})


def _most_suspicious(scores: Sequence[Values], places: Sequence[Codes]) -> list[Codes]:
    """Keep the cells that are described: not more than a table of them can be looked at."""
    kept = np.concatenate([own[at] for own, at in zip(scores, places, strict=True)])
    if len(kept) <= _MOST_CELLS:
        return list(places)
    least = np.partition(kept, len(kept) - _MOST_CELLS)[len(kept) - _MOST_CELLS]
    return [at[own[at] >= least] for own, at in zip(scores, places, strict=True)]


def _values(table: Table, column: Column, positions: Codes, rows: Codes) -> list[Any]:
    """Return cells as written, if they were read in a notation or are misfits."""
    series = table.frame[column.name].iloc[positions]
    values = series.astype(object).where(series.notna(), None).tolist()
    return [
        column.misfits.get(row) or table.text(column.name, position) or value
        for row, position, value in zip(rows.tolist(), positions.tolist(), values, strict=True)
    ]


def find_wrong_cells(table: Any, random_state: int = 0) -> WrongCells:
    """Return what is probably wrong in a table.

    Parameters
    ----------
    table : Table
        The table, or what :func:`metaod.read_table` takes.
    random_state : int, default=0
        Seed of the trees.
    """
    own = table if isinstance(table, Table) else read_table(table)
    return WrongCellFinder(random_state).fit(own).found_
