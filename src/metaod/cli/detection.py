"""Scores of a table's rows for ``metaod detect``, by a new pick or by a saved one."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaod.selection import MetaOD, Selection
    from metaod.tables import Table

__all__ = ["Detection", "detected", "rescored", "saved_pick"]


@dataclass(frozen=True, eq=False)
class Detection:
    """A table with its rows' scores.

    Parameters
    ----------
    table : Table
        The table as it was read.
    scores : ndarray of float, shape (n_rows,)
        Higher is more outlying.
    threshold : float
        Rows above it are flagged.
    models : tuple of str
        The models that scored.
    notes : tuple of str
        What the user should know.
    selection : Selection, optional
        The pick; none where a saved one was used.
    """

    table: "Table"
    scores: "npt.NDArray[np.float64]"
    threshold: float
    models: tuple[str, ...]
    notes: tuple[str, ...]
    selection: "Selection | None" = None

    @property
    def flags(self) -> "npt.NDArray[np.int64]":
        """1 for outliers, 0 for the other rows."""
        return (self.scores > self.threshold).astype("int64")

    @cached_property
    def order(self) -> "npt.NDArray[np.intp]":
        """Places of the rows, the most outlying first; equal scores as in the table."""
        import numpy as np

        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def ranks(self) -> "npt.NDArray[np.int64]":
        """1 for the most outlying row; equal scores share the smallest of their ranks."""
        import numpy as np

        ordered = np.sort(-self.scores)
        return np.searchsorted(ordered, -self.scores, side="left").astype(np.int64) + 1


def detected(table: "Table", *, save: str | None = None, **options: Any) -> Detection:
    """Pick a model for the table, fit it and score; save the fitted pick where asked."""
    from metaod.artifacts import check_target
    from metaod.selection import MetaOD

    if save is not None:
        check_target(save)  # before anything that takes long
    model = MetaOD(**options).fit(table)
    if save is not None:
        model.save(save)
    return _of(model, table, model.decision_scores_, model.notes_, model.selection_)


def saved_pick(path: str) -> "MetaOD":
    """A pick that was saved; what its loading warns of is among its notes."""
    import warnings

    from metaod.selection import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return load(path)


def rescored(table: "Table", model: "MetaOD") -> Detection:
    """Score the table's rows with a saved pick, each against the table that it was fitted to."""
    from metaod.selection import table_notes

    # by name and in any order, where scikit-learn's predict insists on the same columns
    prepared = model.preparation_.transform(table)
    scores = model.fitted_.score(prepared.X)
    # of the table that the pick was fitted to, nothing is said again
    notes = (*table_notes(prepared.record, fitted=False), *model.fitted_.notes)
    return _of(model, table, scores, notes, None)


def _of(
    model: "MetaOD",
    table: "Table",
    scores: "npt.NDArray[np.float64]",
    notes: tuple[str, ...],
    selection: "Selection | None",
) -> Detection:
    models = tuple(model.fitted_.weights)
    return Detection(table, scores, model.threshold_, models, notes, selection)
