"""``metaod update``: fit a saved pick again to the rows that it knows and to new ones."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detect import load_pick, options_of
from metaod.cli.options import open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json, visible
from metaod.errors import UserError, counted
from metaod.options import Options, Reading, option

if TYPE_CHECKING:
    from metaod.detection import PickVersion

_COMMAND = "metaod update"
Rows = Annotated[str, typer.Argument(help="Table with the new rows.", metavar="FILE")]
Pick = Annotated[str, typer.Argument(help="A pick that 'metaod detect --save' wrote.")]


@dataclass(frozen=True, kw_only=True)
class Updating(Options):
    """The options of this command alone."""

    output: str | None = option(
        None,
        "Write the new pick here; by default it replaces the old one.",
        flags=("--output", "-o"),
        metavar="FILE",
    )
    sign: str | None = option(
        None, "Sign the new pick with the key in this file (HMAC-SHA256).", metavar="KEYFILE"
    )
    when: str = option("", "When the rows were learned, for the record.", metavar="TEXT")


@with_options
def update(
    pick: Pick, file: Rows, *, asked: Updating, reading: Reading, json: Json = False
) -> None:
    """Update a saved pick with new rows.

    The models and options stay. Usual values, categories and the threshold are
    learned again from the rows in the pick and the new rows: from at most 20,000,
    old and new in proportion to the rows that they stand for. Marks are kept. The
    old file is replaced when the new one is complete. 'metaod info PICK' shows
    what a pick has learned from, and what each update has changed.
    """
    from metaod import artifacts
    from metaod.detection import update as update_pick

    target = asked.output or pick
    artifacts.check_target(target)  # before anything that takes long
    if asked.sign is not None:
        artifacts.signature(b"", asked.sign)
    elif key := os.environ.get(artifacts.VERIFY_KEY):
        what = f"would not be signed, and signatures are demanded ({key})"
        raise UserError(what, where=target, remedy="sign it: --sign KEYFILE", code="not-signed")
    model = load_pick(pick)
    table = open_table(_COMMAND, file, *options_of(model, reading), example=False)
    with ProgressLine("fitting again") as line:
        updated = update_pick(model, table, when=asked.when, progress=line.show)
    updated.save(target, sign=asked.sign)
    history = updated.history_
    if json:
        print_json(history_document(history))
        return
    out, new = console(), history[-1]
    added = f"{visible(new.source)}: {counted(new.n_rows, 'new row')}"
    of_all = counted(sum(version.n_rows for version in history), "row")
    learned = f"the pick has learned from {new.n_learned:,} of {of_all}"
    out.print(f"{added}; {learned}", style="bold", soft_wrap=True)
    out.print(visible(new.changes(history[-2])))
    out.print(f"saved the pick: {visible(str(target))}", soft_wrap=True)


def history_document(history: "tuple[PickVersion, ...]") -> list[dict[str, Any]]:
    """Return the versions of a pick as plain data, each with what it changed in words."""
    before = (None, *history)
    return [
        {**own.to_dict(), "changes": "" if earlier is None else own.changes(earlier)}
        for own, earlier in zip(history, before, strict=False)
    ]


def print_history(history: "tuple[PickVersion, ...]") -> None:
    """Print a line for each version of a pick."""
    listing = grid("version", "rows", "source", "when", "flagged", "changes", right=("rows",))
    for number, own in enumerate(history_document(history), 1):
        flagged = f"{own['n_flagged']:,} of {own['n_learned']:,}"
        words = own["source"], own["when"], flagged, own["changes"]
        listing.add_row(str(number), f"{own['n_rows']:,}", *map(visible, words))
    console().print(listing)
