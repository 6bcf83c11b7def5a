"""``metaod build``: fill a store with the performance of every model on every dataset."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from metaod.cli.options import with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import console, message
from metaod.errors import UserError, counted
from metaod.options import Building, Options
from metaod.options import option as declared

if TYPE_CHECKING:
    from metaod.history import FolderEntry
    from metaod.models import Budget


def option(metavar: str | None, text: str, panel: str | None = None, *names: str, **kw: Any) -> Any:
    """Declare an option of a command."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel, **kw)


_HOW = "How it is computed"

StoreOption = Annotated[str, option("PATH", "The store: a file, or a database URL.")]
Folders = Annotated[
    list[Path],
    option("DIR", "Folder of labelled datasets, with or without a catalogue.csv; repeatable."),
]
LabelOption = Annotated[str, option("NAME", "Label column (or array) of the datasets.")]
Texts = list[str] | None


@dataclass(frozen=True, kw_only=True)
class CellLimits(Options):
    """What one cell may take."""

    title: ClassVar[str] = "Limits of a cell"

    max_seconds: float = declared(60.0, "Seconds that one cell may take.", metavar="S", minimum=0)
    max_memory: float = declared(
        2.0, "Memory that one cell may take beside the table, in GiB.", metavar="G", minimum=0
    )

    def budget(self) -> "Budget":
        """Return them as the store takes them."""
        from metaod.models import Budget

        return Budget(seconds=self.max_seconds, bytes=int(self.max_memory * 2**30))


@with_options
def build(
    *,
    store: StoreOption,
    data: Folders,
    label: LabelOption = "y",
    only: Annotated[
        Texts, option("TEXT", "Only datasets whose name contains this; repeatable.")
    ] = None,
    what: Building,
    jobs: Annotated[
        int, option("N", "Number of processes; -1 for one per core.", _HOW, "--jobs", "-j")
    ] = 1,
    executor: Annotated[
        str | None,
        option("NAME", "What runs tasks: serial, joblib for several processes, or dask.", _HOW),
    ] = None,
    scheduler: Annotated[
        str | None,
        option("ADDRESS", "Address of a Dask scheduler, such as tcp://host:8786.", _HOW),
    ] = None,
    limits: CellLimits,
) -> None:
    """Evaluate models on labelled datasets and keep the results in a store.

    You can stop it at any moment: every finished dataset is written at once,
    and the same command continues where it stopped. What the store has is
    not computed again. Several builds may fill a store on PostgreSQL at once.
    """
    from metaod.store import BuildOptions, Store, make_executor
    from metaod.store import build as run_build

    options = BuildOptions(**vars(what), budget=limits.budget()).checked("metaod build")
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
            on_read=partial(line.count, "reading datasets"),
            on_plan=progress.on_plan,
            on_task=progress.on_task,
            on_others=progress.on_others,
        )
    n_tasks = len(report.plan.tasks)
    if not n_tasks:
        console().print("nothing to do: every dataset is finished")
        return
    done = f"{counted(n_tasks, 'dataset')} done in {report.seconds:.0f} s"
    if report.n_tasks < n_tasks:
        done += f", {n_tasks - report.n_tasks} of {counted(n_tasks, 'task')} by other builders"
    found = ", ".join(f"{count} {state.value}" for state, count in report.states.items())
    console().print(done + (f": {found}" if found else ""))


class _BuildProgress:
    """Tells what a build will do, and shows how far it has come."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._n_done, self._n_tasks = 0, 0
        self._spent, self._cost = 0.0, 0.0
        self._waits = False

    def on_plan(self, plan: Any) -> None:
        """Print how much is left to do."""
        self._n_tasks, self._cost = len(plan.tasks), plan.cost
        for name, other in plan.duplicates:
            message(f"{name} has the same content as {other} and is left out")
        finished = len(plan.datasets) - self._n_tasks
        message(f"{counted(self._n_tasks, 'dataset')} to evaluate, {finished} finished before")
        self._line.update("evaluating the first dataset")

    def on_task(self, result: Any) -> None:
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
