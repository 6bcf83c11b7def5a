"""``python -m research relatives``: related datasets of a store, and the origins that they join."""

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from metaod.cli.build import LabelOption, StoreOption, list_folders
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json, visible
from metaod.errors import BadFile, counted


def relatives(
    *,
    store: StoreOption,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of the store's tables; repeatable.", metavar="DIR"),
    ] = None,
    label: LabelOption = "y",
    join: Annotated[
        bool, typer.Option("--join", help="Give related datasets one origin in the store.")
    ] = False,
    also: Annotated[
        Path | None,
        typer.Option(help="CSV file of further pairs to join: one, other, reason.", metavar="FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """List datasets that share rows or columns, and the origins that they join.

    Shipped datasets are compared without their tables; others need --data.
    """
    from metaod.store import Store
    from research.relatives import find_relatives, join_related, named, sketches_of

    by_hand = {} if also is None else _read_pairs(also)
    entries = list_folders(data, label) if data else []
    with ProgressLine("comparing datasets"), Store(store) as opened:
        records = named(opened)
        sketches = sketches_of(records, entries)
        found = find_relatives(sketches)
        pairs = {(item.one, item.other): str(item) for item in found}
        changes = join_related(opened, pairs | by_hand) if join else []
        origins = {name: item.origin for name, item in named(opened).items()}
    lacking = sorted(records.keys() - sketches.keys())
    if json:
        joined = [dict(zip(("dataset", "before", "origin"), item, strict=True)) for item in changes]
        related = [asdict(item) for item in found]
        print_json({"relatives": related, "joined": joined, "not compared": lacking})
        return
    out, shown = console(), ("shared", "chance")
    table = grid("one", "other", "of one", "of other", *shown, "kind", "origins", right=shown)
    for item in found:
        pair = [origins[item.one], origins[item.other]]
        shares = (f"{item.share_of_one:.0%}", f"{item.share_of_other:.0%}")
        counts = (f"{item.shared}/{item.compared}", f"{item.chance:.1%}")
        names = (visible(item.one), visible(item.other))
        one_origin = pair[0] if pair[0] == pair[1] else " ≠ ".join(pair)
        table.add_row(*names, *shares, *counts, item.kind, visible(one_origin))
    out.print(table)
    apart = sum(origins[item.one] != origins[item.other] for item in found)
    out.print(f"{counted(len(found), 'pair')}, {apart} of different origins")
    for name, before, origin in changes:
        out.print(visible(f"{name}: {before} joined to {origin}"))
    if lacking:
        out.print(f"{counted(len(lacking), 'dataset')} not compared; name their folder with --data")


def _read_pairs(path: Path) -> dict[tuple[str, str], str]:
    from metaod._files import check_plain_file

    check_plain_file(path)
    remedy = "write a CSV file with the header one,other,reason"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            return {(line["one"], line["other"]): line["reason"] for line in reader}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise BadFile(path, f"is not a list of pairs ({error})", remedy=remedy) from error
