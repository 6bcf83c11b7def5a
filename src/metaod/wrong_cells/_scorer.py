"""The learned score: the probability that a cell is wrong, from its evidence and its context.

Boosted trees score each cell by its own evidence; others also see what the first say of the other
cells of its row, its column and the table. The score is their mean, as log odds. They were trained
on tables of the history into which errors were planted: see docs/wrong-cells.md.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.artifacts import Trained
from metaod.learners import FlatForest
from metaod.wrong_cells._columns import Codes, Values
from metaod.wrong_cells._evidence import FEATURES, LOWEST, CellEvidence, TableEvidence

CONTEXT = (
    "own score",
    "largest other of the row",
    "other suspicious cells of the row",
    "suspicious share of the column",
    "likely share of the column",
    "suspicious share of the table",
    "rank in the column",
    "rank in the table",
    "mean score of the value",
    "likely cells of the value",
)
"""Names of the features of a cell's context."""

_LIKELY, _SUSPICIOUS = 0.0, -2.0  # log odds
_PART = 10_000  # cells that a thread scores at once
Features = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scorer(Trained):
    """The learned score of cells.

    Parameters
    ----------
    alone : FlatForest
        Log odds from a cell's own evidence.
    together : FlatForest
        Log odds from its evidence and its context.
    features, context : tuple of str
        Names of the features that the forests take.
    """

    kind, room = "cells", "metaod.wrong_cells"

    alone: FlatForest
    together: FlatForest
    features: tuple[str, ...] = FEATURES
    context: tuple[str, ...] = CONTEXT

    def __post_init__(self) -> None:
        if (self.features, self.context) != (FEATURES, CONTEXT):
            raise ValueError("the scorer has other features than this version of metaod")

    def score(self, evidence: TableEvidence, n_jobs: int | None = None) -> list[Values]:
        """Return the probability that each cell that is looked at is wrong, for each column."""
        first = [own.alone for own in evidence.cells]
        contexts = context_of([Looked.at(own) for own in evidence.cells], first, evidence.n_rows)
        scores = []
        for own, context in zip(evidence.cells, contexts, strict=True):
            both = own.alone + log_odds(
                self.together, np.column_stack([own.features, context]), n_jobs
            )
            scores.append(1 / (1 + np.exp(-both / 2)))
        return scores


def log_odds(forest: FlatForest, features: Features, n_jobs: int | None = None) -> Values:
    """Return a forest's score of each cell; threads share many cells."""
    parts = [features[start : start + _PART] for start in range(0, len(features), _PART)]
    n_threads = min(effective_n_jobs(n_jobs), len(parts))
    if n_threads < 2:
        found = forest.predict(features)
    else:
        with ThreadPoolExecutor(n_threads) as threads:
            found = np.concatenate(list(threads.map(forest.predict, parts)))
    return np.asarray(np.clip(found[:, 0], LOWEST, -LOWEST))


@dataclass(frozen=True, eq=False)
class Looked:
    """The cells of a column that are looked at, as their context needs them.

    Parameters
    ----------
    rows : ndarray of int
        Their rows.
    values : ndarray of int
        Their values, as numbers from 0 that are equal for equal values.
    counts : ndarray of float
        How many cells of the column have each of these values.
    """

    rows: Codes
    values: Codes
    counts: Values

    @classmethod
    def at(cls, own: CellEvidence) -> "Looked":
        """Take the cells of a column; missing ones have a value of their own."""
        counts = np.append(own.column.counts, np.count_nonzero(~own.column.present))
        codes, values = np.unique(own.column.codes[own.rows], return_inverse=True)
        return cls(own.rows, values, counts[codes].astype(np.float64))


def context_of(looked: Sequence[Looked], first: Sequence[Values], n_rows: int) -> list[Features]:
    """Return the features of each cell's context, for each column."""
    largest, second = np.full(n_rows, LOWEST), np.full(n_rows, LOWEST)
    n_suspicious = np.zeros(n_rows)
    for own, scores in zip(looked, first, strict=True):
        rows = own.rows
        second[rows] = np.maximum(second[rows], np.minimum(largest[rows], scores))
        largest[rows] = np.maximum(largest[rows], scores)
        n_suspicious[rows] += scores > _SUSPICIOUS
    everything = np.sort(-np.concatenate([*first, np.empty(0)]))
    n_cells = n_rows * len(looked)
    of_table = np.log10((everything < -_SUSPICIOUS).sum() / n_cells + 1 / n_cells)
    found = []
    for own, scores in zip(looked, first, strict=True):
        ordered = np.sort(-scores)
        context = [
            scores,
            np.where(largest[own.rows] > scores, largest[own.rows], second[own.rows]),
            n_suspicious[own.rows] - (scores > _SUSPICIOUS),
            np.full(len(scores), _log_share(scores > _SUSPICIOUS, n_rows)),
            np.full(len(scores), _log_share(scores > _LIKELY, n_rows)),
            np.full(len(scores), of_table),
            np.log10(1 + np.searchsorted(ordered, -scores)),
            np.log10(1 + np.searchsorted(everything, -scores)),
            *_of_values(own, scores),
        ]
        found.append(np.column_stack(context).astype(np.float32))
    return found


def _log_share(which: npt.NDArray[np.bool_], n_rows: int) -> float:
    return float(np.log10(np.count_nonzero(which) / n_rows + 1 / n_rows))


def _of_values(own: Looked, scores: Values) -> tuple[Values, Values]:
    """Return the mean score of all cells with the same value, and how many of them are likely."""
    size = len(own.counts)
    totals = np.bincount(own.values, weights=scores - LOWEST, minlength=size)
    likely = np.bincount(own.values, weights=scores > _LIKELY, minlength=size)
    mean = totals / np.maximum(own.counts, 1) + LOWEST
    return mean[own.values], np.log1p(likely)[own.values]
