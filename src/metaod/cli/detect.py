"""``metaod detect``: pick a model for a table, fit it, and score every row."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detection import Detection, UsedMarks, print_detection
from metaod.cli.formats import json_rows
from metaod.cli.options import (
    COLUMNS,
    PICKING,
    READING,
    Example,
    Files,
    grouped_options,
    open_tables,
    picking_messages,
    selection_options,
)
from metaod.cli.screen import Json, console, message_if_long, print_json, visible
from metaod.cli.select import Verbose
from metaod.cli.writing import (
    Choice,
    added_names,
    check_target,
    scored_cells,
    targets_of,
    write_scored,
)
from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    from metaod.selection import MetaOD
    from metaod.tables import PreparationRecord, Table

_COMMAND = "metaod detect"
_MOST_EXPLAINED = 100  # rows whose reasons --json holds


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
    list of objects for several.

    Exit codes: 0 scored, with or without outliers; 2 an error that you can
    correct; 1 a defect in metaod; 130 interrupted.
    """  # fmt: skip
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
    saved = None if apply is None else _load(apply)
    roles = columns if saved is None else {name: getattr(saved, name) for name in columns}
    tables = open_tables(_COMMAND, files, reading, roles, example=example)
    targets = targets_of(_COMMAND, files, output)  # creates the folder, once all tables are found
    out = console(stderr=output == "-")
    options = {**selection_options(picking), **columns}
    documents = []
    for place, (table, target) in enumerate(zip(tables, targets, strict=True)):
        check_target(target, table)
        with picking_messages(picking["learner"]):
            found = (
                _pick_and_score(table, options, share, top_n, save, marks)
                if saved is None
                else _score_with(saved, table, top_n)
            )
        if why:
            found = _with_why(found)
        # files first: the reader of the screen may stop reading (`| head`)
        names = () if target is None else write_scored(found, target, choice)
        if json:
            documents.append(_document(found))
            continue
        if place:
            out.print()
        print_detection(out, found, top, verbose=verbose, is_written=target is not None)
        if isinstance(target, Path):
            out.print(f"written: {visible(str(target))} (added {', '.join(names)})")
        if save is not None:
            out.print(f"saved the pick: {visible(save)}")
    if json:
        print_json(documents if files and len(files) > 1 else documents[0])


def _pick_and_score(
    table: "Table",
    options: dict[str, Any],
    share: Any,
    top_n: int | None,
    save: str | None,
    marks: str | None,
) -> Detection:
    from metaod.artifacts import check_target
    from metaod.selection import MetaOD

    if save is not None:
        check_target(save)  # before anything that takes long
    if top_n is not None:
        share = _share_of(top_n, table)
    learned = None if marks is None else _read_marks(marks, table, options["id"])
    model = MetaOD(contamination=share, **options)
    model.fit(table, marks=None if learned is None else learned.answers)
    if save is not None:
        model.save(save)
    found = _found(
        model, table, model.decision_scores_, model.notes_, model.preparation_.record_, top_n
    )
    found = replace(found, marks=learned, explain=model.explain_rows)
    return _measured(found, model)


def _with_why(found: Detection) -> Detection:
    """Explain the flagged rows, for the file."""
    flagged = found.order[found.flags[found.order] == 1]
    texts = [""] * len(found.scores)
    with message_if_long("finding what sets the flagged rows apart"):
        explained = found.explain(flagged)
    for place, reasons in zip(flagged.tolist(), explained, strict=True):
        texts[place] = "; ".join(map(str, reasons.main_reasons())) or str(reasons)
    return replace(found, why=texts)


def _read_marks(path: str, table: "Table", key: Sequence[str] | None) -> UsedMarks:
    from metaod.review import RowContents, match_marks, read_marks

    place = Path(path).expanduser()
    marks = read_marks(place)
    matched = match_marks(marks.marks, RowContents.of(table, key), place)
    notes = (*marks.notes, *filter(None, [matched.note()]))
    return UsedMarks(matched.answers, notes, tuple(mark.name for mark in matched.unmatched))


