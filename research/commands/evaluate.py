"""``python -m research evaluate``: every table and figure of a testbed, from a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaod.cli.build import StoreOption
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, grid
from metaod.errors import counted

if TYPE_CHECKING:
    from research.evaluation import EvaluationRun


def evaluate(
    testbed: Annotated[str, typer.Argument(help="poc or st.", metavar="TESTBED")],
    *,
    store: StoreOption,
    folder: Annotated[
        Path,
        typer.Option(
            "--testbed", help="The folder that `python -m research testbed` wrote.", metavar="DIR"
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.", metavar="DIR")],
    protocol: Annotated[
        str | None,
        typer.Option(help="Only this one of ST: leave-one-out, leave-one-origin-out.", metavar="P"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of a random learner.", metavar="N", min=1)] = 10,
    jobs: Annotated[
        int, typer.Option(help="Number of processes; -1 for one per core.", metavar="N", min=-1)
    ] = 1,
    times: Annotated[
        bool, typer.Option(help="On POC, also measure selection and training times.")
    ] = True,
    sensitivity: Annotated[
        bool, typer.Option(help="Also vary MetaOD's settings one at a time, 5 seeds at most.")
    ] = True,
) -> None:
    """Evaluate every method on a testbed and write all tables and figures.

    A stopped run continues where it stopped. Each of ST's protocols has its own folder.
    """
    from research.evaluation import run_evaluation

    with ProgressLine("reading the store") as line:
        runs = run_evaluation(
            testbed,
            store,
            folder,
            out,
            protocol=protocol,
            seeds=seeds,
            n_jobs=jobs,
            times=times,
            sensitivity=sensitivity,
            on_step=line.count,
        )
    for run in runs:
        _show(run)
    if runs[0].n_unavailable:
        console().print(
            f"{runs[0].n_unavailable} datasets of the paper's {testbed.upper()} are not available;"
            f" {folder / 'manifest.json'} names them",
            soft_wrap=True,
        )


def _show(run: "EvaluationRun") -> None:
    table = grid("method", "MAP", "average rank", right=("MAP", "average rank"))
    for row in run.summary().to_dict("records"):
        table.add_row(str(row["method"]), f"{row['MAP']:.4f}", f"{row['rank of all']:.2f}")
    n_left_out = len(run.results.left_out())
    n_datasets = len(run.results.datasets) - n_left_out
    screen = console()
    screen.print(f"{run.data.testbed.upper()}, {run.protocol}: {counted(n_datasets, 'dataset')}")
    screen.print(table)
    for name, first in run.data.duplicates:
        screen.print(f"counted once: {name} is the same table as {first}", soft_wrap=True)
    if n_left_out:
        screen.print(
            f"left out: {n_left_out} datasets without average precision of some method;"
            f" {run.folder / 'left-out.csv'} names them",
            soft_wrap=True,
        )
    screen.print(f"tables and figures: {run.folder}", soft_wrap=True)
