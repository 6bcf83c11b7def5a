"""Array types of the package, a matrix product that treats every row alike, and compiled loops.

numba compiles a function when it is first called. Importing numba takes as long as picking a model
for a small table, which needs no such function, so numba is imported by the first call too.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from importlib import import_module
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]

_ROWS, _COLUMNS = 256, 64  # of a block


def product(X: Matrix, weights: Matrix) -> Matrix:
    """Return ``X @ weights``; the result of a row does not depend on the other rows.

    BLAS computes the last rows of a matrix, and many columns, with other instructions than the
    rest, so that the last bits differ. In blocks of one shape, filled up with zeros, all rows are
    computed alike.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    n_rows, n_columns = X.shape
    n_blocks = -(-n_rows // _ROWS)
    filled = np.zeros((n_blocks * _ROWS, n_columns))
    filled[:n_rows] = X
    blocks = filled.reshape(n_blocks, _ROWS, n_columns)
    parts = [
        blocks @ np.ascontiguousarray(weights[:, start : start + _COLUMNS])
        for start in range(0, weights.shape[1], _COLUMNS)
    ]
    return np.concatenate(parts, axis=2).reshape(n_blocks * _ROWS, weights.shape[1])[:n_rows]


def squared_distances(X: Matrix, others: Any, step: int) -> Iterator[tuple[slice, Matrix]]:
    """Yield blocks of rows with their squared distances to some rows, in an array that is reused.

    Inner products about the mean are fast, and inexact for close rows.
    """
    # |a - b|² = |a|² + |b|² - 2ab
    centred = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    factors = np.ascontiguousarray(-2 * centred[others].T)
    space = np.empty((min(step, len(X)), factors.shape[1]))
    for first in range(0, len(X), step):
        rows = slice(first, min(first + step, len(X)))
        block = space[: rows.stop - first]
        np.matmul(centred[rows], factors, out=block)
        block += squares[others]
        block += squares[rows, np.newaxis]
        yield rows, block


_LOCK = Lock()


class Compilation:
    """Whether numba compiles at the moment, and the time that it has compiled in this process.

    Loading a function that was compiled by an earlier process does not count.
    """

    def __init__(self) -> None:
        self._depth = 0  # numba compiles a function's callees while it compiles the function
        self._began = 0.0
        self._before = 0.0
        self._is_watching = False

    @property
    def is_running(self) -> bool:
        """Whether a function is being compiled."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """Seconds that this process has compiled."""
        return self._before + (monotonic() - self._began if self._depth else 0.0)

    def watch(self) -> None:
        """Receive numba's events."""
        if self._is_watching:
            return
        self._is_watching = True
        event: Any = import_module("numba.core.event")

        state = self

        class Listener(event.Listener):  # type: ignore[misc]  # imported late
            def on_start(self, event: object) -> None:  # noqa: ARG002 - numba's signature
                if not state.is_running:
                    state._began = monotonic()
                state._depth += 1

            def on_end(self, event: object) -> None:  # noqa: ARG002 - numba's signature
                seconds = state.seconds
                state._depth -= 1
                if not state.is_running:
                    state._before = seconds

        event.register("numba:compile", Listener())


compilation = Compilation()
"""The compilation in this process."""


class _Compiled:
    """Stands for a function until Python calls it, or numba compiles one that calls it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        return (self._dispatcher or self._load())(*args)

    @property
    def _numba_type_(self) -> Any:
        # numba asks each global of a function that it compiles for this
        return (self._dispatcher or self._load())._numba_type_

    def _load(self) -> Any:
        with _LOCK:
            if self._dispatcher is None:
                import numba  # noqa: PLC0415 - slow to import

                compilation.watch()
                # no function is passed to another, which needs a wrapper that takes time to compile
                options = {"no_cfunc_wrapper": True, **self._options}
                try:
                    self._dispatcher = numba.njit(**options)(self._function)
                except RuntimeError:
                    _warn_of_no_folder()
                    options["cache"] = False
                    self._dispatcher = numba.njit(**options)(self._function)
        return self._dispatcher


@cache
def _warn_of_no_folder() -> None:
    problem = "functions are compiled in every run, because no folder can keep them"
    warnings.warn(f"{problem}; set NUMBA_CACHE_DIR to a folder that can be written", stacklevel=4)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like numba's, which imports numba when the function is first called."""
    return lambda function: _Compiled(function, options)
