"""Open a file to read it in chunks, and decide whether it should be."""

import gzip
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from metaod.errors import UserError
from metaod.options import BadValues, Reading
from metaod.tables._file_kinds import choose_reader
from metaod.tables._parquet_stream import ParquetStream
from metaod.tables._reading import check_options
from metaod.tables._stream import TableStream
from metaod.tables._text_stream import TextStream
from metaod.tables.readers import delimited, parquet
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    check_exists,
    library_errors,
    open_unread,
)

MOST_ROWS = 2_000_000
"""Files of more rows are read in chunks."""

_MOST_SHARE = 0.5  # of the memory that the machine or the container has
_HEAD_BYTES = 2**20
_CONTAINER_LIMITS = (  # of control groups, version 2 and 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def stream_table(source: "str | PathLike[Any]", **options: Any) -> TableStream | None:
    """Open a file to read it in chunks; None if its format or kind can only be read at once.

    Parameters
    ----------
    source : path-like
        A Parquet file, or delimited text, also gzipped.
    **options
        Options of :func:`metaod.read_table`. Of `bad_values`, the default differs: a value outside
        the sample that does not fit its column is missing, with a note.
    """
    opened = open_unread(source)
    if opened is None:
        if os.fsdecode(source) != "-":
            check_exists(source)
        return None
    reader = choose_reader(opened)
    given = Reading(**options).checked("read_table")
    check_options(given, reader.kind, reader.options)
    late: BadValues = given.bad_values or "missing"
    if reader is parquet.READER:
        return None if opened.packed else ParquetStream(opened, given, late)
    return TextStream(opened, given, late) if reader is delimited.READER else None


def is_large(source: "str | PathLike[Any]") -> bool:
    """Whether a file should be read in chunks: over 2,000,000 rows, or half of the memory.

    The size of a Parquet file is in its footer; that of text is estimated from its first lines.
    Files of other formats are never large: they can only be read at once.
    """
    opened = open_unread(source)
    if opened is None:
        return False
    try:
        reader = choose_reader(opened)
        if reader is parquet.READER:
            n_rows, n_columns = _parquet_shape(opened)
        elif reader is delimited.READER:
            n_rows, n_columns = _text_shape(opened)
        else:
            return False
    except UserError:  # which reading it explains
        return False
    return n_rows > MOST_ROWS or CELL_BYTES * n_rows * n_columns > _MOST_SHARE * _memory()


def _parquet_shape(source: Source) -> tuple[float, float]:
    import pyarrow.parquet  # noqa: PLC0415 - slow to import

    if source.packed is not None:
        return 0, 0
    with library_errors(source.name, "Parquet"), source.open() as stream:
        metadata = pyarrow.parquet.read_metadata(stream)
        return metadata.num_rows, metadata.num_columns


def _text_shape(source: Source) -> tuple[float, float]:
    head = source.head(_HEAD_BYTES)
    lines = head.splitlines() or [b""]
    n_lines = max(1, len(lines) - 1)
    n_columns = max(lines[n_lines // 2].count(mark) for mark in (b",", b";", b"\t", b"|", b" ")) + 1
    n_bytes = float(_unpacked_size(source, len(head)))
    return n_bytes * n_lines / max(1, len(head)), n_columns


def _unpacked_size(source: Source, n_head: int) -> float:
    """Return the size of a text; of a gzipped one, as its first megabyte was packed."""
    if source.packed is None:
        return source.size
    size = source.packed.stat().st_size
    with (
        library_errors(source.name, "gzip"),
        source.packed.open("rb") as packed,
        gzip.GzipFile(fileobj=packed) as stream,
    ):
        stream.read(n_head)
        return n_head * size / max(1, packed.tell())


def _memory() -> float:
    """Return the memory of the machine or of the container, in bytes."""
    total = float("inf")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # no container, or no limit
            total = min(total, float(limit.read_text()))
    return total
