"""Scores of chosen models, kept beside a store for later study; never part of it."""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from metaod.errors import BadFile

__all__ = ["Kept", "ScoreCache"]

Kept = dict[tuple[str, int], npt.NDArray[np.float32]]


class ScoreCache:
    """A folder with one NPZ file a dataset: float32 scores by model id and trial.

    Parameters
    ----------
    folder : Path
        The folder; it is made when something is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @classmethod
    def beside(cls, store: Path) -> "ScoreCache":
        """The cache that belongs to a store's file."""
        return cls(store.with_name(store.name + ".scores"))

    def path(self, fingerprint: str) -> Path:
        """The file of one dataset."""
        return self.folder / f"{fingerprint.replace(':', '-')}.npz"

    def write(
        self, fingerprint: str, scores: Mapping[tuple[str, int], npt.NDArray[np.float32]]
    ) -> None:
        """Add scores to a dataset's file; the file is replaced whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(fingerprint)
        together = (self.read(fingerprint) if path.exists() else {}) | dict(scores)
        names = sorted(together)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        with unfinished.open("wb") as file:
            np.savez_compressed(
                file,
                models=np.array([model for model, _ in names], dtype=np.str_),
                trials=np.array([trial for _, trial in names], dtype=np.int64),
                scores=np.array([together[name] for name in names], dtype=np.float32),
            )
        unfinished.replace(path)

    def lacks(self, fingerprint: str, wanted: Mapping[str, int]) -> set[str]:
        """The models of which not as many trials are kept as wanted."""
        there = set(self.read(fingerprint))
        return {
            model
            for model, trials in wanted.items()
            if any((model, trial) not in there for trial in range(trials))
        }

    def read(self, fingerprint: str) -> Kept:
        """The scores that are kept of one dataset."""
        path = self.path(fingerprint)
        try:
            with np.load(path, allow_pickle=False) as file:
                models, trials, scores = file["models"], file["trials"], file["scores"]
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise BadFile(path, "is no file of scores", remedy="delete it") from error
        return {
            (str(model), int(trial)): row
            for model, trial, row in zip(models, trials, scores, strict=True)
        }
