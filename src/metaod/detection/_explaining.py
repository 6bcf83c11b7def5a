"""Why a row has its score: the columns that would lower it if their cells were usual.

One cell of a row at a time is replaced by a usual value, the row is prepared and scored again by
the fitted pick, and the fall of its score is what the column explains. If no cell explains nearly
all of it, several are replaced together. See docs/reasons.md.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._legal import Whole
from metaod.detection._fitted import Errors, Fitted
from metaod.detection._inputs import is_plain
from metaod.detection._reasons import Reason, RowReasons
from metaod.detection._usual_cells import ChangedRows, UsualCells
from metaod.errors import BadParameter, UserError
from metaod.models import Matrix, Scores
from metaod.review import RowCell, RowView
from metaod.selection import Tracker
from metaod.tables import Preparation, ReadRows, Table

_QUANTILES = np.array([-1.7, -1.645, -1.6, -0.7, 0.0, 0.7, 1.6, 1.645, 1.7])
_OWNER = "MetaOD.explain_rows"
_MOST_ROWS = 100  # that are explained if none are named
_BLOCK = 100  # rows that are explained at once
_LEAST_SHARE = 0.02  # a column that explains less is no reason
_ENOUGH = 0.9  # of the score, explained by one column: several are not tried together
_LITTLE = 0.3  # of the score, explained by the best column: several are replaced at once
_MOST_CELLS = 3  # that are replaced together
_MOST_TRIED = 5  # cells of a row that are tried after the first one
_TIE = 0.05  # how much a cell's distance from a usual value counts at most
_LEAST_TOGETHER = 0.2  # a column that explains less is not called rare with another

Marks = npt.NDArray[np.bool_]
_Cells = list[tuple[int, Any]]  # columns of the table, and usual values


def row_places(rows: Any, fitted: Fitted) -> npt.NDArray[np.intp] | None:
    """Return the positions of training rows, by default the flagged ones; None for a table."""
    if rows is None:
        order = np.argsort(-fitted.scores, kind="stable")
        return np.asarray(order[fitted.labels[order] == 1][:_MOST_ROWS], dtype=np.intp)
    if not is_plain(rows):
        return None
    places = np.atleast_1d(np.asarray(rows))
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        return None
    n_rows = len(fitted.scores)
    outside = places[(places < 0) | (places >= n_rows)]
    if len(outside):
        legal = f"positions of training rows, from 0 to {n_rows - 1:,}, or a table"
        raise BadParameter(_OWNER, "rows", legal, int(outside[0]))
    return places.astype(np.intp)


def explain(
    preparation: Preparation,
    fitted: Fitted,
    table: Table,
    places: npt.NDArray[np.intp] | None,
    errors: Errors | None,
    top: int,
    tracker: Tracker,
) -> list[RowReasons]:
    """Explain the rows of a table, which have these places in the training table if any.

    New rows have these errors, of which a marked pick has learned.
    """
    if not Whole(1).allows(top):
        raise BadParameter(_OWNER, "top", str(Whole(1)), top)
    if table.n_rows == 0:
        return []
    read = ReadRows.of(preparation, table)
    others = "row" if places is not None else "training row"
    view = RowView.of_fitted(preparation, fitted.X, table, others)
    if places is not None and not np.array_equal(read.X, fitted.X[places]):
        what = "the training table was changed after 'fit'"
        raise UserError(what, where=_OWNER, remedy="fit again")
    rows = range(len(read.X)) if places is None else places
    known = fitted.errors_of(read.X) if errors is None else errors
    found = Explainer(preparation, fitted, view).explain(read, rows, known, int(top), tracker)
    return [_with_misfits(own, table, row) for row, own in enumerate(found)]


def _with_misfits(own: RowReasons, table: Table, row: int) -> RowReasons:
    """Say what cells of a wrong type are not, which count as missing."""
    lacks = {each.column: table.lack(each.column, row) for each in own.reasons}
    reasons = (
        replace(each, usual=lacks[each.column], written=table.text(each.column, row))
        if lacks[each.column]
        else each
        for each in own.reasons
    )
    return replace(own, reasons=tuple(reasons))


class Explainer:
    """Explains rows by a fitted pick and its preparation.

    Parameters
    ----------
    preparation : Preparation
        The fitted preparation.
    fitted : Fitted
        The pick, whose scores are explained; a marked one too.
    view : RowView
        Compares cells with the table that the pick was fitted to.
    """

    def __init__(self, preparation: Preparation, fitted: Fitted, view: RowView) -> None:
        self._preparation = preparation
        self._fitted = fitted
        self._view = view
        self._usual = UsualCells(preparation, fitted)
        self._typical = float(np.median(fitted.scores))

    def explain(
        self, read: ReadRows, rows: Any, errors: Errors, top: int, tracker: Tracker
    ) -> list[RowReasons]:
        """Explain the rows that were read; `rows` are their positions."""
        report = tracker.counting("explain", len(read.X))
        scores = self._fitted.score(read.X, errors=errors)
        found = []
        for start in range(0, len(read.X), _BLOCK):
            stop = min(start + _BLOCK, len(read.X))
            block = read.take(np.arange(start, stop))
            changed = self._usual.fill_in(block)
            shares = self._shares(block, changed, errors[start:stop])
            for row in range(stop - start):
                reasons = self._reasons(block, row, shares[row], changed, top)
                place = start + row
                found.append(RowReasons(int(rows[place]), float(scores[place]), reasons))
            report(stop)
        return found

    def _shares(self, read: ReadRows, changed: ChangedRows, errors: Errors) -> Matrix:
        """Return the share of each row's score that each column explains."""
        X = read.X
        # a training row is scored as a new one too: in every changed row's neighbourhood it is
        # itself, and a mark moves its training score
        before = self._fitted.score_as_new(X, errors)
        excess = before - self._typical
        known = self._fitted.score(X, errors=errors) - self._typical
        # some models give a row that is its own neighbour the lowest score
        before = np.where(excess > 0, before, known + self._typical)
        excess = np.where(excess > 0, excess, known)
        first = self._effects(read, changed, errors)
        shares = self._falls(before, first.lowest, excess)
        is_high = (excess > 0) & (shares.max(axis=1, initial=0.0) < _ENOUGH)
        rest = np.flatnonzero(is_high & np.isfinite(first.lowest).any(axis=1))
        if len(rest):
            own = read.take(rest), excess[rest], shares[rest], first.take(rest), errors[rest]
            shares[rest] = self._further_shares(*own)
        hidden = np.flatnonzero((excess > 0) & (shares.max(axis=1, initial=0.0) < _LITTLE))
        if len(hidden):
            among = self._surprising(read.take(hidden), np.isfinite(first.lowest[hidden]))
            own_rows = read.take(hidden), among, before[hidden], excess[hidden], errors[hidden]
            shares[hidden] = np.maximum(shares[hidden], self._joint_shares(*own_rows))
        return shares

    def _further_shares(
        self, read: ReadRows, excess: Scores, shares: Matrix, effects: "_Effects", errors: Errors
    ) -> Matrix:
        """Return the shares of rows whose score stays high whichever cell is replaced.

        Several cells may be unusual, each enough for a high score. The cell that explains most
        stays replaced while the next ones are tried again, until the score is usual. At last each
        of the replaced cells gets its own value back.
        """
        n_rows = len(shares)
        shares, falls = shares.copy(), shares
        cells: list[_Cells] = [[] for _ in range(n_rows)]
        after = np.empty(n_rows)  # the score with all chosen cells replaced
        rows, usual = np.arange(n_rows), read
        for turn in range(_MOST_CELLS):
            best, among = _best_and_next(effects, falls)
            found = effects.values_at(best)
            after[rows] = effects.lowest[np.arange(len(rows)), best]
            for row, place, value in zip(rows.tolist(), best.tolist(), found, strict=True):
                cells[row].append((place, value))
            going_on = np.flatnonzero(among.any(axis=1) & (after[rows] > self._typical))
            if turn == _MOST_CELLS - 1 or not len(going_on):
                break
            usual = usual.changed(best, found).take(going_on)
            rows = rows[going_on]
            changed = self._usual.fill_in(usual, among[going_on])
            effects = self._effects(usual, changed, errors[rows])
            falls = self._falls(after[rows], effects.lowest, excess[rows])
            shares[rows] = np.maximum(shares[rows], falls)
        return np.maximum(shares, self._own_back(read, cells, after, excess, errors))

    def _joint_shares(
        self, read: ReadRows, among: Marks, before: Scores, excess: Scores, errors: Errors
    ) -> Matrix:
        """Return the shares of cells that hide each other.

        Of two columns that belong together, the usual value of one is that of rows in which the
        other is as unusual. So the cells of a row are replaced at once, and then each of them gets
        its own value back. No cell explains more than all of them.
        """
        changed = self._usual.fill_in(read, among, together=True)
        found: list[dict[int, Any]] = [{} for _ in range(len(among))]
        for row, place, value in zip(changed.rows, changed.places, changed.values, strict=True):
            found[row][int(place)] = value  # the last is that of similar rows
        cells = [list(own.items()) for own in found]
        after = before.copy()
        for rows, _ in _by_count(cells):
            usual = _replaced(read, rows, cells)
            after[rows] = self._fitted.score(usual.X, errors=errors[rows])
        falls = self._falls(before, after[:, None], excess)
        return np.minimum(self._own_back(read, cells, after, excess, errors), falls)

    def _surprising(self, read: ReadRows, tried: Marks) -> Marks:
        """Return the most surprising cells of each row in which a cell is unusual by itself."""
        used = [plan.record.is_used for plan in self._preparation.columns_]
        surprise = np.full(tried.shape, -1.0)
        is_unusual = np.zeros(len(tried), dtype=np.bool_)
        for row, place in np.argwhere(tried & used).tolist():
            cell = self._cell(read, row, place)
            surprise[row, place] = cell.surprise
            is_unusual[row] |= cell.is_unusual
        order = np.argsort(-surprise, axis=1, kind="stable")[:, :_MOST_CELLS]
        among = np.zeros(tried.shape, dtype=np.bool_)
        np.put_along_axis(among, order, values=is_unusual[:, None], axis=1)
        return among & (surprise >= 0)

    def _own_back(
        self, read: ReadRows, cells: list[_Cells], after: Scores, excess: Scores, errors: Errors
    ) -> Matrix:
        """Return what replaced cells add to the score, each if it gets its own value back."""
        shares = np.zeros((len(cells), len(self._preparation.columns_)))
        for rows, count in _by_count(cells):
            for turn in range(count):
                others = _replaced(read, rows, cells, but=turn)
                with_own = self._fitted.score(others.X, errors=errors[rows])
                places = [cells[row][turn][0] for row in rows.tolist()]
                adds = self._falls(with_own, after[rows, None], excess[rows])[:, 0]
                shares[rows, places] = adds
        return shares

    def _falls(self, before: Scores, after: Matrix, excess: Scores) -> Matrix:
        """Return by which share of the excess scores fall, above the table's median."""
        typical = self._typical
        falls = np.maximum(before, typical)[:, None] - np.maximum(after, typical)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = falls / excess[:, None]
        is_known = np.isfinite(shares) & (excess[:, None] > 0)
        return np.where(is_known, np.clip(shares, 0.0, 1.0), 0.0)

    def _effects(self, read: ReadRows, changed: ChangedRows, errors: Errors) -> "_Effects":
        """Score changed rows, which keep their errors."""
        shape = len(read.X), len(self._preparation.columns_)
        found = _Effects(
            np.full(shape, np.inf), np.zeros(shape), np.zeros(shape, np.intp), changed.values
        )
        scores = np.empty(0)
        if len(changed.X):
            scores = self._fitted.score(changed.X, errors=errors[changed.rows])
        distances = self._usual.distances(read.X[changed.rows], changed.X)
        for i in np.argsort(-scores, kind="stable").tolist():  # the lowest comes last
            at = changed.rows[i], changed.places[i]
            found.lowest[at], found.distances[at], found.cells[at] = scores[i], distances[i], i
        return found

    def _reasons(
        self, read: ReadRows, row: int, shares: Scores, changed: ChangedRows, top: int
    ) -> tuple[Reason, ...]:
        order = np.argsort(-shares, kind="stable")
        order = order[shares[order] >= _LEAST_SHARE][:top]
        cells = {place: self._cell(read, row, place) for place in order.tolist()}
        in_context = [
            place
            for place, cell in cells.items()
            if not cell.is_unusual
            and shares[place] >= _LEAST_TOGETHER
            and changed.is_odd_in_context(read, row, place)
        ]
        reasons = []
        for place, cell in cells.items():
            usual, together = cell.usual, tuple[str, ...]()
            if place in in_context:
                partners = [other for other in in_context if other != place]
                together = tuple(_equation(cells[other]) for other in partners[:1])
                usual = self._usual_in_context(read, row, place, changed)
                if not usual:
                    usual = "" if together else cell.usual
                elif not together:
                    usual += " in similar rows"
            is_odd = cell.is_unusual or place in in_context
            share = float(shares[place])
            own = cell.name, cell.value, share, usual, together, is_odd
            side = changed.side(read, row, place)
            reasons.append(Reason(*own, side=side, written=cell.text))
        return tuple(reasons)

    def _cell(self, read: ReadRows, row: int, place: int) -> RowCell:
        record = self._preparation.columns_[place].record
        if not record.is_used:
            return self._view.cell(record.name, None)
        value = read.value(row, place)
        own = value if value is None or isinstance(value, str) else record.in_own_units(value)
        cell = self._view.cell(record.name, own)
        given = read.given
        if own is None or given is None or record.name not in given.context.names:
            return cell
        own, run = record.in_own_units(given.value(row, record.name)), given.run(row, record.name)
        usual = f"unchanged for {run:,} rows" if run else self._range(read, row, place, _QUANTILES)
        return replace(cell, value=own, usual=usual, text=self._view.cell(record.name, own).text)

    def _usual_in_context(self, read: ReadRows, row: int, place: int, changed: ChangedRows) -> str:
        """Say which numbers similar rows have; nothing of categories."""
        values = changed.nearby.get((row, place))
        return "" if values is None else self._range(read, row, place, values)

    def _range(self, read: ReadRows, row: int, place: int, values: Matrix) -> str:
        """Say what is usual among numbers of the matrix, in the user's units and the context."""
        record, words = self._preparation.columns_[place].record, ""
        values = self._usual.within(read.starts[place], values)
        if read.given is not None and record.name in read.given.context.names:
            values = read.given.usual(row, record.name, values)
            words = read.given.words[row]
        own = pd.Series(record.in_own_units(values))
        return f"{self._view.usual_among(record.name, own)} {words}".strip()


