"""``metaod detect``: pick a model for a table, fit it, and score every row."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detection import print_detection
from metaod.cli.options import (
    COLUMNS,
    PICKING,
    READING,
    Example,
    Files,
    check_files,
    grouped_options,
    open_table,
    picking_progress,
    selection_options,
)
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, print_json, visible
from metaod.cli.select import Verbose
from metaod.cli.streaming import ChunkedJob, is_streamed
from metaod.cli.targets import reports_of, targets_of
from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import (
        Choice,
        Detection,
        MetaOD,
        OnProgress,
        Request,
        Target,
    )
    from metaod.tables import Table

_COMMAND = "metaod detect"


@grouped_options(picking=PICKING, columns=COLUMNS, reading=READING)
def detect(
    files: Files = None,
    *,
    example: Example = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the table with score, rank and flag: to .csv, .tsv, .jsonl (also .gz), "
            ".xlsx or .parquet, to - (stdout), or into a folder (FOLDER/).",
            metavar="FILE",
        ),
    ] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Write the most outlying rows first.")
    ] = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Write a column why: what sets each flagged row apart (with -o)."
        ),
    ] = False,
    flagged_only: Annotated[
        bool, typer.Option("--flagged-only", help="Write only the rows that are flagged.")
    ] = False,
    no_formulas: Annotated[
        bool,
        typer.Option(
            "--no-formulas",
            help="Write a ' before cells that a spreadsheet would run as formulas (=, +, -, @).",
        ),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            help="Write a report to look at: one .html file, or into a folder (FOLDER/).",
            metavar="FILE",
        ),
    ] = None,
    contamination: Annotated[
        str,
        typer.Option(
            help="Share of outliers to flag, as 5% or 0.05; auto estimates it from the scores.",
            metavar="SHARE",
        ),
    ] = "auto",
    top_n: Annotated[
        int | None,
        typer.Option(help="Flag exactly the N highest scores.", metavar="N", min=1),
    ] = None,
    top: Annotated[int, typer.Option(help="Rows to show on the screen.", metavar="N", min=0)] = 10,
    save: Annotated[
        str | None,
        typer.Option(
            help="Save the fitted pick for --apply; the file holds the table's values.",
            metavar="FILE",
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(help="Score with a saved pick instead of a new one.", metavar="FILE"),
    ] = None,
    marks: Annotated[
        str | None,
        typer.Option(
            help="Learn from the answers in this file, which 'metaod review' wrote.", metavar="FILE"
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            help="Threads that score the rows; -1 for one per core. The scores do not depend on "
            "it.",
            metavar="N",
        ),
    ] = -1,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read Parquet or delimited text in chunks, or at once; by default in chunks if "
            "the file has over 2,000,000 rows or would take half of the memory.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
    json: Json = False,
    picking: dict[str, Any],
    columns: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Find the outliers of a table without labels: pick a model, fit it, score every row.

    Rows get a score (higher is more outlying), a rank (1 is the most
    outlying) and a flag (1 for an outlier). -o writes the table as it was with
    these three columns: delimited text keeps every byte, its delimiter,
    encoding and line ends. With '-o -' it goes to stdout and all messages to
    stderr. With --json, one object for one table with all flagged rows, and a
    list of objects for several. A large file is read in chunks and may exceed
    the memory; the pick is then fitted to a sample of its rows (--stream).

    Exit codes: 0 scored, with or without outliers; 2 an error that you can
    correct; 1 a defect in metaod; 130 interrupted.
    """  # fmt: skip
    from metaod.detection import (
        Choice,
        Request,
        apply_saved,
        check_target,
        document,
        with_why,
    )

    share = _share(contamination)
    choice = Choice(sort=sort, flagged_only=flagged_only, no_formulas=no_formulas, why=why)
    _refuse_together(contamination, top_n, output, choice, json=json)
    if apply is not None:
        defaults = {name: default for name, (_, default) in {**PICKING, **COLUMNS}.items()}
        _refuse_with_apply(
            {**picking, **columns, "save": save, "contamination": share, "marks": marks},
            {**defaults, "save": None, "contamination": "auto", "marks": None},
        )
    for option, value in (("--save keeps one pick", save), ("--marks are of one table", marks)):
        if value is not None and files and len(files) > 1:
            what = f"{option}, and there are several tables"
            raise UserError(what, where=_COMMAND, remedy="give one table")
    saved = None if apply is None else _load(apply, jobs)
    if saved is not None:
        own = {name: value for name, value in saved.reading_.items() if reading[name] is None}
        reading = {**reading, **own}
    roles = columns if saved is None else {name: getattr(saved, name) for name in columns}
    check_files(_COMMAND, files)
    named: list[str | None] = [*files] if files else [None]
    in_chunks = [is_streamed(file, stream, marks, reading) for file in named]
    targets = targets_of(_COMMAND, files, output)  # creates the folder, once all tables are found
    reports = reports_of(_COMMAND, files, report)
    out = console(stderr=output == "-")
    options = {**selection_options(picking), **columns, "n_jobs": jobs}
    documents = []
    for place, (file, target, page) in enumerate(zip(named, targets, reports, strict=True)):
        if in_chunks[place]:
            job = ChunkedJob(str(file), reading, options, roles, share, top_n, saved, save)
            found, names = job.run(target, choice)
        else:
            table = open_table(_COMMAND, file, reading, roles, example=example)
            check_target(target, table)
            with picking_progress(picking["learner"]) as line:
                found = (
                    _pick_and_score(table, options, share, top_n, save, marks, reading, line.show)
                    if saved is None
                    else apply_saved(saved, table, top_n=top_n, progress=line.show)
                )
                if why:
                    found = with_why(found, progress=line.show)
            # files first: the reader of the screen may stop reading (`| head`)
            names = _write(found, target, choice)
        if page is not None:
            _write_report(found, Request(file or "--example", reading, apply, marks), page)
        if json:
            with ProgressLine() as line:
                documents.append(document(found, progress=line.show))
            continue
        if place:
            out.print()
        print_detection(out, found, top, verbose=verbose, is_written=target is not None)
        _print_files(out, target, names, page, save)
    if json:
        print_json(documents if files and len(files) > 1 else documents[0])


