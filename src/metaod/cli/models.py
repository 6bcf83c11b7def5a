"""``metaod models``: the models that a learner picks from, or those of a space."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.options import Learner, picking_progress
from metaod.cli.screen import Json, console, grid, print_json
from metaod.errors import BadParameter, counted

if TYPE_CHECKING:
    from metaod.models import ModelSpec

_COMMAND = "metaod models"


def models(
    *,
    space: Annotated[
        str | None,
        typer.Option(
            help="A model space instead: paper (the paper's 302), extended (more families and "
            "scalings), or all.",
            metavar="NAME",
        ),
    ] = None,
    learner: Learner = "default",
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family; repeatable.", metavar="NAME")
    ] = None,
    random: Annotated[
        bool | None,
        typer.Option(
            "--random/--deterministic",
            help="Only models that need a seed, or only those that need none.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Show which models do not apply to a table of N rows.", metavar="N", min=0
        ),
    ] = None,
    columns: Annotated[int, typer.Option(help="Columns of that table.", metavar="P", min=0)] = 1,
    limit: Annotated[
        int | None, typer.Option(help="Show at most N models.", metavar="N", min=1)
    ] = None,
    all_models: Annotated[
        bool, typer.Option("--all", help="List every model, not only the families.")
    ] = False,
    json: Json = False,
) -> None:
    """List the models that the default learner picks from, or those of a model space.

    Without options: one line per family. With a filter, --all or --limit: the models.
    ZAverage is the mean of two or more models' scores.
    """
    listed = _listed(space, learner)
    wanted = _named(family, listed)
    chosen = [
        spec
        for spec in listed
        if (wanted is None or spec.detector in wanted)
        and (random is None or spec.is_random == random)
    ]
    shown = chosen[:limit]
    if json:
        print_json([_as_data(spec, rows, columns) for spec in shown])
    elif all_models or family or random is not None or limit or rows is not None:
        _print_models(shown, len(chosen), rows, columns)
    else:
        _print_families(chosen)


def _listed(space: str | None, learner: str) -> "list[ModelSpec]":
    from metaod.history import find_artifact
    from metaod.models import SPACES, ModelSpec, model_space, registered_families

    if space is None:
        with picking_progress(learner):
            artifact = find_artifact(learner)
        # families in their usual order, averages last
        ordered = {name: place for place, name in enumerate(registered_families())}
        specs = map(ModelSpec.parse, artifact.learner.models_)
        return sorted(specs, key=lambda spec: ordered.get(spec.detector, len(ordered)))
    if learner != "default":
        raise BadParameter(_COMMAND, "--learner", "left out with --space", learner)
    if space not in SPACES:
        raise BadParameter(_COMMAND, "--space", SPACES, space)
    return list(model_space(space))


def _named(family: list[str] | None, listed: "list[ModelSpec]") -> list[str] | None:
    """Return the names of families in their usual spelling; case does not matter."""
    if not family:
        return None
    known = {spec.detector.lower(): spec.detector for spec in listed}
    for name in family:
        if name.lower() not in known:
            remedy = "--space all has the families of every space"
            raise BadParameter(_COMMAND, "--family", list(known.values()), name, remedy=remedy)
    return [known[name.lower()] for name in family]


def _as_data(spec: "ModelSpec", rows: int | None, columns: int) -> dict[str, Any]:
    flags = {"random": spec.is_random, "equivalence": spec.equivalence.id}
    reason = {} if rows is None else {"why_not": spec.why_not(rows, columns)}
    return {"id": spec.id, **spec.to_dict(), **flags, **reason}


def _print_models(shown: "list[ModelSpec]", total: int, rows: int | None, columns: int) -> None:
    from metaod.models import member_ids

    table = grid("model", "random", "note")
    for spec in shown:
        same = spec.equivalence
        note = "" if same == spec else f"same as {same}"
        reason = None if rows is None else spec.why_not(rows, columns)
        if reason is not None:
            note = f"does not apply: {reason}"
        table.add_row(" +\n".join(member_ids(spec.id)), "yes" if spec.is_random else "no", note)
    console().print(table)
    of = f"{len(shown)} of " if len(shown) < total else ""
    console().print(of + counted(total, "model"))


def _print_families(chosen: "list[ModelSpec]") -> None:

    table = grid("family", "models", "random", "hyperparameters", right=("models",))
    for name in dict.fromkeys(spec.detector for spec in chosen):
        alike = [spec for spec in chosen if spec.detector == name]
        random = {spec.is_random for spec in alike}
        is_random = "some" if len(random) > 1 else "yes" if random == {True} else "no"
        described = _members_in(alike) if alike[0].is_average else _values_in(alike)
        table.add_row(name, str(len(alike)), is_random, described or "-")
    console().print(table)
    n_averages = sum(spec.is_average for spec in chosen)
    averages = f" and {counted(n_averages, 'average')} of them" if n_averages else ""
    count = counted(len(chosen) - n_averages, "model") + averages
    console().print(f"{count}; --family NAME lists one family, --all lists every model")


def _members_in(averages: "list[ModelSpec]") -> str:
    """Describe averages by how many members they have."""
    sizes = sorted({len(average.members) for average in averages})
    members = {member for average in averages for member in average.members}
    several = ", ".join(map(str, sizes[:-1])) + " or " if len(sizes) > 1 else ""
    return f"the mean of {several}{sizes[-1]} of {len(members)} models"


def _values_in(specs: "list[ModelSpec]") -> str:
    """List the values of each hyperparameter in a family, one hyperparameter a line."""
    values: dict[str, dict[Any, None]] = {name: {} for name in specs[0].family.grid}
    for spec in specs:
        for name, value in spec.params:
            values.setdefault(name, {})[value] = None
        values.setdefault("scaling", {})[spec.scaling] = None
    if list(values["scaling"]) == ["zscore"]:
        del values["scaling"]  # the default is not part of a model's id
    return "\n".join(
        f"{name}: {', '.join(map(str, _sorted(options)))}" for name, options in values.items()
    )


def _sorted(values: Iterable[Any]) -> list[Any]:
    """Sort numbers; other values keep their order."""
    listed = list(values)
    return sorted(listed) if all(isinstance(value, int | float) for value in listed) else listed
