"""What a file format declares, and what its reader takes and returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import pandas as pd

from metaod.errors import Message
from metaod.options import Reading
from metaod.tables._column_types import row_number
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._source import Source


@dataclass(frozen=True)
class Content:
    """A table as a reader returns it, with the label still among its columns."""

    frame: pd.DataFrame
    warnings: tuple[Message, ...] = ()
    label_values: npt.NDArray[Any] | None = None  # if the label is not a column but another array
    locate: Callable[[int], str] = row_number  # describes the place of a row, counted from 0
    line_of: Callable[[int], int] | None = None  # the line of a row of delimited text
    decimal: str = "."
    declares_types: bool = False
    may_hold_index: bool = False  # a first column without a name is the row index
    raw: RawText | None = None  # of delimited text: its records as the file has them
    missing: Mapping[str, int] = field(default_factory=dict)  # how many cells each word made empty
    read_cells: Callable[[], Any] | None = None  # an Arrow table with more digits than the frame
    types: Mapping[str, Any] = field(default_factory=dict)  # Arrow's, of delimited text


@dataclass(frozen=True)
class FileKind:
    """A kind of file, recognised by the file and its first 64 KiB."""

    kind: str
    endings: tuple[str, ...]  # messages recommend the first
    recognise: Callable[[Source, bytes], bool]


@dataclass(frozen=True)
class Reader(FileKind):
    """A kind of file that can be read, listed in ``metaod.tables.readers.READERS``."""

    read: Callable[[Source, Reading], Content]
    options: frozenset[str] = frozenset()  # those of read_table that only some kinds take


def begins_with(*starts: bytes) -> Callable[[Source, bytes], bool]:
    """Make a recogniser of files that begin with one of these byte strings."""
    return lambda source, head: head.startswith(starts)  # noqa: ARG005 - a recogniser gets both
