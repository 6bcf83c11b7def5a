"""Read a table: choose the reader of its format, convert its options, separate the label."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from os import PathLike, fsdecode
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile, BadParameter
from metaod.options import Reading, takes
from metaod.tables._column_types import ColumnTyper, mask_missing, words_by_column
from metaod.tables._file_patterns import joined, joined_cells, pattern_files, short_names
from metaod.tables._footers import Footer, find_footer
from metaod.tables._notations import ERROR_WORDS, MISSING_WORDS, Hints, Plain
from metaod.tables._objects import as_text_column
from metaod.tables._roles import unknown_columns
from metaod.tables._table import Original, Table, some_cells
from metaod.tables.readers import READERS, choose_reader
from metaod.tables.readers._names import index_by_unnamed
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import Source, open_path, open_stream
from metaod.tables.readers.memory import is_in_memory, read_memory


@takes(Reading)
def read_table(source: object, options: Reading) -> Table:
    r"""Read a table from a file, a pipe or memory.

    Parameters
    ----------
    source : path, file object or table
        A file: delimited text (CSV, TSV, ...), Parquet, ARFF, MATLAB, HDF5, NPY, NPZ, XLSX, XLS,
        ODS, JSON, Arrow, SQLite or DuckDB, the text ones also gzipped; a pattern of files such as
        ``logs/*.csv``; the URL of a database; ``'-'`` for standard input; or a numpy array, a
        table of pandas, polars, pyarrow, DuckDB or any library that offers Arrow streams, a scipy
        sparse matrix, a list of rows or a dict of columns.
    options : Reading

    Returns
    -------
    Table
        Columns of float64, int64, bool, datetime64 or text. An unnamed first column of a text or
        sheet is the row index.

    Examples
    --------
    >>> import io
    >>> read_table(io.StringIO("height;weight\n1,80;75\n1,75;70\n")).frame
       height  weight
    0    1.80      75
    1    1.75      70
    """
    if not is_file(source):
        check_options(options, "a table in memory", frozenset({"decimal"}))
        return finish(read_memory(source, options), options, type(source).__name__, path=None)
    files = pattern_files(source) if isinstance(source, str | PathLike) else []
    if files:
        return _read_files(files, fsdecode(source), options)  # type: ignore[arg-type]  # a path
    content, opened, options, footer = _read_content(source, options)
    table = finish(content, options, opened.name, path=opened.name, footer=footer)
    again = partial(choose_reader(opened).read, opened, options)
    return replace(table, original=Original.of(content, opened, again, options.label))


def _read_content(
    source: object, options: Reading
) -> tuple[Content, Source, Reading, Footer | None]:
    """Read a file without a sure total; also return the options that leave it out."""
    if isinstance(source, str | PathLike):
        opened = open_path(source, options.memory_limit, options.shown_as)
    else:
        opened = open_stream(source, options.memory_limit)
    reader = choose_reader(opened)
    check_options(options, reader.kind, reader.options)
    content = reader.read(opened, options)
    footer = None
    if "skip_footer" in reader.options and options.skip_footer != 0:
        footer = find_footer(content.frame, content.decimal)
    if footer is not None and footer.is_sure and options.skip_footer is None:
        options = replace(options, skip_footer=footer.n_rows)
        content = reader.read(opened, options)
        content = replace(content, warnings=(*content.warnings, footer.left_out()))
        footer = None
    return content, opened, options, footer


def _read_files(files: Sequence[str], pattern: str, options: Reading) -> Table:
    contents, originals = [], []
    for file in files:
        content, opened, own, footer = _read_content(file, options)
        if content.label_values is not None:
            what = "its label is an array, which files of a pattern cannot have"
            raise BadFile(file, what, remedy="write the label as a column")
        if footer is not None:
            offered = footer.offered(own.skip_footer or 0)
            content = replace(content, warnings=(*content.warnings, offered))
        again = partial(choose_reader(opened).read, opened, own)
        contents.append(content)
        originals.append(Original.of(content, opened, again, None))
    content, added = joined(files, contents, pattern, options.memory_limit)
    names = [str(name) for name in content.frame.columns]
    read = partial(joined_cells, short_names(files, pattern), originals, names[:-1], added)
    cells = partial(some_cells, read)
    original = Original(tuple(names), None, cells, Source(pattern), None)
    table = finish(content, options, pattern, path=pattern)
    return replace(table, original=original, file_column=added)


def is_file(source: object) -> bool:
    """Whether :func:`read_table` reads an object as a file: a path, or what has a method `read`."""
    if isinstance(source, str | PathLike):
        return True
    return not is_in_memory(source) and callable(getattr(source, "read", None))


def check_options(options: Reading, kind: str, takes: Set[str]) -> None:
    """Refuse options that a format does not take."""
    special = frozenset().union(*(reader.options for reader in READERS))
    for name, value in options.given().items():
        if name in special - takes:
            raise BadParameter("read_table", name, f"left out for {kind}", value)


def finish(
    content: Content,
    options: Reading,
    source: str,
    path: str | None,
    footer: Footer | None = None,
) -> Table:
    """Apply the options that every format takes, and refuse an empty table."""
    offered = footer.offered(options.skip_footer or 0) if footer else None
    if path is None and (found := find_footer(content.frame, content.decimal)):
        offered = found.noted()
    names = {str(name) for name in content.frame.columns}
    own_missing = words_by_column(options.column_words, names, path)
    typer = ColumnTyper(
        missing=frozenset(options.missing_words).union(
            () if content.declares_types else MISSING_WORDS
        ),
        errors=ERROR_WORDS.difference(options.missing_words)
        if options.bad_values in (None, "finding")
        else frozenset(),
        hints=Hints(
            options.decimal or content.decimal, options.decimal is not None, options.dayfirst
        ),
        bad_values=options.bad_values or "finding",
        source=path,
        name_row=content.locate,
        line_of=content.line_of,
        declared=content.declares_types,
        warnings=[*content.warnings, *([offered] if offered else [])],
        footer=offered,
        words=content.missing,
        own_missing=own_missing,
    )
    kept = {name for name in content.frame.columns if options.unused and options.unused(str(name))}
    frame = typer.type_frame(content.frame, {*options.text_columns, *kept, options.label})
    warnings = typer.warnings
    if content.may_hold_index:
        frame = index_by_unnamed(frame, warnings)
    if options.missing_words or own_missing:
        frame = mask_missing(frame, options.missing_words, own_missing, warnings)
    for name in options.text_columns:
        if name not in frame.columns:
            raise unknown_columns([name], [*map(str, frame.columns)], path)
        frame = as_text_column(frame, [name])
    label = None
    if options.label is not None:
        values = content.label_values
        if values is None:
            if options.label not in frame.columns:
                raise unknown_columns([options.label], [*map(str, frame.columns)], path)
            values = frame.pop(options.label).to_numpy(dtype=object)
        label = _read_label(values, options.label, path, content.locate)
    if frame.shape[0] == 0:
        raise BadFile(path or source, "holds no rows", remedy="check how it was made")
    if frame.shape[1] == 0:
        raise BadFile(path or source, "holds no columns", remedy="a table needs at least one")
    written = {name: item for name, item in typer.written.items() if name in frame.columns}
    misfits = {name: item for name, item in typer.misfits.items() if name in frame.columns}
    misfits = misfits if typer.bad_values == "finding" else {}
    numbers = Plain("numeric", options.decimal or content.decimal)
    floats = [str(name) for name, dtype in frame.dtypes.items() if dtype.kind == "f"]
    notations = dict.fromkeys(floats, numbers) | typer.notations
    table = Table(frame, label, source, tuple(warnings), typed=True, notations=notations)
    return replace(table, written=written, misfits=misfits, bad_values=typer.bad_values)


# inlier and outlier, -1 as scikit-learn's predict has it; the first that holds every value counts
_LABEL_PAIRS = [
    tuple(pair.split("/"))
    for pair in (
        *("0/1", "1/-1", "false/true", "no/yes", "n/y", "n/o", "inlier/outlier"),
        *("normal/anomaly", "normal/outlier", "normal/abnormal"),
    )
]


def _read_label(
    values: npt.NDArray[Any], name: str, path: str | None, locate: Callable[[int], str]
) -> npt.NDArray[np.int8]:
    """Convert a label to 1 for an outlier, 0 otherwise; one value of a pair suffices."""
    codes, uniques = pd.factorize(values.astype(object))
    if (codes < 0).any():
        what = f"{locate(int(np.argmax(codes < 0)))}: the label is missing"
        raise BadColumn(name, what, path=path, remedy="fill it in or remove the row")
    words = list(map(_label_word, uniques))
    for inlier, outlier in _LABEL_PAIRS:
        if set(words) <= {inlier, outlier}:
            return np.array([word == outlier for word in words], dtype=np.int8)[codes]
    found = sorted({repr(word[:40]) for word in words})
    shown = ", ".join(found[:10]) + (f", ... ({len(found):,} in all)" if len(found) > 10 else "")
    legal = ", ".join(
        "-1/1 (-1 is the outlier)" if outlier == "-1" else f"{inlier}/{outlier}"
        for inlier, outlier in _LABEL_PAIRS
    )
    what = f"is not a label of outliers; its values are: {shown}"
    raise BadColumn(name, what, path=path, remedy=f"a label has two values: {legal}")


def _label_word(value: Any) -> str:
    """Write 1, 1.0, '1' and '1.0' as '1', and words in lower case."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    word = str(value).strip().lower()
    try:
        number = float(word)
    except ValueError:
        return word
    return str(int(number)) if number.is_integer() else word
