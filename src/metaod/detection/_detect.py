"""Pick a model for a table, fit it and score every row; or score with a saved pick."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from metaod.detection._comparison import compare_with_forest
from metaod.detection._detection import Detection, detection_of
from metaod.detection._estimator import MetaOD
from metaod.detection._reasons import RowReasons
from metaod.detection._threshold import TOO_MANY_TIES, Contamination
from metaod.errors import BadParameter, Message, UserError
from metaod.models import Matrix
from metaod.review import UsedMarks
from metaod.selection import OnProgress, Tracker, part_of, table_notes
from metaod.tables import Table

AnyDetection = TypeVar("AnyDetection", bound=Detection)

_FIT_SHARE = 0.99  # of the work; the rest measures the scores on a label


def detect_table(
    table: Table,
    *,
    contamination: Contamination = "auto",
    top_n: int | None = None,
    marks: UsedMarks | None = None,
    progress: OnProgress | None = None,
    **options: Any,
) -> Detection:
    """Pick a model for a table, fit it and score every row.

    Parameters
    ----------
    table : Table
        The table.
    contamination : "auto" or float, default="auto"
        Share of outliers, as in :class:`metaod.MetaOD`.
    top_n : int, optional
        Flag exactly so many rows.
    marks : UsedMarks, optional
        Answers to learn from.
    progress : callable, optional
        Receives a :class:`ProgressReport` at every stage; what it raises stops the work.
    **options
        Other parameters of :class:`metaod.MetaOD`.
    """
    share = contamination if top_n is None else share_of(top_n, table.n_rows)
    model = MetaOD(contamination=share, **options)
    model.fit(
        table,
        marks=None if marks is None else marks.answers,
        progress=part_of(progress, 0.0, _FIT_SHARE),
    )
    found = _measured(flag(replace(detection_of(model, table), marks=marks), top_n), model)
    Tracker(progress).finish("score")
    return found


def apply_saved(
    model: MetaOD, table: Table, *, top_n: int | None = None, progress: OnProgress | None = None
) -> Detection:
    """Score the rows of a table with a pick that was fitted to another one."""
    tracker = Tracker(progress)
    tracker.stage("prepare")
    prepared = model.preparation_.transform(table)
    scores = model.fitted_.score(prepared.X, tracker.scoring(len(prepared.X)))
    notes = (*table_notes(prepared.record, fitted=False), *model.fitted_.earlier_notes())
    if top_n is not None:
        share_of(top_n, table.n_rows)

    def explain(rows: Any, progress: OnProgress | None = None) -> list[RowReasons]:
        return model.explain_rows(table.take(rows), progress=progress)

    found = replace(
        detection_of(model, table),
        scores=scores,
        notes=notes,
        record=prepared.record,
        explain=explain,
    )
    found = _measured(flag(found, top_n), model, prepared.X)
    tracker.finish("score")
    return found


def flag(found: AnyDetection, top_n: int | None) -> AnyDetection:
    """Flag so many rows, instead of those above the threshold."""
    if top_n is None:
        return found
    last = [found.score_at(top_n), found.score_at(min(top_n + 1, found.n_rows))]
    threshold = float(np.mean(last))
    return replace(found, top_n=top_n, notes=_with_ties(found, top_n), threshold=threshold)


def _measured(found: Detection, model: MetaOD, new: Matrix | None = None) -> Detection:
    """Measure the scores on the label, if there is one, beside isolation forest."""
    if found.table.label is None:
        return found
    try:
        compared = compare_with_forest(model, found.table, found.scores, new=new)
    except UserError as error:  # the label has one value alone
        return replace(found, notes=(*found.notes, f"Not measured: {error.what}."))
    if new is None and model.fitted_.marks:
        note = "The measures count all rows, those that are marked too."
        found = replace(found, notes=(*found.notes, note))
    return replace(found, compared=compared)


def _with_ties(found: Detection, top_n: int) -> tuple[str | Message, ...]:
    """Return the notes; if rows share the last score that is flagged, one that says so."""
    notes = tuple(note for note in found.notes if TOO_MANY_TIES not in str(note))
    last = found.score_at(top_n)
    n_tied = int((found.scores == last).sum())
    n_above = int((found.scores > last).sum())
    if n_above + n_tied == top_n:
        return notes
    tied = f"{n_tied:,} rows share the score of rank {n_above + 1:,}; the first {top_n - n_above:,}"
    return (*notes, f"{tied} of them in the table are flagged.")


def share_of(top_n: int, n_rows: int, *, owner: str = "detect_table") -> float:
    """Return the share whose threshold lies between the n-th and the next score."""
    if 2 * top_n > n_rows:
        legal = f"at most half of the rows, {n_rows // 2} of {n_rows}"
        raise BadParameter(owner, "top_n", legal, top_n)
    return top_n / n_rows
