"""A dataset with its labels, as read from a file."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn
from metaod.history._fingerprinting import fingerprint
from metaod.tables import Table, read_table

__all__ = ["ENDING", "LabelledDataset", "holds_variables", "read_labelled"]

#: Endings of files that can hold a labelled table. Other text may be a table or may be a note.
ENDING = re.compile(r"\.(?i:npz|mat|h5|hdf5|parquet|pq|xlsx|(?:arff|csv|tsv)(?:\.gz)?)$")


def holds_variables(path: Path) -> bool:
    """Whether a file, by its name, holds variables such as X and y instead of columns."""
    return path.suffix.lower() in (".npz", ".mat", ".h5", ".hdf5")


@dataclass(frozen=True)
class LabelledDataset:
    """A dataset with its labels, as read.

    Parameters
    ----------
    name : str
        Its name, ``collection/name`` for a catalogued set.
    X : pandas.DataFrame
        The columns as they came, before any preparation.
    y : numpy.ndarray of int8
        1 for an outlier, 0 otherwise.
    origin : str
        Datasets that come from one source share it.
    fingerprint : str
        Of X and y; see :func:`~metaod.history.fingerprint`.
    path : Path
        The file it was read from.
    entry : metaod.lab.CatalogueEntry or None
        The catalogue's entry, for a catalogued set.
    """

    name: str
    X: pd.DataFrame
    y: npt.NDArray[np.int8]
    origin: str
    fingerprint: str
    path: Path
    entry: Any = None

    @property
    def table(self) -> Table:
        """The same as a table, ready for preparation."""
        return Table(self.X, self.y, source=str(self.path), typed=True)

    @property
    def verified(self) -> bool:
        """Whether the catalogue has a fingerprint of this set, and this is it."""
        return self.entry is not None and self.entry.fingerprint == self.fingerprint

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return (
            f"LabelledDataset({self.name!r}: {n_rows} rows × {n_columns} columns, "
            f"{int(self.y.sum())} outliers)"
        )


def read_labelled(
    path: Path,
    *,
    name: str,
    origin: str,
    labels: tuple[str, ...] = ("y",),
    drop: tuple[str, ...] = (),
) -> LabelledDataset:
    """Read a labelled file.

    Parameters
    ----------
    path : Path
        A file of columns, or of variables such as X and y.
    name, origin : str
        What to call the dataset, and where it comes from.
    labels : tuple of str
        What the label may be called; the first that is there is taken.
    drop : tuple of str
        Columns that are no part of X, in upper or lower case.
    """
    table = _read_first(path, labels)
    if table.label is None:
        raise AssertionError("a label was named, so the table has one")
    unwanted = {column.casefold() for column in drop}
    kept = [str(column).casefold() not in unwanted for column in table.frame.columns]
    X = table.frame.loc[:, kept]
    return LabelledDataset(name, X, table.label, origin, fingerprint(X, table.label), path)


def _read_first(path: Path, labels: tuple[str, ...]) -> Table:
    errors = []
    for label in labels:
        try:
            return read_table(path, label=label)
        except BadColumn as error:
            errors.append(error)
    raise errors[0]
