"""Labelled datasets: one file, or a folder of files with or without a list."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._files import expanded
from metaod.errors import BadColumn, BadFile
from metaod.history._fingerprint import fingerprint
from metaod.tables import Roles, Table, read_table

LABELLED_FILE_ENDINGS = re.compile(
    r"\.(?i:npz|mat|h5|hdf5|parquet|pq|xlsx|(?:arff|csv|tsv)(?:\.gz)?)$"
)
"""Endings of files that can hold a labelled table; other text files may be notes."""

_LIST_NAMES = ("catalogue.csv", "catalog.csv")


@dataclass(frozen=True)
class LabelledDataset:
    """A dataset with its labels, as read from a file.

    Parameters
    ----------
    name : str
        Its name, ``collection/name`` for a catalogued set.
    X : pandas.DataFrame
        The columns as read, before any preparation.
    y : numpy.ndarray of int8
        1 for an outlier, 0 otherwise.
    origin : str
        Datasets that come from one source share it.
    fingerprint : str
        Of X and y; see :func:`~metaod.history.fingerprint`.
    path : Path
        The file it was read from.
    verified : bool, default=False
        Whether the catalogue of public datasets has this fingerprint for this name.
    """

    name: str
    X: pd.DataFrame
    y: npt.NDArray[np.int8]
    origin: str
    fingerprint: str
    path: Path
    verified: bool = False

    @property
    def table(self) -> Table:
        """The dataset as a table, ready for preparation."""
        return Table(self.X, self.y, source=str(self.path), typed=True)

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return (
            f"LabelledDataset({self.name!r}: {n_rows:,} rows × {n_columns:,} columns, "
            f"{int(self.y.sum())} outliers)"
        )


def read_labelled(
    path: Path,
    *,
    name: str,
    origin: str,
    labels: tuple[str, ...] = ("y",),
    drop: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
) -> LabelledDataset:
    """Read a labelled file.

    Parameters
    ----------
    path : Path
        A file of columns, or of variables such as X and y.
    name, origin : str
        The dataset's name and origin.
    labels : tuple of str
        Possible names of the label; the first that exists is used.
    drop : tuple of str
        Columns that are not part of X, if the table has them; case is ignored.
    ignore : tuple of str
        Columns that are not part of X; a name that the table does not have is an error.
    """
    roles = Roles(ignore=ignore)
    table = _read_first(path, labels, roles)
    roles.check_names(list(map(str, table.frame.columns)), str(path))
    if table.label is None:
        raise AssertionError("a label was named, so the table has one")
    unwanted = {column.casefold() for column in drop}
    kept = [
        str(column).casefold() not in unwanted and column not in ignore
        for column in table.frame.columns
    ]
    X = table.frame.loc[:, kept]
    return LabelledDataset(name, X, table.label, origin, fingerprint(X, table.label), path)


def _read_first(path: Path, labels: tuple[str, ...], roles: Roles) -> Table:
    errors = []
    for label in labels:
        try:
            return read_table(path, label=label, unused=roles.is_unused)
        except BadColumn as error:
            errors.append(error)
    raise errors[0]


@dataclass(frozen=True)
class FolderEntry:
    """A labelled dataset in a folder, not yet read.

    Parameters
    ----------
    name : str
        Its name, unique within its collection.
    path : Path
        Its file.
    collection : str
        The group of datasets it belongs to, empty if there is none.
    origin : str
        Datasets that come from one source share it; a fair split does not separate them.
    label : str
        The label's column or variable.
    rows, columns : int or None
        The shape given in the list.
    source, licence : str
        As given in the list, else empty.
    ignore : tuple of str
        Columns that are left out, as given in the list.
    """

    name: str
    path: Path
    collection: str
    origin: str
    label: str = "y"
    rows: int | None = None
    columns: int | None = None
    source: str = ""
    licence: str = ""
    ignore: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``collection/name``, or the name alone."""
        return f"{self.collection}/{self.name}" if self.collection else self.name

    def load(self) -> LabelledDataset:
        """Read the file, and check that it has the shape given in the list."""
        name, labels = self.full_name, (self.label,)
        dataset = read_labelled(
            self.path, name=name, origin=self.origin, labels=labels, ignore=self.ignore
        )
        n_rows, n_columns = dataset.X.shape
        if self.rows not in (None, n_rows) or self.columns not in (None, n_columns):
            listed = f"{self.rows or '?'} × {self.columns or '?'}"
            what = f"has {n_rows} × {n_columns} values, not {listed} as in the list"
            raise BadFile(self.path, what, remedy="correct the list, or replace the file")
        return dataset


