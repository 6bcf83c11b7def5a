"""A result as plain data, which a report shows, and the report itself."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd

from metaod._files import replace_file
from metaod.detection._advice import next_steps, recipe_of, word_of
from metaod.detection._cells_file import suggested
from metaod.detection._patterns import cell_patterns
from metaod.detection._reasons import RowReasons
from metaod.detection._result import Detection
from metaod.errors import Message, UserError, Word, counted, worded
from metaod.options import Reading
from metaod.report import map_table, render, shown
from metaod.selection import OnProgress, Selection, family_names
from metaod.tables import ColumnRecord, Table, cell_text
from metaod.wrong_cells import Finding, Pattern

_MOST_COLUMNS = 100
_MOST_NOTES = 30
_LONGEST_SOURCE, _LONGEST_NOTE = 300, 600
_AXIS_NAME_LENGTH = 24

_MOST_ROWS, _MOST_EXPLAINED = 200, 100
_MOST_SHOWN = 12  # columns of the most outlying rows
_NAME_LENGTH, _CELL_LENGTH, _USUAL_LENGTH, _REASON_LENGTH = 48, 60, 80, 240

_MOST_GROUPS, _MOST_CELLS = 50, 10  # findings: groups, and cells of each


def write_report(
    found: Detection,
    path: Path | None = None,
    given: Mapping[str, Any] | None = None,
    *,
    progress: OnProgress | None = None,
) -> str:
    """Return the report of a result as one HTML page, and write it to a file if one is named."""
    page = render(summarise(found, given, progress=progress))
    if path is not None:
        replace_file(path, lambda stream: stream.write(page.encode()))
    return page


def summarise(
    found: Detection, given: Mapping[str, Any] | None = None, *, progress: OnProgress | None = None
) -> dict[str, Any]:
    """Collect what a report shows, as plain data; docs/report.md describes its members.

    Parameters
    ----------
    found : Detection
        The result.
    given : mapping, optional
        The options of the command that made it, by their names: ``file`` (the table, or
        ``--example``), ``apply``, ``marks`` and those of reading. None for a result of Python.
    progress : callable, optional
        Receives a :class:`ProgressReport` now and then, while reasons are found.
    """
    similar, measure = _similar(found.selection)
    word = word_of(given)
    return {
        "source": shown(_title(found.table), _LONGEST_SOURCE),
        "n_rows": found.n_rows,
        "n_columns": found.table.n_columns,
        "n_flagged": found.n_flagged,
        "facts": _facts(found, given or {}),
        "columns": [_column(column, word) for column in found.record.columns[:_MOST_COLUMNS]],
        "pick": _pick(found),
        "warnings": _texts(found.warnings, word),
        "notes": _texts(found.notes, word),
        "wrong": describe_findings(found),
        "scores": found.sketch(),
        "map": _map(found),
        "top": _top_rows(found, progress),
        "similar": similar,
        "measure": measure,
        "steps": next_steps(found, given),
        "recipe": recipe_of(found, given),
    }


def _facts(found: Detection, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    table = found.table
    facts = [("rows", f"{found.n_rows:,}"), ("columns", f"{table.n_columns:,}")]
    used = sum(column.is_used for column in found.record.columns)
    facts.append(("columns used", f"{used:,} of {len(found.record.columns):,}"))
    raw = None if table.original is None else table.original.raw
    if raw is not None:
        words = Reading.declared()["delimiter"].choices
        delimiter = words.get(raw.delimiter, repr(raw.delimiter))
        facts += [("delimiter", delimiter), ("encoding", raw.encoding)]
        facts += [("decimal mark", "comma" if raw.decimal == "," else "point")]
        facts += [("header", "first line" if raw.header else "none")]
    if given.get("sheet") is not None:
        facts.append(("sheet", str(given["sheet"])))
    if table.label is not None:
        n_outliers = counted(int(table.label.sum()), "outlier")
        facts.append(("label", f"{n_outliers} (to measure; not used to pick or score)"))
    if found.marks is not None:
        facts.append(("marks", found.marks.sentence()))
    facts.append(("rule for flags", found.rule_text))
    return [(name, shown(value, _NAME_LENGTH * 2)) for name, value in facts]


def _column(column: ColumnRecord, word: Word) -> dict[str, Any]:
    return {
        "name": _shown_name(column.name),
        "kind": column.kind,
        "role": column.role,
        "n_missing": column.n_missing,
        "done": shown(column.description(word), _LONGEST_NOTE // 3),
    }


def _pick(found: Detection) -> dict[str, Any]:
    """Describe the models that scored the rows."""
    n_models = len(found.weights)
    names = family_names(list(found.weights))
    average = f"the average of {n_models} models ({names})" if n_models > 1 else names
    who, expected, why = "of a saved pick", "", []
    if found.selection is not None:
        explained = found.selection.explain()
        who = "the same for every table" if explained.is_fixed else "picked for this table"
        expected, why = found.selection.trust.summary(), [shown(explained.reason(), _LONGEST_NOTE)]
    return {
        "sentence": shown(f"Rows are scored by {average}, {who}.", _LONGEST_NOTE),
        "members": [(shown(name, _LONGEST_NOTE), own) for name, own in found.weights.items()],
        "expected": expected.splitlines(),
        "why": why,
        "measured": [
            {"method": row.method}
            | {name: round(float(own), 4) for name, own in row.measures._asdict().items()}
            for row in found.compared
            if row.measures is not None
        ],
    }


def _similar(selection: Selection | None) -> tuple[list[dict[str, Any]], str]:
    """Return historical tables like this one, and the measure of performance there."""
    if selection is None:
        return [], ""
    try:
        nearest = selection.nearest()
    except UserError:  # meta-features cannot be computed
        return [], ""
    columns = ["n_rows", "n_columns", "performance", "reference"]
    plain = nearest.astype(object).where(nearest.notna(), None).reindex(columns=columns)
    rows: list[Any] = plain.to_dict("records")
    return rows, selection.measure


def _map(found: Detection) -> dict[str, Any]:
    prepared, places = found.mapped()
    words = prepared.record.words()
    names = [shown(words[name], _AXIS_NAME_LENGTH, keep_end=True) for name in prepared.names]
    if len(places) == found.n_rows:
        drawn = map_table(prepared.X, names, found.order)
    else:
        drawn = map_table(prepared.X, names, (-found.scores[places]).argsort(kind="stable"))
        rows = places[np.array(drawn["rows"])]
        drawn |= {"rows": rows.tolist(), "order": (found.ranks_of(rows) - 1).tolist()}
    return {**drawn, "flagged": found.flags[drawn["rows"]].tolist()}


def _texts(texts: Iterable[str | Message], word: Word) -> list[str]:
    """Shorten a list of messages."""
    every = [worded(text, word) for text in texts]
    kept = [shown(text, _LONGEST_NOTE) for text in every[:_MOST_NOTES]]
    hidden = len(every) - len(kept)
    return [*kept, f"... and {hidden} more"] if hidden else kept


# cells that are probably wrong


def _title(table: Table) -> str:
    """Return the file's name, or the whole pattern or address."""
    is_file = table.file_column is None and "://" not in table.source
    return PurePath(table.source).name if is_file else table.source


