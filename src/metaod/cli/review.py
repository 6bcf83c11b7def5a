"""``metaod review``: a person marks rows as outliers or not, and the ranking learns from it."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.option_errors import without_parameters
from metaod.cli.options import (
    COLUMNS,
    PICKING,
    READING,
    Example,
    File,
    grouped_options,
    open_table,
    picking_progress,
    selection_options,
)
from metaod.cli.progress import ProgressLine
from metaod.cli.review_session import ask_rows
from metaod.cli.screen import console, grid, visible
from metaod.errors import BadParameter, UserError, counted

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Detection, MetaOD, ReviewSession
    from metaod.review import UsedMarks
    from metaod.tables import Table

_COMMAND = "metaod review"
_SCREEN = 80
_STRATEGIES = ("found", "learn")
_CHECKPOINTS = (0, 5, 10, 20, 40, 80)  # answers after which a played review is measured


@grouped_options(picking=PICKING, columns=COLUMNS, reading=READING)
def review(
    file: File = None,
    *,
    example: Example = False,
    marks: Annotated[
        str | None,
        typer.Option(
            help="File of the answers; by default TABLE.marks.csv next to the table.",
            metavar="FILE",
        ),
    ] = None,
    batch: Annotated[
        int, typer.Option(help="Rows to show and to answer at once.", metavar="N", min=1, max=99)
    ] = 1,
    answers: Annotated[
        int | None,
        typer.Option(
            help="Answers that the label gives; 10 by default.",
            metavar="N",
            min=1,
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="What questions are for: found (rows that are probably outliers), or learn (rows "
            "that may be outliers or not, for a better ranking of the others).",
            metavar="KIND",
        ),
    ] = "found",
    picking: dict[str, Any],
    columns: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Look at one row after another, say whether it is an outlier: the ranking learns from it.

    Shows the row that is most likely an outlier, with the columns that set it
    apart. Press y (an outlier), n (none), ? (unsure: not asked again), b (back
    to the row before) or q (quit). Every answer is in the marks file before the
    next row is shown; start the command again to go on. Use the answers with
    'metaod detect TABLE --marks FILE'.

    With --batch 10, answer a list in one line: a letter for each row, as
    ynn?ynnnnn, or the numbers of the rows that are outliers, or none. Answers
    can be piped, one a line. With --label (or --example --answers 10), the
    label answers about half of the rows in your place, and the command prints
    how the average precision (AP) on the other half changes; nothing is
    written.
    """  # fmt: skip
    plays = reading["label"] is not None or (example and answers is not None)
    _refuse_together(file, marks, answers, plays=plays)
    if strategy not in _STRATEGIES:
        raise BadParameter(_COMMAND, "--strategy", _STRATEGIES, strategy)
    table = open_table(_COMMAND, file, reading, columns, example=example)
    options = {**selection_options(picking), **columns}
    out = console()
    if not out.is_terminal:
        out.width = min(out.width, _SCREEN)
    if plays:
        model = _fitted(table, options).model
        _play(out, table, model, answers or 10, batch, strategy, picking["seed"])
        return
    from metaod.detection import ReviewSession
    from metaod.review import TableMarks

    path = _beside(file or table.source) if marks is None else Path(marks).expanduser()
    with ProgressLine("reading the rows"):
        opened = TableMarks(path, table, columns["id"])  # before anything that takes long
    with opened:
        _print_start(out, table, path, opened.used)
        session = ReviewSession(_fitted(table, options), opened, strategy)
        try:
            ask_rows(out, session, batch)
        finally:
            defaults = {
                name: value for name, (_, value) in {**PICKING, **COLUMNS, **READING}.items()
            }
            has_options = {**picking, **columns, **reading} != defaults
            name = "--example" if file is None else file
            _print_end(out, session, path, name, has_options=has_options)


def _refuse_together(
    file: str | None, marks: str | None, answers: int | None, *, plays: bool
) -> None:
    if answers is not None and not plays:
        what = "--answers counts the answers that a label gives"
        raise UserError(what, where=_COMMAND, remedy="name the label with --label")
    if plays and marks is not None:
        what = "--marks keeps answers of people, and those of a label are not written"
        raise UserError(what, where=_COMMAND, remedy="leave one of them out")
    if not plays and file == "-":
        what = "answers come from stdin, so the table cannot"
        raise UserError(what, where=_COMMAND, remedy="name a file")
    if not plays and (sys.stdin is None or sys.stdin.closed):
        what = "standard input is closed, and answers come from it"
        raise UserError(what, where=_COMMAND, remedy="use a terminal, or pipe the answers")


def _beside(table: str) -> Path:
    """Name the marks file after the table: orders.csv.gz has orders.marks.csv."""
    path = Path(table).expanduser()
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return path.with_suffix(".marks.csv")


def _fitted(table: "Table", options: dict[str, Any]) -> "Detection":
    from metaod.detection import MetaOD, detection_of

    with picking_progress(options["learner"]) as line:
        return detection_of(MetaOD(**options).fit(table, progress=line.show), table)


def _print_start(out: "Console", table: "Table", path: Path, marks: "UsedMarks") -> None:
    size = f"{counted(table.n_rows, 'row')} × {counted(table.n_columns, 'column')}"
    out.print(f"{visible(table.source)}: {size}", style="bold", soft_wrap=True)
    for note in (*table.warnings, *marks.notes):
        out.print(f"note: {visible(without_parameters(note))}")
    if marks.answers:
        earlier = counted(len(marks.answers), "earlier answer")
        out.print(f"{visible(str(path))}: {earlier}", soft_wrap=True)


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
        names = [table if table == "--example" else shlex.quote(table), shlex.quote(str(path))]
        out.print(
            f"next: metaod detect {visible(names[0])} --marks {visible(names[1])}", soft_wrap=True
        )
        if has_options:
            out.print("(with the options of this review, so that the ranking is the same)")


def _play(
    out: "Console",
    table: "Table",
    model: "MetaOD | None",
    n_answers: int,
    batch: int,
    strategy: str,
    seed: int,
) -> None:
    """Let the label answer about half of the rows, and measure the ranking of the others."""
    from metaod.detection import checked_label
    from metaod.history import measure

    assert model is not None  # noqa: S101 - it was fitted
    label = checked_label(table)
    asked = _half(label, seed)
    n_answers = min(n_answers, int(asked.sum()))
    review = model.review(askable=asked, strategy=strategy)
    states = [(0, 0, review.scores)]
    while len(review.marks) < n_answers:
        n_before = len(review.marks)
        rows = review.ask(min(batch, n_answers - n_before))
        review.tell_many({row: bool(label[row]) for row in rows})
        n_now = len(review.marks)
        if n_now == n_answers or any(n_before < point <= n_now for point in _CHECKPOINTS):
            states.append((n_now, review.found, review.scores))
    size = f"{counted(table.n_rows, 'row')} × {counted(table.n_columns, 'column')}"
    out.print(f"{visible(table.source)}: {size}", style="bold", soft_wrap=True)
    rest = ~asked
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
