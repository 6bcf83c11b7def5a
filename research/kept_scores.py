"""Scores of chosen models, kept in a folder: one NPZ file a dataset."""

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from metaod.errors import BadFile
from metaod.history import LabelledDataset
from metaod.models import Budget, ModelSpec, score_models
from metaod.tables import prepare

Kept = dict[tuple[str, int], npt.NDArray[np.float32]]
"""Scores by the model's id and the trial."""

LARGE = Budget(seconds=600, bytes=8 * 2**30)


class KeptScores:
    """A folder of scores in single precision."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def of(self, dataset: LabelledDataset, models: Sequence[ModelSpec]) -> Kept:
        """Read the scores of a dataset; score the models and keep their scores if it has none."""
        found = self.read(dataset.fingerprint)
        if not found:
            X = prepare(dataset.table).X
            for scored in score_models(X, models, trials=1, budget=LARGE):
                if scored.scores is not None:
                    found[scored.spec.id, 0] = scored.scores.astype(np.float32)
            self.write(dataset.fingerprint, found)
        return found

    def path(self, fingerprint: str) -> Path:
        return self.folder / f"{fingerprint.replace(':', '-')}.npz"

    def write(self, fingerprint: str, scores: Kept) -> None:
        """Add scores to a dataset's file; the file is replaced whole or not at all."""
        path = self.path(fingerprint)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        self.folder.mkdir(parents=True, exist_ok=True)
        merged = self.read(fingerprint) | scores
        keys = sorted(merged)
        with unfinished.open("wb") as file:
            np.savez_compressed(
                file,
                models=np.array([model for model, _ in keys], dtype=np.str_),
                trials=np.array([trial for _, trial in keys], dtype=np.int64),
                scores=np.array([merged[key] for key in keys], dtype=np.float32),
            )
        unfinished.replace(path)

    def read(self, fingerprint: str) -> Kept:
        """Read the kept scores of one dataset; nothing if there are none."""
        path = self.path(fingerprint)
        try:
            with np.load(path, allow_pickle=False) as file:
                models, trials, scores = file["models"], file["trials"], file["scores"]
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise BadFile(path, "is not a file of scores", remedy="delete it") from error
        return {
            (str(model), int(trial)): row
            for model, trial, row in zip(models, trials, scores, strict=True)
        }
