"""Executors run the tasks of a build: in this process, in several, or on a cluster.

An executor is a class with the method ``run``, listed in ``EXECUTORS``.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from metaod.errors import BadParameter, UserError
from metaod.store._dask import DaskExecutor

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Run one function over many tasks.

    Parameters
    ----------
    n_jobs : int
        Number of tasks that may run at the same time; -1 for one per core.
    """

    def __init__(self, n_jobs: int) -> None: ...

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield each result as soon as it is ready, in any order.

        The function and its tasks can be pickled: they hold paths and specs, not tables. Tasks
        are taken from the iterable when there is room for them, a few ahead of those that run. An
        exception of the function ends the run.
        """


class SerialExecutor:
    """Run the tasks one after the other in this process."""

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        yield from map(function, tasks)


class JoblibExecutor:
    """Run the tasks in several processes of this machine with joblib."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        from joblib import Parallel, delayed  # noqa: PLC0415 - only a parallel build needs it
        from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415 - as above

        # one task at a time a process: a large table must not delay the small ones behind it
        parallel = Parallel(
            n_jobs=self.n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            yield from parallel(delayed(function)(task) for task in tasks)
        except TerminatedWorkerError as error:
            what = "a process of the build was killed, probably because memory ran out"
            remedy = "use fewer --jobs or a smaller --max-memory, and start it again"
            raise UserError(what, remedy=remedy) from error


EXECUTORS: dict[str, type[Executor]] = {
    "serial": SerialExecutor,
    "joblib": JoblibExecutor,
    "dask": DaskExecutor,
}
"""Executors by name: what ``metaod build --executor`` takes."""


def make_executor(
    n_jobs: int = 1, name: str | None = None, scheduler: str | None = None
) -> Executor:
    """Make an executor.

    Parameters
    ----------
    n_jobs : int, default=1
        Number of tasks that run at the same time; -1 for one per core.
    name : str, optional
        A name in ``EXECUTORS``; by default dask if a scheduler is named, else serial for one job,
        and joblib for more.
    scheduler : str, optional
        The address of a Dask scheduler, such as ``tcp://host:8786``.

    Examples
    --------
    >>> list(make_executor(1).run(abs, [-1, 2]))
    [1, 2]
    """
    if n_jobs < -1 or n_jobs == 0:
        raise BadParameter("make_executor", "n_jobs", "-1 or an int in the range [1, inf)", n_jobs)
    if scheduler is not None:
        if name not in (None, "dask"):
            raise BadParameter("make_executor", "name", "dask if a scheduler is named", name)
        return DaskExecutor(n_jobs, scheduler)
    if name is None:
        name = "serial" if n_jobs == 1 else "joblib"
    if name not in EXECUTORS:
        raise BadParameter("make_executor", "name", EXECUTORS, name)
    return EXECUTORS[name](n_jobs)