@dataclass(frozen=True, eq=False)
class _Effects:
    """What usual values do to rows, by row and column of the table.

    Parameters
    ----------
    lowest : ndarray of float
        The lowest score with a usual value in that cell; infinite if none was tried.
    distances : ndarray of float
        How far that value is from the cell's own.
    cells : ndarray of int
        Its place in ``values``.
    values : list
        Usual values.
    """

    lowest: Matrix
    distances: Matrix
    cells: npt.NDArray[np.intp]
    values: list[Any]

    def take(self, rows: npt.NDArray[np.intp]) -> "_Effects":
        """Return some of the rows."""
        return _Effects(self.lowest[rows], self.distances[rows], self.cells[rows], self.values)

    def values_at(self, places: npt.NDArray[np.intp]) -> list[Any]:
        """Return the usual value of one cell of each row."""
        chosen = self.cells[np.arange(len(places)), places]
        return [self.values[i] for i in chosen.tolist()]


def _best_and_next(
    effects: _Effects, falls: Matrix
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the cell of each row that explains most, and which to try after it."""
    # far cells first if none explains anything, as where a score cannot grow any more
    worth = falls + _TIE * effects.distances / (1.0 + effects.distances)
    worth[~np.isfinite(effects.lowest)] = -np.inf
    order = np.argsort(-worth, axis=1, kind="stable")
    among = np.zeros(worth.shape, dtype=np.bool_)
    np.put_along_axis(among, order[:, 1 : 1 + _MOST_TRIED], values=True, axis=1)
    return order[:, 0], among & np.isfinite(worth)


def _by_count(cells: list[_Cells]) -> list[tuple[npt.NDArray[np.intp], int]]:
    """Return the rows in which several cells are replaced, by how many these are."""
    counts = np.array(list(map(len, cells)))
    return [(np.flatnonzero(counts == count), count) for count in np.unique(counts[counts > 1])]


def _replaced(
    read: ReadRows, rows: npt.NDArray[np.intp], cells: list[_Cells], but: int = -1
) -> ReadRows:
    """Return rows with usual values in their chosen cells, or in all but one of them."""
    changed = read.take(rows)
    for turn in range(len(cells[rows[0]])):
        if turn != but:
            places, values = zip(*(cells[row][turn] for row in rows.tolist()), strict=True)
            changed = changed.changed(np.array(places), list(values))
    return changed


def _equation(cell: RowCell) -> str:
    return f"{cell.name} {Reason(cell.name, cell.value, 0.0, '', written=cell.text).value_text}"
