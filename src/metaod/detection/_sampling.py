"""Large tables: the rows that models learn from, how they are found, and rows scored in blocks.

The models of a pick compare rows with each other, and the time grows with the square of the rows.
Above a limit they learn from a sample, and every other row is scored against it, so the time grows
with the rows. docs/scale.md has what it costs in quality.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.models import Matrix, ModelSpec
from metaod.tables import canonical_order, row_hashes

LEAST_NEIGHBOURS = 10
"""Neighbours that a model keeps in a sample, if it has as many in the table."""

BLOCK = 4_096
"""Rows that are scored at once; the same for any number of threads."""

Places = npt.NDArray[np.intp]


def reference_rows(X: Matrix, n_rows: int, seed: int) -> Places | None:
    """Return the places of so many rows to learn from, in order; None for all rows.

    The rows are drawn without replacement. A column that is the same in all of them but not in the
    table would be lost, so the rows with its smallest and its largest value are added.

    Examples
    --------
    >>> reference_rows(np.zeros((100, 2)), 100, seed=0) is None
    True
    """
    if n_rows >= len(X):
        return None
    order, _ = canonical_order(X)
    drawn = order[np.random.default_rng(seed).choice(len(X), n_rows, replace=False)]
    sample = X[drawn]
    same = np.flatnonzero(sample.min(axis=0) == sample.max(axis=0))
    added = [place(X[:, column]) for column in same for place in (np.argmin, np.argmax)]
    return np.unique(np.concatenate([drawn, np.array(added, dtype=np.intp)])).astype(np.intp)


def for_sample(spec: ModelSpec, n_sample: int, n_rows: int) -> ModelSpec:
    """Return the model that does in a sample what another does in the table.

    Of the nearest rows of a table, a sample holds its share: neighbours are as many fewer, but no
    fewer than :data:`LEAST_NEIGHBOURS`.

    Examples
    --------
    >>> for_sample(ModelSpec.parse("KNN(n_neighbors=300, method=largest)"), 5_000, 30_000)
    KNN(n_neighbors=50, method=largest)
    """
    params: dict[str, Any] = dict(spec.params)
    k = params.get("n_neighbors")
    if not spec.family.builtin or not isinstance(k, int):
        return spec
    params["n_neighbors"] = max(min(k, LEAST_NEIGHBOURS), round(k * n_sample / n_rows))
    return ModelSpec(spec.detector, params, spec.scaling)


def in_blocks(
    score: Callable[..., npt.NDArray[np.float64]],
    X: Matrix,
    n_jobs: int | None = None,
    on_block: Callable[[int], None] | None = None,
    *more: npt.NDArray[Any],
) -> npt.NDArray[np.float64]:
    """Score rows block by block, in threads, and join the results.

    The blocks do not depend on the number of threads. ``on_block`` receives the number of rows that
    are done; what it raises stops the work. Arrays beside X are passed on in the same blocks.
    """
    if len(X) <= BLOCK:
        return score(X, *more)
    starts = range(0, len(X), BLOCK)
    parts = [[own[start : start + BLOCK] for start in starts] for own in (X, *more)]
    found: list[npt.NDArray[np.float64]] = []
    done = 0
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as pool:
        try:
            for part in pool.map(score, *parts):
                found.append(part)
                done += len(part)
                if on_block is not None:
                    on_block(done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return np.concatenate(found)


class RowIndex:
    """Finds the rows of a non-empty matrix by their values, with 16 bytes a row."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        keys = _row_keys(X)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, X: Matrix) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Return the places of rows, the first of equal ones, and whether they are in the index."""
        places = np.searchsorted(self._keys, _row_keys(X))
        found = self._order[np.minimum(places, len(self._keys) - 1)]
        return found, (self._X[found] == X).all(axis=1)


def _row_keys(X: Matrix) -> npt.NDArray[np.uint64]:
    """Return a hash of every row."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return row_hashes((column, np.uint64(place)) for place, column in enumerate(bits.T))
