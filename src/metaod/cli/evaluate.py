"""``metaod evaluate``: every table and figure of a testbed, from a store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaod.cli.build import StoreOption
from metaod.cli.progress import Steps
from metaod.cli.screen import console, grid
from metaod.errors import BadParameter, MissingExtra, UserError

if TYPE_CHECKING:
    from metaod.lab import Protocol, Results, TestbedData

__all__ = ["evaluate"]

JOURNALS = ".journal"
"""Folder inside the output that keeps what is done."""

SENSITIVITY_SEEDS = 3
"""Seeds at most of every setting that is varied."""

_DUPLICATES = ["dataset", "the same table as"]


def evaluate(
    testbed: Annotated[str, typer.Argument(help="poc or st.", metavar="TESTBED")],
    *,
    store: StoreOption,
    folder: Annotated[
        Path,
        typer.Option("--testbed", help="The folder that `metaod testbed` wrote.", metavar="DIR"),
    ],
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.", metavar="DIR")],
    protocol: Annotated[
        str | None,
        typer.Option(help="Only this one of ST: leave-one-out, leave-one-origin-out.", metavar="P"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of a random learner.", metavar="N", min=1)] = 5,
    jobs: Annotated[
        int, typer.Option(help="Processes; -1 for one a core.", metavar="N", min=-1)
    ] = 1,
    times: Annotated[
        bool, typer.Option(help="Also time selection against training, on POC.")
    ] = True,
    sensitivity: Annotated[
        bool, typer.Option(help="Also vary MetaOD one thing at a time, 3 seeds at most.")
    ] = True,
) -> None:
    """Evaluate every method on a testbed and write all tables and figures.

    A run that was stopped goes on where it was. Each of ST's protocols gets a folder of its own.

    Examples:  metaod evaluate poc --store t.db --testbed poc/ --out results/poc --jobs 2
    """
    from metaod.lab import PROTOCOLS, TestbedData, read_manifest
    from metaod.store import Store

    if testbed not in PROTOCOLS:
        raise BadParameter("metaod evaluate", "TESTBED", PROTOCOLS, testbed)
    if jobs == 0:
        raise BadParameter("metaod evaluate", "--jobs", "-1, or 1 or more", jobs)
    _check_extra()
    manifest = read_manifest(folder)
    if manifest.testbed != testbed:
        raise UserError(
            f"the folder holds {manifest.testbed}, not {testbed}",
            where=str(folder),
            remedy=f"make it with: metaod testbed {testbed}",
        )
    wanted = [item for item in PROTOCOLS[testbed] if protocol in (None, item)]
    if not wanted:
        raise BadParameter("metaod evaluate", "--protocol", PROTOCOLS[testbed], protocol)
    with Store(store, read_only=True) as opened:
        data = TestbedData.from_store(opened, manifest, folder)
    for name in wanted:
        place = out if testbed == "poc" else out / name
        results = _one(data, name, place, seeds, jobs, times=times, sensitivity=sensitivity)
        _show(results, data, name, place)
    missing = sum(item.datasets for item in manifest.left_out)
    if missing:
        console().print(
            f"{missing} datasets of the paper's {testbed.upper()} could not be had;"
            f" {folder / 'manifest.json'} names them",
            soft_wrap=True,
        )


def _check_extra() -> None:
    """Say now what would else be missing after hours of training."""
    from importlib.util import find_spec

    for module, package in (("matplotlib", "matplotlib"), ("scikit_posthocs", "scikit-posthocs")):
        if find_spec(module) is None:
            raise MissingExtra(package, extra="lab", needed_for="metaod evaluate")


def _one(
    data: "TestbedData",
    protocol: "Protocol",
    out: Path,
    seeds: int,
    jobs: int,
    *,
    times: bool,
    sensitivity: bool,
) -> "Results":
    import pandas as pd

    from metaod.lab import (
        add_times,
        evaluate_testbed,
        groups_of,
        measure_times,
        run_sensitivity,
        sensitivity_splits,
        splits_of,
        write_all,
        write_sensitivity,
        write_table,
    )

    journal = out / JOURNALS
    with Steps() as steps:
        results = evaluate_testbed(
            data,
            protocol,
            seeds=seeds,
            n_jobs=jobs,
            journal=journal / "picks.jsonl",
            progress=lambda done, total: steps.on_step("trainings", done, total),
        )
        splits, groups = splits_of(data, protocol), groups_of(data, protocol)
        if times and data.testbed == "poc":
            found = measure_times(
                data,
                splits,
                groups,
                journal=journal / "times.jsonl",
                progress=lambda done, total: steps.on_step("timed", done, total),
            )
            results = add_times(results, found)
        # leave-one-out says nothing of stability that leave-one-origin-out does not
        if sensitivity and protocol != "leave-one-out":
            varied = run_sensitivity(
                data,
                sensitivity_splits(data),
                groups,
                seeds=min(seeds, SENSITIVITY_SEEDS),
                n_jobs=jobs,
                journal=journal / "sensitivity.jsonl",
                progress=lambda done, total: steps.on_step("settings varied", done, total),
            )
            write_sensitivity(varied, data, out)
    results.write(out / "results.parquet")
    write_all(results, data.P, data.metafeatures["paper"], out, data.testbed)
    if data.duplicates:
        write_table(pd.DataFrame(data.duplicates, columns=_DUPLICATES), out, "duplicates")
    _write_run(out, data, protocol, seeds)
    return results


def _write_run(out: Path, data: "TestbedData", protocol: str, seeds: int) -> None:
    """Say what the results were made with; the testbed's manifest says what of."""
    from importlib.metadata import version

    from metaod.artifacts import library_versions

    drawn = {name: version(name) for name in ("matplotlib", "scikit-posthocs")}
    run = {
        "testbed": data.testbed,
        "protocol": protocol,
        "seeds": seeds,
        "sensitivity_seeds": min(seeds, SENSITIVITY_SEEDS),
        "datasets": len(data.P),
        "models": data.P.shape[1],
        "versions": {**library_versions(), **drawn},
    }
    (out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def _show(results: "Results", data: "TestbedData", protocol: str, out: Path) -> None:
    from metaod.lab import summary_table, unit_of

    summary = summary_table(results, unit_of(data.testbed))
    table = grid("method", "MAP", "average rank", right=("MAP", "average rank"))
    for row in summary.to_dict("records"):
        table.add_row(str(row["method"]), f"{row['MAP']:.4f}", f"{row['rank of all']:.2f}")
    lacking = len(results.left_out())
    screen = console()
    screen.print(f"{data.testbed.upper()}, {protocol}: {len(results.datasets) - lacking} datasets")
    screen.print(table)
    for name, first in data.duplicates:
        screen.print(f"counted once: {name} is the same table as {first}", soft_wrap=True)
    if lacking:
        screen.print(
            f"left out: {lacking} datasets without average precision of some method;"
            f" {out / 'left-out.csv'} names them",
            soft_wrap=True,
        )
    screen.print(f"tables and figures: {out}", soft_wrap=True)
