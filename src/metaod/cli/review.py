"""``metaod review``: a person marks rows as outliers or not, and the ranking learns from it."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from metaod._files import expanded
from metaod.cli.options import Example, File, open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.review_session import ask_rows
from metaod.cli.screen import console, grid, print_notes, size_of, visible, width_of
from metaod.errors import UserError, counted, hide_password
from metaod.options import Columns, Options, Picking, Reading, option

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Detection, MetaOD, ReviewSession
    from metaod.tables import Table

_COMMAND = "metaod review"
_CHECKPOINTS = (0, 5, 10, 20, 40, 80)  # answers after which a played review is measured


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """The options of this command alone."""

    marks: str | None = option(
        None, "File of the answers; by default TABLE.marks.csv next to the table.", metavar="FILE"
    )
    batch: int = option(
        1, "Rows to show and to answer at once.", metavar="N", minimum=1, maximum=99
    )
    answers: int | None = option(
        None,
        "With --label: how many answers the label gives; 10 by default.",
        metavar="N",
        minimum=1,
    )
    strategy: Literal["found", "learn"] = option(
        "found",
        "Which rows to ask about: found (probable outliers) or learn (uncertain rows, to rank the "
        "others better).",
        metavar="KIND",
    )


@with_options
def review(
    file: File = None,
    *,
    example: Example = False,
    asked: Asked,
    picking: Picking,
    columns: Columns,
    reading: Reading,
) -> None:
    """Answer which rows are outliers; the ranking learns from it.

    Shows the row that is most likely an outlier, with the columns that make it
    unusual. Press y (an outlier), n (not an outlier), ? (unsure: not asked
    again), b (back: take the last answer back) or q (quit). Each answer is saved
    before the next row is shown; start the command again to continue. Use the
    answers with 'metaod detect TABLE --marks FILE'.

    With --batch 10, answer a list in one line: a letter for each row, such as
    ynn?ynnnnn, or the numbers of the rows that are outliers, or none. Answers
    can be piped, one per line. With --label (or --example --answers 10), the
    label answers about half of the rows for you, and the command prints how the
    average precision (AP) on the other half changes; nothing is written.
    """  # fmt: skip
    plays = reading.label is not None or (example and asked.answers is not None)
    _refuse_together(file, asked, plays=plays)
    from metaod.detection import ReviewSession
    from metaod.review import TableMarks

    table = open_table(_COMMAND, file, reading, columns, example=example)
    options = {**picking.given(), **columns.given()}
    out = console()
    size = size_of(table.source, table.n_rows, table.n_columns)
    out.width = width_of(out)
    if plays:
        _play(out, table, _fitted(table, options).model, asked, picking.random_state)
        return
    path = expanded(asked.marks) if asked.marks else _beside(file or table.source)
    with ProgressLine("reading the rows"):
        # before anything that takes long
        opened = TableMarks(path, table, columns.given().get("id"))
    with opened:
        out.print(size, style="bold", soft_wrap=True)
        print_notes(out, (*table.warnings, *opened.used.notes))
        if opened.used.answers:
            earlier = counted(len(opened.used.answers), "earlier answer")
            out.print(f"{visible(str(path))}: {earlier}", soft_wrap=True)
        session = ReviewSession(_fitted(table, options), opened, asked.strategy)
        try:
            ask_rows(out, session, asked.batch)
        finally:
            has_options = bool({**options, **reading.given()})
            name = "--example" if file is None else file
            _print_end(out, session, path, name, has_options=has_options)


def _refuse_together(file: str | None, asked: Asked, *, plays: bool) -> None:
    """Refuse options that contradict each other."""
    from metaod.tables import pattern_files

    if asked.answers is not None and not plays:
        what = "--answers counts the answers that a label gives"
        raise UserError(what, where=_COMMAND, remedy="name the label with --label")
    if plays and asked.marks is not None:
        what = "--marks keeps answers of people, and those of a label are not written"
        raise UserError(what, where=_COMMAND, remedy="leave one of them out")
    if not plays and file == "-":
        what = "answers come from stdin, so the table cannot"
        raise UserError(what, where=_COMMAND, remedy="name a file")
    if not plays and asked.marks is None and ("://" in str(file) or pattern_files(str(file))):
        what = "the answers to rows of a database or of several files need a file"
        raise UserError(what, where=_COMMAND, remedy="name one with --marks FILE")
    if not plays and (sys.stdin is None or sys.stdin.closed):
        what = "standard input is closed, and answers come from it"
        raise UserError(what, where=_COMMAND, remedy="use a terminal, or pipe the answers")


def _beside(table: str) -> Path:
    """Name the marks file after the table: orders.csv.gz has orders.marks.csv."""
    path = expanded(table)
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return path.with_suffix(".marks.csv")


def _fitted(table: "Table", options: dict[str, Any]) -> "Detection":
    from metaod.detection import detect

    with ProgressLine("preparing the table") as line:
        return detect(table, progress=line.show, **options)


def _print_end(
    out: "Console", session: "ReviewSession", path: Path, table: str, *, has_options: bool
) -> None:
    marks = session.answers
    given = [answer for row, answer in marks.items() if row in session.new]
    n_yes, n_no = (sum(answer is meant for answer in given) for meant in (True, False))
    counts = f"{counted(n_yes, 'outlier')}, {n_no} not, {len(given) - n_yes - n_no} unsure"
    earlier = f"; {len(marks)} in all" if len(marks) > len(given) else ""
    out.print(f"\nanswered {counted(len(given), 'row')} ({counts}){earlier}", style="bold")
    if marks:
        names = [
            table if table == "--example" else shlex.quote(hide_password(table)),
            shlex.quote(str(path)),
        ]
        out.print(
            f"next: metaod detect {visible(names[0])} --marks {visible(names[1])}", soft_wrap=True
        )
        if has_options:
            out.print("(with the options of this review, so that the ranking is the same)")


def _play(out: "Console", table: "Table", model: "MetaOD", asked: Asked, seed: int) -> None:
    """Let the label answer about half of the rows, and measure the ranking of the others."""
    from metaod.history import measure

    label = table.checked_label()
    half = _half(label, seed)
    n_answers = min(asked.answers or 10, int(half.sum()))
    review = model.review(askable=half, strategy=asked.strategy)
    states = [(0, 0, review.scores)]
    while len(review.marks) < n_answers:
        n_before = len(review.marks)
        rows = review.ask(min(asked.batch, n_answers - n_before))
        review.tell_many({row: bool(label[row]) for row in rows})
        n_now = len(review.marks)
        if n_now == n_answers or any(n_before < point <= n_now for point in _CHECKPOINTS):
            states.append((n_now, review.found, review.scores))
    out.print(size_of(table.source, table.n_rows, table.n_columns), style="bold", soft_wrap=True)
    rest = ~half
    n_outliers = counted(int(label[rest].sum()), "outlier")
    out.print("the label answers about half of the rows; AP is measured on the other half,")
    out.print(f"which is never asked: {counted(int(rest.sum()), 'row')}, {n_outliers}")
    headings = ("answers", "outliers found", "AP")
    listing = grid(*headings, right=headings)
    for n_given, found, scores in states:
        precision = measure(label[rest], scores[rest]).ap
        listing.add_row(str(n_given), str(found), f"{precision:.3f}")
    out.print(listing)


def _half(label: Any, seed: int) -> Any:
    """Draw the rows that may be asked: half of the outliers and half of the others."""
    import numpy as np

    rng = np.random.default_rng(seed)
    drawn = np.zeros(len(label), dtype=np.bool_)
    for value in (0, 1):
        rows = rng.permutation(np.flatnonzero(label == value))
        drawn[rows[: len(rows) // 2]] = True
    if not drawn.any():
        what = "the table has too few rows to ask about half of them"
        raise UserError(what, where=_COMMAND, remedy="give more rows")
    return drawn
