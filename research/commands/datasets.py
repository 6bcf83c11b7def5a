"""``python -m research datasets``: the catalogue of public benchmark sets."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json
from metaod.errors import BadParameter, UserError, counted

if TYPE_CHECKING:
    from research.catalogue import CatalogueEntry

DataDir = Annotated[
    Path | None, typer.Option(help="Folder that holds datasets already.", metavar="DIR")
]

app = typer.Typer(
    help="List, show and fetch public labelled benchmark sets (ODDS, DAMI, ADBench).",
    no_args_is_help=True,
)

Names = Annotated[list[str], typer.Argument(help="Names such as odds/wine.", metavar="NAME...")]


@app.command("list")
def list_(
    *,
    collection: Annotated[
        str | None, typer.Option(help="Only this collection.", metavar="NAME")
    ] = None,
    st: Annotated[bool, typer.Option("--st", help="Only the paper's ST testbed.")] = False,
    json: Json = False,
) -> None:
    """List the catalogue."""
    from research.catalogue import catalogue

    known = catalogue()
    if collection is not None and collection.lower() not in known.collections:
        raise BadParameter("research datasets list", "--collection", known.collections, collection)
    entries = known.filter(collection=collection and collection.lower(), in_st=True if st else None)
    if json:
        print_json([_as_data(entry) for entry in entries])
        return
    numbers = ("rows", "columns", "outliers")
    table = grid("name", *numbers, "origin", "ST", right=numbers)
    for entry in entries:
        counts = (str(entry.rows), str(entry.columns), f"{entry.outlier_share:.2%}")
        table.add_row(entry.name, *counts, entry.origin, "yes" if entry.in_st else "")
    console().print(table)
    console().print(
        f"{counted(len(entries), 'set')}; `research datasets show NAME` shows the source of one"
    )


@app.command()
def show(names: Names, *, json: Json = False) -> None:
    """Show the addresses, terms of use and fingerprints of sets."""
    from research.catalogue import catalogue

    known = catalogue()
    entries = [known[name] for name in names]
    if json:
        print_json([_as_data(entry) for entry in entries])
        return
    for entry in entries:
        _print_entry(entry)


@app.command()
def fetch(
    names: Names,
    *,
    data_dir: DataDir = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder for downloads instead of the user's cache.", metavar="DIR"),
    ] = None,
) -> None:
    """Download sets into the cache and verify their content by fingerprint.

    Sets in --data-dir are verified there and not downloaded.
    """
    from research.catalogue import catalogue
    from research.loading import load_dataset

    entries = [catalogue()[name] for name in names]
    problems: list[UserError] = []
    for place, entry in enumerate(entries, start=1):
        try:
            with ProgressLine(f"fetching {entry.name} ({place} of {len(entries)})") as line:
                dataset = load_dataset(
                    entry,
                    data_dir=data_dir,
                    cache_dir=cache_dir,
                    progress=line.count,
                )
        except UserError as error:
            problems.append(error)
            continue
        state = "verified" if dataset.verified else "read; the catalogue has no fingerprint of it"
        console().print(
            f"{entry.name}: {state}, {counted(len(dataset.y), 'row')} × "
            f"{counted(dataset.X.shape[1], 'column')}, "
            f"{counted(int(dataset.y.sum()), 'outlier')}, {dataset.path}",
            soft_wrap=True,
        )
    if problems:
        for problem in problems[:-1]:
            typer.echo(f"metaod: error: {problem}", err=True)
        raise problems[-1]


def _as_data(entry: "CatalogueEntry") -> dict[str, Any]:
    return asdict(entry) | {"outlier_share": entry.outlier_share}


def _print_entry(entry: "CatalogueEntry") -> None:
    facts = {
        "shape": f"{counted(entry.rows, 'row')} × {counted(entry.columns, 'column')}",
        "outliers": f"{entry.outliers} ({entry.outlier_share:.4%})",
        "origin": entry.origin,
        "in the paper's ST": "yes" if entry.in_st else "no",
        "licence": entry.licence,
        "homepage": entry.homepage,
        "cite": entry.citation,
        "fingerprint": entry.fingerprint or "none: the set was not available",
        "note": entry.note,
    }
    table = grid("", "")
    table.show_header = False
    for name, value in facts.items():
        if value:
            table.add_row(name, value)
    for source in entry.sources:
        table.add_row("address", f"{source.address} ({source.status})")
    console().print(entry.name, style="bold")
    console().print(table)
