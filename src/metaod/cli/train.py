"""``metaod train``: fit a learner on a store; ``metaod learners``: list the learners."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaod.cli.build import StoreOption
from metaod.cli.progress import Steps
from metaod.cli.screen import Json, console, grid, print_json, visible

if TYPE_CHECKING:
    from metaod.artifacts import Artifact


def learners(*, json: Json = False) -> None:
    """List the learners that `metaod train --learner` takes.

    Examples:  metaod learners  ·  metaod learners --json
    """
    from metaod.learners import learner_classes

    kinds = learner_classes()
    if json:
        listed = [
            {
                "name": name,
                "title": kind.title,
                "summary": kind.summary,
                "random": kind.is_random,
                "parameters": [item.name for item in fields(kind)],
            }
            for name, kind in kinds.items()
        ]
        print_json(listed)
        return
    table = grid("name", "in tables", "how it picks")
    for name, kind in kinds.items():
        table.add_row(visible(name), visible(kind.title), visible(kind.summary))
    console().print(table)


def train(
    *,
    store: StoreOption,
    out: Annotated[Path, typer.Option(help="The artifact to write.", metavar="FILE")],
    learner: Annotated[
        str, typer.Option(help="The learner; 'metaod learners' lists them.", metavar="NAME")
    ] = "metaod",
    schema: Annotated[
        list[str] | None,
        typer.Option(
            help="Meta-features to learn from: paper (the default), scores; repeatable.",
            metavar="NAME",
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="Performance is: ap, roc_auc, precision_at_n.", metavar="NAME")
    ] = "ap",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the learner; repeatable.", metavar="NAME=VALUE"),
    ] = None,
    exclude_origin: Annotated[
        list[str] | None,
        typer.Option(help="Leave out the datasets of this origin; repeatable.", metavar="NAME"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of a random learner; others ignore it.", metavar="N", min=0),
    ] = None,
    calibrate: Annotated[
        int,
        typer.Option(
            help="Number of fits for the calibration of confidence: 2 or more, 0 for none.",
            metavar="N",
            min=0,
        ),
    ] = 5,
) -> None:
    """Fit a learner on the evaluations of a store and write it to one file.

    Examples:  metaod train --store my.db --learner metaod --out my.metaod
    """
    from metaod.artifacts import check_target
    from metaod.history import train as run_training
    from metaod.learners import learner_class, make_learner, read_parameters
    from metaod.store import Store, training_data

    kind = learner_class(learner)
    parameters = read_parameters(kind, set_ or ())
    if seed is not None and "random_state" in {item.name for item in fields(kind)}:
        parameters["random_state"] = seed
    made = make_learner(learner, **parameters)
    target = check_target(out)
    with Store(store, read_only=True) as opened:
        data = training_data(opened, schema or ("paper",), measure=measure)
    if exclude_origin:
        data = data.without(exclude_origin)
    with Steps(lines=False) as progress:
        artifact = run_training(data, made, calibrate=calibrate, progress=progress.on_step)
    artifact.save(target)
    _print_artifact(artifact, target, calibrate)


def _print_artifact(artifact: "Artifact", path: Path, calibrate: int) -> None:
    manifest = artifact.manifest
    schemas = " + ".join(f"{part.name} {part.version}" for part in manifest.schemas)
    table = grid("", "")
    table.show_header = False
    for name, text in (
        ("learner", f"{manifest.learner} ({artifact.learner.title})"),
        ("datasets", f"{len(manifest.datasets)} of {manifest.n_origins} origins"),
        ("meta-features", f"{len(artifact.learner.features_)}, schema {schemas}"),
        ("models", f"{len(manifest.models)}, by {manifest.measure}"),
        ("calibration", _calibration(artifact, calibrate)),
        ("file", f"{visible(str(path))}, {_size(path.stat().st_size)}"),
    ):
        table.add_row(name, text)
    console().print(table)


def _calibration(artifact: "Artifact", asked: int) -> str:
    if artifact.calibration is not None:
        return f"by {asked} fits"
    n_origins = artifact.manifest.n_origins
    few = f": {n_origins} origins are fewer than the {asked} fits" if asked else ""
    return f"not calibrated{few}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
