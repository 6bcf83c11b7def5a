"""A result as plain data: everything that its report shows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metaod.detection._advice import Request, next_steps, recipe_of
from metaod.detection._detection import Detection
from metaod.detection._top_rows import NAME_LENGTH, top_rows
from metaod.errors import UserError, counted
from metaod.report import (
    ColumnLine,
    Measured,
    Pick,
    SimilarTable,
    Summary,
    TableMap,
    map_table,
    shown,
    shown_name,
    sketch_scores,
)
from metaod.selection import OnProgress, Selection, family_names
from metaod.tables import ColumnRecord

_MOST_COLUMNS = 100
_MOST_NOTES = 30
_LONGEST_SOURCE, _LONGEST_NOTE = 300, 600
_AXIS_NAME_LENGTH = 18
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blanks"}


def summarise(
    found: Detection, request: Request | None = None, *, progress: OnProgress | None = None
) -> Summary:
    """Collect what a report shows.

    Parameters
    ----------
    found : Detection
        The result.
    request : Request, optional
        What the user asked for at the command line, to write it down.
    progress : callable, optional
        Receives a :class:`ProgressReport` now and then, while reasons are found.
    """
    gap = None if found.gap is None else found.gap[0]
    n_flagged = int(found.flags.sum())
    similar, measure = _similar(found.selection)
    marks = () if found.marks is None else found.marks.notes
    notes = dict.fromkeys((*found.table.warnings, *marks, *found.notes))
    return Summary(
        source=shown(found.table.source, _LONGEST_SOURCE),
        n_rows=found.n_rows,
        n_columns=found.table.n_columns,
        facts=_facts(found, request),
        columns=tuple(_column(column) for column in found.record.columns[:_MOST_COLUMNS]),
        pick=_pick(found),
        warnings=_texts(found.warnings),
        notes=_texts([str(note) for note in notes if note not in found.warnings]),
        scores=sketch_scores(found.scores, n_flagged=n_flagged, threshold=found.threshold, gap=gap),
        map=_map(found),
        top=top_rows(found, progress),
        similar=similar,
        measure=measure,
        steps=next_steps(found, request),
        recipe=recipe_of(found, request),
    )


def _facts(found: Detection, request: Request | None) -> tuple[tuple[str, str], ...]:
    table = found.table
    facts = [("rows", f"{found.n_rows:,}"), ("columns", f"{table.n_columns:,}")]
    used = sum(column.is_used for column in found.record.columns)
    facts.append(("columns used", f"{used:,} of {len(found.record.columns):,}"))
    raw = None if table.original is None else table.original.raw
    if raw is not None:
        delimiter = _DELIMITERS.get(raw.delimiter, repr(raw.delimiter))
        facts += [("delimiter", delimiter), ("encoding", raw.encoding)]
        facts += [("decimal mark", "comma" if raw.decimal == "," else "point")]
        facts += [("header", "first line" if raw.header else "none")]
    sheet = None if request is None else request.reading.get("sheet")
    if sheet is not None:
        facts.append(("sheet", str(sheet)))
    if table.label is not None:
        n_outliers = counted(int(table.label.sum()), "outlier")
        facts.append(("label", f"{n_outliers} (to measure; not used to pick or score)"))
    if found.marks is not None:
        facts.append(("marks", found.marks.sentence()))
    return tuple((name, shown(value, NAME_LENGTH * 2)) for name, value in facts)


def _column(column: ColumnRecord) -> ColumnLine:
    done = shown(column.description(), _LONGEST_NOTE // 3)
    name = shown_name(column.name, NAME_LENGTH)
    return ColumnLine(name, column.kind, column.role, column.n_missing, done)


def _pick(found: Detection) -> Pick:
    names = family_names(list(found.weights))
    n_models = len(found.weights)
    average = f"the average of {n_models} models: {names}" if n_models > 1 else names
    members = tuple((shown(name, _LONGEST_NOTE), found.weights[name]) for name in found.weights)
    measured = tuple(
        Measured(row.method, *(round(float(value), 4) for value in row.measures))
        for row in found.compared
        if row.measures is not None
    )
    if found.selection is None:
        sentence = f"A saved pick scored the rows: {average}."
        return Pick(shown(sentence, _LONGEST_NOTE), members, (), (), measured)
    explained = found.selection.explain()
    kind = "The committee, which is the same for every table," if explained.is_fixed else None
    sentence = f"{kind or 'The model that the learner picked'} scored the rows: {average}."
    why = str(explained).partition("\nNearest historical tables")[0].splitlines()
    expected = tuple(found.selection.trust.summary().splitlines())
    return Pick(shown(sentence, _LONGEST_NOTE), members, expected, _texts(why), measured)


def _similar(selection: Selection | None) -> tuple[tuple[SimilarTable, ...], str]:
    if selection is None:
        return (), ""
    try:
        nearest = selection.nearest()
    except UserError:  # meta-features cannot be computed
        return (), ""
    rows = nearest.astype(object).where(nearest.notna(), None).to_dict("records")
    tables = [
        SimilarTable(
            shown(str(row["name"]), NAME_LENGTH),
            int(row["n_rows"]),
            int(row["n_columns"]),
            row["performance"] if row["performance"] is None else float(row["performance"]),
            row["reference"] if row["reference"] is None else float(row["reference"]),
        )
        for row in rows
    ]
    return tuple(tables), selection.measure


def _map(found: Detection) -> TableMap:
    prepared, places = found.mapped()
    names = tuple(shown(name, _AXIS_NAME_LENGTH) for name in prepared.names)
    if len(places) == found.n_rows:
        return map_table(prepared.X, names, found.order)
    drawn = map_table(prepared.X, names, (-found.scores[places]).argsort(kind="stable"))
    rows = places[np.array(drawn.rows)]
    above = [rank - 1 for rank in found.ranks_of(rows)]
    return replace(drawn, rows=tuple(rows.tolist()), order=tuple(above))


def _texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Shorten a list of messages."""
    kept = tuple(shown(text, _LONGEST_NOTE) for text in texts[:_MOST_NOTES])
    hidden = len(texts) - len(kept)
    return (*kept, f"... and {hidden} more") if hidden else kept
