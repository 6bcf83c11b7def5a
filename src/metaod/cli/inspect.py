"""``metaod inspect``, the columns of a table, and ``metaod describe``, its meta-features."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from metaod.cli.options import Example, File, open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import (
    Json,
    console,
    grid,
    print_json,
    print_notes,
    shape_of,
    size_of,
    visible,
)
from metaod.errors import BadParameter, counted, percent
from metaod.options import Columns, Names, Options, Reading, as_flags, option

if TYPE_CHECKING:
    from metaod.metafeatures import Feature, MetaFeatures
    from metaod.tables import PreparedTable, Table

_MOST_COLUMNS = 40
_SUMMARIES = ("min", "max", "mean", "std", "skewness", "kurtosis")


@dataclass(frozen=True, kw_only=True)
class Inspecting(Options):
    """The option of ``metaod inspect`` alone."""

    all_columns: bool = option(
        False, f"Show every column, not only the first {_MOST_COLUMNS}.", flags=("--all",)
    )


@with_options
def inspect(
    file: File = None,
    *,
    example: Example = False,
    columns: Columns,
    reading: Reading,
    asked: Inspecting,
    json: Json = False,
) -> None:
    """Show a table's columns, their types and roles, and what preparation will do to each."""
    from metaod.tables import prepare

    table = open_table("metaod inspect", file, reading, columns, example=example)
    with ProgressLine("preparing the table"):
        prepared = prepare(table, **columns.given())
    notes = [*table.warnings, *prepared.record.messages]
    if not json:
        _print_columns(table, prepared, most=None if asked.all_columns else _MOST_COLUMNS)
        print_notes(console(), notes)
        return
    print_json(
        {
            "source": table.source,
            "rows": table.n_rows,
            "columns": table.n_columns,
            "outliers": None if table.label is None else int(table.label.sum()),
            "prepared_columns": list(prepared.names),
            "record": prepared.record.to_dict(),
            "warnings": notes,
        }
    )


def _print_columns(table: "Table", prepared: "PreparedTable", *, most: int | None) -> None:
    out = console()
    out.print(size_of(table.source, table.n_rows, table.n_columns), style="bold")
    if table.label is not None:
        outliers = f"{counted(int(table.label.sum()), 'outlier')} ({percent(table.label.mean())})"
        out.print(f"label (not used for picking): {outliers}")
    shown = prepared.record.columns[:most]
    rows = (
        (
            visible(column.name),
            column.kind,
            column.role,
            str(column.n_missing or ""),
            visible(column.description(as_flags)),
        )
        for column in shown
    )
    headings = ("column", "type", "role", "missing", "preparation")
    out.print(grid(*headings, right=("missing",), rows=rows))
    hidden = len(prepared.record.columns) - len(shown)
    if hidden:
        out.print(f"... and {counted(hidden, 'more column')}; --all shows them")
    n_rows, n_columns = prepared.X.shape
    words = prepared.record.words()
    evidence = " and ".join(words[name] for name in prepared.record.evidence)
    size = f"{counted(n_rows, 'row')} × {counted(n_columns, 'column')} of numbers"
    out.print(f"scored: {size}" + (f", with {evidence} of all columns" if evidence else ""))


@dataclass(frozen=True, kw_only=True)
class Describing(Options):
    """The options of ``metaod describe`` alone."""

    schema: Names = option(
        (),
        "A schema of meta-features: paper (the paper's; the default), scores (of the landmarkers' "
        "scores).",
        metavar="NAME",
    )
    random_state: int = option(
        0,
        "Seed of the random landmarkers.",
        metavar="N",
        flags=("--seed",),
        minimum=0,
        maximum=2**32 - 1,
    )
    csv: bool = option(False, "Print CSV: name, group, value.")


@with_options
def describe(
    file: File = None,
    *,
    example: Example = False,
    asked: Describing,
    columns: Columns,
    reading: Reading,
    json: Json = False,
) -> None:
    """Show the meta-features of a table, which the pick is based on."""
    from metaod.metafeatures import extract
    from metaod.tables import prepare

    if json and asked.csv:
        raise BadParameter("metaod describe", "--csv", "given without --json", "both")
    table = open_table("metaod describe", file, reading, columns, example=example)
    with ProgressLine("preparing the table") as line:
        prepared = prepare(table, **columns.given())
        line.update("extracting meta-features")
        schemas = list(asked.schema or ["paper"])
        features = extract(prepared, schemas, random_state=asked.random_state)
    if json:
        print_json(_features_as_data(prepared, features))
    elif asked.csv:
        typer.echo("name,group,value")
        for feature, value in zip(features.features, features.values.tolist(), strict=True):
            shown = "" if math.isnan(value) else repr(value)
            typer.echo(f"{feature.name},{feature.group},{shown}")
    else:
        _print_features(prepared, features)


def _features_as_data(prepared: "PreparedTable", features: "MetaFeatures") -> dict[str, Any]:
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


def _print_features(prepared: "PreparedTable", features: "MetaFeatures") -> None:
    out = console()
    out.print(shape_of(prepared), style="bold")
    groups: dict[str, list[tuple[Feature, float]]] = {}
    for feature, value in zip(features.features, features.values.tolist(), strict=True):
        groups.setdefault(feature.group, []).append((feature, value))
    for group, members in groups.items():
        out.print(f"\n{group}", style="bold")
        _print_group(members)
    undefined = sum(math.isnan(value) for value in features.values)
    count = counted(len(features), "feature")
    out.print(f"\n{count}; {undefined} undefined for this table (-)")


def _print_group(features: "list[tuple[Feature, float]]") -> None:
    """Print the summaries of each statistic in a row, after the other features."""
    statistics: dict[str, dict[str, str]] = {}
    others = []
    for feature, value in features:
        shown = "-" if math.isnan(value) else f"{value:.4g}"
        found = feature.parts
        if found is None:
            others.append((feature.name, shown))
        else:
            statistics.setdefault(found[0], {})[found[1]] = shown
    if others:
        console().print(grid("feature", "value", right=("value",), rows=others))
    if statistics:
        rows = ((name, *(own.get(s, "") for s in _SUMMARIES)) for name, own in statistics.items())
        console().print(grid("feature", *_SUMMARIES, right=_SUMMARIES, rows=rows))
