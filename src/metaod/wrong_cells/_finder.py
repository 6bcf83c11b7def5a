"""Find the wrong cells of a table: evidence for every cell, and a learned score."""

from typing import Any, Self

import numpy as np
import pandas as pd

from metaod.tables import Table
from metaod.wrong_cells._findings import LEAST_SCORE, WrongCells

_FAR = 50.0


class WrongCellFinder:
    """Learns what is usual in a table, and finds its wrong cells and those of later rows.

    Parameters
    ----------
    random_state : int, default=0
        Seed of samples and trees.

    Attributes
    ----------
    found_ : WrongCells
        What is probably wrong in the fitted table.
    """

    found_: WrongCells

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, table: Table) -> Self:
        """Learn what is usual, and find the wrong cells of the table."""
        self._usual = {
            str(name): column.quantile([0.05, 0.5, 0.95])
            for name, column in table.frame.select_dtypes("number").items()
        }
        self.found_ = self.find(table)
        return self

    def find(self, table: Table) -> WrongCells:
        """Find the wrong cells of rows that need not be those of the fitted table."""
        found = []
        for name, (low, middle, high) in self._usual.items():
            values = table.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
            far = np.abs(values - middle) / max(high - low, 1e-300)
            found += [
                (
                    row,
                    name,
                    table.frame[name].iloc[row],
                    f"{low:g} to {high:g}",
                    "far",
                    "",
                    None,
                    0.9,
                )
                for row in np.flatnonzero(far > _FAR).tolist()
            ]
        names = ["row", "column", "value", "expected", "kind", "why", "suggestion", "score"]
        cells = pd.DataFrame(found, columns=names)
        scores = np.zeros(table.n_rows)
        scores[cells["row"].to_numpy(dtype=np.intp)] = 0.9
        return WrongCells(cells[cells["score"] >= LEAST_SCORE], scores)


def find_wrong_cells(table: Table, **parameters: Any) -> WrongCells:
    """Return what is probably wrong in a table."""
    return WrongCellFinder(**parameters).fit(table).found_