def _pick_and_score(
    table: "Table",
    options: dict[str, Any],
    share: Any,
    top_n: int | None,
    save: str | None,
    marks: str | None,
    reading: dict[str, Any],
    progress: "OnProgress",
) -> "Detection":
    from metaod.artifacts import check_target
    from metaod.detection import detect_table
    from metaod.review import read_marks

    if save is not None:
        check_target(save)  # before anything that takes long
    learned = None if marks is None else read_marks(marks, table, options["id"])
    found = detect_table(
        table, contamination=share, top_n=top_n, marks=learned, progress=progress, **options
    )
    if save is not None and found.model is not None:
        found.model.save(save, reading=reading)
    return found


def _print_files(
    out: "Console", target: "Target", names: tuple[str, ...], page: Path | None, save: str | None
) -> None:
    if isinstance(target, Path):
        out.print(f"written: {visible(str(target))} (added {', '.join(names)})")
    if page is not None:
        out.print(f"report: {visible(str(page))}", soft_wrap=True)
    if save is not None:
        out.print(f"saved the pick: {visible(save)}")


def _write(found: "Detection", target: "Target", choice: "Choice") -> tuple[str, ...]:
    from metaod.detection import write_scored

    if not isinstance(target, Path):  # a line of progress would be among the rows on a terminal
        return () if target is None else write_scored(found, target, choice)
    with ProgressLine("writing the table"):
        return write_scored(found, target, choice)


def _write_report(found: "Detection", request: "Request", path: Path) -> None:
    from metaod.detection import summarise, write_report
    from metaod.report import render

    with ProgressLine() as line:
        write_report(render(summarise(found, request, progress=line.show)), path)


def _load(path: str, jobs: int) -> "MetaOD":
    import warnings

    from metaod.detection import load

    with ProgressLine("reading the saved pick") as line, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes of the pick hold them
        return load(path, n_jobs=jobs, progress=line.show)


def _share(text: str) -> Any:
    from metaod.detection import check_contamination

    number = text.strip().removesuffix("%")
    try:
        value: Any = text if text == "auto" else float(number)
    except ValueError:
        value = text
    if isinstance(value, float) and number != text.strip():
        value /= 100
    elif isinstance(value, float) and 1 <= value <= 50:
        remedy = f"Write {text}% for a percentage"
        legal = "'auto', a percentage, or a number in the range (0, 0.5]"
        raise BadParameter(_COMMAND, "--contamination", legal, text, remedy=remedy)
    return check_contamination(value, owner=_COMMAND)


def _refuse_together(
    contamination: str, top_n: int | None, output: str | None, choice: "Choice", *, json: bool
) -> None:
    if top_n is not None and contamination != "auto":
        what = "--top-n and --contamination both say how many rows to flag"
        raise UserError(what, where=_COMMAND, remedy="leave one of them out")
    if json and output == "-":
        what = "--json and '-o -' both write to stdout"
        raise UserError(what, where=_COMMAND, remedy="name a file for -o")
    options = (
        ("--sort", choice.sort),
        ("--flagged-only", choice.flagged_only),
        ("--why", choice.why),
        ("--no-formulas", choice.no_formulas),
    )
    option = next((name for name, is_given in options if is_given), None)
    if output is None and option is not None:
        what = f"{option} concerns the file that -o writes"
        raise UserError(what, where=_COMMAND, remedy="add -o FILE; the screen shows --top N rows")


def _refuse_with_apply(given: dict[str, Any], defaults: dict[str, Any]) -> None:
    for name, value in given.items():
        if value != defaults[name]:
            legal = "left out with --apply: the saved pick is used as it is"
            raise BadParameter(_COMMAND, f"--{name.replace('_', '-')}", legal, value)
