"""An order of the rows and columns of a table that depends on their values alone.

Random draws follow it, so that the same table in another order gives the same result.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number that spreads the bits of a hash


def row_hashes(columns: "Iterable[tuple[Hashes, np.uint64]]") -> Hashes:
    """Return a hash of each row: of its cells' hashes with their columns', in any order of these.

    >>> one, two = (np.arange(3, dtype=np.uint64), np.uint64(1)), (np.zeros(3, "u8"), np.uint64(2))
    >>> bool((row_hashes([one, two]) == row_hashes([two, one])).all())
    True
    """
    return np.asarray(sum(_mixed(cells, key) for cells, key in columns))


def hash_of_name(name: str) -> np.uint64:
    """Return the hash of a column that is known by its name."""
    return np.uint64(pd.util.hash_array(np.array([name], dtype=object))[0])


def canonical_order(X: npt.NDArray[np.float64]) -> tuple[Places, Places]:
    """Return an order of the rows of a matrix, and of its columns.

    A column is known by its values, and then by the rows that these are in.

    >>> X = np.array([[3.0, 1.0], [2.0, 5.0], [7.0, 1.0]])
    >>> rows, columns = canonical_order(X)
    >>> again, others = canonical_order(X[::-1, ::-1])
    >>> bool((X[rows][:, columns] == X[::-1, ::-1][again][:, others]).all())
    True
    """
    cells = [pd.util.hash_array(np.ascontiguousarray(column) + 0.0) for column in X.T]
    rows: Any = np.uint64(0)
    keys: list[Any] = []
    for _ in range(2):
        keys = [_mixed(own, rows).sum(dtype=np.uint64) for own in cells]
        rows = row_hashes(zip(cells, keys, strict=True))
    columns = np.argsort(keys, kind="stable")
    # rows that differ only in columns that are alike, as in an identity matrix, follow their places
    own = np.array(keys)[columns] ^ np.arange(len(keys), dtype=np.uint64)
    rows = row_hashes((cells[place], key) for place, key in zip(columns.tolist(), own, strict=True))
    return np.argsort(rows, kind="stable"), columns


def _mixed(cells: Hashes, key: Any) -> Hashes:
    mixed = (cells ^ key) * _GOLDEN
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))
