"""The result of ``metaod detect``, and how it is shown on the screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metaod.cli.compare import comparison_grid
from metaod.cli.screen import grid, visible
from metaod.cli.select import print_notes, print_pick, print_warnings
from metaod.errors import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console

    from metaod.selection import Compared, RowReasons, Selection
    from metaod.tables import PreparationRecord, Table

_LONGEST_CELL = 20  # characters of a cell on the screen: 19-digit ids fit
_LONGEST_NUMBER = 12  # as in the file: 1,234,567.89 fits
_GUTTER = 3  # between two columns of a grid
_SCREEN = 80
_LEAST_WHY = 30  # characters for what sets a row apart
_WHY_LINES = 2


@dataclass(frozen=True)
class UsedMarks:
    """Answers by row, counted from 0, notes about their file, and the marks that match no row."""

    answers: dict[int, bool | None]
    notes: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Count the marks, as plain data; unsure ones are not used."""
        answers = list(self.answers.values())
        n_yes, n_no = answers.count(True), answers.count(False)
        kinds = {"outliers": n_yes, "others": n_no, "unsure": len(answers) - n_yes - n_no}
        return {"used": n_yes + n_no, **kinds, "unmatched": list(self.unmatched)}

    def sentence(self) -> str:
        """Say how many marks are used."""
        found = self.to_dict()
        kinds = f"{counted(found['outliers'], 'outlier')}, {found['others']} not"
        unsure = f"; {found['unsure']} unsure" if found["unsure"] else ""
        return f"learned from {counted(found['used'], 'mark')} ({kinds}){unsure}"


