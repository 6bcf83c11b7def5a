"""Wrong cells of the table that an estimator is fitted to, and of later rows."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.detection._threshold import Contamination
from metaod.models import Scores
from metaod.tables import Given, Preparation, Table
from metaod.wrong_cells import Collector, WrongCellFinder, WrongCells, row_keys

Places = npt.NDArray[np.intp]
_FEW_COPIES = 3  # of a row; a table with more has rows that are alike by nature


class CellCheck:
    """Finds wrong cells: those of the fitted table, and those of later rows.

    A row that equals a row of the fitted table has the findings of that row; the second of two such
    rows has those of the second in the table.

    Parameters
    ----------
    table : Table
        The table; columns that the user ignores are not checked.
    preparation : Preparation
        Its fitted preparation.
    seed : int
        Seed of the finder.
    known : pair of ndarrays, optional
        The scores and flags of a table of which `table` is a sample.
    n_jobs : int or None, default=None
        Threads.
    """

    def __init__(
        self,
        table: Table,
        preparation: Preparation,
        seed: int,
        known: tuple[Scores, npt.NDArray[np.bool_]] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        columns = preparation.record_.columns
        self.names = [column.name for column in columns if column.is_checked]
        unused = {own.name: own.kind for own in columns if not own.is_used}
        self._dates = {name for name, kind in unused.items() if kind == "date"}
        self._named = {name for name, kind in unused.items() if kind == "identifier"}
        self._preparation, self._seed = preparation, seed
        self.table = self.checked(table)
        finder = WrongCellFinder(random_state=seed, n_jobs=n_jobs)
        self._finder = finder.fit(self.table, self._given(table))
        if known is not None:
            self.scores, self.flags = known

    @cached_property
    def found(self) -> WrongCells:
        """The wrong cells of the fitted table."""
        return self._finder.found_

    @cached_property
    def scores(self) -> Scores:
        """The score of each row."""
        return self.found.row_scores

    @cached_property
    def flags(self) -> npt.NDArray[np.bool_]:
        """Whether each row has a finding."""
        return self.found.flags()

    def find(self, table: Table, *, is_later: bool = True) -> WrongCells:
        """Return the wrong cells of rows.

        Parameters
        ----------
        table : Table
            The rows.
        is_later : bool, default=True
            Whether the rows are of a later time than the fitted table: then all dates that are not
            used to score rows may be later, and identifiers are not looked at.
        """
        rows, given = self.checked(table), self._given(table)
        places, is_known = self._find(rows)
        known, new = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        if len(new) == 0:
            return self.found.at(places)
        others = rows.take(new) if len(known) else rows
        given = given and given.take(new)
        dates: set[str] = set()
        if is_later:
            dates = self._dates
            others = _without(others, self._named)
        found = self._finder.find(others, given, dates)
        if len(known) == 0:
            return found
        parts = Collector(rows.n_rows)
        parts.add(known, self.found.at(places[known]))
        parts.add(new, found)
        return parts.result()

    def find_in_blocks(self, table: Table, n_block: int) -> WrongCells:
        """Return the wrong cells of later rows, of which at most so many are judged together.

        A score depends on the rows beside it: a block has the size for which scores are calibrated.
        """
        if table.n_rows <= n_block:
            return self.find(table)
        parts = Collector(table.n_rows)
        n_blocks = -(-table.n_rows // n_block)
        for rows in map(np.sort, np.array_split(self.arranged(table), n_blocks)):
            parts.add(rows, self.find(table.take(rows)))
        return parts.result()

    def arranged(self, table: Table) -> Places:
        """Return places of later rows in random order, or in their own if the user named one.

        Two or three copies of a row stay together.
        """
        rows = self.checked(table)
        context = self._preparation.context_
        if context is not None and context.over:
            by_order = rows.frame[context.over[0]].sort_values(kind="stable")
            return by_order.index.to_numpy(dtype=np.intp)
        keys = pd.util.hash_pandas_object(
            _without(rows, self._dates | self._named).frame, index=False
        )
        _, first, codes, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        drawn = np.random.default_rng(self._seed).random(len(keys))
        together = counts[codes] <= _FEW_COPIES
        return np.argsort(np.where(together, drawn[first[codes]], drawn), kind="stable")

    def checked(self, table: Table) -> Table:
        """Return the columns that are checked, with their names and types."""
        read = self._preparation.read(table)
        absent = {name: self._usual(name) for name in self.names if name not in read.frame}
        frame = read.frame.assign(**absent)[self.names].reset_index(drop=True)
        return replace(read, frame=frame, label=None, original=None)

    def _given(self, table: Table) -> Given | None:
        """Return what is usual in the rows' context, if the user named one."""
        if self._preparation.context_ is None:
            return None
        return self._preparation.given(self._preparation.rows_of(table)[0])

    def _usual(self, name: str) -> Any:
        """Return a value of a column that is no evidence: the most frequent one."""
        values = self.table.frame[name].mode()
        return values.iloc[0] if len(values) else None

    def _find(self, rows: Table) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Return the places of rows in the fitted table, and whether they are there."""
        known, order = self._known
        keys = row_keys(rows)
        found = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return order[found], known[found] == keys

    @cached_property
    def _known(self) -> tuple[npt.NDArray[np.uint64], Places]:
        keys = row_keys(self.table)
        order = np.argsort(keys, kind="stable")
        return keys[order], order


def _without(rows: Table, names: set[str]) -> Table:
    """Return rows without the columns whose values are others in later rows."""
    return replace(rows, frame=rows.frame.drop(columns=[*names & {*rows.frame}]))


def flagged(
    above: npt.NDArray[np.bool_],
    wrong: npt.NDArray[np.bool_] | None,
    contamination: Contamination,
    marks: Mapping[int, bool] | None = None,
) -> npt.NDArray[np.bool_]:
    """Flag rows above the threshold; if their share is "auto", those with a finding too.

    Parameters
    ----------
    above : ndarray of bool
        Whether rows score above the threshold.
    wrong : ndarray of bool or None
        Whether rows have a finding, if wrong cells were looked for.
    contamination : "auto" or float
        What the user wants to be flagged.
    marks : mapping of int to bool, optional
        Rows that the user marked: those that are no outliers are not flagged.
    """
    if wrong is None or contamination != "auto":
        return above
    flags = above | wrong
    normal = [row for row, answer in (marks or {}).items() if not answer]
    flags[normal] = above[normal]
    return flags
