"""``metaod train``: fit a learner on a store; ``metaod learners``: list the learners."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaod.cli.build import StoreOption, Texts, option
from metaod.cli.models import training_facts
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_facts, print_json, visible
from metaod.errors import BadParameter, counted

if TYPE_CHECKING:
    from metaod.artifacts import Artifact


def learners(*, json: Json = False) -> None:
    """List the learners that `metaod train --learner` takes."""
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
    rows = [(visible(n), visible(kind.title), visible(kind.summary)) for n, kind in kinds.items()]
    console().print(grid("name", "in tables", "how it picks", rows=rows))


def train(
    *,
    store: StoreOption,
    out: Annotated[Path, option("FILE", "The artifact to write.", None, "--out", "-o")],
    learner: Annotated[
        str,
        option(
            "NAME",
            "default (the design of the shipped default, for the models of the space "
            "extended and averages of them), or one that 'metaod learners' lists.",
        ),
    ] = "default",
    space: Annotated[
        str | None,
        option(
            "NAME",
            "Learn only the models of this space and averages of them: paper, "
            "extended or all. By default every model of the store.",
        ),
    ] = None,
    averages: Annotated[bool, option(None, "Whether averages may be picked.")] = True,
    schema: Annotated[
        Texts,
        option(
            "NAME",
            "Meta-features to learn from: paper, scores; repeatable. By default both "
            "for the learner default, and paper for the others.",
        ),
    ] = None,
    measure: Annotated[
        str, option("NAME", "Measure of performance: ap, roc_auc or precision_at_n.")
    ] = "ap",
    set_: Annotated[
        Texts, option("NAME=VALUE", "A parameter of the learner; repeatable.", None, "--set")
    ] = None,
    exclude_origin: Annotated[
        Texts, option("NAME", "Leave out the datasets of this origin; repeatable.")
    ] = None,
    seed: Annotated[
        int | None, option("N", "Seed of a random learner; others ignore it.", min=0)
    ] = None,
    sign: Annotated[
        Path | None, option("KEYFILE", "Sign it with the key in this file (HMAC-SHA256).")
    ] = None,
    calibrate: Annotated[
        int,
        option("N", "Fits for the calibration of confidence: 2 or more, 0 for none.", min=0),
    ] = 5,
) -> None:
    """Train a learner on the evaluations of a store and write it to one file.

    'metaod detect --learner FILE' then picks with it.
    """
    from metaod.artifacts import check_target, signature
    from metaod.history import RECIPES
    from metaod.history import train as run_training
    from metaod.learners import learner_classes, make_learner
    from metaod.store import Store

    schemas: Sequence[str] = schema or ("paper",)
    if learner == "default":
        recipe = RECIPES[learner]
        learner, space = recipe.learner, space or recipe.space
        schemas = schema or recipe.schemas
    kinds = learner_classes()
    if learner not in kinds:
        raise BadParameter("metaod train", "--learner", ("default", *kinds), learner)
    kind = kinds[learner]
    parameters = kind.read_parameters(set_ or ())
    if seed is not None and "random_state" in {item.name for item in fields(kind)}:
        parameters["random_state"] = seed
    made = make_learner(learner, **parameters)
    target = check_target(out)
    if sign is not None:
        signature(b"", sign)  # before anything that takes long
    with ProgressLine("reading the store"), Store(store, read_only=True) as opened:
        data = opened.training_data(schemas, measure=measure, space=space, averages=averages)
        n_stored = len(opened.datasets())
    n_unused = n_stored - len(data.P)
    if exclude_origin:
        data = data.without(exclude_origin)
    with ProgressLine("training") as line:
        artifact = run_training(data, made, calibrate=calibrate, progress=line.count)
    artifact.save(target, sign=sign)
    _print_artifact(artifact, target, calibrate, n_unused)


def _print_artifact(artifact: "Artifact", path: Path, calibrate: int, n_unused: int) -> None:
    facts = training_facts(artifact)
    if n_unused:
        facts["trained on"] += f"; the store has {n_unused} more without these models or features"
    origins = counted(artifact.n_origins, "origin")
    few = f": {origins} for {calibrate} fits are too few" if calibrate else ""
    is_calibrated = artifact.calibration is not None
    print_facts(
        *facts.items(),
        ("calibration", f"by {calibrate} fits" if is_calibrated else f"not calibrated{few}"),
        ("file", f"{visible(str(path))}, {path.stat().st_size / 1e6:.2f} MB"),
    )