def _load(path: str) -> "MetaOD":
    import warnings

    from metaod.selection import load

    with message_if_long("fitting the saved pick again"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes of the pick hold them
        return load(path)


def _score_with(model: "MetaOD", table: "Table", top_n: int | None) -> Detection:
    from metaod.selection import table_notes

    prepared = model.preparation_.transform(table)
    scores = model.fitted_.score(prepared.X)
    notes = (*table_notes(prepared.record, fitted=False), *model.fitted_.notes)
    if top_n is not None:
        _share_of(top_n, table)
    found = _found(model, table, scores, notes, prepared.record, top_n)
    if model.fitted_.marks:
        found = replace(found, marks=UsedMarks(dict(model.fitted_.marks)))
    found = replace(found, explain=lambda rows: model.explain_rows(table.take(rows)))
    return _measured(found, model, prepared.X)


def _found(
    model: "MetaOD",
    table: "Table",
    scores: Any,
    notes: Sequence[str],
    record: "PreparationRecord",
    top_n: int | None,
) -> Detection:
    found = Detection(
        table,
        scores,
        model.threshold_,
        model.fitted_.weights,
        tuple(notes),
        record,
        model.selection_,
        top_n,
    )
    if top_n is None:
        return found
    threshold = float(found.scores[found.order[top_n - 1 : top_n + 1]].mean())
    return replace(found, notes=_with_ties(found, top_n), threshold=threshold)


def _measured(found: Detection, model: "MetaOD", new: Any = None) -> Detection:
    """Measure the scores on the label, if there is one, beside isolation forest."""
    from metaod.selection import compare_with_forest

    if found.table.label is None:
        return found
    try:
        compared = compare_with_forest(model, found.table, found.scores, new=new)
    except UserError as error:  # the label has one value alone
        return replace(found, notes=(*found.notes, f"Not measured: {error.what}."))
    if new is None and model.fitted_.marks:
        note = "The measures count all rows, those that are marked too."
        found = replace(found, notes=(*found.notes, note))
    return replace(found, compared=compared)


def _with_ties(found: Detection, top_n: int) -> tuple[str, ...]:
    """Return the notes; if rows share the last score that is flagged, one that says so."""
    from metaod.selection import TOO_MANY_TIES

    notes = tuple(note for note in found.notes if TOO_MANY_TIES not in note)
    last = found.scores[found.order[top_n - 1]]
    n_tied = int((found.scores == last).sum())
    n_above = int((found.scores > last).sum())
    if n_above + n_tied == top_n:
        return notes
    tied = f"{n_tied} rows share the score of rank {n_above + 1}; the first {top_n - n_above}"
    return (*notes, f"{tied} of them in the table are flagged.")


def _share(text: str) -> Any:
    from metaod.selection import check_contamination

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


def _share_of(top_n: int, table: "Table") -> float:
    """Return the share whose threshold lies between the n-th and the next score."""
    if 2 * top_n > table.n_rows:
        legal = f"at most half of the rows, {table.n_rows // 2} of {table.n_rows}"
        raise BadParameter(_COMMAND, "--top-n", legal, top_n)
    return top_n / table.n_rows


def _refuse_together(
    contamination: str, top_n: int | None, output: str | None, choice: Choice, *, json: bool
) -> None:
    if top_n is not None and contamination != "auto":
        what = "--top-n and --contamination both say how many rows to flag"
        raise UserError(what, where=_COMMAND, remedy="leave one of them out")
    if json and output == "-":
        what = "--json and '-o -' both write to stdout"
        raise UserError(what, where=_COMMAND, remedy="name a file for -o")
    if output is None and choice != Choice():
        options = (
            ("--sort", choice.sort),
            ("--flagged-only", choice.flagged_only),
            ("--why", choice.why),
        )
        option = next((name for name, is_given in options if is_given), "--no-formulas")
        what = f"{option} concerns the file that -o writes"
        raise UserError(what, where=_COMMAND, remedy="add -o FILE; the screen shows --top N rows")


def _refuse_with_apply(given: dict[str, Any], defaults: dict[str, Any]) -> None:
    for name, value in given.items():
        if value != defaults[name]:
            legal = "left out with --apply: the saved pick is used as it is"
            raise BadParameter(_COMMAND, f"--{name.replace('_', '-')}", legal, value)


def _document(found: Detection) -> dict[str, Any]:
    """Return the result as plain data: the pick, what to expect, and the flagged rows."""
    order = found.order[found.flags[found.order] == 1]
    cells = json_rows(scored_cells(found, order))
    explained = found.explain(order[:_MOST_EXPLAINED])
    rows = []
    for number, (place, row) in enumerate(zip(order.tolist(), cells, strict=True)):
        own = dict(list(row.items())[: -len(added_names(found))])
        rank, score = int(found.ranks[place]), float(found.scores[place])
        why = explained[number].to_dict()["reasons"] if number < len(explained) else None
        rows.append({"row": place + 1, "rank": rank, "score": score, "cells": own, "why": why})
    marks = found.marks or UsedMarks({})
    return {
        "source": found.table.source,
        "n_rows": found.table.n_rows,
        "n_columns": found.table.n_columns,
        "pick": found.weights,
        "expected": None if found.selection is None else found.selection.trust.to_dict(),
        "warnings": list(found.warnings),
        "notes": list(dict.fromkeys((*found.table.warnings, *marks.notes, *found.notes))),
        "drift": [asdict(drift) for drift in found.record.drift],
        "marks": None if found.marks is None else marks.to_dict(),
        "threshold": found.threshold,
        "gap": dict(zip(("n_above", "above", "below"), found.gap, strict=True))
        if found.gap
        else None,
        "measured": [row.to_dict() for row in found.compared] or None,
        "n_flagged": len(order),
        "flagged": rows,
    }
