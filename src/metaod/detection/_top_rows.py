"""The most outlying rows of a table, their cells and the reasons for their scores."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from metaod.detection._detection import Detection
from metaod.detection._reasons import RowReasons
from metaod.report import TopRow, TopRows, Why, shown, shown_name
from metaod.selection import OnProgress
from metaod.tables import cell_text

MOST_ROWS = 200
MOST_EXPLAINED = 100
NAME_LENGTH = 48
_MOST_COLUMNS = 12
_CELL_LENGTH = 60
_USUAL_LENGTH = 80


def top_rows(found: Detection, progress: OnProgress | None = None) -> TopRows:
    """Collect the most outlying rows of a table."""
    places = found.top(MOST_ROWS)
    explained = found.explain(places[:MOST_EXPLAINED], progress=progress)
    frame = found.rows(places).frame
    index = _row_names(frame)
    kept, n_naming = _kept(found, _columns(found, explained))
    columns = [*index.items(), *((name, frame[name]) for name in kept)]
    original = found.table.original
    texts = {} if original is None else original.texts(places.tolist())
    cells = [_cells(values, texts.get(name)) for name, values in columns]
    rows = []
    ranks = found.ranks_of(places)
    for i, place in enumerate(places.tolist()):
        written = {name: column[i] for name, column in texts.items()}
        why = _reasons(explained[i], written) if i < len(explained) else None
        row = TopRow(
            row=place + 1,
            rank=ranks[i],
            score=float(found.scores[place]),
            cells=tuple(column[i] for column in cells),
            why=why,
            label=None if found.table.label is None else bool(found.table.label[place]),
            mark=_mark(found, place),
        )
        rows.append(row)
    return TopRows(
        columns=tuple(shown_name(name, NAME_LENGTH) for name, _ in columns),
        n_naming=n_naming + len(index),
        n_hidden=found.table.n_columns - len(kept),
        rows=tuple(rows),
        orders=tuple(_sorted(values) for _, values in columns),
    )


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
        for reason in reasons.main_reasons():
            parts[reason.column] += 1
    used = {column.name for column in found.record.columns if column.is_used}
    own = [str(name) for name in found.table.frame.columns]
    return sorted(own, key=lambda name: (-parts[name], name not in used))


def _kept(found: Detection, names: Sequence[str]) -> tuple[list[str], int]:
    """Return the columns to show, and how many of them name the rows."""
    roles = {column.name: column for column in found.record.columns}
    naming = [name for name in names if name in roles and roles[name].role == "id"]
    if not naming:
        naming = [name for name in names if name in roles and roles[name].kind == "identifier"]
    naming = naming[:2]
    others = [name for name in names if name not in naming]
    return [*naming, *others][:_MOST_COLUMNS], len(naming)


def _cells(values: "pd.Series[Any]", texts: Sequence[str] | None) -> list[str]:
    """Return cells as the file has them; without a file, as people write them."""
    if texts is not None:
        return [shown(text, _CELL_LENGTH) for text in texts]
    return [shown(cell_text(value), _CELL_LENGTH) for value in values]


def _reasons(explained: RowReasons, written: dict[str, str]) -> tuple[Why, ...]:
    return tuple(
        Why(
            column=shown_name(reason.column, NAME_LENGTH),
            value=shown(
                cell_text(reason.value, written.get(reason.column, "")) or "missing", _CELL_LENGTH
            ),
            usual=shown(reason.usual_text, _USUAL_LENGTH),
            share=round(reason.share, 3),
        )
        for reason in explained.main_reasons()
    )


def _mark(found: Detection, place: int) -> str:
    # the marks of a saved pick are of the rows that it was fitted to
    if found.marks is None or found.selection is None or place not in found.marks.answers:
        return ""
    return {True: "outlier", False: "not", None: "unsure"}[found.marks.answers[place]]


def _sorted(values: "pd.Series[Any]") -> tuple[int, ...]:
    plain = values.reset_index(drop=True)
    try:
        ordered = plain.sort_values(kind="stable", na_position="last")
    except TypeError:  # values of several kinds
        ordered = plain.astype(str).sort_values(kind="stable")
    return tuple(int(place) for place in ordered.index)