def describe_findings(
    found: Detection,
    answered: Collection[tuple[int, str]] = (),
    groups: slice = slice(_MOST_GROUPS),
) -> dict[str, Any] | None:
    """Collect what is probably wrong as plain data: groups, and the first cells of each.

    Parameters
    ----------
    found : Detection
        The result.
    answered : collection of (int, str)
        Rows, counted from 0, and columns of cells that are left out and not counted.
    groups : slice, optional
        Which groups to describe.
    """
    if found.wrong is None:
        return None
    every = cell_patterns(found, answered) if answered else found.cell_patterns
    kept = every[groups]
    rows = sorted({own.row for each in kept for own in each.findings[:_MOST_CELLS]})
    named = found.rows(np.array(rows, dtype=np.intp)).frame[[*found.record.naming]]
    texts = [[shown(cell_text(name), _CELL_LENGTH) for name in own] for own in named.to_numpy()]
    names = dict(zip(rows, texts, strict=True))
    n_cells, flags = found.wrong.n_findings, found.wrong.flags()
    if answered:
        left = {(own.row, own.column) for own in found.findings} - {*answered}
        n_cells, flags = len(left), np.isin(np.arange(found.n_rows), [row for row, _ in left])
    return {
        "n_cells": n_cells,
        "n_rows": int(flags.sum()),
        "n_groups": len(every),
        "groups": [_group(own, names, found.table) for own in kept],
    }


def _group(own: Pattern, names: Mapping[int, list[str]], table: Table) -> dict[str, Any]:
    findings = own.findings[:_MOST_CELLS]
    cells = [{**describe_finding(each, table), "names": names[each.row]} for each in findings]
    return {
        "kind": own.kind,
        "sentence": shown(own.sentence(), _LONGEST_NOTE),
        "is_same": len(cells) > 1 and len({each["value"] for each in cells}) == 1,
        "certainty": own.certainty,
        "n_cells": len(own.findings),
        "n_columns": len(own.columns),
        "cells": cells,
    }


def describe_finding(finding: Finding, table: Table) -> dict[str, Any]:
    """Describe a finding as plain data with short texts; rows are counted from 1."""
    suggestion = suggested(finding, table)
    return {
        "row": finding.row + 1,
        "name": finding.column,
        "column": _shown_name(finding.column),
        "value": shown(cell_text(finding.value, finding.written), _CELL_LENGTH),
        "expected": shown(finding.expected, _CELL_LENGTH),
        "reason": shown(finding.reason(), _REASON_LENGTH),
        "certainty": finding.certainty,
        "score": round(finding.score, 4),
        "suggestion": suggestion and shown(suggestion, _CELL_LENGTH),
    }


