"""``metaod detect``: pick a model for a table, fit it, and score every row."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaod.cli.detection import print_detection
from metaod.cli.options import (
    Example,
    Files,
    check_files,
    open_table,
    with_options,
)
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, print_json, visible
from metaod.cli.targets import Target, reports_of, targets_of
from metaod.errors import BadParameter, UserError
from metaod.options import Columns, Fitting, Options, Picking, Reading, command_words, option

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Detection, MetaOD
    from metaod.tables import TableStream

_COMMAND = "metaod detect"
_FITTING = Fitting.declared()
_OF_OUTPUT = ("sort", "flagged_only", "why", "no_formulas")


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """The options of this command alone."""

    output: str | None = option(
        None,
        "Write the table with score, rank and flag: to .csv, .tsv, .jsonl (also .gz), .xlsx or "
        ".parquet, to - (stdout), or into a folder (FOLDER/).",
        flags=("--output", "-o"),
        metavar="FILE",
    )
    sort: bool = option(False, "Write the most outlying rows first.")
    why: bool = option(False, "Write a column why: what sets each flagged row apart (with -o).")
    flagged_only: bool = option(False, "Write only the rows that are flagged.")
    no_formulas: bool = option(
        False, "Write a ' before cells that a spreadsheet would run as formulas (=, +, -, @)."
    )
    report: str | None = option(
        None,
        "Write a report to look at: one .html file, or into a folder (FOLDER/).",
        metavar="FILE",
    )
    contamination: str = option("auto", _FITTING["contamination"].help, metavar="SHARE")
    top_n: int | None = option(None, "Flag exactly the N highest scores.", metavar="N", minimum=1)
    top: int = option(10, "Rows to show on the screen.", metavar="N", minimum=0)
    save: str | None = option(
        None, "Save the fitted pick for --apply; the file holds the table's values.", metavar="FILE"
    )
    apply: str | None = option(
        None, "Score with a saved pick instead of a new one.", metavar="FILE"
    )
    marks: str | None = option(
        None, "Learn from the answers in this file, which 'metaod review' wrote.", metavar="FILE"
    )
    n_jobs: int = option(-1, _FITTING["n_jobs"].help, metavar="N", flags=("--jobs", "-j"))
    stream: bool | None = option(
        None,
        "Read Parquet or delimited text in chunks, or at once; by default in chunks if the file "
        "has over 2,000,000 rows or would take half of the memory.",
        flags=("--stream", "--no-stream"),
    )
    verbose: bool = option(
        False, "Show the full ids of the picked models.", flags=("--verbose", "-v")
    )
    json: bool = option(False, "Print JSON instead of a table.")


@with_options
def detect(
    files: Files = None,
    *,
    example: Example = False,
    asked: Asked,
    picking: Picking,
    columns: Columns,
    reading: Reading,
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
    from metaod import artifacts
    from metaod.detection import check_target
    from metaod.detection import detect as detect_rows

    share = _share(asked.contamination)
    _refuse_together(asked, files)
    options = {**picking.given(), **columns.given()}
    scoring = {**options, "n_jobs": asked.n_jobs, "contamination": share, "marks": asked.marks}
    if asked.apply is not None:
        _refuse_with_apply(options, asked)
        saved = _load(asked.apply, asked.n_jobs)
        reading = replace(reading, **{**saved.reading_, **reading.given()})
        columns = Columns(**{name: getattr(saved, name) for name in Columns.declared()})
        scoring = {"model": saved}
    if asked.save is not None:
        artifacts.check_target(asked.save)  # before anything that takes long
    check_files(_COMMAND, files)
    named: list[str | None] = [*files] if files else [None]
    in_chunks = [_is_streamed(file, asked, reading) for file in named]
    targets = targets_of(_COMMAND, files, asked.output)  # creates the folder
    reports = reports_of(_COMMAND, files, asked.report)
    out = console(stderr=asked.output == "-")
    documents = []
    for place, (file, target, page) in enumerate(zip(named, targets, reports, strict=True)):
        source = (
            _open_stream(str(file), reading, columns)
            if in_chunks[place]
            else open_table(_COMMAND, file, reading, columns, example=example)
        )
        check_target(target, source, sort=asked.sort)
        with ProgressLine("preparing the table") as line:
            found = detect_rows(source, top_n=asked.top_n, progress=line.show, **scoring)
        if asked.save is not None:
            found.model.save(asked.save, reading=reading.given())
        # files first: the reader of the screen may stop reading (`| head`)
        names = _write(found, target, asked)
        if page is not None:
            own = {"file": file or "--example", "apply": asked.apply, "marks": asked.marks}
            _write_report(found, {**reading.given(), **own}, page)
        if asked.json:
            with ProgressLine() as line:
                documents.append(found.to_dict(progress=line.show))
            continue
        if place:
            out.print()
        shown = {"verbose": asked.verbose, "is_written": target is not None}
        print_detection(out, found, asked.top, **shown)
        _print_files(out, target, names, page, asked.save)
    if asked.json:
        print_json(documents if files and len(files) > 1 else documents[0])


def _is_streamed(file: str | None, asked: Asked, reading: Reading) -> bool:
    """Whether a file is read in chunks: if the user says so, or if it is large."""
    from metaod.tables import is_large

    if file is None or asked.stream is False or not (asked.stream or is_large(file)):
        return False
    for flag, value in (("--marks", asked.marks), ("--label", reading.label)):
        if value is not None:
            what = f"{flag} needs the whole table in memory, and the file is read in chunks"
            remedy = "leave it out, use a part of the file, or --no-stream if there is the memory"
            raise UserError(what, where=file, remedy=remedy)
    return True


def _open_stream(file: str, reading: Reading, columns: Columns) -> "TableStream":
    from metaod.tables import Roles, stream_table

    unused = Roles.of(vars(columns)).is_unused
    try:
        return stream_table(file, unused=unused, **reading.given())
    except UserError as error:
        if error.code == "not-in-chunks":
            error.remedy = "read it at once with --no-stream, or convert it"
        raise


def _write(found: "Detection", target: Target, asked: Asked) -> tuple[str, ...]:
    from metaod.detection import write_scored

    choice = {name: getattr(asked, name) for name in _OF_OUTPUT}
    if not isinstance(target, Path):  # a line of progress would be among the rows on a terminal
        return () if target is None else write_scored(found, target, **choice)
    with ProgressLine("writing the table") as line:
        return write_scored(found, target, **choice, progress=line.show)


def _print_files(
    out: "Console", target: Target, names: tuple[str, ...], page: Path | None, save: str | None
) -> None:
    if isinstance(target, Path):
        out.print(f"written: {visible(str(target))} (added {', '.join(names)})")
    if page is not None:
        out.print(f"report: {visible(str(page))}", soft_wrap=True)
    if save is not None:
        out.print(f"saved the pick: {visible(save)}")


def _write_report(found: "Detection", given: dict[str, Any], path: Path) -> None:
    from metaod.detection import write_report

    with ProgressLine() as line:
        write_report(found, path, given, progress=line.show)


def _load(path: str, n_jobs: int) -> "MetaOD":
    import warnings

    from metaod.detection import load

    with ProgressLine("reading the saved pick") as line, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes of the pick hold them
        return load(path, n_jobs=n_jobs, progress=line.show)


def _share(text: str) -> Any:
    from metaod.models import check_contamination

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
    legal = "'auto' or a number in the range (0, 0.5]"
    return value if text == "auto" else check_contamination(value, owner=_COMMAND, legal=legal)


def _refuse_together(asked: Asked, files: list[str] | None) -> None:
    """Refuse options that contradict each other."""
    leave_out = "leave one of them out"
    if asked.top_n is not None and asked.contamination != "auto":
        what = "--top-n and --contamination both say how many rows to flag"
        raise UserError(what, where=_COMMAND, remedy=leave_out)
    if asked.json and asked.output == "-":
        what = "--json and '-o -' both write to stdout"
        raise UserError(what, where=_COMMAND, remedy="name a file for -o")
    for name in _OF_OUTPUT:
        if asked.output is None and getattr(asked, name):
            what = f"{command_words(name)[0]} concerns the file that -o writes"
            remedy = "add -o FILE; the screen shows --top N rows"
            raise UserError(what, where=_COMMAND, remedy=remedy)
    several = files is not None and len(files) > 1
    for name, why in (("save", "--save keeps one pick"), ("marks", "--marks are of one table")):
        if several and getattr(asked, name) is not None:
            what = f"{why}, and there are several tables"
            raise UserError(what, where=_COMMAND, remedy="give one table")


def _refuse_with_apply(options: dict[str, Any], asked: Asked) -> None:
    others = ((name, asked.given().get(name)) for name in ("save", "contamination", "marks"))
    for name, value in (*options.items(), *others):
        if value is None:
            continue
        legal = "left out with --apply: the saved pick is used as it is"
        raise BadParameter(_COMMAND, command_words(name)[0], legal, value)
