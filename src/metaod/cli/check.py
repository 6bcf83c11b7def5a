"""``metaod check``: later rows against a saved pick, with an exit code for pipelines."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree as ET

import typer

from metaod.cli.detect import load_pick
from metaod.cli.detection import grid_of_rows, numbers_and_sentences, reasons_of
from metaod.cli.options import TABLES, named_files, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import (
    console,
    grid,
    in_words,
    message,
    print_json,
    print_notes,
    size_of,
    visible,
    width_of,
)
from metaod.cli.targets import refuse_taken
from metaod.errors import BadParameter, UserError, counted
from metaod.options import Checking, Fitting, Options, Reading, as_flags, option

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Check

_COMMAND = "metaod check"
_FINDINGS = 3  # the exit code
_AGAINST = "The saved pick of the first table (from 'metaod detect --save')."
_JOBS = Fitting.declared()["n_jobs"]
_MOST_ROWS = 100  # in a JUnit file


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """The options of this command alone."""

    top: int = option(10, "Flagged rows to show on the screen.", metavar="N", minimum=0)
    junit: str | None = option(
        None, "Write the result as JUnit XML, which build servers show.", metavar="FILE"
    )
    n_jobs: int = option(-1, _JOBS.help, metavar=_JOBS.metavar, flags=_JOBS.flags)
    quiet: bool = option(False, "Print only the summary line.", flags=("--quiet", "-q"))
    json: bool = option(False, "Print JSON instead of a table.")


@with_options
def check(
    files: Annotated[list[str], typer.Argument(help=TABLES, metavar="FILE")],
    *,
    against: Annotated[str, typer.Option(help=_AGAINST, metavar="PICK")],
    asked: Asked,
    checking: Checking,
    reading: Reading,
) -> None:
    """Check whether later rows are like those of a first table.

    A saved pick ('metaod detect first.csv --save pick.mod') contains rows that
    its models did not learn from. A later row is flagged if very few of these
    rows are as unusual, so at most the promised share of ordinary rows is flagged
    (--false-alarms). The check fails if more rows are flagged than chance
    explains (or than --max-findings), if a cell is almost certainly wrong, if a
    column drifts, or if a column is missing or has another type. The last line
    for each file is a summary. Files are read whole, not in chunks. A file that
    cannot be read does not stop the check of the others.

    Exit codes: 0 passed; 3 failed: there are findings; 2 an error that you can
    correct; 1 a defect in metaod; 130 interrupted.
    """  # fmt: skip
    from metaod._files import replace_file, writable_path
    from metaod.detection import check as check_rows

    named_files(_COMMAND, files)
    junit = None if asked.junit is None else writable_path(asked.junit)
    if junit is not None:
        refuse_taken(junit, [junit, *files, against])
    pick = load_pick(against, asked.n_jobs)
    out, documents = console(), []
    suites, has_passed = ET.Element("testsuites"), True
    errors: list[UserError] = []
    for file in files:
        try:
            with ProgressLine("checking the rows") as line:
                options = {**checking.given(), "reading": reading.given(), "progress": line.show}
                found = check_rows(file, pick, **options)
        except UserError as error:
            if isinstance(error, BadParameter) or error.where == "check":
                raise  # it is the same for all files
            errors.append(error)
            _add_error(suites, file, error)
            failed = {"source": file, "passed": False, "error": error.worded(as_flags)}
            documents.append({"against": against, **failed})
            continue
        has_passed = has_passed and found.passed
        if junit is not None:
            _add_suite(suites, found)
        if asked.json:
            with ProgressLine() as line:
                own = found.to_dict(progress=line.show)
            documents.append({"against": against, **own})
            continue
        if not asked.quiet:
            _print(out, found, against, asked.top)
        out.print(visible(found.summary), soft_wrap=True, style="green" if found.passed else "red")
    if asked.json:
        print_json(*documents)
    if junit is not None:
        ET.indent(suites)
        written = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
        replace_file(junit, lambda stream: stream.write(written + b"\n"))
    if errors:
        for other in errors[:-1]:
            message(f"metaod: error: {other.worded(as_flags)}")
        raise errors[-1]
    if not has_passed:
        raise typer.Exit(_FINDINGS)


def _print(out: "Console", found: "Check", pick: str, top: int) -> None:
    size = size_of(found.table.source, found.table.n_rows, found.table.n_columns)
    out.print(f"{size}, against {visible(pick)}", style="bold")
    out.print(f"promise: {found.promise_text()}")
    print_notes(out, found.notes)
    for change in found.schema:
        kind = "finding" if change.is_finding else "note"
        out.print(f"{kind}: {visible(change.sentence())}")
    for drift in found.drift:
        out.print(f"finding: {visible(drift.sentence())}")
    patterns = found.patterns[:top]
    if patterns:
        rows = numbers_and_sentences(out, patterns, [])
        out.print(
            grid("row", "similar wrong cells", right=("row",), rows=rows), width=width_of(out)
        )
    similar = {row for own in patterns for row in own.rows}
    alone = found.rows[[row not in similar for row in found.rows.tolist()]]
    if len(alone) and top:
        shown = alone[:top].tolist()
        columns = [
            ("row", [str(place + 1) for place in shown]),
            ("p-value", [f"{found.p_values[place]:.2g}" for place in shown]),
        ]
        texts = _reasons(found, alone[:top])
        out.print(grid_of_rows(columns, "what is unusual", texts, width_of(out)))
    if len(alone) > top > 0:
        out.print(f"... and {counted(len(alone) - top, 'more flagged row')}; --json has all")


def _reasons(found: "Check", rows: Any) -> list[list[str]]:
    """Say what is probably wrong in each of some flagged rows, or why it is unusual."""
    import numpy as np

    assert found.found is not None  # noqa: S101 - rows are flagged
    wrong = [place in found.findings for place in rows.tolist()]
    others = rows[~np.array(wrong)]
    apart = dict(zip(others.tolist(), reasons_of(found.found, others), strict=True))
    return [apart.get(place) or _errors(found, place) for place in rows.tolist()]


def _errors(found: "Check", place: int) -> list[str]:
    """Describe the findings of a row, and say if the row is flagged for them alone."""
    texts = [visible(own.sentence()) for own in found.findings[place]]
    if found.p_values[place] > found.limit:
        texts[0] = f"flagged as almost certainly wrong: {texts[0]}"
    return texts


def _add_suite(suites: ET.Element, found: "Check") -> None:
    """Add the suite of a file to JUnit: a case for its rows, for drift, and for the columns."""
    cases = {
        "columns": [own.sentence() for own in found.schema if own.is_finding],
        "drift": [own.sentence() for own in found.drift],
        "rows": _row_lines(found) if found.has_excess else [],
    }
    count: Any = {"tests": str(len(cases)), "failures": str(sum(map(bool, cases.values())))}
    name = visible(f"{_COMMAND} {found.table.source}")
    suite = ET.SubElement(suites, "testsuite", name=name, **count)
    for kind, texts in cases.items():
        case = ET.SubElement(suite, "testcase", classname="metaod.check", name=kind)
        if texts:
            message = visible(found.summary if kind == "rows" else texts[0])
            failure = ET.SubElement(case, "failure", message=message)
            failure.text = "\n".join(map(visible, texts))
        elif kind != "columns" and found.found is None:
            ET.SubElement(case, "skipped", message="a column is missing")
    if found.notes:
        ET.SubElement(suite, "system-out").text = "\n".join(
            visible(in_words(note)) for note in found.notes
        )


def _add_error(suites: ET.Element, file: str, error: UserError) -> None:
    """Add the suite of a file that could not be checked to JUnit."""
    count: Any = {"tests": "1", "failures": "0", "errors": "1"}
    suite = ET.SubElement(suites, "testsuite", name=visible(f"{_COMMAND} {file}"), **count)
    case = ET.SubElement(suite, "testcase", classname="metaod.check", name="file")
    ET.SubElement(case, "error", message=visible(error.worded(as_flags)))


def _row_lines(found: "Check") -> list[str]:
    shown = zip(
        found.rows[:_MOST_ROWS].tolist(), _reasons(found, found.rows[:_MOST_ROWS]), strict=True
    )
    return [f"row {place + 1}: {'; '.join(texts)}" for place, texts in shown]
