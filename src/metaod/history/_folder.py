"""A folder of labelled datasets of the user's own, with or without a list of what is in it."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from metaod.errors import BadFile
from metaod.history._labelled import ENDING, LabelledDataset, read_labelled

__all__ = ["FolderEntry", "iter_folder"]

#: What the list of a folder's datasets may be called.
_LISTS = ("catalogue.csv", "catalog.csv")


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
        Datasets that come from one source share it; a fair split keeps them on one side.
    in_st : bool
        Whether the list says that it belongs to the paper's ST testbed.
    label : str
        The label's column or variable.
    rows, columns : int or None
        The shape that the list promises.
    source, licence : str
        What the list says of them, empty if nothing.
    """

    name: str
    path: Path
    collection: str
    origin: str
    in_st: bool = False
    label: str = "y"
    rows: int | None = None
    columns: int | None = None
    source: str = ""
    licence: str = ""

    @property
    def full_name(self) -> str:
        """``collection/name``, or the name alone."""
        return f"{self.collection}/{self.name}" if self.collection else self.name

    def load(self) -> LabelledDataset:
        """Read the file, and check that it has the shape that the list promises."""
        dataset = read_labelled(
            self.path, name=self.full_name, origin=self.origin, labels=(self.label,)
        )
        n_rows, n_columns = dataset.X.shape
        if self.rows not in (None, n_rows) or self.columns not in (None, n_columns):
            raise BadFile(
                self.path,
                f"has {n_rows} × {n_columns} values where the list says "
                f"{self.rows or '?'} × {self.columns or '?'}",
                remedy="mend the list, or put the right file there",
            )
        return dataset


def iter_folder(path: "str | PathLike[str]", *, label: str = "y") -> list[FolderEntry]:
    """List the labelled datasets of a folder; each is read when its ``load()`` is called.

    Parameters
    ----------
    path : path-like
        The folder, or a list as follows in a CSV file of any name. A ``catalogue.csv`` in the
        folder lists the datasets, one a line, under a header with ``file``, or ``name`` and
        perhaps ``collection``, which then give ``collection/name.ext``. ``origin``, ``samples``,
        ``features``, ``source``, ``licence`` and ``in_paper_st_table`` (yes or no) are heeded
        where they are there. Without a list, every file of a kind that can hold a labelled
        table is a dataset: its folder is its collection and its name its origin.
    label : str, default="y"
        The label's column, or variable in a file of variables.

    Returns
    -------
    list of FolderEntry
        In the list's order, or by path.
    """
    folder = Path(path).expanduser()
    lists = [folder / name for name in _LISTS if (folder / name).is_file()]
    if folder.is_file() and folder.suffix.lower() == ".csv":
        folder, lists = folder.parent, [folder]
    if not folder.is_dir():
        raise BadFile(
            folder, "is no folder, nor a list of datasets", remedy="name the one or the other"
        )
    numbered = _listed(lists[0], label) if lists else _unlisted(folder, label)
    entries: dict[str, FolderEntry] = {}
    for line, entry in numbered:
        other = entries.setdefault(entry.full_name, entry)
        if other is not entry:
            raise BadFile(
                lists[0] if lists else entry.path,
                f"{entry.full_name} is also the name of {other.path}",
                line=line,
                remedy="give each dataset a name of its own",
            )
    if not entries:
        raise BadFile(
            lists[0] if lists else folder,
            "has no dataset",
            remedy="add files such as name.csv or name.npz, with a label",
        )
    return list(entries.values())


def _unlisted(folder: Path, label: str) -> Iterator[tuple[None, FolderEntry]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if not hidden and ENDING.search(path.name) and path.is_file():
            name = ENDING.sub("", path.name)
            collection = "" if inside.parent == Path() else inside.parent.as_posix()
            yield None, FolderEntry(name, path, collection, origin=name, label=label)


def _listed(path: Path, label: str) -> Iterator[tuple[int, FolderEntry]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = reader.fieldnames or []
            if not {"file", "name"} & set(header):
                raise BadFile(
                    path, "has neither a column 'file' nor 'name'", line=1, remedy="add one of them"
                )
            for record in reader:
                yield reader.line_num, _entry_of(record, path, reader.line_num, label)
    except UnicodeDecodeError as error:
        raise BadFile(path, "is not UTF-8 text", remedy="save it as UTF-8") from error
    except csv.Error as error:
        raise BadFile(path, f"is no proper CSV ({error})", line=reader.reader.line_num) from error


def _entry_of(record: dict[str, str], path: Path, line: int, label: str) -> FolderEntry:
    # csv gives a short line None values, and a long one's rest under the key None
    if None in record or None in record.values():
        raise BadFile(
            path,
            "another number of fields than in the header",
            line=line,
            remedy="mend the line, with quotes around a comma inside a field",
        )
    given = {key: value.strip() for key, value in record.items()}
    collection, name = given.get("collection", ""), given.get("name", "")
    file = _file_of(given.get("file", ""), collection, name, path, line)
    name = name or ENDING.sub("", file.name)
    return FolderEntry(
        name,
        file,
        collection,
        origin=given.get("origin") or name,
        in_st=given.get("in_paper_st_table", "").lower() in ("yes", "true", "1"),
        label=label,
        rows=_count(given, "samples", path, line),
        columns=_count(given, "features", path, line),
        source=given.get("source", ""),
        licence=given.get("licence", ""),
    )


def _file_of(file: str, collection: str, name: str, path: Path, line: int) -> Path:
    folder = path.parent
    if file:
        if Path(file).is_absolute() or ".." in Path(file).parts:
            raise BadFile(path, f"{file} is outside the folder", line=line, remedy="move it inside")
        found = [folder / file]
    elif name:
        place = folder / collection
        found = [item for item in sorted(place.glob("*")) if ENDING.sub("", item.name) == name]
    else:
        raise BadFile(path, "names no file", line=line, remedy="fill in 'file' or 'name'")
    if len(found) > 1:
        names = " and ".join(item.name for item in found)
        raise BadFile(path, f"{name} may be {names}", line=line, remedy="say which under 'file'")
    if not found or not found[0].is_file():
        raise BadFile(
            path,
            f"there is no file {file or name}",
            line=line,
            remedy="add the file, or take the line out",
        )
    return found[0]


def _count(given: dict[str, str], column: str, path: Path, line: int) -> int | None:
    text = given.get(column, "")
    if not text:
        return None
    if not text.isdecimal():
        raise BadFile(
            path,
            f"{text!r} is no number of {column}",
            line=line,
            column=column,
            remedy="write a whole number, or leave it empty",
        )
    return int(text)
