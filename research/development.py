"""Labelled tables of development origins, by all lists of final origins, with models' scores."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError
from metaod.history import iter_folder
from metaod.models import ModelSpec, score_models
from metaod.tables import prepare
from research.kept_scores import KeptScores
from research.shipped import shipped_datasets

MOST_ROWS, MOST_COLUMNS = 10_000, 100

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoredTable:
    """A prepared table with its label, and the scores of models by their ids."""

    fingerprint: str
    origin: str
    X: npt.NDArray[np.float64]
    fixed: npt.NDArray[np.bool_] | None
    y: npt.NDArray[np.int8]
    scores: dict[str, Scores]


def scored_tables(
    folder: str,
    kept: KeptScores,
    models: Callable[[str], Iterable[ModelSpec]],
    *,
    label: str = "y",
    without_outliers: bool = False,
) -> Iterator[ScoredTable]:
    """Score models on the development tables of a folder, each once; kept scores are used.

    `models` are those for a fingerprint. Without outliers, a table holds the other rows alone.
    """
    origins = shipped_datasets()["origin"]
    final = {
        origin
        for path in Path(__file__).parent.glob("final_origins*.txt")
        for origin in path.read_text("utf-8").splitlines()
    }
    for entry in iter_folder(folder, label=label):
        if (entry.rows or 0) > MOST_ROWS or (entry.columns or 0) > MOST_COLUMNS:
            continue
        dataset = entry.load()
        origin = origins.get(dataset.fingerprint)
        if origin is None or origin in final or entry.origin in final:
            continue
        y, frame = dataset.y, dataset.X
        if without_outliers:
            frame, y = frame[y == 0].reset_index(drop=True), y[y == 0]
        try:
            prepared = prepare(frame)
        except UserError:  # nothing varies without the outliers
            continue
        key = dataset.fingerprint + ("-clean" if without_outliers else "")
        scores = {name: own.astype(np.float64) for (name, _), own in kept.read(key).items()}
        wanted = [model for model in models(dataset.fingerprint) if model.id not in scores]
        wanted = [model for model in wanted if model.applies(*prepared.X.shape)]
        scored = score_models(prepared.X, wanted, trials=1, fixed=prepared.fixed)
        new = {item.spec.id: item.scores for item in scored if item.scores is not None}
        if new:
            kept.write(key, {(name, 0): own.astype(np.float32) for name, own in new.items()})
        yield ScoredTable(dataset.fingerprint, origin, prepared.X, prepared.fixed, y, scores | new)
