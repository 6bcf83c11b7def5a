"""Rows of a review on the screen: what sets each apart, and how far the review has come."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metaod.cli.detection import shown_cell
from metaod.cli.screen import visible

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Detection, RowReasons
    from metaod.review import RowCell

_MOST_APART, _LEAST_SHOWN = 8, 3
_LONGEST_NAME = 24  # characters
_GUTTER = "   "


class RowScreen:
    """Shows rows of a table, in the width of the screen.

    Parameters
    ----------
    out : Console
        Where to print.
    found : Detection
        The result that tells what sets rows apart; columns that name the rows are shown first.
    """

    def __init__(self, out: "Console", found: "Detection") -> None:
        from metaod.review import RowView

        self._out = out
        self._view = RowView(found.table, found.record)
        self._explain = found.explain
        self._naming = found.record.naming
        self._order = {
            column.name: (column.role != "id", column.kind != "identifier", not column.is_used)
            for column in found.record.columns
        }

    def show_row(self, row: int, count: str, n_lines: int) -> None:
        """Show a row, counted from 0, and the count of the answers; `n_lines` are free."""
        [explained] = self._explain([row])
        apart, heading, others = self._parts(row, explained)
        self._out.print(f"\nrow {row + 1}{_GUTTER}{count}", style="bold")
        self._out.print(heading)
        names, values = [_name(cell) for cell in apart], [_value(cell) for cell in apart]
        widths = _width(names), _width(values)
        for cell, name, value in zip(apart, names, values, strict=True):
            usual = visible(cell.usual)
            self._line(
                f"  {_fit(name, widths[0])}{_GUTTER}{_fit(value, widths[1])}{_GUTTER}{usual}"
            )
        room = max(1, n_lines - len(apart) - 4)
        pairs = [f"{_name(cell)} {_value(cell)}" for cell in others]
        for line in _flow(pairs, self._out.width - 2, room):
            self._line(f"  {line}")

    def show_list(self, rows: Sequence[int], count: str) -> None:
        """Show a line for each of several rows."""
        self._out.print(f"\n{len(rows)} rows{_GUTTER}{count}", style="bold")
        width = len(str(max(rows) + 1))
        for row, explained in zip(rows, self._explain(rows), strict=True):
            apart, _, others = self._parts(row, explained)
            named = {reason.column for reason in explained.main_reasons(_MOST_APART)}
            names = [cell for cell in others if cell.name in self._naming][:1]
            line = " ".join([f"{row + 1:>{width}} ", *(f"{_value(cell)}:" for cell in names)])
            unusual = (cell for cell in apart if cell.is_unusual or cell.name in named)
            cells = [f"{_name(cell)} {_value(cell)} ({visible(cell.usual)})" for cell in unusual]
            cells = cells or ["no single value is unusual"]
            for place, cell in enumerate(cells):
                longer = f"{line}{', ' if place else ' '}{cell}"
                if place and _width([longer]) > self._out.width:
                    break
                line = longer
            self._line(line)

    def _parts(
        self, row: int, explained: "RowReasons"
    ) -> "tuple[list[RowCell], str, list[RowCell]]":
        """Return the cells that set a row apart, what to call them, and the others.

        Reasons come first: what the score would lose. Cells that are rare follow.
        """
        cells = self._view.cells(row)
        known = {cell.name: cell for cell in cells}
        apart = {
            reason.column: replace(known[reason.column], usual=reason.usual_text)
            for reason in explained.main_reasons(_MOST_APART)
        }
        for cell in cells:
            if cell.sets_apart and len(apart) < _MOST_APART:
                apart.setdefault(cell.name, cell)
        heading = "what sets it apart:" if apart else "no single value sets it apart; least usual:"
        for cell in cells:
            if cell.is_unusual and len(apart) < _LEAST_SHOWN:
                apart.setdefault(cell.name, cell)
        apart = apart or {cell.name: cell for cell in cells[:_LEAST_SHOWN] if cell.usual}
        others = [cell for cell in cells if cell.name not in apart]
        others.sort(key=lambda cell: self._order[cell.name])
        return list(apart.values()), heading, others

    def _line(self, text: str) -> None:
        self._out.print(_fit(text, self._out.width).rstrip(), no_wrap=True)


def _name(cell: "RowCell") -> str:
    """Shorten a name in its middle: names of one table often begin alike."""
    text = visible(cell.name[:_LONGEST_NAME] + cell.name[_LONGEST_NAME:][-_LONGEST_NAME:])
    if len(text) <= _LONGEST_NAME:
        return text
    half = _LONGEST_NAME // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def _value(cell: "RowCell") -> str:
    return shown_cell(cell.value, cell.text) or "missing"


def _width(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _fit(text: str, width: int) -> str:
    """Fill or cut a text to a width; wide characters count twice."""
    from rich.text import Text

    shown = Text(text)
    shown.truncate(width, overflow="ellipsis", pad=True)
    return shown.plain


def _flow(pairs: Sequence[str], width: int, n_lines: int) -> list[str]:
    """Fill lines with as many texts as fit; the last line says how many do not."""
    lines: list[str] = []
    for place, pair in enumerate(pairs):
        more = f"… and {len(pairs) - place} more"
        if lines and _width([lines[-1] + _GUTTER + pair]) <= width:
            lines[-1] += _GUTTER + pair
        elif len(lines) < n_lines:
            lines.append(pair)
        else:
            lines[-1] = _fit(lines[-1], width - len(_GUTTER + more)).rstrip() + _GUTTER + more
            break
    return lines
