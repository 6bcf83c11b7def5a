"""Rivals that rank cells or rows without labels.

Two published ideas are written again, small: outliers by Gaussians and histograms of columns and of
pairs of columns (dBoost, Mariet and others 2016), and many simple strategies, each of which marks
cells (Raha, Mahdavi and others 2019).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.detection import MetaOD
from metaod.tables import prepare, read_table
from metaod.wrong_cells import CONFIDENT, WrongCellFinder
from metaod.wrong_cells._scorer import Scorer
from research.reviews import FOREST

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]

_SPREADS = (1.0, 1.3, 1.5, 1.7, 2.0, 2.3, 2.5, 2.7, 3.0)
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_RELATED = 0.3  # least share of a column's entropy that a related column explains


class Scored(NamedTuple):
    """Scores of cells (rows × columns) and of rows; a method may have no scores of cells."""

    cells: Array | None
    rows: Array

    def flagged(self, least: float = CONFIDENT) -> Marks:
        """Rows with a cell of this score; by default those that the product would call wrong."""
        largest: Array = self.rows if self.cells is None else self.cells.max(axis=1)
        return largest >= least


def by_largest_cell(cells: Array) -> Scored:
    """Score a row as its most suspicious cell."""
    return Scored(cells, cells.max(axis=1))


def read_scorer(path: Path | None) -> dict[str, Any]:
    """Read a trained score of cells, as a parameter of the finder; none is the product's own."""
    if path is None:
        return {}
    return {"scorer": Scorer.read(path)}


def found(frame: pd.DataFrame | Path, **parameters: Any) -> Scored:
    """Score cells of a table or file as the product does; those that it does not list have 0."""
    table = read_table(frame)
    own = WrongCellFinder(**parameters).fit(table).found_
    cells = np.zeros((table.n_rows, table.n_columns))
    places = table.frame.columns.get_indexer(pd.Index(own.cells["column"]))
    cells[own.cells["row"].to_numpy(np.intp), places] = own.cells["score"]
    return Scored(cells, own.row_scores)


def rarity(frame: pd.DataFrame) -> Scored:
    """Score a cell by how rare its value is in its column."""
    return by_largest_cell(_surprisals(frame))


def relative_rarity(frame: pd.DataFrame) -> Scored:
    """Score a cell by how much rarer its value is than a usual one of its column."""
    cells = _surprisals(frame)
    return by_largest_cell(cells - cells.mean(axis=0))


def gaussian_outliers(frame: pd.DataFrame) -> Scored:
    """Score a cell by standard deviations from the mean: of its number, length and digits."""
    return by_largest_cell(
        np.column_stack([_deviation(_texts(frame, place)) for place in range(frame.shape[1])])
    )


def histogram_outliers(frame: pd.DataFrame) -> Scored:
    """Score a cell by surprisal: of its value, and of its value given that of a related column."""
    columns = _codes(frame)
    surprisals = [_surprisal(codes) for codes in columns]
    entropies = [surprisal.mean() for surprisal in surprisals]
    cells = np.column_stack(surprisals) - entropies
    for one, codes in enumerate(columns):
        for two, other in enumerate(columns):
            if one == two or not entropies[one] or entropies[two] > np.log(len(frame)) - 0.7:
                continue  # nearly every value of the other column occurs once
            given = _surprisal(codes + other * (codes.max() + 1)) - surprisals[two]
            explained = 1 - given.mean() / entropies[one]
            if explained >= _RELATED:
                cells[:, one] = np.maximum(cells[:, one], explained * given)
    return by_largest_cell(cells)


def votes(frame: pd.DataFrame) -> Scored:
    """Score a cell by the strategies that mark it, less the mean of its column.

    A strategy counts with -log of the share of the column that it marks: plain counts are worse.
    """
    own = [-(marks * np.log(marks.mean(axis=0))).sum(axis=1) for marks in strategies(frame)]
    cells = np.column_stack(own)
    return by_largest_cell(cells - cells.mean(axis=0))


