"""``metaod detect``: pick a model for a table, fit it, and score every row."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.options import (
    PICKING,
    READING,
    Example,
    Files,
    grouped_options,
    open_tables,
    picking_errors,
    selection_options,
)
from metaod.cli.screen import console, counted, grid, message_if_long, visible
from metaod.cli.select import Verbose, print_notes, print_pick, print_warnings
from metaod.cli.writing import Detection, targets_of, write_scored
from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.selection import MetaOD
    from metaod.tables import Table

_COMMAND = "metaod detect"
_SHOWN_COLUMNS = 4


@grouped_options(picking=PICKING, reading=READING)
def detect(
    files: Files = None,
    *,
    example: Example = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the table with score, rank and flag to a .csv or .parquet file, to - "
            "(stdout, as CSV), or for several tables to a folder.",
            metavar="FILE",
        ),
    ] = None,
    contamination: Annotated[
        str,
        typer.Option(
            help="Share of outliers in (0, 0.5], or auto: estimated from the scores.",
            metavar="SHARE",
        ),
    ] = "auto",
    top: Annotated[int, typer.Option(help="Rows to show.", metavar="N", min=0)] = 10,
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
    verbose: Verbose = False,
    picking: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Find the outliers of a table without labels: pick a model, fit it, score every row.

    Rows get a score (higher is more outlying), a rank (1 is the most
    outlying) and a flag (1 for an outlier). With '-o -' they go to stdout and
    all messages to stderr.

    Exit codes: 0 scored, with or without outliers; 2 an error that you can
    correct; 1 a defect in metaod; 130 interrupted.

    Examples:  metaod detect table.csv -o scored.csv  ·
    metaod detect jan.csv --save pick.mod  ·
    metaod detect feb.csv --apply pick.mod -o feb.parquet
    """  # fmt: skip
    share = _share(contamination)
    if apply is not None:
        defaults = {name: default for name, (_, default) in PICKING.items()}
        _refuse_with_apply(
            {**picking, "save": save, "contamination": share},
            {**defaults, "save": None, "contamination": "auto"},
        )
    if save is not None and files and len(files) > 1:
        what = "--save keeps one pick, and there are several tables"
        raise UserError(what, where=_COMMAND, remedy="give one table")
    tables = open_tables(_COMMAND, files, reading, example=example)
    targets = targets_of(_COMMAND, files, output)  # creates the folder, once all tables are found
    out = console(stderr=output == "-")
    saved = None if apply is None else _load(apply)
    for place, (table, target) in enumerate(zip(tables, targets, strict=True)):
        with picking_errors(_COMMAND, picking["learner"]):
            found = (
                _pick_and_score(table, picking, share, save)
                if saved is None
                else _score_with(saved, table)
            )
        # files first: the reader of the screen may stop reading (`| head`)
        names = [] if target is None else write_scored(found, target, label=reading["label"])
        if place:
            out.print()
        _print(out, found, top, verbose=verbose, is_written=target is not None)
        if isinstance(target, Path):
            out.print(f"written: {visible(str(target))} (added {', '.join(names)})")
        if save is not None:
            out.print(f"saved the pick: {visible(save)}")


def _pick_and_score(
    table: "Table", picking: dict[str, Any], contamination: Any, save: str | None
) -> Detection:
    from metaod.artifacts import check_target
    from metaod.selection import MetaOD

    if save is not None:
        check_target(save)  # before anything that takes long
    model = MetaOD(contamination=contamination, **selection_options(picking)).fit(table)
    if save is not None:
        model.save(save)
    models, scores = tuple(model.fitted_.weights), model.decision_scores_
    return Detection(table, scores, model.threshold_, models, model.notes_, model.selection_)


def _load(path: str) -> "MetaOD":
    import warnings

    from metaod.selection import load

    with message_if_long("fitting the saved pick again"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes of the pick hold them
        return load(path)


def _score_with(model: "MetaOD", table: "Table") -> Detection:
    from metaod.selection import table_notes

    # columns are found by name, in any order; scikit-learn's predict demands the same order
    prepared = model.preparation_.transform(table)
    scores = model.fitted_.score(prepared.X)
    notes = (*table_notes(prepared.record, fitted=False), *model.fitted_.notes)
    return Detection(table, scores, model.threshold_, tuple(model.fitted_.weights), notes, None)


def _share(text: str) -> Any:
    from metaod.selection import check_contamination

    try:
        value: Any = text if text == "auto" else float(text)
    except ValueError:
        value = text
    return check_contamination(value, owner=_COMMAND)


def _refuse_with_apply(given: dict[str, Any], defaults: dict[str, Any]) -> None:
    for name, value in given.items():
        if value != defaults[name]:
            legal = "left out with --apply: the saved pick is used as it is"
            raise BadParameter(_COMMAND, f"--{name.replace('_', '-')}", legal, value)


def _print(out: "Console", found: Detection, top: int, *, verbose: bool, is_written: bool) -> None:
    size = f"{counted(found.table.n_rows, 'row')} × {counted(found.table.n_columns, 'column')}"
    out.print(f"{visible(found.table.source)}: {size}", style="bold")
    heading = "saved pick" if found.selection is None else "pick"
    print_pick(out, found.models, heading, verbose=verbose)
    warnings = () if found.selection is None else found.selection.trust.warnings
    print_warnings(out, warnings)
    print_notes(out, (*found.table.warnings, *found.notes), warnings)
    n_flagged = int(found.flags.sum())
    n_rows = len(found.flags)
    out.print(
        f"flagged: {n_flagged} of {counted(n_rows, 'row')} ({n_flagged / n_rows:.1%}), "
        f"score above {found.threshold:.4g}"
    )
    if top:
        out.print(_top_rows(found, top))
    hidden = n_flagged - top
    if top and hidden > 0:
        hint = "" if is_written else "; -o FILE writes all rows"
        out.print(f"... and {counted(hidden, 'more flagged row')}{hint}")


def _top_rows(found: Detection, top: int) -> Any:
    frame = found.table.frame
    columns = list(frame.columns[:_SHOWN_COLUMNS])
    more = ["..."] if frame.shape[1] > _SHOWN_COLUMNS else []
    names = [visible(str(column)) for column in columns]
    listing = grid("rank", "row", "score", "flag", *names, *more, right=("rank", "row", "score"))
    for place in found.order[:top]:
        cells = [_cell(frame.iloc[place, column]) for column in range(len(columns))]
        listing.add_row(
            str(found.ranks[place]),
            # rows are counted from 1, without the header
            str(place + 1),
            f"{found.scores[place]:.4g}",
            "yes" if found.flags[place] else "",
            *cells,
            *more,
        )
    return listing


def _cell(value: Any) -> str:
    import pandas as pd

    if pd.isna(value):
        return ""
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    # a date without a time of day
    shown = shown.removesuffix(" 00:00:00") if isinstance(value, pd.Timestamp) else shown
    return visible(shown if len(shown) <= 16 else shown[:15] + "…")
