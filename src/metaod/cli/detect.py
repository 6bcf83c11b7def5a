"""``metaod detect``: pick a model for a table, fit it, and score every row."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detection import Detection, detected, rescored, saved_pick
from metaod.cli.picking import (
    Exclude,
    Files,
    Learner,
    MaxSeconds,
    Pick,
    Seed,
    Space,
    message_screen,
    one_or_several,
    open_tables,
    picking,
    print_notes,
    print_pick,
    print_trust,
)
from metaod.cli.screen import counted, grid, visible
from metaod.cli.tables import (
    Decimal,
    Delimiter,
    Encoding,
    Example,
    Header,
    Label,
    MaxBytes,
    MissingWords,
    Sheet,
    TextColumns,
    Variable,
)
from metaod.cli.waiting import not_silent
from metaod.cli.writing import targets_of, write_scored
from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["detect"]

_COMMAND = "metaod detect"
_SHOWN_COLUMNS = 4


def detect(
    files: Files = None,
    *,
    example: Example = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the input with score, rank and flag: a .csv or .parquet file, "
            "- for stdout (CSV), or a folder for several tables.",
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
            help="Save the fitted pick, with the table's values, for --apply.", metavar="FILE"
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(help="Score with a saved pick instead of picking anew.", metavar="FILE"),
    ] = None,
    learner: Learner = "default",
    pick: Pick = None,
    exclude: Exclude = None,
    space: Space = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    label: Label = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: MissingWords = None,
    header: Header = None,
    text: TextColumns = None,
    sheet: Sheet = None,
    variable: Variable = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Find the outliers of a table without labels: pick a model, fit it, score every row.

    Rows get a score (higher is more outlying), a rank (1 is the most
    outlying) and a flag (1 for an outlier). With '-o -' they go to stdout, and
    all messages to stderr.

    Exit codes: 0 scored, be there outliers or not; 2 something to mend, said
    in one line; 1 a defect of ours; 130 interrupted.

    Examples:  metaod detect table.csv -o scored.csv  ·
    metaod detect jan.csv --save pick.mod  ·
    metaod detect feb.csv --apply pick.mod -o feb.parquet
    """  # fmt: skip
    share = _share(contamination)
    if apply is not None:
        _refuse_with_apply(
            learner=(learner, "default"), pick=(pick, None), exclude=(exclude, None),
            space=(space, None), max_seconds=(max_seconds, None), seed=(seed, 0), save=(save, None),
            contamination=(share, "auto"),
        )  # fmt: skip
    if save is not None and files and len(files) > 1:
        raise UserError(
            "--save keeps one pick, and there are several tables",
            where=_COMMAND,
            remedy="give one table",
        )
    options: dict[str, Any] = {
        "learner": learner,
        "pick": pick,
        "contamination": share,
        "exclude": one_or_several(exclude),
        "space": one_or_several(space),
        "max_seconds": max_seconds,
        "random_state": seed,
    }
    tables = open_tables(
        _COMMAND, files, example=example, label=label, delimiter=delimiter,
        encoding=encoding, decimal=decimal, na=na, header=header, text=text, sheet=sheet,
        variable=variable, max_bytes=max_bytes,
    )  # fmt: skip
    # after all tables are known to be there: it makes the folder
    targets = targets_of(_COMMAND, files, output)
    out = message_screen(beside_output=output == "-")
    saved = None
    if apply is not None:
        with not_silent("fitting the saved pick again"):
            saved = saved_pick(apply)
    for place, (table, target) in enumerate(zip(tables, targets, strict=True)):
        with picking(_COMMAND, learner):
            found = (
                detected(table, save=save, **options) if saved is None else rescored(table, saved)
            )
        # files first: whoever reads the screen may stop reading (`| head`)
        names = [] if target is None else write_scored(found, target, label=label)
        if place:
            out.print()
        _print(out, found, top)
        if isinstance(target, Path):
            out.print(f"written: {visible(str(target))} (added {', '.join(names)})")
        if save is not None:
            out.print(f"saved the pick: {visible(save)}")


def _share(text: str) -> Any:
    from metaod.selection import check_contamination

    try:
        value: Any = text if text == "auto" else float(text)
    except ValueError:
        value = text
    return check_contamination(value, owner=_COMMAND)


def _refuse_with_apply(**given: tuple[object, object]) -> None:
    """Refuse whatever is not at its default."""
    for name, (value, default) in given.items():
        if value != default:
            raise BadParameter(
                _COMMAND,
                f"--{name.replace('_', '-')}",
                "left out with --apply: the saved pick is used as it is",
                value,
            )


def _print(out: "Console", found: Detection, top: int) -> None:
    if found.selection is not None:
        print_pick(out, found.selection)
        print_trust(out, found.selection)
    else:
        size = counted(len(found.scores), "row")
        out.print(f"{visible(found.table.source)}: {size}", style="bold")
        out.print(f"saved pick: {' + '.join(found.models)}")
    print_notes(out, (*found.table.warnings, *found.notes), found.selection)
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
        out.print(f"... and {counted(hidden, 'more flagged row')}")


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
            # rows are counted from 1, as in a table without its header
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
