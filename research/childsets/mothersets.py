"""Mothersets: tables with a class or a regression target that childsets are drawn from."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile, BadParameter
from metaod.history import FolderEntry, iter_folder
from metaod.history._datasets import LABELLED_FILE_ENDINGS
from metaod.models import Matrix
from metaod.tables import Table, prepare, read_table
from research.loading import holds_variables

Task = Literal["regression", "binary", "multiclass"]
_TASKS: tuple[Task, ...] = get_args(Task)

_MOST_CLASSES = 30  # integers with more distinct values are a regression target by default


@dataclass(frozen=True)
class Motherset:
    """A numeric table with a target for every row.

    Parameters
    ----------
    name, origin : str
        Its name, and its source, which its childsets share.
    X : numpy.ndarray of shape (n_rows, n_columns)
        Finite numbers.
    y : numpy.ndarray of shape (n_rows,)
        The class, or the regression target.
    task : {"regression", "binary", "multiclass"}
        Kind of the target.
    normal_at_least : float, optional
        Rows whose regression target is at least this are normal, instead of those up to the median.
    note : str
        Remarks.
    """

    name: str
    origin: str
    X: Matrix
    y: npt.NDArray[Any]
    task: Task
    normal_at_least: float | None = None
    note: str = ""

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return f"Motherset({self.name!r}: {n_rows} rows × {n_columns} columns, {self.task})"


@dataclass(frozen=True)
class MothersetEntry:
    """A motherset in a folder, not yet read; without a `task` it is derived from the target."""

    file: FolderEntry
    task: Task | None = None
    note: str = ""

    def load(self, target: str = "y") -> Motherset:
        name, origin = self.file.full_name, self.file.origin
        found = read_motherset(
            self.file.path, target=target, name=name, origin=origin, task=self.task
        )
        return replace(found, note=self.note)


def list_mothersets(folder: "str | PathLike[str]") -> dict[str, MothersetEntry]:
    """List the mothersets of a folder by name; each is read when its ``load()`` is called.

    Parameters
    ----------
    folder : path-like
        A folder as :func:`~metaod.history.iter_folder` reads it; its list may also have a column
        ``task`` (regression, binary, multiclass) and a column ``note``.
    """
    entries = iter_folder(folder)
    remarks = _remarks(Path(folder).expanduser())
    return {
        entry.full_name: MothersetEntry(entry, *remarks.get(entry.name, ())) for entry in entries
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
            name = record.get("name") or LABELLED_FILE_ENDINGS.sub(
                "", Path(record.get("file") or "").name
            )
            given = (record.get("task") or "").strip()
            task = next((task for task in _TASKS if task == given), None)
            if given and task is None:
                raise BadFile(
                    found[0],
                    f"{given!r} is not a task",
                    line=reader.line_num,
                    column="task",
                    remedy=f"write one of {', '.join(_TASKS)}, or leave it empty",
                )
            remarks[name.strip()] = (task, (record.get("note") or "").strip())
    return remarks


def read_mothersets(
    source: Path,
    *,
    target: str = "y",
    task: str | None = None,
    normal_at_least: float | None = None,
    only: Sequence[str] = (),
) -> Iterator[Motherset]:
    """Read one table, or the mothersets of a folder.

    Parameters
    ----------
    source : Path
        A table, or a folder as :func:`list_mothersets` reads it.
    target, task, normal_at_least
        As for :func:`read_motherset`; a folder's tasks are those of its list.
    only : sequence of str
        Names of mothersets of the folder; by default all. ``synthetic`` is generated if the folder
        does not have it.
    """
    if not source.expanduser().is_dir():
        yield read_motherset(source, target=target, task=task, normal_at_least=normal_at_least)
        return
    listed = list_mothersets(source)
    for name in only or listed:
        if name in listed:
            motherset = listed[name].load(target)
        elif name == "synthetic":
            motherset = make_synthetic()
        else:
            raise BadParameter("read_mothersets", "only", list(listed), name)
        yield replace(motherset, normal_at_least=normal_at_least)


def read_motherset(
    path: "str | PathLike[str]",
    *,
    target: str = "y",
    name: str | None = None,
    origin: str | None = None,
    task: str | None = None,
    normal_at_least: float | None = None,
) -> Motherset:
    """Read a table with a class or a regression target.

    Text, dates and missing values are prepared by :func:`~metaod.tables.prepare`; a table of
    finite numbers stays unchanged.

    Parameters
    ----------
    path : path-like
        A file of any kind that MetaOD reads.
    target : str, default="y"
        The target's column, or variable in a file of variables.
    name, origin : str, optional
        By default the file's name without its suffix.
    task : {"regression", "binary", "multiclass"}, optional
        By default derived from the target: text and few distinct integers are classes, other
        numbers a regression target.
    normal_at_least : float, optional
        Rows whose regression target is at least this are normal, instead of those up to the median.
    """
    path = Path(path).expanduser()
    if task is not None and task not in _TASKS:
        raise BadParameter("read_motherset", "task", _TASKS, task)
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
        remedy = f"name the target; columns: {shown}"
        raise BadColumn(target, "is not in the table", path=path, remedy=remedy)
    if frame.shape[1] == 0:
        raise BadFile(path, "has no column beside the target", remedy="a table needs one at least")
    y, kind = _target(values, task, path, target)
    if normal_at_least is not None and kind != "regression":
        legal = "left out where the target is a class"
        raise BadParameter("read_motherset", "normal_at_least", legal, kind)
    name = name or LABELLED_FILE_ENDINGS.sub("", path.name)
    return Motherset(name, origin or name, _numbers(frame), y, kind, normal_at_least)


def _target(
    values: "pd.Series[Any]", task: str | None, path: Path, name: str
) -> tuple[npt.NDArray[Any], Task]:
    if values.isna().any():
        what = f"row {int(np.argmax(values.isna().to_numpy())) + 1}: the target is missing"
        raise BadColumn(name, what, path=path, remedy="fill it in or remove it")
    is_numeric = pd.api.types.is_numeric_dtype(values.dtype)
    n_values = int(values.nunique())
    if n_values < 2:
        raise BadColumn(name, "has one value only", path=path, remedy="a target needs two")
    if task == "regression" or (task is None and is_numeric and not _is_class(values)):
        if not is_numeric:
            remedy = "give a numeric target or another task"
            raise BadColumn(name, "is not numeric", path=path, remedy=remedy)
        return values.to_numpy(dtype=np.float64), "regression"
    return pd.factorize(values, sort=True)[0], "binary" if n_values == 2 else "multiclass"


def _is_class(values: "pd.Series[Any]") -> bool:
    numbers = values.to_numpy(dtype=np.float64)
    return bool((numbers == np.floor(numbers)).all()) and values.nunique() <= _MOST_CLASSES


def _numbers(frame: pd.DataFrame) -> Matrix:
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes):
        X = frame.to_numpy(dtype=np.float64)
        if np.isfinite(X).all():
            return X
    return prepare(Table(frame, typed=True)).X


def make_synthetic(
    *, n_normal: int = 4_000, n_anomalous: int = 2_000, n_columns: int = 10, seed: int = 0
) -> Motherset:
    """Make the motherset ``synthetic``.

    Emmott et al. have one with ten columns, but do not describe how it is drawn; this one is ours.
    Normal rows come from three Gaussian clusters. An anomalous row comes from one of the same
    clusters and is moved by 0 to 6 standard deviations in a random direction: some are far from
    every cluster, some lie among the normal rows.

    Examples
    --------
    >>> make_synthetic()
    Motherset('synthetic': 6000 rows × 10 columns, binary)
    """
    rng = np.random.default_rng(seed)
    n_rows = n_normal + n_anomalous
    centres = rng.normal(scale=3.0, size=(3, n_columns))
    X = centres[rng.integers(3, size=n_rows)] + rng.normal(size=(n_rows, n_columns))
    directions = rng.normal(size=(n_anomalous, n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X[n_normal:] += rng.uniform(0.0, 6.0, size=(n_anomalous, 1)) * directions
    y = np.repeat([0, 1], [n_normal, n_anomalous])
    return Motherset("synthetic", "synthetic", X, y, "binary", note="generated")
