"""A uniform sample of the rows of a file that is read once, from its start to its end.

Every row has a key, a hash of its number and the seed, and the rows with the smallest keys are the
sample: it depends neither on the parts in which the file is read nor on its format.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK = 2**20

Rows = npt.NDArray[np.int64]


class RowSample:
    """Collects a sample from rows that are offered in their order.

    Parameters
    ----------
    size : int
        The most rows.
    seed : int
        Of the draw.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._seed = size, seed
        self._n_offered = 0
        self._keys = np.empty(0, dtype=np.uint64)
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self._items: list[Any] = []
        self._limit = np.uint64(2**64 - 1)

    def offer(self, items: Sequence[Any]) -> None:
        """Offer the next rows."""
        rows = np.arange(self._n_offered, self._n_offered + len(items), dtype=np.int64)
        self._n_offered += len(items)
        keys = _row_keys(rows, self._seed)
        kept = np.flatnonzero(keys <= self._limit)
        self._keys = np.concatenate([self._keys, keys[kept]])
        self._rows = np.concatenate([self._rows, rows[kept]])
        self._items += [items[place] for place in kept.tolist()]
        if len(self._keys) > 2 * self._size:
            self._prune()

    @property
    def n_offered(self) -> int:
        """Rows that were offered."""
        return self._n_offered

    def drawn(self) -> tuple[Rows, list[Any]]:
        """Return the numbers of the rows in the sample, rising, and what was offered of them."""
        self._prune()
        return self._rows, self._items

    def _prune(self) -> None:
        if len(self._keys) <= self._size:
            return
        kept = np.sort(np.argsort(self._keys, kind="stable")[: self._size])
        self._keys, self._rows = self._keys[kept], self._rows[kept]
        self._items = [self._items[place] for place in kept.tolist()]
        self._limit = self._keys.max()


def draw_rows(n_rows: int, size: int, seed: int) -> Rows:
    """Return the numbers of the rows that :class:`RowSample` draws from so many, rising.

    >>> draw_rows(5, 9, seed=0).tolist(), len(draw_rows(1000, 9, seed=0))
    ([0, 1, 2, 3, 4], 9)
    """
    if size >= n_rows:
        return np.arange(n_rows, dtype=np.int64)
    keys = np.empty(0, dtype=np.uint64)
    rows: Rows = np.empty(0, dtype=np.int64)
    for start in range(0, n_rows, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, n_rows), dtype=np.int64)
        keys = np.concatenate([keys, _row_keys(block, seed)])
        rows = np.concatenate([rows, block])
        kept = np.argsort(keys, kind="stable")[:size]
        keys, rows = keys[kept], rows[kept]
    return np.sort(rows)


def _row_keys(rows: Rows, seed: int) -> npt.NDArray[np.uint64]:
    """Hash numbers of rows (SplitMix64)."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        keys = start + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
