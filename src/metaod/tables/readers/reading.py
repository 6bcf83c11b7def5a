"""The entry: tell what kind of source it is, ask its reader, set the label apart."""

from collections.abc import Iterable
from importlib import import_module
from os import PathLike

import pandas as pd

from metaod.errors import BadColumn, BadFile, BadParameter
from metaod.tables._table import Table
from metaod.tables.readers.content import Content
from metaod.tables.readers.kinds import Kind, decide_kind
from metaod.tables.readers.labels import read_label
from metaod.tables.readers.missing import mask_missing
from metaod.tables.readers.options import DEFAULT_MAX_BYTES, ReadOptions, as_names, as_words
from metaod.tables.readers.source import open_path, open_stream

__all__ = ["read_table"]

# module and function of each kind's reader, imported when first needed, and the options that
# the kind knows beside those that all do
_READERS: dict[Kind, tuple[str, str, frozenset[str]]] = {
    Kind.DELIMITED: (
        "delimited",
        "read",
        frozenset({"delimiter", "encoding", "decimal", "header"}),
    ),
    Kind.ARFF: ("arff", "read", frozenset({"encoding"})),
    Kind.PARQUET: ("parquet", "read", frozenset()),
    Kind.MATLAB: ("matlab", "read", frozenset({"variable"})),
    Kind.HDF5: ("hdf5", "read", frozenset({"variable"})),
    Kind.NPY: ("numpy_files", "read_npy", frozenset()),
    Kind.NPZ: ("numpy_files", "read_npz", frozenset({"variable"})),
    Kind.XLSX: ("excel", "read", frozenset({"header", "sheet"})),
}
_OF_ALL = frozenset({"label", "na", "text", "max_bytes"})


def read_table(
    source: object,
    *,
    label: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na: str | float | Iterable[str | float] = (),
    header: bool | None = None,
    text: Iterable[str] = (),
    sheet: str | int | None = None,
    variable: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Table:
    r"""Read a table from a file, a pipe or memory.

    Parameters
    ----------
    source : path, file object or table
        A file: delimited text (CSV, TSV, ...), Parquet, ARFF, MATLAB, HDF5, NPY, NPZ or XLSX,
        the text ones also gzipped; ``'-'`` for standard input; or a numpy array, a pandas,
        polars or pyarrow table, a scipy sparse matrix, a list of rows or a dict of columns.
    label : str, optional
        The column that says which rows are outliers, for evaluation only; in MATLAB, HDF5 and
        NPZ files also another array of the file. It leaves the table. Two values are legal: 0/1,
        -1/1 (where -1 is the outlier, as in scikit-learn), false/true, no/yes, n/y, n/o,
        inlier/outlier, normal/anomaly, normal/outlier, normal/abnormal.
    delimiter, encoding, decimal : str, optional
        Of delimited text; decided by looking unless given. A delimiter of ``" "`` is any run of
        blanks.
    na : str, number or iterable of them
        What means a missing value, beside the usual words of text (empty, NA, NaN, null, None,
        ?, - and the like). Numbers count by their value: ``"-999"`` is also -999.0.
    header : bool, optional
        Whether the first line holds names; decided by looking unless given: it does where it has
        a word above a column of values, or nothing but words. Without names columns are
        ``x1``, ``x2``, ...
    text : str or iterable of str
        Columns to be taken as text whatever they look like.
    sheet : str or int, optional
        Sheet of a workbook, by name or counted from 0; the first unless given.
    variable : str, optional
        Array of a MATLAB, HDF5 or NPZ file; unless given ``X``, or the only matrix of numbers.
    max_bytes : int
        The most memory that a file may claim; 8 GiB unless given.

    Returns
    -------
    Table
        Columns of float64, int64, bool, datetime64 or text. An unnamed first column of a text or
        sheet, as pandas and R write it, is the rows' index.

    Raises
    ------
    BadFile, BadColumn, BadParameter, MissingExtra
        What is wrong, in which file, line and column, and what to do.

    Examples
    --------
    >>> import io
    >>> read_table(io.StringIO("height;weight\n1,80;75\n1,75;70\n")).frame
       height  weight
    0    1.80      75
    1    1.75      70
    """
    options = ReadOptions(
        label=label,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        na=as_words(na),
        header=header,
        text=as_names(text),
        sheet=sheet,
        variable=variable,
        max_bytes=max_bytes,
    )
    if isinstance(source, str | PathLike):
        opened = open_path(source, max_bytes)
    elif hasattr(source, "read"):
        opened = open_stream(source, max_bytes)
    else:
        _check_options(options, "a table in memory", frozenset())
        memory = import_module("metaod.tables.readers.memory")
        content: Content = memory.read(source, options)
        return _finish(content, options, type(source).__name__, path=None)
    kind = decide_kind(opened)
    module, function, takes = _READERS[kind]
    _check_options(options, kind, takes)
    reader = import_module(f"metaod.tables.readers.{module}")
    content = getattr(reader, function)(opened, options)
    return _finish(content, options, opened.name, path=opened.name)


def _check_options(options: ReadOptions, kind: str, takes: frozenset[str]) -> None:
    for name in options.given():
        if name not in takes | _OF_ALL:
            raise BadParameter("read_table", name, f"left out for {kind}", getattr(options, name))


def _finish(content: Content, options: ReadOptions, source: str, path: str | None) -> Table:
    """Set the label apart and see that a table is left."""
    frame = content.frame.copy(deep=False)  # the caller's own, perhaps
    warnings = list(content.warnings)
    if options.na:
        frame = mask_missing(frame, options.na, warnings)
    for name in options.text:
        if name not in frame.columns:
            raise _no_column(name, frame, path)
        column = frame[name]
        if not pd.api.types.is_string_dtype(column.dtype):
            frame = frame.assign(**{name: column.astype(str).where(column.notna())})
    label = None
    if options.label is not None:
        values = content.label_values
        if values is None:
            if options.label not in frame.columns:
                raise _no_column(options.label, frame, path)
            values = frame.pop(options.label).to_numpy(dtype=object)
        label = read_label(values, options.label, source=path, place=content.place)
    if frame.shape[0] == 0:
        raise BadFile(path or source, "holds no rows", remedy="check how it was made")
    if frame.shape[1] == 0:
        raise BadFile(path or source, "holds no columns", remedy="a table needs one at least")
    return Table(frame, label, source, tuple(warnings))


def _no_column(name: str, frame: pd.DataFrame, path: str | None) -> BadColumn:
    shown = ", ".join(map(repr, frame.columns[:20])) + (", ..." if frame.shape[1] > 20 else "")
    return BadColumn(name, "is not in the table", path=path, remedy=f"columns are: {shown}")
