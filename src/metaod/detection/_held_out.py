"""Judge rows of the fitted table as later rows are: by models that have not learned from them.

The models of the pick, the counts of its preparation and the search for wrong cells are fitted
again without a part of the rows, which is then scored; up to five parts are held out in turn. The
models that judge later rows have learned from more rows, so that ordinary ones may look a little
more ordinary to them.
"""

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from metaod.detection._cells import CellCheck
from metaod.detection._conformal import Calibration
from metaod.detection._fitted import Fitted, fit_models
from metaod.errors import UserError
from metaod.models import Matrix, ModelSpec
from metaod.tables import Preparation, Table

_PARTS = 5
_ENOUGH = 5_000  # rows that are held out, if there are as many; also those that cells learn from
_Places = npt.NDArray[np.intp]


def calibrate(
    table: Table, preparation: Preparation, fitted: Fitted, cells: CellCheck | None
) -> Calibration | None:
    """Return the statistics of held-out rows; None if the table is too small for it.

    Rows that a person marked as outliers are not ordinary, and left out.

    Parameters
    ----------
    table : Table
        The fitted table.
    preparation : Preparation
        Its preparation, whose decisions are kept.
    fitted : Fitted
        Its models.
    cells : CellCheck or None
        Its search for wrong cells.
    """
    drawn = np.random.default_rng(fitted.seed).permutation(table.n_rows)
    order = drawn if cells is None else cells.arranged(table)
    outliers = [row for row, answer in fitted.marks.items() if answer]
    parts: list[Matrix] = []
    for part in np.array_split(order, _PARTS):
        held = np.setdiff1d(part[:_ENOUGH], outliers)
        rest = drawn[~np.isin(drawn, held)]
        if len(held) and sum(map(len, parts)) < _ENOUGH:
            with suppress(UserError):  # too few rows, or a model fails without these
                again = _fitted_to(table, rest, preparation, fitted, has_cells=cells is not None)
                parts.append(_judged(table.take(held), *again))
    if not parts:
        return None
    return Calibration(np.concatenate(parts), max(map(len, parts)))


def _judged(
    table: Table, preparation: Preparation, fitted: Fitted, cells: CellCheck | None
) -> Matrix:
    X = preparation.transform(table).X
    if cells is None:
        return fitted.score(X)[:, None]
    wrong = cells.find(table)
    return np.column_stack([fitted.score(X, errors=wrong.of_rows()), wrong.row_scores])


def _fitted_to(
    table: Table, rows: _Places, preparation: Preparation, fitted: Fitted, *, has_cells: bool
) -> tuple[Preparation, Fitted, CellCheck | None]:
    """Fit again to some rows, in random order: models learn from the first ones."""
    learned = table.take(rows)
    preparation = preparation.counted_in(learned)
    X = preparation.transform(learned).X
    n_learned = len(rows) if fitted.reference is None else len(fitted.reference)
    again = fit_models(
        [ModelSpec.parse(name) for name in fitted.weights],
        X,
        fixed=preparation.fixed_,
        weights=list(fitted.weights.values()),
        random_state=fitted.seed,
        n_reference=min(len(rows), n_learned),
    )
    if fitted.marked is not None:
        errors = None if fitted.errors is None else fitted.errors[rows]
        known = fitted.marked.marks
        answers = {place: known[row] for place, row in enumerate(rows.tolist()) if row in known}
        again = again.answered(answers, "auto", errors, fitted.marked.ranker)
    cells = None
    if has_cells:
        cells = CellCheck(table.take(rows[:_ENOUGH]), preparation, fitted.seed)
    return preparation, again, cells
