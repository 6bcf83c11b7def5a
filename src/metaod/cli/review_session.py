"""A review at the terminal: show rows with what sets them apart, and take answers."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from metaod.cli.detection import shown_cell
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import visible
from metaod.errors import UserError

if sys.platform != "win32":
    import termios
    import tty

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Detection, ReviewSession, RowReasons
    from metaod.review import RowCell

_MOST_LISTED = 20  # rows of a pattern
_MOST_APART, _LEAST_SHOWN = 8, 3  # cells of a row
_LONGEST_NAME = 24  # characters
_GUTTER = "   "
Answers = dict[int, bool | None]  # by row, counted from 0

_WORDS: dict[str, bool | None] = {"y": True, "yes": True, "n": False, "no": False, "?": None}
_WORDS["unsure"] = None
_BACK, _QUIT, _NONE = ("b", "back"), ("q", "quit"), "none"
_PATTERN = ("p", "pattern")
_ASK_ONE = "outlier? y yes, n no, ? unsure, b back, q quit: "
_ASK_PATTERN = "are all {} rows outliers? y yes, n no, ? unsure, b back to the row: "
_ASK_MANY = "{} answers (y n ?), outliers' row numbers, or none; b, q: "


def ask_rows(out: "Console", session: "ReviewSession", batch: int) -> None:
    """Ask about rows, `batch` at once, until the user quits or every row is answered."""
    screen = _RowScreen(out, session.first)
    reader = _Reader(out, is_keys=batch == 1)
    with ProgressLine("beginning the review"):
        rows = session.ask(batch)
        _ = session.patterns if batch == 1 else ()
    while rows:
        alike: list[int] = []
        if batch == 1:
            n_lines = shutil.get_terminal_size().lines - 2  # below: the question, and the next row
            screen.show_row(rows[0], _count(session), n_lines)
            alike = _show_pattern(out, session, rows[0])
        else:
            screen.show_list(rows, _count(session))
        answers = reader.read(rows, words=_PATTERN if alike else ())
        if isinstance(answers, str):
            screen.show_list(alike[:_MOST_LISTED], _count(session))
            given = reader.read(alike[:1], _ASK_PATTERN.format(len(alike)))
            if given == {}:
                continue
            answers = None
            if isinstance(given, dict):
                answers = dict.fromkeys(alike, given[alike[0]])
        if answers is None:
            return
        if answers:
            session.tell(answers)
            rows = session.ask(batch)
            continue
        earlier = session.back()
        if earlier:
            taken = ", ".join(str(row + 1) for row in earlier)
            out.print(f"took back the answer for row {taken}; answer it again to keep it")
        else:
            out.print("there is no earlier answer")
        rows = earlier[:batch] or rows
    out.print("every row is answered")


def _show_pattern(out: "Console", session: "ReviewSession", row: int) -> list[int]:
    """Name the pattern of a row, and return its rows without an answer if there are others."""
    found = session.pattern_of(row)
    if found is None:
        return []
    alike = session.left_of(found)
    out.print(f"like others: {visible(found.sentence())}")
    out.print(f"p lists the {len(alike)} rows, to answer for all at once")
    return alike


def _count(session: "ReviewSession") -> str:
    """Say how far the review has come."""
    review = session.review
    count = f"answered {len(session.answers)}, outliers {review.found}"
    left = review.expected_left
    if left is None:
        return count
    return f"{count}, about {left.estimate:.0f} left ({left.low:.0f} to {left.high:.0f})"


class _Reader:
    """Reads answers: keys of a terminal, or lines of a terminal or a pipe."""

    def __init__(self, out: "Console", *, is_keys: bool) -> None:
        self._out = out
        self._is_terminal = sys.stdin.isatty()
        self._is_keys = is_keys and self._is_terminal
        self._n_lines = 0

    def read(
        self, rows: Sequence[int], prompt: str = "", words: Sequence[str] = ()
    ) -> Answers | str | None:
        """Return the answers by row or one of the words; no answers to go back, None to quit."""
        prompt = prompt or (_ASK_ONE if len(rows) == 1 else _ASK_MANY.format(len(rows)))
        while True:
            with _keys() if self._is_keys else _lines() as read:
                self._out.print(prompt, end="")
                self._out.file.flush()
                line = self._next(read)
            if line is None or self._is_keys or not self._is_terminal:
                self._out.print(visible(line or ""))  # a terminal shows whole lines by itself
            if line is None or line.lower() in _QUIT:
                return None
            if line.lower() in _BACK:
                return {}
            if line.lower() in words:
                return line
            try:
                return read_answers(line, rows)
            except UserError as error:
                if not self._is_terminal:
                    where = f"standard input, line {self._n_lines}"
                    raise UserError(error.what, where=where, remedy=error.remedy) from error
                self._out.print(visible(str(error)))

    def _next(self, read: Callable[[], str]) -> str | None:
        """Return the next answer without blanks around it; None at the end."""
        while True:
            try:
                line = read()
            except (EOFError, UnicodeDecodeError):
                return None
            if line in ("", "\x04"):  # the end of a pipe, and Ctrl-D at a terminal
                return None
            self._n_lines += 1
            if line.strip() or self._is_terminal:
                return line.strip().removeprefix("\ufeff")


@contextmanager
def _lines() -> Iterator[Callable[[], str]]:
    yield sys.stdin.readline


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Read keys without Enter; those pressed before, while another row was shown, are lost."""
    if sys.platform == "win32":
        yield typer.getchar
        return
    terminal = sys.stdin.fileno()
    earlier = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSAFLUSH)
    try:
        yield lambda: os.read(terminal, 64).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, earlier)


def read_answers(line: str, rows: Sequence[int]) -> Answers:
    """Read y, n and ? for all rows in turn, or the numbers of the rows that are outliers.

    >>> read_answers("yn?", [6, 2, 9])
    {6: True, 2: False, 9: None}
    >>> read_answers("10 3", [6, 2, 9])
    {6: False, 2: True, 9: True}
    """
    words = line.lower().replace(",", " ").split()
    letters = words if all(word in _WORDS for word in words) else list("".join(words))
    if len(letters) == len(rows) and all(letter in _WORDS for letter in letters):
        return dict(zip(rows, map(_WORDS.get, letters), strict=True))
    if len(rows) == 1:
        remedy = "answer y, n, ? (unsure), b (back) or q (quit)"
        raise UserError(f"{_shown(line)} is not an answer", remedy=remedy)
    if words == [_NONE]:
        return dict.fromkeys(rows, False)
    if words and set(letters) <= _WORDS.keys():
        what = f"{len(letters)} answers for {len(rows)} rows"
        raise UserError(what, remedy="give one letter for each row")
    numbers = {str(row + 1): row for row in rows}
    for word in words:
        if word not in numbers:
            is_number = word.isdecimal()
            what = f"{_shown(word)} is not {'one of the rows' if is_number else 'an answer'}"
            remedy = "give y, n or ? for each row, or the row numbers of the outliers, or none"
            raise UserError(what, remedy=remedy)
    if not words:
        raise UserError("there is no answer", remedy="give y, n or ? for each row")
    return {row: str(row + 1) in words for row in rows}


def _shown(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:29] + "…")


class _RowScreen:
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
        heading = "why it is unusual:" if apart else "no single value is unusual; least usual:"
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