def strategies(frame: pd.DataFrame) -> list[Marks]:
    """Return for each column which of its cells each strategy marks, rows × strategies.

    Strategies for outliers (Gaussians and histograms with several bounds), patterns (a character
    that the cell has) and rules (a value has two partners in another column).
    """
    columns = _codes(frame)
    found = []
    for place, codes in enumerate(columns):
        texts = _texts(frame, place)
        deviation, counts = _deviation(texts), np.bincount(codes)
        marks = [deviation > spread for spread in _SPREADS]
        marks += [counts[codes] < share * len(frame) / len(counts) for share in _SHARES]
        characters = sorted(set("".join(texts)))
        has = np.array([[character in text for character in characters] for text in texts])
        for other in columns[:place] + columns[place + 1 :]:
            marks += [_partners(codes, other) > 1, _partners(other, codes) > 1]
        table = np.column_stack([*marks, has.reshape(len(texts), -1)])
        table = np.unique(table[:, table.any(axis=0) & ~table.all(axis=0)], axis=1)
        found.append(table)
    return found


def committee(frame: pd.DataFrame) -> Scored:
    """Score rows by the committee of seven models."""
    table = read_table(frame, bad_values="missing")
    return Scored(None, MetaOD(pick="committee", rows_only=True).fit(table).decision_scores_)


def isolation_forest(frame: pd.DataFrame) -> Scored:
    """Score rows by PyOD's default isolation forest on the prepared matrix."""
    prepared = prepare(read_table(frame, bad_values="missing"))
    forest = FOREST.to_pyod(random_state=0, fixed=prepared.fixed).fit(prepared.X)
    return Scored(None, forest.decision_scores_)


METHODS: dict[str, Callable[..., Scored]] = {
    "found": found,
    "rarity": rarity,
    "relative rarity": relative_rarity,
    "Gaussians": gaussian_outliers,
    "histograms": histogram_outliers,
    "votes": votes,
    "committee": committee,
    "IForest()": isolation_forest,
}
"""Methods by the name that results give them; ``found`` is the product's."""


def _texts(frame: pd.DataFrame, place: int) -> list[str]:
    column = frame.iloc[:, place].astype(object)
    return [str(value) for value in column.where(column.notna(), "")]


def _codes(frame: pd.DataFrame) -> list[Codes]:
    return [
        pd.factorize(np.array(_texts(frame, place), dtype=object))[0].astype(np.intp)
        for place in range(frame.shape[1])
    ]


def _surprisals(frame: pd.DataFrame) -> Array:
    return np.column_stack([_surprisal(codes) for codes in _codes(frame)])


def _surprisal(codes: Codes) -> Array:
    """-log of the share of rows with the same value."""
    _, codes = np.unique(codes, return_inverse=True)
    surprisal: Array = -np.log(np.bincount(codes)[codes] / len(codes))
    return surprisal


def _deviation(texts: list[str]) -> Array:
    numbers = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(np.float64)
    lengths = [len(text) for text in texts]
    digits = [sum(map(str.isdigit, text)) for text in texts]
    table = np.column_stack([numbers, lengths, digits])
    table[~np.isfinite(table)] = np.nan
    centred = table - np.nan_to_num(np.nanmean(np.vstack([table, np.zeros(3)]), axis=0))
    spread = np.sqrt(np.nanmean(np.vstack([centred, np.zeros(3)]) ** 2, axis=0))
    deviation: Array = np.nan_to_num(np.abs(centred) / np.where(spread > 0, spread, 1))
    return np.asarray(deviation.max(axis=1))


def _partners(codes: Codes, other: Codes) -> Codes:
    """For each row the number of values that its value has beside it in another column."""
    pairs = np.unique(codes * (other.max() + 1) + other)
    return np.bincount(pairs // (other.max() + 1))[codes]
