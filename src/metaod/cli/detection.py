"""How ``metaod detect`` shows its result on the screen."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from metaod.cli.progress import ProgressLine
from metaod.cli.screen import grid, print_notes, print_warnings, size_of, visible, width_of
from metaod.errors import counted, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    from metaod.detection import Compared, Detection
    from metaod.wrong_cells import Pattern

Column = tuple[str, list[str]]  # of a listing: its heading and its cells

MEASURES = ("AP", "ROC AUC", "P at n")
"""Headings of the measures of a comparison."""

_LONGEST_CELL = 20  # characters of a cell on the screen: 19-digit ids fit
_GUTTER = 3  # between two columns of a grid
_NUMBERS = ("rank", "row", "score", "p-value")
_LEAST_WHY = 30  # characters for why a row is unusual
_WHY_LINES = 2
_ROW_NUMBERS = 16  # characters of a line with row numbers
_MOST_NUMBERS = 6


def print_detection(
    out: "Console", found: "Detection", top: int, *, verbose: bool, is_written: tuple[bool, bool]
) -> None:
    """Print what is probably wrong, the pick and its warnings, and the most unusual rows.

    ``is_written`` tells whether the scored table and the findings are written to files.
    """
    size = size_of(found.table.source, found.n_rows, found.table.n_columns)
    out.print(size, style="bold")
    table, cells = is_written
    _print_findings(out, found, top, "" if cells else "; --cells FILE writes all")
    heading = "saved pick" if found.selection is None else "pick"
    print_pick(out, tuple(found.weights), heading, verbose=verbose)
    warnings = found.warnings
    print_warnings(out, warnings)
    print_notes(out, found.notes, warnings)
    if found.marks is not None:
        out.print(found.marks.sentence())
    n_flagged, n_rows = found.n_flagged, found.n_rows
    limit = f"score above {found.threshold:.4g}"
    if found.top_n is not None:
        limit = f"score {found.score_at(found.top_n):.4g} or more"
    flagged = f"flagged: {n_flagged:,} of {counted(n_rows, 'row')} ({percent(n_flagged / n_rows)})"
    if found.wrong is not None and n_flagged != found.n_unusual:
        n_wrong = int((found.wrong.flags() & (found.flags == 1)).sum())
        n_both = n_wrong + found.n_unusual - n_flagged
        both = f", {n_both:,} for both" if n_both else ""
        limit = limit.removeprefix("score ")
        why = f"{n_wrong:,} with wrong cells, {found.n_unusual:,} for their score ({limit}){both}"
        out.print(f"{flagged}: {why}")
    else:
        out.print(f"{flagged}, {limit}")
    out.print(_about_rule(found))
    if found.compared:
        out.print(comparison_grid(found.compared))
    if top and (patterns := found.row_patterns()):
        rows = numbers_and_sentences(out, patterns[:top], [])
        listing = grid("row", "similar unusual rows", right=("row",), rows=rows)
        out.print(listing, width=width_of(out))
    if top:
        out.print(_top_rows(found, top, width_of(out)))
    hidden = n_flagged - top
    if top and hidden > 0:
        hint = "" if table else "; -o FILE writes all rows"
        out.print(f"... and {counted(hidden, 'more flagged row')}{hint}")


def print_pick(
    out: "Console", models: Sequence[str], heading: str = "pick", *, verbose: bool = False
) -> None:
    """Print the names of the picked models' families; with `verbose`, also the models' ids."""
    from metaod.selection import family_names

    names = visible(family_names(models))
    out.print(f"{heading}: {names}" + (" (average of their scores)" if len(models) > 1 else ""))
    for name in models if verbose else ():
        out.print(f"  {visible(name)}")


def comparison_grid(rows: "Sequence[Compared]") -> "Grid":
    """Return the measures of several methods as a table for the screen."""
    timed = ("seconds",) if any(row.seconds is not None for row in rows) else ()
    listing = grid("method", *MEASURES, *timed, "model", right=(*MEASURES, *timed))
    for row in rows:
        found = "---" if row.measures is None else (f"{value:.3f}" for value in row.measures)
        seconds = ["-" if row.seconds is None else f"{row.seconds:.2g}" for _ in timed]
        listing.add_row(row.method, *found, *seconds, visible(row.note or row.model))
    return listing


def _print_findings(out: "Console", found: "Detection", most: int, hint: str) -> None:
    """Print what is probably wrong: a line for each group of like findings."""
    if found.wrong is None:
        return
    groups = found.cell_patterns
    if not groups:
        out.print("probably wrong: no cells", style="bold")
        return
    n_rows = int(found.wrong.flags().sum())
    size = f"{counted(found.wrong.n_findings, 'cell')} in {counted(n_rows, 'row')}"
    out.print(f"probably wrong: {size}", style="bold")
    if not most:
        return
    certainty = "certainty", [own.certainty for own in groups[:most]]
    found_rows = numbers_and_sentences(out, groups[:most], [certainty])
    rows = ((*own, word) for own, word in zip(found_rows, certainty[1], strict=True))
    out.print(
        grid("row", "what is probably wrong", "certainty", right=("row",), rows=rows),
        width=width_of(out),
    )
    if len(groups) > most:
        n_more = sum(len(own.findings) for own in groups[most:])
        out.print(f"... and {counted(n_more, 'more cell')}{hint}")


def numbers_and_sentences(
    out: "Console", patterns: "Sequence[Pattern]", others: Sequence[Column]
) -> list[tuple[str, str]]:
    """Describe patterns; row numbers take the lines that sentences need beside other columns."""
    from rich.text import Text

    room = _room([("row", ["0" * _ROW_NUMBERS]), *others], width_of(out))
    sentences = [visible(own.sentence()) for own in patterns]
    n_lines = [len(Text(sentence).wrap(out, room)) for sentence in sentences]
    numbers = [_row_numbers(own.rows, n) for own, n in zip(patterns, n_lines, strict=True)]
    return list(zip(numbers, sentences, strict=True))


def _row_numbers(rows: Sequence[int], n_lines: int) -> str:
    """Name the first rows, counted from 1, in so many lines."""
    lines: list[str] = []
    for count in range(min(len(rows), _MOST_NUMBERS), 0, -1):
        named = [*(str(row + 1) for row in rows[:count]), *(["..."] if count < len(rows) else [])]
        lines = wrap(", ".join(named), _ROW_NUMBERS)
        if len(lines) <= n_lines:
            break
    return "\n".join(lines)


def _about_rule(found: "Detection") -> str:
    """Say what decides how many rows are flagged for their scores, and where a gap is."""
    text = f"rule: {found.rule_text}"
    if found.gap is None or not found.is_new:
        return text
    n_above, above, below = found.gap
    hint = "" if found.rule == "gap" else f"; --top-n {n_above} flags the rows above it"
    gap = f"rank {n_above:,} scores {above:.4g}, rank {n_above + 1:,} {below:.4g}"
    return f"{text}\nclear gap: {gap}{hint}"


def _top_rows(found: "Detection", top: int, width: int) -> Any:
    """Return the most outlying rows, with their names and why they are unusual."""
    places = found.top(top)
    columns = [
        ("rank", [str(rank) for rank in found.ranks_of(places).tolist()]),
        ("row", [str(place + 1) for place in places]),  # counted from 1, without the header
        ("score", [f"{found.scores[place]:.4g}" for place in places]),
        ("flag", ["yes" if found.flags[place] else "" for place in places]),
    ]
    for naming in _naming_columns(found, places):
        if _room([*columns, naming], width) < _LEAST_WHY:
            break
        columns.append(naming)
    return grid_of_rows(columns, "why it is unusual", reasons_of(found, places), width)


def grid_of_rows(
    columns: Sequence[Column], heading: str, texts: Sequence[Sequence[str]], width: int
) -> Any:
    """Return rows with texts about each, which take the room that other columns leave."""
    room = _room(columns, width)
    names, cells = zip(*columns, strict=True)
    rows = zip(*cells, (_packed(own, room) for own in texts), strict=True)
    listing = grid(*names, heading, right=_NUMBERS, rows=rows)
    listing.columns[-1].max_width = room
    return listing


def _room(columns: Sequence[Column], width: int) -> int:
    """Return the characters that columns leave for one more."""
    from rich.cells import cell_len

    widths = (max(map(cell_len, (name, *cells))) for name, cells in columns)
    return width - sum(own + _GUTTER for own in widths) - _GUTTER


def reasons_of(found: "Detection", places: Any) -> list[list[str]]:
    """Describe why rows are unusual, with the cells as the file has them."""
    texts = found.texts(places)
    described = []
    with ProgressLine("explaining rows") as line:
        reasons_of = found.explain(places, progress=line.show)
    for i, explained in enumerate(reasons_of):
        own = [
            reason.text(shown_cell(reason.value, texts[reason.column][i]))
            if reason.column in texts
            else str(reason)
            for reason in explained.main_reasons()
        ]
        described.append([visible(text) for text in own or [str(explained)]])
    return described


def _naming_columns(found: "Detection", places: Any) -> list[Column]:
    """Return the cells of the columns that the user says name the rows."""
    names = [column.name for column in found.record.columns if column.role == "id"]
    if not names:
        return []
    frame, texts = found.rows(places).frame, found.texts(places)
    nothing = [""] * len(places)
    cells = (map(shown_cell, frame[name], texts.get(name, nothing)) for name in names)
    return [(_short(name), list(own)) for name, own in zip(names, cells, strict=True)]


def _packed(texts: Sequence[str], width: int) -> str:
    """Fill two lines with whole texts; one that is longer than a line is broken at blanks."""
    from rich.cells import cell_len

    lines: list[str] = []
    for reason in texts:
        if lines and cell_len(f"{lines[-1]}; {reason}") <= width:
            lines[-1] += f"; {reason}"
        elif not lines or (len(lines) < _WHY_LINES and cell_len(reason) <= width):
            lines = [*(f"{line};" for line in lines[-1:]), reason]
    return "\n".join(lines)


def shown_cell(value: Any, text: str = "") -> str:
    """Return a cell for the screen: as in the file, shortened."""
    from metaod.tables import cell_text

    return _short(cell_text(value, text))


def _short(text: str) -> str:
    shown = visible(text[: _LONGEST_CELL + 1])
    return shown if len(shown) <= _LONGEST_CELL else shown[: _LONGEST_CELL - 1] + "…"
