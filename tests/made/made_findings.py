"""Findings that a test chooses."""

import numpy as np
import pandas as pd

from metaod.wrong_cells import WrongCells

NAMES = ("row", "column", "value", "expected", "kind", "why", "suggestion", "score")


def made_findings(n_rows, *cells):
    """Return findings; each cell is given as the values of NAMES, the most certain first."""
    frame = pd.DataFrame(list(cells), columns=NAMES)
    scores = np.zeros(n_rows)
    np.maximum.at(scores, frame["row"].to_numpy(dtype=np.intp), frame["score"].to_numpy())
    return WrongCells(frame, scores)