# the most outlying rows


def _top_rows(found: Detection, progress: OnProgress | None = None) -> dict[str, Any]:
    """Collect the most outlying rows of a table, their cells and the reasons for their scores."""
    places = found.top(_MOST_ROWS)
    explained = found.explain(places[:_MOST_EXPLAINED], progress=progress)
    frame = found.rows(places).frame
    index = _row_names(frame)
    naming = [*found.record.naming]
    kept = [*naming, *(name for name in _columns(found, explained) if name not in naming)]
    kept = kept[:_MOST_SHOWN]
    columns = [*index.items(), *((name, frame[name]) for name in kept)]
    texts = found.texts(places)
    cells = [_cells(values, texts.get(name)) for name, values in columns]
    places_of = {name: i for i, (name, _) in enumerate(columns)}
    patterns = found.row_patterns(progress=progress)[:_MOST_GROUPS]
    rows: list[dict[str, Any]] = []
    ranks = found.ranks_of(places).tolist()
    for i, place in enumerate(places.tolist()):
        written = {name: column[i] for name, column in texts.items()}
        why = _reasons(explained[i], written) if i < len(explained) else None
        label = found.table.label
        wrong = [
            {**describe_finding(own, found.table), "place": places_of.get(own.column)}
            for own in found.findings_of(place)[:_MOST_SHOWN]
        ]
        row = {
            "row": place + 1,
            "rank": ranks[i],
            "score": float(found.scores[place]),
            "is_flagged": bool(found.flags[place]),
            "cells": [column[i] for column in cells],
            "wrong": wrong,  # the place of each among the cells, None if it is not shown
            "why": why,  # empty if no single value sets the row apart, None if not computed
            "label": None if label is None else bool(label[place]),
            "mark": _mark(found, place),
        }
        rows.append(row)
    reasons = Counter(why["column"] for row in rows for why in row["why"] or ())
    return {
        # first those that name the rows, then those that set most rows apart
        "columns": [_shown_name(name) for name, _ in columns],
        "n_naming": len(naming) + len(index),
        "n_hidden": found.table.n_columns - len(kept),
        "rows": rows,
        # what rows without wrong cells have in common, with the first of them
        "patterns": [
            {
                "sentence": shown(own.sentence(), _LONGEST_NOTE),
                "n_cells": len(own.rows),
                "cells": [{"row": row + 1} for row in own.rows[:_MOST_CELLS]],
            }
            for own in patterns
        ],
        # for each column, the places of the rows in ascending order of its values, gaps last
        "orders": [_sorted(values) for _, values in columns],
        # columns that set rows apart, with the numbers of these rows
        "reason_columns": reasons.most_common(),
    }


def _row_names(frame: pd.DataFrame) -> "dict[str, pd.Series[Any]]":
    """Return the index of a frame as a column, unless it only counts the rows."""
    if isinstance(frame.index, pd.RangeIndex) or frame.index.dtype.kind in "iu":
        return {}
    name = "index" if frame.index.name is None else str(frame.index.name)
    return {name: frame.index.to_series()}


def _columns(found: Detection, explained: Sequence[RowReasons]) -> list[str]:
    """Return all columns: those that set most rows apart first, then the others that are used."""
    parts = Counter[str]()
    for reasons in explained:
        parts.update(reason.column for reason in reasons.main_reasons())
        parts.update(own.column for own in found.findings_of(reasons.row))
    used = {column.name for column in found.record.columns if column.is_used}
    own = [str(name) for name in found.table.frame.columns]
    return sorted(own, key=lambda name: (-parts[name], name not in used))


def _cells(values: "pd.Series[Any]", texts: Sequence[str] | None) -> list[str]:
    """Return cells as the file has them; without a file, as people write them."""
    if texts is not None:
        return [shown(text, _CELL_LENGTH) for text in texts]
    return [shown(cell_text(value), _CELL_LENGTH) for value in values]


def _reasons(explained: RowReasons, written: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "column": _shown_name(reason.column),
            "value": shown(written.get(reason.column) or reason.value_text, _CELL_LENGTH),
            "usual": shown(reason.usual_text, _USUAL_LENGTH),
            "share": round(reason.share, 3),
        }
        for reason in explained.main_reasons()
    ]


def _shown_name(name: str) -> str:
    return shown(name, _NAME_LENGTH, keep_end=True)


def _mark(found: Detection, place: int) -> str:
    # the marks of a saved pick are of the rows that it was fitted to
    if found.marks is None or found.selection is None or place not in found.marks.answers:
        return ""
    return {True: "outlier", False: "not", None: "unsure"}[found.marks.answers[place]]


def _sorted(values: "pd.Series[Any]") -> list[int]:
    plain = values.reset_index(drop=True)
    try:
        ordered = plain.sort_values(kind="stable", na_position="last")
    except TypeError:  # values of several kinds
        ordered = plain.astype(str).sort_values(kind="stable")
    return [int(place) for place in ordered.index]
