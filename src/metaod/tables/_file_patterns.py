"""Several files that a pattern names, as one table with the name of the file as a column."""

from collections import Counter
from collections.abc import Sequence
from glob import glob, has_magic
from itertools import takewhile
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod._files import expanded
from metaod.errors import BadFile, Message, listed, quoted
from metaod.tables._table import Original
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import CELL_BYTES, check_bytes, check_width


def pattern_files(source: "str | PathLike[Any]") -> list[str]:
    """Return the files that a pattern such as ``logs/*.csv`` names; none if it is a path."""
    pattern = fsdecode(source)
    if not has_magic(pattern) or "://" in pattern:
        return []
    place = expanded(pattern)
    if place.exists():
        return []
    found = sorted(glob(str(place), recursive=True))  # noqa: PTH207 - it may be absolute
    return [file for file in found if Path(file).is_file()]


def short_names(files: Sequence[str], pattern: "str | PathLike[Any]") -> list[str]:
    """Return the paths of files below the folder that a pattern names without wildcards.

    >>> short_names(["logs/may/1.csv", "logs/may/2.csv"], "logs/*/*.csv")
    ['may/1.csv', 'may/2.csv']
    """
    parts = expanded(pattern).parts
    folder = Path(*takewhile(lambda part: not has_magic(part), parts))
    return [str(Path(file).relative_to(folder)) for file in files]


def joined(
    files: Sequence[str], contents: Sequence[Content], pattern: str, max_bytes: int
) -> tuple[Content, str]:
    """Put files below each other; return the content, and the added column.

    A column that a file lacks is missing in its rows; files without a common column are refused.
    """
    frames = [_with_index(own.frame) for own in contents]
    names = list(dict.fromkeys(str(name) for frame in frames for name in frame.columns))
    counts = Counter(str(name) for frame in frames for name in frame.columns)
    if max(counts.values()) < len(files):
        what = f"the files have no column in common: {listed(files)}"
        raise BadFile(pattern, what, remedy="name files of one table, or read them one by one")
    n_rows = sum(map(len, frames))
    check_width(pattern, (n_rows, len(names)))
    check_bytes(pattern, "needs at least", CELL_BYTES * n_rows * len(names), max_bytes)
    added = "file"
    while added in counts:
        added += "_"
    starts = np.cumsum([0, *map(len, frames)])
    frame = _stacked(frames, names, added, short_names(files, pattern))
    warnings = list(dict.fromkeys(warning for own in contents for warning in own.warnings))
    lacking = [name for name in names if counts[name] < len(files)]
    warnings = [*([_union_note(lacking, counts, len(files))] if lacking else []), *warnings]

    def locate(row: int) -> str:
        place = int(np.searchsorted(starts, row, side="right")) - 1
        return f"{files[place]}, {contents[place].locate(row - int(starts[place]))}"

    words = sum((Counter(own.missing) for own in contents), Counter[str]())
    content = Content(
        frame,
        tuple(warnings),
        locate=locate,
        decimal=contents[0].decimal,
        declares_types=all(own.declares_types for own in contents),
        may_hold_index=names[0] == "" and contents[0].may_hold_index,
        missing=words,
    )
    return content, added


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def _stacked(
    frames: Sequence[pd.DataFrame], names: Sequence[str], added: str, files: Sequence[str]
) -> pd.DataFrame:
    lacking = {name for name in names if any(name not in frame for frame in frames)}
    # objects: whole numbers beside missing values would be rounded
    kept = [frame.astype(dict.fromkeys(lacking & {*frame}, object)) for frame in frames]
    texts = np.repeat(np.array(files, dtype=object), list(map(len, frames)))
    return pd.concat(kept, ignore_index=True)[[*names]].assign(**{added: texts})


def joined_cells(
    shown: Sequence[str], originals: Sequence[Original], names: Sequence[str], added: str
) -> pd.DataFrame:
    """Read the cells of all files again, also those of their labels and indexes."""
    frames = []
    for original in originals:
        original.check_unchanged()
        cells = original.read_numbers()
        frames.append(cells if isinstance(cells, pd.DataFrame) else cells.to_pandas())
    return _stacked(frames, names, added, shown)


def _union_note(lacking: Sequence[str], counts: Counter[str], n_files: int) -> Message:
    return Message(
        "files-differ",
        "the {n_files:,} files have different columns: missing values stand for {columns}",
        n_files=n_files,
        columns=", ".join(f"{quoted(name)} (in {counts[name]:,})" for name in lacking[:10])
        + (f" and {len(lacking) - 10:,} more" if len(lacking) > 10 else ""),
    )
