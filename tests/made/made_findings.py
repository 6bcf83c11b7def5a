"""Findings that a test chooses."""

import numpy as np
import pandas as pd

from metaod.wrong_cells import WrongCells

NAMES = ("row", "column", "value", "expected", "kind", "why", "suggestion", "score")


def made_findings(n_rows, *cells):
    """Return findings; each cell is given as the values of NAMES, the most certain first."""
    frame = pd.DataFrame(list(cells), columns=NAMES).assign(together=False)
    scores = np.zeros(n_rows)
    np.maximum.at(scores, frame["row"].to_numpy(dtype=np.intp), frame["score"].to_numpy())
    return WrongCells(frame, scores)


class FarFinder:
    """Finds numbers that are far from those of the fitted table, and nothing else."""

    def __init__(self, random_state=0, n_jobs=None):
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, table, given=None):
        self._usual = {
            name: column.quantile([0.05, 0.5, 0.95]).tolist()
            for name, column in table.frame.select_dtypes("number").items()
        }
        self.found_ = self.find(table)
        return self

    def find(self, table, given=None, moving=()):
        found = []
        for name in [own for own in self._usual if own in table.frame]:
            low, middle, high = self._usual[name]
            far = np.abs(table.frame[name].to_numpy(np.float64) - middle) / (high - low)
            for row in np.flatnonzero(far > 50).tolist():
                score = 1.0 - 1 / far[row]
                expected = f"{low:g} to {high:g}"
                value = table.text(name, row) or table.frame[name].iloc[row]
                found.append((row, name, value, expected, "far", "", middle, score))
        found.sort(key=lambda cell: -cell[-1])
        return made_findings(table.n_rows, *found)
