"""Mothersets: tables with a class or a regression target that childsets are drawn from."""

import csv
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile, BadParameter
from metaod.history import ENDING, FolderEntry, holds_variables, iter_folder
from metaod.tables import prepare, read_table

__all__ = ["TASKS", "Motherset", "MothersetEntry", "Task", "list_mothersets", "read_motherset"]

Task = Literal["regression", "binary", "multiclass"]
TASKS: tuple[Task, ...] = get_args(Task)

#: Whole numbers with more distinct values than this are a regression target unless told.
_MOST_CLASSES = 30


@dataclass(frozen=True)
class Motherset:
    """A table of numbers with a target for every row.

    Parameters
    ----------
    name, origin : str
        What it is called, and where it comes from; its childsets share the origin.
    X : numpy.ndarray of shape (n_rows, n_columns)
        Finite numbers.
    y : numpy.ndarray of shape (n_rows,)
        The class, or the regression target.
    task : {"regression", "binary", "multiclass"}
        What the target is.
    normal_at_least : float, optional
        A regression target from here on is normal, instead of up to the median.
    note : str
        What else there is to know.
    """

    name: str
    origin: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    task: Task
    normal_at_least: float | None = None
    note: str = ""

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return f"Motherset({self.name!r}: {n_rows} rows × {n_columns} columns, {self.task})"


@dataclass(frozen=True)
class MothersetEntry:
    """A motherset in a folder, not yet read.

    Parameters
    ----------
    file : FolderEntry
        Its name, origin and file.
    task : {"regression", "binary", "multiclass"} or None
        What the list says of its target; None to look at the target.
    note : str
        What the list notes.
    """

    file: FolderEntry
    task: Task | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """Its name, as the list has it."""
        return self.file.full_name

    @property
    def origin(self) -> str:
        """Where it comes from."""
        return self.file.origin

    def load(self, target: str = "y") -> Motherset:
        """Read the file."""
        motherset = read_motherset(
            self.file.path, target=target, name=self.name, origin=self.origin, task=self.task
        )
        return replace(motherset, note=self.note)


def list_mothersets(folder: "str | PathLike[str]") -> dict[str, MothersetEntry]:
    """List the mothersets of a folder by name; each is read when its ``load()`` is called.

    Parameters
    ----------
    folder : path-like
        A folder as :func:`~metaod.history.iter_folder` reads it; its list may have a column
        ``task`` (regression, binary, multiclass) and a column ``note`` besides.
    """
    entries = iter_folder(folder)
    remarks = _remarks(Path(folder).expanduser())
    return {
        entry.full_name: MothersetEntry(entry, *remarks.get(entry.name, (None, "")))
        for entry in entries
    }


def _remarks(folder: Path) -> dict[str, tuple[Task | None, str]]:
    lists = [folder / name for name in ("catalogue.csv", "catalog.csv")]
    found = [path for path in (folder, *lists) if path.is_file()]
    if not found:
        return {}
    remarks: dict[str, tuple[Task | None, str]] = {}
    with found[0].open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        for record in reader:
            name = record.get("name") or ENDING.sub("", Path(record.get("file") or "").name)
            given = (record.get("task") or "").strip()
            task = next((task for task in TASKS if task == given), None)
            if given and task is None:
                raise BadFile(
                    found[0],
                    f"{given!r} is no task",
                    line=reader.line_num,
                    column="task",
                    remedy=f"it is one of {', '.join(TASKS)}, or empty",
                )
            remarks[name.strip()] = (task, (record.get("note") or "").strip())
    return remarks


def read_motherset(
    path: "str | PathLike[str]",
    *,
    target: str = "y",
    name: str | None = None,
    origin: str | None = None,
    task: Task | None = None,
    normal_at_least: float | None = None,
) -> Motherset:
    """Read a table with a class or a regression target.

    Parameters
    ----------
    path : path-like
        A file of any kind that MetaOD reads.
    target : str, default="y"
        The target's column, or variable in a file of variables.
    name, origin : str, optional
        By default the file's name without its ending.
    task : {"regression", "binary", "multiclass"}, optional
        By default looked at: text and few whole numbers are classes, other numbers a regression
        target.
    normal_at_least : float, optional
        A regression target from here on is normal, instead of up to the median.

    Returns
    -------
    Motherset
        Numbers as they are; where the table has text, dates or missing values, it is prepared as
        any table is, see :func:`~metaod.tables.prepare`.
    """
    path = Path(path).expanduser()
    if task is not None and task not in TASKS:
        raise BadParameter("read_motherset", "task", TASKS, task)
    frame = read_table(path).frame
    if holds_variables(path) and target not in frame.columns:
        values = read_table(path, variable=target).frame.iloc[:, 0]
        if len(values) != len(frame):
            raise BadFile(
                path,
                f"the target {target!r} has {len(values):,} values for {len(frame):,} rows",
                remedy="name a target with one value a row",
            )
    elif target in frame.columns:
        values = frame[target]
        frame = frame.drop(columns=target)
    else:
        shown = ", ".join(repr(str(column)) for column in frame.columns[:20])
        raise BadColumn(
            target, "is not in the table", path=path, remedy=f"name the target; columns: {shown}"
        )
    if frame.shape[1] == 0:
        raise BadFile(path, "has no column beside the target", remedy="a table needs one at least")
    y, task = _target(values, task, path, target)
    if normal_at_least is not None and task != "regression":
        raise BadParameter(
            "read_motherset", "normal_at_least", "left out where the target is a class", task
        )
    stem = ENDING.sub("", path.name)
    X = _numbers(frame)
    return Motherset(name or stem, origin or name or stem, X, y, task, normal_at_least)


def _target(
    values: "pd.Series[Any]", task: Task | None, path: Path, name: str
) -> tuple[npt.NDArray[Any], Task]:
    if values.isna().any():
        row = int(np.argmax(values.isna().to_numpy())) + 1
        raise BadColumn(
            name, f"row {row}: the target is missing", path=path, remedy="fill it in or remove it"
        )
    is_numeric = pd.api.types.is_numeric_dtype(values.dtype)
    n_values = int(values.nunique())
    if n_values < 2:
        raise BadColumn(name, "has one value only", path=path, remedy="a target needs two")
    if task == "regression" or (task is None and is_numeric and not _few_whole(values)):
        if not is_numeric:
            raise BadColumn(
                name, "is no number", path=path, remedy="a regression target is one, or say a class"
            )
        return values.to_numpy(dtype=np.float64), "regression"
    codes, _ = pd.factorize(values, sort=True)
    return codes, "binary" if n_values == 2 else "multiclass"


def _few_whole(values: "pd.Series[Any]") -> bool:
    numbers = values.to_numpy(dtype=np.float64)
    return bool((numbers == np.floor(numbers)).all()) and values.nunique() <= _MOST_CLASSES


def _numbers(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes):
        X = frame.to_numpy(dtype=np.float64)
        if np.isfinite(X).all():
            return X
    return prepare(frame).X
