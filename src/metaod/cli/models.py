"""``metaod models``: the model space as a table."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.screen import Json, console, grid, print_json
from metaod.errors import BadParameter

if TYPE_CHECKING:
    from metaod.models import ModelSpec


def models(
    *,
    space: Annotated[
        str,
        typer.Option(
            help="Model space: paper (the paper's 302), extended (more families and scalings), "
            "or all.",
            metavar="NAME",
        ),
    ] = "paper",
    family: Annotated[
        list[str] | None, typer.Option(help="Only this detector; repeatable.", metavar="NAME")
    ] = None,
    random: Annotated[
        bool | None,
        typer.Option(
            "--random/--deterministic",
            help="Only models that need a seed, or none.",
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
    """List the models that MetaOD picks from.

    Without options: one line per family. With a filter, --all or --limit: the models.

    Examples:  metaod models  ·  metaod models --family LOF  ·  metaod models --rows 40 --all
    """
    from metaod.models import SPACES, model_space

    if space not in SPACES:
        raise BadParameter("metaod models", "--space", SPACES, space)
    chosen = [
        spec
        for spec in model_space(space, detectors=_named(family, space))
        if random is None or spec.is_random == random
    ]
    shown = chosen[:limit]
    if json:
        print_json([_as_data(spec, rows, columns) for spec in shown])
    elif all_models or family or random is not None or limit or rows is not None:
        _print_models(shown, len(chosen), rows, columns)
    else:
        _print_families(chosen)


def _named(family: list[str] | None, space: str) -> list[str] | None:
    """Return the names of families in their usual spelling; case does not matter."""
    from metaod.models import model_space

    if not family:
        return None
    known = {name.lower(): name for name in dict.fromkeys(s.detector for s in model_space(space))}
    for name in family:
        if name.lower() not in known:
            remedy = None if space == "all" else "Use --space all for the families of every space"
            legal = list(known.values())
            raise BadParameter("metaod models", "--family", legal, name, remedy=remedy)
    return [known[name.lower()] for name in family]


def _as_data(spec: "ModelSpec", rows: int | None, columns: int) -> dict[str, Any]:
    flags = {"random": spec.is_random, "equivalence": spec.equivalence.id}
    reason = {} if rows is None else {"why_not": spec.why_not(rows, columns)}
    return {"id": spec.id, **spec.to_dict(), **flags, **reason}


def _print_models(shown: "list[ModelSpec]", total: int, rows: int | None, columns: int) -> None:
    table = grid("model", "random", "note")
    for spec in shown:
        same = spec.equivalence
        note = "" if same == spec else f"same as {same}"
        reason = None if rows is None else spec.why_not(rows, columns)
        if reason is not None:
            note = f"does not apply: {reason}"
        table.add_row(spec.id, "yes" if spec.is_random else "no", note)
    console().print(table)
    more = f" of {total}" if len(shown) < total else ""
    console().print(f"{len(shown)}{more} models")


def _print_families(chosen: "list[ModelSpec]") -> None:
    table = grid("family", "models", "random", "hyperparameters", right=("models",))
    for name in dict.fromkeys(spec.detector for spec in chosen):
        alike = [spec for spec in chosen if spec.detector == name]
        is_random = "yes" if alike[0].is_random else "no"
        table.add_row(name, str(len(alike)), is_random, _values_in(alike) or "-")
    console().print(table)
    remedy = "--family NAME lists the models of one family, --all every model"
    console().print(f"{len(chosen)} models; {remedy}")


def _values_in(specs: "list[ModelSpec]") -> str:
    """List the values of each hyperparameter in a family, one hyperparameter a line."""
    from metaod.models import DEFAULT_SCALING

    values: dict[str, dict[str, None]] = {name: {} for name in specs[0].family.grid}
    for spec in specs:
        for name, value in spec.params:
            values.setdefault(name, {})[str(value)] = None
        values.setdefault("scaling", {})[spec.scaling] = None
    if list(values["scaling"]) == [DEFAULT_SCALING]:
        del values["scaling"]  # the default is not part of a model's id
    return "\n".join(f"{name}: {', '.join(options)}" for name, options in values.items())