def iter_folder(path: "str | PathLike[str]", *, label: str = "y") -> list[FolderEntry]:
    """List the labelled datasets of a folder; each is read when its ``load()`` is called.

    Parameters
    ----------
    path : path-like
        The folder, or a CSV file that lists datasets. A ``catalogue.csv`` in the folder is such
        a list: one dataset a line, under a header with ``file``, or with ``name`` and optionally
        ``collection``, which mean the file ``collection/name.ext``. The columns ``origin``,
        ``label``, ``samples``, ``features``, ``source``, ``licence`` and ``ignore`` (columns to
        leave out, separated by semicolons) are optional. Without a list, every file of a format
        that can hold a labelled table is a dataset: its folder is its collection and its name its
        origin.
    label : str, default="y"
        The label's column, or variable in a file of variables, unless the list names another.

    Returns
    -------
    list of FolderEntry
        In the list's order, or by path.
    """
    folder = expanded(path)
    lists = [folder / name for name in _LIST_NAMES if (folder / name).is_file()]
    if folder.is_file() and folder.suffix.lower() == ".csv":
        folder, lists = folder.parent, [folder]
    if not folder.is_dir():
        remedy = "name one of these"
        raise BadFile(folder, "is neither a folder nor a list of datasets", remedy=remedy)
    numbered = _listed(lists[0], label) if lists else _unlisted(folder, label)
    entries: dict[str, FolderEntry] = {}
    for line, entry in numbered:
        other = entries.setdefault(entry.full_name, entry)
        if other is not entry:
            what = f"{entry.full_name} is also the name of {other.path}"
            remedy = "give each dataset another name"
            raise BadFile(lists[0] if lists else entry.path, what, line=line, remedy=remedy)
    if not entries:
        remedy = "add files such as name.csv or name.npz, with a label"
        raise BadFile(lists[0] if lists else folder, "has no datasets", remedy=remedy)
    return list(entries.values())


def _unlisted(folder: Path, label: str) -> Iterator[tuple[None, FolderEntry]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if not hidden and LABELLED_FILE_ENDINGS.search(path.name) and path.is_file():
            name = LABELLED_FILE_ENDINGS.sub("", path.name)
            collection = "" if inside.parent == Path() else inside.parent.as_posix()
            yield None, FolderEntry(name, path, collection, origin=name, label=label)


def _listed(path: Path, label: str) -> Iterator[tuple[int, FolderEntry]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = reader.fieldnames or []
            if not {"file", "name"} & set(header):
                remedy = "add one of them"
                raise BadFile(path, "has neither a column 'file' nor 'name'", line=1, remedy=remedy)
            for record in reader:
                yield reader.line_num, _entry_of(record, path, reader.line_num, label)
    except UnicodeDecodeError as error:
        raise BadFile(path, "is not UTF-8 text", remedy="save it as UTF-8") from error
    except csv.Error as error:
        raise BadFile(path, f"is not valid CSV ({error})", line=reader.reader.line_num) from error


def _entry_of(record: dict[str, str], path: Path, line: int, label: str) -> FolderEntry:
    # csv gives a short line None values, and a long one's rest under the key None
    if None in record or None in record.values():
        remedy = "correct the line, with quotes around a comma inside a field"
        raise BadFile(path, "another number of fields than in the header", line=line, remedy=remedy)
    fields = {key: value.strip() for key, value in record.items()}
    collection, name = fields.get("collection", ""), fields.get("name", "")
    file = _file_of(fields.get("file", ""), collection, name, path, line)
    name = name or LABELLED_FILE_ENDINGS.sub("", file.name)
    return FolderEntry(
        name,
        file,
        collection,
        origin=fields.get("origin") or name,
        label=fields.get("label") or label,
        rows=_count(fields, "samples", path, line),
        columns=_count(fields, "features", path, line),
        source=fields.get("source", ""),
        licence=fields.get("licence", ""),
        ignore=tuple(filter(None, map(str.strip, fields.get("ignore", "").split(";")))),
    )


def _file_of(file: str, collection: str, name: str, path: Path, line: int) -> Path:
    folder = path.parent
    if file:
        if Path(file).is_absolute() or ".." in Path(file).parts:
            raise BadFile(path, f"{file} is outside the folder", line=line, remedy="move it inside")
        found = [folder / file]
    elif name:
        files = sorted((folder / collection).glob("*"))
        found = [item for item in files if LABELLED_FILE_ENDINGS.sub("", item.name) == name]
    else:
        raise BadFile(path, "names no file", line=line, remedy="fill in 'file' or 'name'")
    if len(found) > 1:
        names = " and ".join(item.name for item in found)
        remedy = "name the file under 'file'"
        raise BadFile(path, f"{name} may be {names}", line=line, remedy=remedy)
    if not found or not found[0].is_file():
        remedy = "add the file, or remove the line"
        raise BadFile(path, f"there is no file {file or name}", line=line, remedy=remedy)
    return found[0]


def _count(fields: dict[str, str], column: str, path: Path, line: int) -> int | None:
    text = fields.get(column, "")
    if not text:
        return None
    if not text.isdecimal():
        what = f"{text!r} is not a number of {column}"
        remedy = "write a whole number, or leave it empty"
        raise BadFile(path, what, line=line, column=column, remedy=remedy)
    return int(text)
