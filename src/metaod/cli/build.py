"""``metaod build``: fill a store with the performance of every model on every dataset."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, message
from metaod.errors import BadParameter, UserError, counted

if TYPE_CHECKING:
    from metaod.history import FolderEntry
    from metaod.models import Budget
    from metaod.store import Plan, TaskResult

Choice = TypeVar("Choice", bound=StrEnum)

_COMPUTED, _RUN, _LIMITS = "What is computed", "How it is computed", "Limits of a cell"

StoreOption = Annotated[
    str, typer.Option("--store", help="The store: a file, or a database URL.", metavar="PATH")
]
Folders = Annotated[
    list[Path],
    typer.Option(
        "--data",
        help="Folder of labelled datasets, with or without a catalogue.csv; repeatable.",
        metavar="DIR",
    ),
]
LabelOption = Annotated[
    str, typer.Option(help="Label column (or array) of the datasets.", metavar="NAME")
]
ModeOption = Annotated[
    str,
    typer.Option(
        help="fast, or exact: PyOD's scores bit for bit.", metavar="MODE", rich_help_panel=_COMPUTED
    ),
]
MaxSeconds = Annotated[
    float,
    typer.Option(
        help="Seconds that one cell may take.", metavar="S", min=0, max=1e9, rich_help_panel=_LIMITS
    ),
]
MaxMemory = Annotated[
    float,
    typer.Option(
        help="Memory that one cell may take beside the table, in GiB.",
        metavar="G",
        min=0,
        max=1e6,
        rich_help_panel=_LIMITS,
    ),
]


def build(
    *,
    store: StoreOption,
    data: Folders,
    label: LabelOption = "y",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only datasets whose name contains this; repeatable.", metavar="TEXT"),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            help="Model space: paper, extended, or all.", metavar="NAME", rich_help_panel=_COMPUTED
        ),
    ] = "paper",
    family: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this family; repeatable.", metavar="NAME", rich_help_panel=_COMPUTED
        ),
    ] = None,
    averages: Annotated[
        bool,
        typer.Option(
            "--averages",
            help="Also evaluate the averages of models that may be picked.",
            rich_help_panel=_COMPUTED,
        ),
    ] = False,
    trials: Annotated[
        int,
        typer.Option(
            help="Trials of a random model.", metavar="N", min=1, rich_help_panel=_COMPUTED
        ),
    ] = 5,
    mode: ModeOption = "fast",
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            help="Number of processes; -1 for one per core.",
            metavar="N",
            rich_help_panel=_RUN,
        ),
    ] = 1,
    executor: Annotated[
        str | None,
        typer.Option(
            help="What runs the tasks: serial, joblib for several processes, or dask.",
            metavar="NAME",
            rich_help_panel=_RUN,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://host:8786.",
            metavar="ADDRESS",
            rich_help_panel=_RUN,
        ),
    ] = None,
    max_seconds: MaxSeconds = 60.0,
    max_memory: MaxMemory = 2.0,
    references: Annotated[
        bool, typer.Option(help="Evaluate the reference models too.", rich_help_panel=_COMPUTED)
    ] = True,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            help="Meta-features to extract: paper, scores, none; repeatable, both by default.",
            metavar="NAME",
            rich_help_panel=_COMPUTED,
        ),
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            help="Repeat trials in this state: failed, 'over budget'; repeatable.",
            metavar="STATE",
            rich_help_panel=_RUN,
        ),
    ] = None,
    keep_scores: Annotated[
        list[str] | None,
        typer.Option(
            help="Keep this model's scores in a folder beside the store; repeatable.",
            metavar="MODEL",
            rich_help_panel=_RUN,
        ),
    ] = None,
) -> None:
    """Evaluate models on labelled datasets and keep the results in a store.

    You can stop it at any moment: every finished dataset is written at once,
    and the same command continues where it stopped. What the store has is
    not computed again. Several builds may fill a store on PostgreSQL at once.
    """
    from metaod.models import CellState, Mode
    from metaod.store import BuildOptions, Store, make_executor
    from metaod.store import build as run_build

    options = BuildOptions(
        space=space,
        detectors=tuple(family) if family else None,
        averages=averages,
        trials=trials,
        mode=choice(Mode, "--mode", mode),
        budget=make_budget(max_seconds, max_memory),
        references=references,
        schemas=() if schema == ["none"] else tuple(schema or ("paper", "scores")),
        retry=frozenset(choice(CellState, "--retry", state) for state in retry or ()),
        keep_scores=frozenset(keep_scores or ()),
    )
    options.specs()
    runner = make_executor(jobs, executor, scheduler)
    entries = list_folders(data, label)
    if only:
        entries = [entry for entry in entries if any(text in entry.full_name for text in only)]
    if not entries:
        remedy = "check --data and --only"
        raise UserError("no dataset was found", where="metaod build", remedy=remedy)
    with Store(store, create=True) as opened, ProgressLine("reading datasets") as line:
        progress = _BuildProgress(line)
        report = run_build(
            opened,
            entries,
            options,
            executor=runner,
            on_read=progress.on_read,
            on_plan=progress.on_plan,
            on_task=progress.on_task,
            on_others=progress.on_others,
        )
    states = ", ".join(f"{count} {state.value}" for state, count in report.states.items())
    if not report.plan.tasks:
        console().print("nothing to do: every dataset is finished")
        return
    n_tasks = len(report.plan.tasks)
    done = f"{counted(n_tasks, 'dataset')} done in {report.seconds:.0f} s"
    if report.n_tasks < n_tasks:
        done += f", {n_tasks - report.n_tasks} of {counted(n_tasks, 'task')} by other builders"
    console().print(done + (f": {states}" if states else ""))


class _BuildProgress:
    """Tells what a build will do, and shows how far it has come."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._n_done, self._n_tasks = 0, 0
        self._spent, self._cost = 0.0, 0.0
        self._waits = False

    def on_read(self, done: int, total: int) -> None:
        """Show how many datasets have been read for the plan."""
        self._line.count("reading datasets", done, total)

    def on_plan(self, plan: "Plan") -> None:
        """Print how much is left to do."""
        self._n_tasks, self._cost = len(plan.tasks), plan.cost
        for note in plan.placed.notes:
            message(note)
        for name, other in plan.duplicates:
            message(f"{name} has the same content as {other} and is left out")
        finished = len(plan.datasets) - self._n_tasks
        message(f"{counted(self._n_tasks, 'dataset')} to evaluate, {finished} finished before")
        self._line.update("evaluating the first dataset")

    def on_task(self, result: "TaskResult") -> None:
        """Show that a dataset is finished and stored."""
        self._n_done += 1
        self._spent += result.task.cost
        name = result.task.entry.full_name
        self._line.update(f"{self._n_done}/{self._n_tasks} {name}", self._spent / self._cost)

    def on_others(self, n_claimed: int) -> None:
        """Tell that other builders compute what is left."""
        text = f"{counted(n_claimed, 'task')} left, which other builders compute"
        if not self._waits:
            message(f"{text}; waiting for them")
        self._waits = True
        self._line.update(f"waiting: {text}")


def list_folders(folders: list[Path], label: str) -> "list[FolderEntry]":
    """List the labelled datasets of several folders."""
    from metaod.history import iter_folder

    return [entry for folder in folders for entry in iter_folder(folder, label=label)]


def make_budget(max_seconds: float, max_memory: float) -> "Budget":
    """Return the budget of one cell, from the options."""
    from metaod.models import Budget

    return Budget(seconds=max_seconds, bytes=int(max_memory * 2**30))


def choice(kind: type[Choice], option: str, text: str) -> Choice:
    """Return the member of an enumeration that an option names."""
    try:
        return kind(text)
    except ValueError:
        raise BadParameter("metaod", option, [item.value for item in kind], text) from None
