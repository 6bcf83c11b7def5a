"""``metaod testbed``: the paper's two testbeds, and childsets of one's own tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.screen import console, grid
from metaod.errors import BadFile, BadParameter, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaod.lab import Manifest, Member, Motherset, Task

__all__ = ["app"]

app = typer.Typer(
    help="Make the paper's testbeds, POC and ST, and childsets of labelled tables.",
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option(help="Folder to write; `metaod build` reads it.", metavar="DIR")]
Seed = Annotated[int, typer.Option(help="Of every draw; the same seed, the same bytes.", min=0)]
Mothersets = Annotated[
    Path | None, typer.Option(help="Folder of mothersets, with a catalog.csv.", metavar="DIR")
]
Archive = Annotated[
    Path | None,
    typer.Option(
        help="Folder of Emmott's original CSV files, taken where it has them.", metavar="DIR"
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
        typer.Option(help="As in `st`; POC is made of mothersets alone.", metavar="DIR"),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make POC: five siblings of each of 20 mothersets, in five folds.

    Example:  metaod testbed poc --mothersets mothersets/ --out poc/
    """
    from metaod.lab import build_poc

    _check_folder("--data", data)
    manifest = build_poc(out, mothersets=mothersets, archive=archive, seed=seed, on_motherset=_tell)
    _show(manifest, out)


@app.command()
def st(
    *,
    out: Out,
    mothersets: Mothersets = None,
    archive: Archive = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the sets, to verify; without it the catalogue is believed.",
            metavar="DIR",
        ),
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
    """Make ST: the sets of ODDS and DAMI by fingerprint, and a childset a motherset.

    Example:  metaod testbed st --mothersets mothersets/ --data datasets/ --out st/
    """
    from metaod.lab import build_st

    manifest = build_st(
        out,
        mothersets=mothersets,
        archive=archive,
        data=data,
        extras=dict(_name_and_file(text) for text in extra or ()),
        seed=seed,
        on_motherset=_tell,
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
        typer.Option(help="regression, binary or multiclass; else looked at.", metavar="NAME"),
    ] = None,
    normal_at_least: Annotated[
        float | None,
        typer.Option(help="A regression target from here on is normal.", metavar="VALUE"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Of a folder, this motherset; repeatable.", metavar="NAME"),
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
        float, typer.Option(help="r: columns are appended up to d·r².", metavar="R")
    ] = 1.0,
    replicates: Annotated[int, typer.Option(help="Siblings to draw.", min=1, max=9999)] = 5,
    seed: Seed = 0,
) -> None:
    """Draw childsets with known properties from labelled tables.

    Example:  metaod testbed childsets wine.csv --target quality --frequency 0.05 --out wine/
    """
    from metaod.lab import Recipe, build_childsets

    values: dict[str, Any] = {
        "difficulty": difficulty,
        "frequency": _share(frequency),
        "clusteredness": clusteredness,
        "irrelevance": irrelevance,
    }
    recipe = Recipe.from_dict(values)
    sources = _read_mothersets(source, target, task, normal_at_least, only)
    _show(build_childsets(out, sources, recipe, replicates, seed=seed), out)


def _read_mothersets(
    source: Path,
    target: str,
    task: str | None,
    normal_at_least: float | None,
    only: list[str] | None,
) -> "Iterator[Motherset]":
    from dataclasses import replace

    from metaod.lab import list_mothersets, make_synthetic, read_motherset

    if not source.expanduser().is_dir():
        yield read_motherset(
            source, target=target, task=_task(task), normal_at_least=normal_at_least
        )
        return
    listed = list_mothersets(source)
    for name in only or listed:
        if name in listed:
            motherset = listed[name].load(target)
        elif name == "synthetic":
            motherset = make_synthetic()
        else:
            raise BadParameter("metaod testbed childsets", "--only", list(listed), name)
        yield replace(motherset, normal_at_least=normal_at_least)


def _task(text: str | None) -> "Task | None":
    from metaod.lab import TASKS

    if text is None:
        return None
    for task in TASKS:
        if task == text:
            return task
    raise BadParameter("metaod testbed childsets", "--task", TASKS, text)


def _share(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # "any", or the recipe says what is legal


def _name_and_file(text: str) -> tuple[str, Path]:
    name, sign, file = text.partition("=")
    if not (name and sign and file):
        raise BadParameter("metaod testbed st", "--extra", "NAME=FILE", text)
    return name, Path(file)


def _check_folder(option: str, folder: Path | None) -> None:
    if folder is not None and not folder.expanduser().is_dir():
        raise BadFile(
            folder, "is no folder", remedy=f"name a folder with {option}, or leave it out"
        )


def _tell(motherset: str, done: int, total: int) -> None:
    typer.echo(f"{done}/{total} {motherset}", err=True)


def _show(manifest: "Manifest", out: Path) -> None:
    numbers = ("rows", "columns", "outliers")
    table = grid("name", *numbers, "origin", "recipe", "paper", right=numbers)
    for member in manifest.members:
        if member.file is None or (member.fold or 1) > 1:
            continue
        table.add_row(
            member.name,
            *map(str, member.shape[:2]),
            f"{member.outlier_share:.4%}",
            member.origin,
            "" if member.recipe is None else member.recipe.name,
            _beside_paper(member),
        )
    console().print(table)
    if manifest.testbed == "poc":
        console().print("one line a motherset: its siblings have the same shape")
    for wanted, got in manifest.stand_ins.items():
        console().print(f"stands in: {got} for {wanted}")
    for item in manifest.left_out:
        console().print(f"left out: {item.name} ({item.datasets}): {item.reason}", soft_wrap=True)
    counts = ", ".join(f"{count} {source}" for source, count in manifest.counts().items())
    console().print(
        f"{len(manifest.members)} datasets ({counts}); {out / 'manifest.json'} lists them",
        soft_wrap=True,
    )
    _check_shapes(manifest)


def _beside_paper(member: "Member") -> str:
    if member.stands_in_for is not None:
        return f"stands in for {member.stands_in_for}"
    if member.paper_shape is None:
        return ""
    rows, columns, outliers = member.paper_shape
    shape = f"{rows} × {columns}, {outliers / rows:.4%}"
    return "the same" if member.agrees else shape


def _check_shapes(manifest: "Manifest") -> None:
    named = [member for member in manifest.members if member.must_agree]
    for member in named:
        if not member.agrees:
            raise UserError(
                f"is {_shape(member.shape)} where the paper has {_shape(member.paper_shape)}",
                where=member.name,
                remedy="check that its motherset is complete and unchanged; the rest is written",
            )
    if named:
        names = ", ".join(member.name for member in named)
        console().print(f"shapes as in the paper, as they must be: {names}")


def _shape(shape: tuple[int, int, int] | None) -> str:
    return "nothing" if shape is None else "{} × {} with {} outliers".format(*shape)
