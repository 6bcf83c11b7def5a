"""``python -m research testbed``: the paper's two testbeds, and childsets of your own tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, grid
from metaod.errors import BadFile, BadParameter, counted

if TYPE_CHECKING:
    from research.testbeds.folder import Manifest, Member

app = typer.Typer(
    help="Make the paper's testbeds, POC and ST, and childsets of labelled tables.",
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option(help="Folder to write; `metaod build` reads it.", metavar="DIR")]
Seed = Annotated[
    int, typer.Option(help="Seed of every draw; the same seed gives the same bytes.", min=0)
]
Mothersets = Annotated[
    Path | None, typer.Option(help="Folder of mothersets, with a catalog.csv.", metavar="DIR")
]
Archive = Annotated[
    Path | None,
    typer.Option(
        help="Folder of Emmott's original CSV files, used instead of made childsets.", metavar="DIR"
    ),
]


@app.command()
def poc(
    *,
    out: Out,
    mothersets: Mothersets = None,
    archive: Archive = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Not used; accepted because `st` takes it.", metavar="DIR"),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make POC: five siblings of each of 20 mothersets, in five folds."""
    from research.testbeds.building import build_poc

    if data is not None and not data.expanduser().is_dir():
        raise BadFile(data, "is not a folder", remedy="name a folder with --data, or leave it out")
    with ProgressLine("reading mothersets") as line:
        manifest = build_poc(
            out, mothersets=mothersets, archive=archive, seed=seed, on_motherset=line.count
        )
    _show(manifest, out)


@app.command()
def st(
    *,
    out: Out,
    mothersets: Mothersets = None,
    archive: Archive = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the sets, to verify their content.", metavar="DIR"),
    ] = None,
    extra: Annotated[
        list[str] | None,
        typer.Option(
            help="A set that cannot be downloaded, such as speech=FILE; repeatable.",
            metavar="NAME=FILE",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make ST: the sets of ODDS and DAMI by fingerprint, and one childset of each motherset."""
    from research.testbeds.building import build_st

    extras = dict(_name_and_file(text) for text in extra or ())
    with ProgressLine("reading datasets") as line:
        manifest = build_st(
            out,
            mothersets=mothersets,
            archive=archive,
            data=data,
            extras=extras,
            seed=seed,
            on_motherset=line.count,
        )
    _show(manifest, out)


@app.command()
def childsets(
    source: Annotated[
        Path, typer.Argument(help="A labelled table, or a folder of mothersets.", metavar="SOURCE")
    ],
    *,
    out: Out,
    target: Annotated[
        str, typer.Option(help="Column or array of the class or regression target.", metavar="NAME")
    ] = "y",
    task: Annotated[
        str | None,
        typer.Option(
            help="regression, binary or multiclass; derived from the target by default.",
            metavar="NAME",
        ),
    ] = None,
    normal_at_least: Annotated[
        float | None,
        typer.Option(help="Rows with at least this regression target are normal.", metavar="VALUE"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this motherset of a folder; repeatable.", metavar="NAME"),
    ] = None,
    difficulty: Annotated[
        str, typer.Option(help="any, easy, medium, hard or 'very hard'.", metavar="LEVEL")
    ] = "any",
    frequency: Annotated[
        str, typer.Option(help="Share of outliers, such as 0.05, or any.", metavar="SHARE")
    ] = "any",
    clusteredness: Annotated[
        str, typer.Option(help="any, scattered or clustered.", metavar="LEVEL")
    ] = "any",
    irrelevance: Annotated[
        float,
        typer.Option(
            help="Add irrelevant columns up to R² times the number of columns.", metavar="R"
        ),
    ] = 1.0,
    replicates: Annotated[int, typer.Option(help="Siblings to draw.", min=1, max=9999)] = 5,
    seed: Seed = 0,
) -> None:
    """Draw childsets with known properties from labelled tables."""
    from research.childsets.mothersets import read_mothersets
    from research.childsets.recipe import Recipe
    from research.testbeds.building import build_childsets

    levels = {"difficulty": difficulty, "clusteredness": clusteredness}
    recipe = Recipe.from_dict(
        {**levels, "frequency": _share(frequency), "irrelevance": irrelevance}
    )
    mothersets = read_mothersets(
        source, target=target, task=task, normal_at_least=normal_at_least, only=only or ()
    )
    with ProgressLine("drawing childsets"):
        manifest = build_childsets(out, mothersets, recipe, replicates, seed=seed)
    _show(manifest, out)


def _share(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # "any"; the recipe checks it


def _name_and_file(text: str) -> tuple[str, Path]:
    name, sign, file = text.partition("=")
    if not (name and sign and file):
        raise BadParameter("research testbed st", "--extra", "NAME=FILE", text)
    return name, Path(file)


def _show(manifest: "Manifest", out: Path) -> None:
    numbers = ("rows", "columns", "outliers")
    table = grid("name", *numbers, "origin", "recipe", "paper", right=numbers)
    for member in manifest.members:
        if member.file is None or (member.fold or 1) > 1:
            continue
        counts = (*map(str, member.shape[:2]), f"{member.outlier_share:.4%}")
        recipe = "" if member.recipe is None else member.recipe.name
        table.add_row(member.name, *counts, member.origin, recipe, _shape_in_paper(member))
    console().print(table)
    if manifest.testbed == "poc":
        console().print("one line per motherset: its siblings have the same shape")
    for wanted, got in manifest.stand_ins.items():
        console().print(f"{got} stands in for {wanted}")
    for item in manifest.left_out:
        console().print(f"left out: {item.name} ({item.datasets}): {item.reason}", soft_wrap=True)
    sources = ", ".join(f"{count} {source}" for source, count in manifest.counts().items())
    total = f"{counted(len(manifest.members), 'dataset')} ({sources})"
    console().print(f"{total}; {out / 'manifest.json'} lists them", soft_wrap=True)
    checked = manifest.check_shapes()
    if checked:
        console().print(f"shapes checked against the paper: {', '.join(checked)}")


def _shape_in_paper(member: "Member") -> str:
    if member.stands_in_for is not None:
        return f"stands in for {member.stands_in_for}"
    if member.paper_shape is None:
        return ""
    rows, columns, outliers = member.paper_shape
    shape = f"{rows} × {columns}, {outliers / rows:.4%}"
    return "the same" if member.agrees else shape
