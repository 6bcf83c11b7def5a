"""``metaod describe``: the meta-features of a table."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.options import Example, File, open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json, shape_of
from metaod.errors import BadParameter, counted
from metaod.options import Columns, Reading

if TYPE_CHECKING:
    from metaod.metafeatures import Feature, MetaFeatures
    from metaod.tables import PreparedTable

_SUMMARIES = ("min", "max", "mean", "std", "skewness", "kurtosis")


@with_options
def describe(
    file: File = None,
    *,
    example: Example = False,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            help="A schema of meta-features: paper (the paper's; the default), scores (of the "
            "landmarkers' scores); repeatable.",
            metavar="NAME",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the random landmarkers.", metavar="N", min=0)
    ] = 0,
    columns: Columns,
    reading: Reading,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV: name, group, value.")] = False,
) -> None:
    """Show the meta-features of a table, which the pick is based on."""
    if json and csv:
        raise BadParameter("metaod describe", "--csv", "given without --json", "both")
    from metaod.metafeatures import extract
    from metaod.tables import prepare

    table = open_table("metaod describe", file, reading, columns, example=example)
    with ProgressLine("preparing the table") as line:
        prepared = prepare(table, **columns.given())
        line.update("extracting meta-features")
        features = extract(prepared, schema or "paper", random_state=seed)
    if json:
        print_json(_as_data(prepared, features))
    elif csv:
        _print_csv(features)
    else:
        _print(prepared, features)


def _as_data(prepared: "PreparedTable", features: "MetaFeatures") -> dict[str, Any]:
    return {
        "source": prepared.source,
        "rows": prepared.X.shape[0],
        "columns": prepared.X.shape[1],
        "schemas": features.versions,
        # JSON has no NaN: undefined values are null
        "features": {
            name: None if math.isnan(value) else value for name, value in features.to_dict().items()
        },
        "groups": {group: list(values) for group, values in features.groups.items()},
    }


def _print_csv(features: "MetaFeatures") -> None:
    typer.echo("name,group,value")
    for feature, value in zip(features.features, features.values.tolist(), strict=True):
        typer.echo(f"{feature.name},{feature.group},{'' if math.isnan(value) else repr(value)}")


def _print(prepared: "PreparedTable", features: "MetaFeatures") -> None:
    out = console()
    out.print(shape_of(prepared), style="bold")
    groups: dict[str, list[tuple[Feature, float]]] = {}
    for feature, value in zip(features.features, features.values.tolist(), strict=True):
        groups.setdefault(feature.group, []).append((feature, value))
    for group, members in groups.items():
        rows, others = _by_statistic(members)
        out.print(f"\n{group}", style="bold")
        if others:
            listing = grid("feature", "value", right=("value",))
            for name, value in others.items():
                listing.add_row(name, _shown(value))
            out.print(listing)
        if rows:
            listing = grid("feature", *_SUMMARIES, right=_SUMMARIES)
            for statistic, row in rows.items():
                shown = (_shown(row[name]) if name in row else "" for name in _SUMMARIES)
                listing.add_row(statistic, *shown)
            out.print(listing)
    undefined = sum(math.isnan(value) for value in features.values)
    count = counted(len(features), "feature")
    out.print(f"\n{count}; {undefined} undefined for this table (-)")


def _by_statistic(
    features: Iterable[tuple["Feature", float]],
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return the summaries of each statistic as a row, and the other features."""
    from metaod.metafeatures import statistic_and_summary

    rows: dict[str, dict[str, float]] = {}
    others: dict[str, float] = {}
    for feature, value in features:
        found = statistic_and_summary(feature)
        if found is None:
            others[feature.name] = value
        else:
            rows.setdefault(found[0], {})[found[1]] = value
    return rows, others


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
