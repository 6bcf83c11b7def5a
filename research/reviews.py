"""Reviews of labelled tables, in which the labels play the reviewer."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError
from metaod.history import FolderEntry
from metaod.models import COMMITTEE, Matrix, ModelSpec, Scores, ScoreScale, score_models
from metaod.review import MarkedTable, Ranker, RowSpace
from metaod.tables import prepare
from research.injection import KINDS, Injection
from research.statistics import average_precision

MOST_ROWS = 3000
"""Rows of a table that are drawn for a review."""

MOST_INJECTED = 1500
"""Rows of a table with injected outliers, before they are added."""

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
    """A prepared table with labels, the committee's scores, and the rows that may be asked about.

    Half of the rows may be asked about; rankings are measured on the other half.
    """

    name: str
    origin: str
    X: Matrix
    y: Labels
    askable: Mask
    members: Matrix  # standardised scores of the committee's models
    forest: Scores  # of FOREST

    @classmethod
    def make(cls, entry: FolderEntry, origin: str) -> Self | None:
        """Prepare a dataset; None if either half would have too few outliers."""
        dataset = entry.load()
        generator = np.random.default_rng(1)
        chosen = generator.permutation(len(dataset.X))[:MOST_ROWS]
        y = np.asarray(dataset.y, dtype=np.int8)[chosen]
        askable = np.zeros(len(chosen), dtype=np.bool_)
        askable[generator.permutation(len(chosen))[: len(chosen) // 2]] = True
        prepared = prepare(dataset.X.iloc[chosen].reset_index(drop=True))
        return cls._scored(entry.full_name, origin, prepared.X, prepared.fixed, y, askable)

    def injected(self, generator: np.random.Generator) -> Self | None:
        """Return a table with the rows that are no outliers and injected ones of a few kinds.

        The outliers of the labelled history are mostly a class that is alike. Injected ones are
        not: a mark of one says little about the others.
        """
        normal = self.X[self.y == 0][:MOST_INJECTED]
        kinds = generator.permutation(list(KINDS))[: generator.integers(1, 4)]
        share = float(generator.uniform(0.01, 0.06)) / len(kinds)
        injection = Injection(n_rows=MOST_INJECTED, share=share, seed=0)
        try:
            parts = [injection.inject(normal, kind) for kind in kinds]
        except UserError:  # every column is constant
            return None
        rows = [parts[0][0], *(X[y == 1] for X, y in parts[1:])]
        labels = [parts[0][1], *(y[y == 1] for _, y in parts[1:])]
        X, y = np.concatenate(rows), np.concatenate(labels).astype(np.int8)
        order = generator.permutation(len(X))
        askable = np.zeros(len(X), dtype=np.bool_)
        askable[: len(X) // 2] = True
        name = f"injected/{self.name}"
        return self._scored(name, self.origin, X[order], None, y[order], askable)

    @classmethod
    def _scored(
        cls, name: str, origin: str, X: Matrix, fixed: Mask | None, y: Labels, askable: Mask
    ) -> Self | None:
        if y[~askable].sum() < 2 or y[askable].sum() < 1:
            return None
        scored = score_models(X, [*COMMITTEE, FOREST], trials=1, fixed=fixed)
        scores = {cell.spec: cell.scores for cell in scored}
        members = []
        for spec in COMMITTEE:
            own = scores[spec]
            if own is not None and np.isfinite(own).mean() > 1 - ScoreScale.REPAIRABLE:
                members.append(ScoreScale.of(own, where=spec.id).tempered(own))
        forest = scores[FOREST]
        if not members or forest is None:
            return None
        return cls(name, origin, X, y, askable, np.column_stack(members), forest)

    def write(self, path: Path) -> None:
        """Write to a file, which is complete or absent."""
        write_arrays(path, vars(self))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what :meth:`write` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            parts = {name: arrays[name] for name in cls.__dataclass_fields__}
        return cls(**{**parts, "name": str(parts["name"]), "origin": str(parts["origin"])})

    def marked(self, ranker: Ranker) -> MarkedTable:
        """Return the table as a review sees it, without marks."""
        scores = self.members.mean(axis=1)
        return MarkedTable(RowSpace(self.X, scores, self.members, 0), scores, ranker)

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


def make_tables(entries: Sequence[tuple[FolderEntry, str]], folder: Path) -> Iterator[Path]:
    """Write a review table for each dataset and its origin, unless it is there; yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry, origin in entries:
        path = folder / f"{entry.full_name.replace('/', '_')}.npz"
        if not path.exists():
            try:
                table = ReviewTable.make(entry, origin)
            except UserError as error:
                print(error)
                continue
            if table is None:
                continue
            table.write(path)
        yield path
