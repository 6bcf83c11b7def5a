"""A testbed's folder: NPZ files, the list that ``metaod build --data`` reads, and the manifest."""

import csv
import json
from collections import Counter
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._files import check_plain_file
from metaod.errors import BadFile, UserError
from research.catalogue import shape_text
from research.childsets.recipe import Recipe

_MANIFEST = "manifest.json"
_FORMAT = 1
_LIST = "catalogue.csv"
_LIST_HEADER = ("collection", "name", "samples", "features", "outlier_percent", "origin", "file")

Shape = tuple[int, int, int]
"""Rows, columns and outliers."""

Source = Literal["catalogue", "motherset", "stand-in", "archive", "extra"]
"""A set of the catalogue; a childset of its motherset or of a replacement; a childset of the
original archive; or a file named by the user."""


def shape_of(X: npt.NDArray[Any] | pd.DataFrame, y: npt.NDArray[Any]) -> Shape:
    return int(X.shape[0]), int(X.shape[1]), int(y.sum())


@dataclass(frozen=True)
class Member:
    """A dataset of a testbed.

    Its ``fingerprint`` finds it in a store or in the shipped performance matrix. ``file`` is its
    file in the testbed's folder, None for a set that is not copied there. ``motherset``, ``recipe``
    and ``replicate`` (from 1) describe a childset, ``fold`` is POC's, and ``stands_in_for`` is the
    paper's motherset that this one replaces. ``paper_shape`` is the shape in the paper's table, if
    it has this dataset, and ``must_agree`` whether the shape must be the same.
    """

    name: str
    source: Source
    fingerprint: str
    origin: str
    shape: Shape
    file: str | None = None
    motherset: str | None = None
    recipe: Recipe | None = None
    replicate: int | None = None
    fold: int | None = None
    stands_in_for: str | None = None
    paper_shape: Shape | None = None
    must_agree: bool = False
    note: str = ""

    @property
    def outlier_share(self) -> float:
        """The share of outliers among the rows, from 0 to 1."""
        return self.shape[2] / self.shape[0]

    @property
    def agrees(self) -> bool | None:
        """Whether the shape is the paper's; None if the paper has no such dataset."""
        return None if self.paper_shape is None else self.shape == self.paper_shape

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without empty ones."""
        return {
            key: value
            for key, value in asdict(self).items()
            if value is not None and value is not False and value != ""
        }


@dataclass(frozen=True)
class LeftOut:
    """Datasets of the paper's testbed that are not in this one, and the reason."""

    name: str
    datasets: int
    reason: str


@dataclass(frozen=True)
class Manifest:
    """A testbed's datasets in the paper's order, and how they were made.

    ``childsets`` of a user's own tables are not a testbed of the paper. ``space`` names the models
    that methods may pick: other models of a store are ignored.
    """

    testbed: Literal["poc", "st", "childsets"]
    seed: int
    members: tuple[Member, ...]
    left_out: tuple[LeftOut, ...]
    versions: dict[str, str]
    space: str = "paper"

    @property
    def stand_ins(self) -> dict[str, str]:
        """The replacement of each of the paper's mothersets that is not available."""
        return {
            member.stands_in_for: member.motherset
            for member in self.members
            if member.stands_in_for is not None and member.motherset is not None
        }

    @property
    def n_left_out(self) -> int:
        """How many datasets of the paper's testbed are missing."""
        return sum(item.datasets for item in self.left_out)

    def counts(self) -> dict[str, int]:
        """Count the datasets of each source, and those left out."""
        found = Counter(member.source for member in self.members)
        counts = {source: found[source] for source in get_args(Source) if found[source]}
        return counts | {"left out": self.n_left_out}

    def check_shapes(self) -> list[str]:
        """Return the names of the members that must have the paper's shape, and check it."""
        checked = [member for member in self.members if member.must_agree]
        for member in checked:
            if not member.agrees and member.paper_shape is not None:
                expected = shape_text(*member.paper_shape)
                raise UserError(
                    f"is {shape_text(*member.shape)} where the paper has {expected}",
                    where=member.name,
                    remedy="check that its motherset is complete and unchanged; "
                    "all other datasets are written",
                )
        return [member.name for member in checked]

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder."""
        document = {
            "format": _FORMAT,
            "testbed": self.testbed,
            "seed": self.seed,
            "space": self.space,
            "versions": self.versions,
            "counts": self.counts(),
            "stand_ins": self.stand_ins,
            "left_out": [asdict(item) for item in self.left_out],
            "members": [member.to_dict() for member in self.members],
        }
        text = json.dumps(document, indent=1, ensure_ascii=False)
        (folder / _MANIFEST).write_text(text + "\n", "utf-8")


def read_manifest(path: "str | PathLike[str]") -> Manifest:
    """Read a testbed's manifest from its file or its folder."""
    path = Path(path).expanduser()
    if path.is_dir():
        path = path / _MANIFEST
    remedy = "make the testbed with: python -m research testbed poc|st --out DIR"
    check_plain_file(path, remedy=remedy)
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadFile(path, f"cannot be read ({error.strerror})", remedy=remedy) from error
    except ValueError as error:
        raise BadFile(path, f"is not JSON ({error})", remedy=remedy) from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != _FORMAT:
        raise BadFile(path, f"is not a testbed's manifest of format {_FORMAT}", remedy=remedy)
    try:
        return Manifest(
            document["testbed"],
            document["seed"],
            tuple(_parse_member(record) for record in document["members"]),
            tuple(LeftOut(**record) for record in document["left_out"]),
            document["versions"],
            document.get("space", "paper"),
        )
    except (KeyError, TypeError, ValueError, UserError) as error:
        raise BadFile(path, f"is a damaged manifest ({error})", remedy=remedy) from error


def _parse_member(record: dict[str, Any]) -> Member:
    values = {field.name: record[field.name] for field in fields(Member) if field.name in record}
    if "recipe" in values:
        values["recipe"] = Recipe.from_dict(values["recipe"])
    for key in values.keys() & {"shape", "paper_shape"}:
        rows, columns, outliers = values[key]
        values[key] = (rows, columns, outliers)
    return Member(**values)


class TestbedFolder:
    """The folder that a testbed is written into; created if needed."""

    __test__ = False  # pytest collects classes named Test...

    def __init__(self, path: Path) -> None:
        self.path, remedy = path.expanduser(), "name another folder with --out"
        listed = [name for name in (_LIST, "catalog.csv") if (self.path / name).exists()]
        if listed and not (self.path / _MANIFEST).exists():
            file = self.path / listed[0]
            raise BadFile(file, "is a list of other datasets", remedy=remedy)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot be created ({error.strerror})"
            raise UserError(what, where=str(self.path), remedy=remedy) from error

    def add(self, member: Member, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Member:
        """Write a member's file; the same values give the same bytes."""
        if member.file is None:
            raise AssertionError("a member that is written has a file")
        path = self.path / member.file
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, X=X.astype(np.float64), y=y.astype(np.int8))
        return member

    def finish(self, manifest: Manifest) -> Manifest:
        """Write the list of the files and the manifest."""
        with (self.path / _LIST).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_LIST_HEADER)
            for member in manifest.members:
                if member.file is not None:
                    collection, _, name = member.name.rpartition("/")
                    shape = (*member.shape[:2], f"{100 * member.outlier_share:.4f}")
                    writer.writerow((collection, name, *shape, member.origin, member.file))
        manifest.write(self.path)
        return manifest
