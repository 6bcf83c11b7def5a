"""Who runs the tasks of a build: this process, or several on this machine.

An executor is one class with one method; a cluster engine is one more file with such a class.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from metaod.errors import BadParameter, UserError

__all__ = ["Executor", "JoblibExecutor", "SerialExecutor", "make_executor"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs one function over many tasks."""

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Give the results as they become ready, in any order.

        The function and its tasks travel to other processes by value: they hold paths and specs,
        not tables. An exception of the function ends the run.
        """


class SerialExecutor:
    """Runs the tasks one after the other in this process."""

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Give the results in the order of the tasks."""
        for task in tasks:
            yield function(task)


class JoblibExecutor:
    """Runs the tasks in several processes of this machine, through joblib.

    Parameters
    ----------
    n_jobs : int
        Number of processes; -1 for one a core.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Give the results as they become ready."""
        from joblib import Parallel, delayed  # noqa: PLC0415 - only a parallel build needs it
        from joblib.externals.loky.process_executor import (  # noqa: PLC0415 - as above
            TerminatedWorkerError,
        )

        # one task at a time a process: a large table must not hold up the small ones behind it
        parallel = Parallel(
            n_jobs=self.n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            yield from parallel(delayed(function)(task) for task in tasks)
        except TerminatedWorkerError as error:
            raise UserError(
                "a process of the build was killed, probably for want of memory",
                remedy="use fewer --jobs or a smaller --max-memory, and start it again",
            ) from error


def make_executor(n_jobs: int = 1) -> Executor:
    """The executor for a number of processes; -1 stands for one a core.

    Examples
    --------
    >>> list(make_executor(1).run(abs, [-1, 2]))
    [1, 2]
    """
    if n_jobs == 1:
        return SerialExecutor()
    if n_jobs < -1 or n_jobs == 0:
        raise BadParameter("make_executor", "n_jobs", "-1 or an int in the range [1, inf)", n_jobs)
    return JoblibExecutor(n_jobs)