@dataclass(frozen=True, eq=False)
class Detection:
    """A table, the scores of its rows, and the selection unless the pick was a saved one."""

    table: "Table"
    scores: "npt.NDArray[np.float64]"
    threshold: float
    weights: dict[str, float]
    notes: tuple[str, ...]
    record: "PreparationRecord"
    selection: "Selection | None" = None
    top_n: int | None = None
    compared: "tuple[Compared, ...]" = ()  # on the label, if there is one
    marks: UsedMarks | None = None
    explain: "Callable[[npt.NDArray[np.intp]], list[RowReasons]]" = lambda _: []
    why: list[str] | None = None  # reasons to write, a text for each row

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the pick may be unreliable, and how new rows differ from those of a saved pick."""
        own = () if self.selection is None else self.selection.trust.warnings
        return (*own, *self.record.drift_warnings())

    @cached_property
    def flags(self) -> "npt.NDArray[np.int64]":
        """1 for outliers, 0 for the other rows."""
        if self.top_n is None:
            return (self.scores > self.threshold).astype("int64")
        return (self.order.argsort() < self.top_n).astype("int64")

    @cached_property
    def gap(self) -> tuple[int, float, float] | None:
        """Rows above a clear gap in the scores, and the scores at its ends; or None.

        Marked outliers are far above all other rows, so with marks a gap tells nothing.
        """
        if self.marks is not None:
            return None
        from metaod.selection import clear_gap

        n_above = clear_gap(self.scores)
        if n_above is None:
            return None
        above, below = self.scores[self.order[n_above - 1 : n_above + 1]].tolist()
        return n_above, above, below

    @cached_property
    def order(self) -> "npt.NDArray[np.intp]":
        """Places of the rows, the most outlying first; equal scores as in the table."""
        return (-self.scores).argsort(kind="stable")

    @cached_property
    def ranks(self) -> "npt.NDArray[np.int64]":
        """1 for the most outlying row; equal scores share the smallest of their ranks."""
        ordered = -self.scores[self.order]
        return ordered.searchsorted(-self.scores, side="left").astype("int64") + 1


def print_detection(
    out: "Console", found: Detection, top: int, *, verbose: bool, is_written: bool
) -> None:
    """Print the pick, the warnings, how many rows are flagged, and the most outlying ones."""
    size = f"{counted(found.table.n_rows, 'row')} × {counted(found.table.n_columns, 'column')}"
    out.print(f"{visible(found.table.source)}: {size}", style="bold")
    heading = "saved pick" if found.selection is None else "pick"
    print_pick(out, tuple(found.weights), heading, verbose=verbose)
    warnings = found.warnings
    print_warnings(out, warnings)
    own = () if found.marks is None else found.marks.notes
    print_notes(out, (*found.table.warnings, *own, *found.notes), warnings)
    if found.marks is not None:
        out.print(found.marks.sentence())
    n_flagged = int(found.flags.sum())
    n_rows = len(found.flags)
    limit = f"score above {found.threshold:.4g}"
    if found.top_n is not None:
        limit = f"score {found.scores[found.order[found.top_n - 1]]:.4g} or more"
    out.print(
        f"flagged: {n_flagged} of {counted(n_rows, 'row')} ({n_flagged / n_rows:.1%}), {limit}"
    )
    if found.selection is not None and found.marks is None:
        out.print(_about_gap(found))
    if found.compared:
        out.print(comparison_grid(found.compared))
    if top:
        out.print(_top_rows(found, top, out.width if out.is_terminal else _SCREEN))
    hidden = n_flagged - top
    if top and hidden > 0:
        hint = "" if is_written else "; -o FILE writes all rows"
        out.print(f"... and {counted(hidden, 'more flagged row')}{hint}")


def _about_gap(found: Detection) -> str:
    """Say whether the scores tell how many rows stand out."""
    if found.gap is None:
        return "no clear gap: scores fall off smoothly, so the number of flags is a convention"
    n_above, above, below = found.gap
    hint = "" if n_above == found.flags.sum() else f"; --top-n {n_above} flags the rows above it"
    return f"clear gap: rank {n_above} scores {above:.4g}, rank {n_above + 1} {below:.4g}{hint}"


def _top_rows(found: Detection, top: int, width: int) -> Any:
    """Return the most outlying rows, with their names and what sets them apart."""
    places = found.order[:top]
    shown = [("rank", [str(found.ranks[place]) for place in places])]
    # rows are counted from 1, without the header
    shown.append(("row", [str(place + 1) for place in places]))
    shown.append(("score", [f"{found.scores[place]:.4g}" for place in places]))
    shown.append(("flag", ["yes" if found.flags[place] else "" for place in places]))
    room = width - sum(_width(*column) for column in shown) - _GUTTER
    for name, cells in _naming_columns(found, places):
        if room - _width(name, cells) < _LEAST_WHY:
            break
        shown.append((name, cells))
        room -= _width(name, cells)
    shown.append(("what sets it apart", [_packed(t, room) for t in _reasons(found, places)]))
    listing = grid(*(name for name, _ in shown), right=("rank", "row", "score"))
    listing.columns[-1].max_width = room
    for row in zip(*(cells for _, cells in shown), strict=True):
        listing.add_row(*row)
    return listing


def _reasons(found: Detection, places: Any) -> list[list[str]]:
    """Describe what sets rows apart, with the cells as the file has them."""
    original = found.table.original
    texts = {} if original is None else original.texts(places.tolist())
    described = []
    for i, explained in enumerate(found.explain(places)):
        own = [
            reason.text(shown_cell(reason.value, texts[reason.column][i]))
            if reason.column in texts
            else str(reason)
            for reason in explained.main_reasons()
        ]
        described.append([visible(text) for text in own or [str(explained)]])
    return described


def _naming_columns(found: Detection, places: Any) -> list[tuple[str, list[str]]]:
    """Return the cells of the columns that the user says name the rows."""
    names = [column.name for column in found.record.columns if column.role == "id"]
    frame, original = found.table.frame, found.table.original
    texts = {} if original is None or not names else original.texts(places.tolist())
    columns = []
    for name in names:
        written = texts.get(name, [""] * len(places))
        values = frame[name].iloc[places]
        cells = [shown_cell(value, text) for value, text in zip(values, written, strict=True)]
        columns.append((_short(name), cells))
    return columns


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


def _width(name: str, cells: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, (name, *cells))) + _GUTTER


def shown_cell(value: Any, text: str = "") -> str:
    """Write a cell as in the file if it is not a number of many digits."""
    import pandas as pd

    from metaod.tables import number_text

    text = text.strip()
    is_number = isinstance(value, float) and not pd.isna(value)
    if text and (len(text) <= _LONGEST_NUMBER or not is_number):
        return _short(text)
    if pd.isna(value):
        return ""
    shown = number_text(value) if isinstance(value, float) else str(value)
    # a date without a time of day
    shown = shown.removesuffix(" 00:00:00") if isinstance(value, pd.Timestamp) else shown
    return _short(shown)


def _short(text: str) -> str:
    shown = visible(text[: _LONGEST_CELL + 1])
    return shown if len(shown) <= _LONGEST_CELL else shown[: _LONGEST_CELL - 1] + "…"
