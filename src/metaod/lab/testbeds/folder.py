"""A testbed's folder: NPZ files, and the list by which ``metaod build --data`` reads them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadFile, UserError
from metaod.lab.testbeds.manifest import MANIFEST, Manifest, Member

__all__ = ["TestbedFolder", "write_list"]

_LIST = "catalogue.csv"
_HEADER = ("collection", "name", "samples", "features", "outlier_percent", "origin", "file")


class TestbedFolder:
    """The folder that a testbed is written into.

    Parameters
    ----------
    path : Path
        Created if it is not there. A folder that holds a list of other datasets is refused.
    """

    __test__ = False  # its name starts like a test's

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        listed = [name for name in (_LIST, "catalog.csv") if (self.path / name).exists()]
        if listed and not (self.path / MANIFEST).exists():
            raise BadFile(
                self.path / listed[0],
                "is a list of other datasets",
                remedy="name a folder of its own with --out",
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot be created ({error.strerror})",
                where=str(self.path),
                remedy="name another folder with --out",
            ) from error

    def add(self, member: Member, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Member:
        """Write a dataset's file, whose name the member has."""
        if member.file is None:
            raise AssertionError("a member that is written has a file")
        write_npz(self.path / member.file, X, y)
        return member

    def finish(self, manifest: Manifest) -> None:
        """Write the list and the manifest."""
        write_list(self.path, manifest.members)
        manifest.write(self.path)


def write_npz(path: Path, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Write X and y; the same values give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, X=X.astype(np.float64), y=y.astype(np.int8))


def write_list(folder: Path, members: tuple[Member, ...]) -> None:
    """Write the list of the files in a folder."""
    with (folder / _LIST).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        for member in members:
            if member.file is not None:
                collection, _, name = member.name.rpartition("/")
                shape = (*member.shape[:2], f"{100 * member.outlier_share:.4f}")
                writer.writerow((collection, name, *shape, member.origin, member.file))
