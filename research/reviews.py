"""Reviews of labelled tables, in which the labels play the reviewer."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.detection._cells import CellCheck
from metaod.detection._fitted import fit_models
from metaod.errors import UserError
from metaod.history import FolderEntry
from metaod.models import Matrix, ModelSpec, Scores, member_ids, score_models
from metaod.review import MarkedTable, Ranker, RowSpace
from metaod.tables import Preparation, Table
from research.injection import KINDS, Injection
from research.statistics import average_precision
from research.wrong_cells.planting import plant_any
from research.wrong_cells.tables import as_read

MOST_ROWS = 3000
"""Rows of a table that are drawn for a review."""

MOST_MADE = 1500
"""Rows of a table with injected outliers, before they are added, or with planted errors."""

FOREST = ModelSpec("IForest", {"n_estimators": 100, "max_features": 1.0})
"""PyOD's default isolation forest, which reviews and picks are compared with."""

CHECKPOINTS = (0, 1, 2, 3, 5, 10, 20, 40, 80)
"""Numbers of answers after which a review is measured."""

Labels = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Rank = Callable[[MarkedTable], Scores]


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a file, which is complete or absent."""
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, **arrays)
    unfinished.replace(path)


@dataclass(frozen=True, eq=False)
class ReviewTable:
    """A prepared table with labels, the pick's scores, and the rows that may be asked about.

    Half of the rows may be asked about; rankings are measured on the other half.
    """

    name: str
    origin: str
    pick: str
    X: Matrix
    y: Labels
    askable: Mask
    members: Matrix  # scores of the pick's models
    scores: Scores  # of the pick
    forest: Scores  # of FOREST
    errors: npt.NDArray[np.float32]  # probabilities of errors, in any cell and of each kind

    @classmethod
    def make(cls, entry: FolderEntry, origin: str, pick: str, most: int) -> Self | None:
        """Prepare at most so many rows of a dataset; None if a half has too few outliers."""
        dataset = entry.load()
        generator = np.random.default_rng(1)
        chosen = generator.permutation(len(dataset.X))[:most]
        y = np.asarray(dataset.y, dtype=np.int8)[chosen]
        askable = _half(len(chosen), generator)
        table = Table(dataset.X.iloc[chosen].reset_index(drop=True), typed=True)
        return cls._scored(entry.full_name, origin, pick, table, y, askable)

    @classmethod
    def planted(cls, entry: FolderEntry, origin: str, pick: str) -> Self | None:
        """Plant errors into a dataset; the rows with errors are the outliers."""
        frame = entry.load().X
        generator = np.random.default_rng(zlib.crc32(f"planted {entry.full_name}".encode()))
        chosen = generator.permutation(len(frame))[:MOST_MADE]
        errors = plant_any(frame.iloc[chosen].reset_index(drop=True), generator)
        y = errors.rows.astype(np.int8)
        name, askable = f"planted/{entry.full_name}", _half(len(y), generator)
        return cls._scored(name, origin, pick, as_read(errors.frame), y, askable)

    def injected(self, generator: np.random.Generator) -> Self | None:
        """Return a table with the rows that are no outliers and injected ones of a few kinds.

        The outliers of the labelled history are mostly a class that is alike. Injected ones are
        not: a mark of one says little about the others.
        """
        normal = self.X[self.y == 0][:MOST_MADE]
        kinds = generator.permutation(list(KINDS))[: generator.integers(1, 4)]
        share = float(generator.uniform(0.01, 0.06)) / len(kinds)
        injection = Injection(n_rows=MOST_MADE, share=share, seed=0)
        try:
            parts = [injection.inject(normal, kind) for kind in kinds]
        except UserError:  # every column is constant
            return None
        rows = [parts[0][0], *(X[y == 1] for X, y in parts[1:])]
        labels = [parts[0][1], *(y[y == 1] for _, y in parts[1:])]
        X, y = np.concatenate(rows), np.concatenate(labels).astype(np.int8)
        order = generator.permutation(len(X))
        askable = np.arange(len(X)) < len(X) // 2
        table = Table(pd.DataFrame(X[order]).rename(columns="x{}".format), typed=True)
        return self._scored(
            f"injected/{self.name}", self.origin, self.pick, table, y[order], askable
        )

    def thinned(self, n_outliers: int, generator: np.random.Generator) -> Self:
        """Return the table without most of its outliers."""
        outliers = generator.permutation(np.flatnonzero(self.y == 1))
        kept = np.ones(len(self.y), dtype=np.bool_)
        kept[outliers[n_outliers:]] = False
        names = ("X", "y", "askable", "members", "scores", "forest", "errors")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    @classmethod
    def _scored(
        cls, name: str, origin: str, pick: str, table: Table, y: Labels, askable: Mask
    ) -> Self | None:
        if y[~askable].sum() < 2 or y[askable].sum() < 1:
            return None
        preparation = Preparation()
        prepared = preparation.fit_transform(table)
        X, fixed = prepared.X, prepared.fixed
        forest = next(iter(score_models(X, [FOREST], trials=1, fixed=fixed))).scores
        if forest is None:
            return None
        models = [ModelSpec.parse(member) for member in member_ids(pick)]
        try:
            fitted = fit_models(models, X, fixed=fixed, n_reference=len(X))
        except UserError:  # a model fails on a part of the table
            fitted = fit_models([FOREST], X, fixed=fixed, n_reference=len(X))
        errors = CellCheck(table, preparation, 0).found.of_rows()
        scores, members = fitted.scores, fitted.members
        return cls(name, origin, pick, X, y, askable, members, scores, forest, errors)

    def write(self, path: Path) -> None:
        """Write to a file, which is complete or absent."""
        write_arrays(path, vars(self))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what :meth:`write` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            parts = {name: arrays[name] for name in cls.__dataclass_fields__}
        names = {name: str(parts[name]) for name in ("name", "origin", "pick")}
        return cls(**{**parts, **names})

    def marked(self, ranker: Ranker) -> MarkedTable:
        """Return the table as a review sees it, without marks."""
        space = RowSpace(self.X, self.scores, self.members, 0, self.errors)
        return MarkedTable(space, self.scores, ranker)

    def precision(self, scores: Scores) -> float:
        """Average precision on the rows that may not be asked about."""
        return average_precision(self.y[~self.askable], scores[~self.askable])

    def f1(self, flags: Mask) -> float:
        """F1 of flags on the rows that may not be asked about."""
        y, flagged = self.y[~self.askable] == 1, flags[~self.askable]
        return float(2 * (y & flagged).sum() / max(y.sum() + flagged.sum(), 1))


@dataclass(frozen=True)
class Progress:
    """A review after some answers.

    Average precision, outliers found, outliers left with the estimate (low, middle, high), and F1
    of the flags on the rows that are not asked about.
    """

    answers: int
    precision: float
    found: int
    left: int
    expected: tuple[float, float, float]
    flagged: float


def play(
    table: ReviewTable,
    ranker: Ranker,
    *,
    noise: float = 0.0,
    batch: int = 1,
    rank: Rank = attrgetter("questions"),
    measured: Rank = attrgetter("scores"),
    seed: int = 0,
    checkpoints: Sequence[int] = CHECKPOINTS,
) -> list[Progress]:
    """Review a table and measure it after each number of answers.

    Parameters
    ----------
    table : ReviewTable
        The table.
    ranker : Ranker
        What was learned from other tables.
    noise : float, default=0.0
        Share of wrong answers.
    batch : int, default=1
        Rows that are asked about at once.
    rank : callable
        The scores by which rows are asked about; by default the table's questions.
    measured : callable
        The scores that are measured; by default those of the marked table.
    seed : int, default=0
        Seed of the wrong answers, which differ from table to table.
    checkpoints : sequence of int
        Numbers of answers.
    """
    generator = np.random.default_rng([seed, zlib.crc32(table.name.encode())])
    marked = table.marked(ranker)
    open_rows = table.askable.copy()
    n_outliers = int(table.y.sum())
    found = n_answers = 0
    reached: list[Progress] = []

    def measure(answers: int) -> None:
        left = marked.left
        if left is None:
            raise ValueError(f"{table.name} has too many rows")
        expected = (left.low, left.estimate, left.high)
        precision = table.precision(measured(marked))
        flagged = table.f1(marked.scores > marked.threshold())
        reached.append(Progress(answers, precision, found, n_outliers - found, expected, flagged))

    for checkpoint in checkpoints:
        while n_answers < checkpoint and open_rows.any():
            wanted = min(batch - n_answers % batch, checkpoint - n_answers)
            scores = np.where(open_rows, rank(marked), -np.inf)
            rows = np.argsort(-scores, kind="stable")[: min(wanted, int(open_rows.sum()))]
            answers = table.y[rows] == 1
            found += int(answers.sum())
            wrong = generator.random(len(rows)) < noise
            marked.mark(dict(zip(rows.tolist(), (answers ^ wrong).tolist(), strict=True)))
            open_rows[rows] = False
            n_answers += len(rows)
        measure(checkpoint)
    return reached


def by_process(marked: MarkedTable) -> Scores:
    """Score rows by the process on leaves alone, which has learned nothing from history."""
    if not marked.is_learned:
        return marked.scores
    return np.asarray(marked.features[:, Ranker.features.index("process 1")], dtype=np.float64)


def _half(n_rows: int, generator: np.random.Generator) -> Mask:
    chosen = np.zeros(n_rows, dtype=np.bool_)
    chosen[generator.permutation(n_rows)[: n_rows // 2]] = True
    return chosen
