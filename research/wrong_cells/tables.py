"""The tables of the protocol of wrong cells (docs/wrong-cells.md)."""

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import UserError
from metaod.history import FolderEntry, iter_folder
from metaod.tables import Table, read_table
from research.shipped import final_origins

SHARED = Path(__file__).parents[3] / "shared"
PARTS = ("fit", "check", "final")
MOST_ROWS, MOST_COLUMNS = 3000, 40
MANY_WRONG = 0.2
"""Columns with a larger share of wrong cells are reported with and without."""

_FOLDERS = {"numeric": ("datasets", "y"), "mixed": ("mixed", "outlier")}


@dataclass(frozen=True)
class Source:
    """A table of the protocol, not yet read."""

    entry: FolderEntry
    kind: str  # numeric or mixed

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.entry.full_name}"

    @property
    def origin(self) -> str:
        return self.entry.origin

    @property
    def part(self) -> str:
        """The part of the protocol that the table's origin belongs to."""
        if self.origin in final_origins():
            return "final"
        return "fit" if zlib.crc32(self.origin.encode()) % 5 else "check"

    def load(self) -> pd.DataFrame:
        """Read the table without its label, at most 3,000 rows and 40 columns of it."""
        frame = self.entry.load().X
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        rows, columns = (
            np.sort(rng.permutation(n)[:most])
            for n, most in zip(frame.shape, (MOST_ROWS, MOST_COLUMNS), strict=True)
        )
        return frame.iloc[rows, columns].reset_index(drop=True)


def sources(part: str, kind: str | None = None, shared: Path = SHARED) -> list[Source]:
    """List the tables of a part, in the order of the checksums of their names."""
    found = [
        Source(entry, own)
        for own, (folder, label) in _FOLDERS.items()
        if kind in (None, own)
        for entry in iter_folder(shared / folder, label=label)
    ]
    chosen = [source for source in found if source.part == part]
    return sorted(chosen, key=lambda source: zlib.crc32(source.name.encode()))


def tables(part: str, most: int, shared: Path = SHARED) -> Iterator[tuple[Source, pd.DataFrame]]:
    """Yield the first tables of a part, half of them numeric; skip those that are refused."""
    for kind in _FOLDERS:
        n_read = 0
        for source in sources(part, kind, shared):
            if n_read == most // 2:
                break
            try:
                frame = source.load()
            except UserError:
                continue
            n_read += 1
            yield source, frame


def as_read(frame: pd.DataFrame) -> Table:
    """Return a frame as it is read from a file."""
    text = io.BytesIO(frame.to_csv(index=False).encode())
    return read_table(text, skip_footer=0, header=True, delimiter=",")


@dataclass(frozen=True)
class DirtyTable:
    """A table as published with errors, its cells as text, and which of them are wrong."""

    collection: str
    name: str
    frame: pd.DataFrame
    clean: pd.DataFrame
    mask: npt.NDArray[np.bool_]

    @property
    def few_wrong(self) -> npt.NDArray[np.bool_]:
        """Columns of which at most a fifth is wrong."""
        few: npt.NDArray[np.bool_] = self.mask.mean(axis=0) <= MANY_WRONG
        return few


def dirty_tables(shared: Path = SHARED) -> Iterator[DirtyTable]:
    """Yield the tables of ``dirty``; the names of the clean file's columns are not used."""
    for line in pd.read_csv(shared / "dirty" / "catalog.csv").to_dict("records"):
        dirty, clean = (
            pd.read_csv(shared / "dirty" / line[which], dtype=str, keep_default_na=False)
            for which in ("dirty", "clean")
        )
        clean.columns = dirty.columns
        wrong = dirty.to_numpy(dtype=object) != clean.to_numpy(dtype=object)
        yield DirtyTable(line["collection"], line["name"], dirty, clean, wrong)
