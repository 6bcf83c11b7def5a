"""``metaod detect``: pick a model for a table, fit it, and score every row."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaod.cli.detection import print_detection
from metaod.cli.options import Example, Files, named_files, open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, message, print_json, visible
from metaod.cli.targets import Outputs, outputs_of
from metaod.errors import BadParameter, UserError, counted, hide_password
from metaod.options import (
    Columns,
    Fitting,
    Options,
    Picking,
    Reading,
    Writing,
    command_words,
    option,
)

if TYPE_CHECKING:
    from metaod.detection import Correction, Detection, MetaOD
    from metaod.tables import TableStream

_COMMAND = "metaod detect"
_JOBS = Fitting.declared()["n_jobs"]
_NOT_WITH_APPLY = ("save", "marks")


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """The options of this command alone."""

    output: str | None = option(
        None,
        "Write the table with score, rank and flag: to .csv, .tsv, .jsonl, .json (also .gz), .xlsx "
        "or .parquet, to - (stdout), or into a folder (FOLDER/).",
        flags=("--output", "-o"),
        metavar="FILE",
    )
    report: str | None = option(
        None,
        "Write an HTML report: one .html file, or a folder (FOLDER/).",
        metavar="FILE",
    )
    top_n: int | None = option(None, "Flag exactly the N highest scores.", metavar="N", minimum=1)
    cells: str | None = option(
        None,
        "Write the cells that are probably wrong, with what was expected: to .csv, .xlsx, .parquet "
        "or .json, or into a folder (FOLDER/).",
        metavar="FILE",
    )
    fix: str | None = option(
        None,
        "Write a copy of the table with the corrections that --accept names and nothing else "
        "changed, and FILE.log.csv, which lists them.",
        metavar="FILE",
    )
    accept: str | None = option(
        None,
        "The findings file (from --cells) with 'yes' in the column accept; your own value can be "
        "in suggestion. Used with --fix.",
        metavar="CELLS",
    )
    top: int = option(10, "Findings and rows to show on the screen.", metavar="N", minimum=0)
    save: str | None = option(
        None,
        "Save the fitted models (the pick) for --apply. The file contains values of the table.",
        metavar="FILE",
    )
    apply: str | None = option(
        None, "Score with a saved pick instead of choosing models again.", metavar="FILE"
    )
    sign: str | None = option(
        None, "Sign the file of --save with the key in this file (HMAC-SHA256).", metavar="KEYFILE"
    )
    verify: str | None = option(
        None,
        "Refuse a saved pick or learner that was not signed with the key in this file; "
        "METAOD_VERIFY_KEY=KEYFILE does so for every command.",
        metavar="KEYFILE",
    )
    marks: str | None = option(
        None, "Learn from the answers in this file, which 'metaod review' wrote.", metavar="FILE"
    )
    n_jobs: int = option(-1, _JOBS.help, metavar=_JOBS.metavar, flags=_JOBS.flags)
    stream: bool | None = option(
        None,
        "Read Parquet or delimited text in chunks, or at once; by default in chunks if the file "
        "has over 2,000,000 rows or would take half of the free memory.",
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
    writing: Writing,
    fitting: Fitting,
    picking: Picking,
    columns: Columns,
    reading: Reading,
) -> None:
    """Find the wrong cells and unusual rows of a table.

    The screen lists the cells that are probably wrong, then the unusual rows.
    Each row gets a score (higher is more unusual), a rank (1 is the most unusual)
    and a flag (1 for an unusual row, or a row with wrong cells). -o writes the
    table with these columns and 'suspect', the row's most certain finding;
    everything else in the file stays the same. With '-o -' the table goes to
    stdout and all messages to stderr. --json prints all findings and flagged
    rows: one object for one table, a list of objects for several. A large file is
    read in chunks, so it can be larger than the memory; the models are then
    fitted to a sample of its rows (--stream).

    To correct a table, write the findings (--cells cells.csv), put yes in the
    column accept of those you agree with, and run the command again with
    --accept cells.csv --fix corrected.csv.

    Exit codes: 0 scored, with or without outliers; 2 an error that you can
    correct; 1 a defect in metaod; 130 interrupted.
    """  # fmt: skip
    from metaod import artifacts
    from metaod.detection import check_target, read_corrections
    from metaod.detection import detect as detect_rows

    _refuse_together(asked, writing, files)
    _refuse_cells(asked, rows_only=fitting.rows_only)
    if asked.verify is not None:
        os.environ[artifacts.VERIFY_KEY] = asked.verify
    options = {**picking.given(), **columns.given(), **fitting.given()}
    scoring = {**options, "n_jobs": asked.n_jobs, "marks": asked.marks}
    if asked.apply is not None:
        _refuse_with_apply(options, asked)
        saved = load_pick(asked.apply, asked.n_jobs, options.get("max_seconds"))
        _refuse_cells(asked, rows_only=saved.rows_only)
        reading, columns = options_of(saved, reading)
        scoring = {"model": saved}
    if asked.sign is not None:
        artifacts.signature(b"", asked.sign)
    if asked.save is not None:
        artifacts.check_target(asked.save)  # before anything that takes long
    named = named_files(_COMMAND, files)
    in_chunks = [_is_streamed(file, asked) for file in named]
    targets = [getattr(asked, name) for name in Outputs._fields]
    others = (asked.accept, asked.marks, asked.apply, asked.save)
    outputs = outputs_of(_COMMAND, named, targets, others)
    corrections = () if asked.accept is None else read_corrections(asked.accept)
    out = console(stderr=asked.output == "-")
    documents = []
    for place, (file, own) in enumerate(zip(named, outputs, strict=True)):
        source = (
            _open_stream(str(file), reading, columns)
            if in_chunks[place]
            else open_table(_COMMAND, file, reading, columns, example=example)
        )
        check_target(own.output, source, sort=writing.sort)
        with ProgressLine("preparing the table") as line:
            found = detect_rows(source, top_n=asked.top_n, progress=line.show, **scoring)
        if asked.save is not None:
            with ProgressLine("judging rows that were held out"):
                found.model.save(asked.save, reading=reading.given(), sign=asked.sign)
        # files first: the reader of the screen may stop reading (`| head`)
        about = {
            "file": hide_password(file or "--example"),
            "apply": asked.apply,
            "marks": asked.marks,
        }
        written = _write(found, own, asked, writing, corrections, {**reading.given(), **about})
        if asked.json:
            with ProgressLine() as line:
                documents.append(found.to_dict(progress=line.show))
            continue
        if place:
            out.print()
        is_written = own.output is not None, own.cells is not None
        print_detection(out, found, asked.top, verbose=asked.verbose, is_written=is_written)
        for what, path in written.items():
            out.print(f"{what}: {visible(str(path))}", soft_wrap=True)
    if asked.json:
        print_json(*documents)


def _is_streamed(file: str | None, asked: Asked) -> bool:
    """Whether a file is read in chunks: if the user says so, or if it is large."""
    from metaod.tables import is_large

    return file is not None and asked.stream is not False and (asked.stream or is_large(file))


def _open_stream(file: str, reading: Reading, columns: Columns) -> "TableStream":
    from metaod.tables import Roles, stream_table

    try:
        return stream_table(file, unused=Roles.of(vars(columns)).is_unused, **reading.given())
    except UserError as error:
        if error.code.endswith("-in-chunks"):
            error.remedy = "read it at once with --no-stream"
        raise


def _write(
    found: "Detection",
    outputs: Outputs,
    asked: Asked,
    writing: Writing,
    corrections: "Sequence[Correction]",
    given: dict[str, Any],
) -> dict[str, Any]:
    """Write all files of a result, and return their names by what they are."""
    from metaod.detection import lost_parts, write_cells, write_corrected, write_report

    written: dict[str, Any] = {}
    target = outputs.output
    if target is not None:
        names = _write_table(found, target, writing)
    if isinstance(target, Path):
        is_book = target.suffix.lower() == ".xlsx" and not (writing.sort or writing.flagged_only)
        lost = lost_parts(found.table) if is_book else []
        if lost:
            written["note"] = f"a new workbook was written, as {' and '.join(lost)} would be lost"
        written["written"] = f"{target} (added {', '.join(names)})"
    if outputs.cells is not None:
        write_cells(found, outputs.cells)
        written["wrong cells"] = outputs.cells
    if outputs.fix is not None:
        log = write_corrected(found.stream or found.table, corrections, outputs.fix)
        written["corrected"] = f"{outputs.fix} ({counted(len(corrections), 'cell')})"
        written["log of corrections"] = log
    if outputs.report is not None:
        with ProgressLine() as line:
            write_report(found, outputs.report, given, progress=line.show)
        written["report"] = outputs.report
    return written if asked.save is None else {**written, "saved the pick": asked.save}


def _write_table(found: "Detection", target: Path | str, writing: Writing) -> tuple[str, ...]:
    from metaod.detection import may_run, write_scored

    if not isinstance(target, Path):  # a line of progress would be among the rows on a terminal
        return write_scored(found, "-", **vars(writing))
    with ProgressLine("writing the table") as line:
        names = write_scored(found, target, **vars(writing), progress=line.show)
    if not writing.no_formulas and may_run(target):
        what = "has cells that a spreadsheet would run as formulas"
        message(f"metaod: {target} {what}; --no-formulas makes them text")
    return names


def load_pick(path: str, n_jobs: int = -1, max_seconds: float | None = None) -> "MetaOD":
    """Read a saved pick, and show how far that is."""
    import warnings

    from metaod.detection import load

    with ProgressLine("reading the saved pick") as line, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes of the pick hold them
        return load(path, n_jobs=n_jobs, max_seconds=max_seconds, progress=line.show)


def options_of(pick: "MetaOD", reading: Reading) -> tuple[Reading, Columns]:
    """Return the options of a saved pick for later rows, with those of reading that are given."""
    columns = Columns(**{name: getattr(pick, name) for name in Columns.declared()})
    return replace(reading, **{**pick.reading_, **reading.given()}), columns


def _refuse_together(asked: Asked, writing: Writing, files: list[str] | None) -> None:
    """Refuse options that contradict each other."""
    if asked.json and asked.output == "-":
        what = "--json and '-o -' both write to stdout"
        raise UserError(what, where=_COMMAND, remedy="name a file for -o")
    if asked.sign is not None and asked.save is None:
        raise UserError("--sign needs --save", where=_COMMAND, remedy="name the file to sign")
    if (asked.fix is None) != (asked.accept is None):
        given, other = ("--fix", "--accept") if asked.accept is None else ("--accept", "--fix")
        what = f"{given} needs {other}"
        remedy = "write the findings (--cells), accept some, and give --fix FILE --accept CELLS"
        raise UserError(what, where=_COMMAND, remedy=remedy)
    for name in writing.given():
        if asked.output is None:
            what = f"{command_words(name)[0]} concerns the file that -o writes"
            remedy = "add -o FILE; the screen shows --top N rows"
            raise UserError(what, where=_COMMAND, remedy=remedy)
    several = files is not None and len(files) > 1
    single = {
        "save": "--save keeps one pick",
        "marks": "--marks are of one table",
        "fix": "--fix corrects one table",
    }
    for name, why in single.items():
        if several and getattr(asked, name) is not None:
            what = f"{why}, and there are several tables"
            raise UserError(what, where=_COMMAND, remedy="give one table")


def _refuse_cells(asked: Asked, *, rows_only: bool) -> None:
    if rows_only and asked.cells is not None:
        what = "--cells lists wrong cells, and with --rows-only none are looked for"
        raise UserError(what, where=_COMMAND, remedy="leave one of them out")


def _refuse_with_apply(options: dict[str, Any], asked: Asked) -> None:
    others = ((name, asked.given().get(name)) for name in _NOT_WITH_APPLY)
    for name, value in (*options.items(), *others):
        if value is None or name == "max_seconds":  # of fitting it again
            continue
        legal = "left out with --apply: the saved pick is used as it is"
        raise BadParameter(_COMMAND, command_words(name)[0], legal, value)
