"""Arrow IPC files and streams, which Feather files are too."""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from metaod.options import Reading
from metaod.tables.readers._arrow import check_texts, content_of_arrow
from metaod.tables.readers._names import check_unique
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    check_bytes,
    check_width,
    library_errors,
)


def read(source: Source, options: Reading) -> Content:
    """Read all batches of a file or stream."""
    table = _table(source, options.memory_limit)
    with library_errors(source.name, "Arrow"):
        content = content_of_arrow(table, source.name)
    return replace(content, read_cells=partial(_table, source, options.memory_limit))


def _table(source: Source, max_bytes: int) -> Any:
    with library_errors(source.name, "Arrow"), source.open() as stream:
        is_file = source.head(6) == b"ARROW1"
        opened = pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)
        names, batches, n_bytes, n_rows = opened.schema.names, [], 0, 0
        check_unique(names, source.name)
        check_width(source.name, (1, len(names)))
        found = map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened
        for batch in found:
            batch.validate(full=True)
            n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
            needed = max(CELL_BYTES * n_rows * len(names), n_bytes)
            check_bytes(source.name, "needs at least", needed, max_bytes)
            batches.append(batch)
        table = pa.Table.from_batches(batches, opened.schema)
        check_texts(table, source, max_bytes)
        return table
