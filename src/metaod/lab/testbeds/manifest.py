"""What is in a testbed, in one file: every dataset by fingerprint, and what is not in it."""

import json
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy.typing as npt
import pandas as pd

from metaod.errors import BadFile, UserError
from metaod.lab.childsets.recipe import Recipe

__all__ = [
    "MANIFEST",
    "LeftOut",
    "Manifest",
    "Member",
    "Shape",
    "Source",
    "read_manifest",
    "shape_of",
]

#: The file's name in a testbed's folder.
MANIFEST = "manifest.json"

_FORMAT = 1

#: Rows, columns and outliers.
Shape = tuple[int, int, int]

Source = Literal["catalogue", "motherset", "stand-in", "archive", "extra"]


def shape_of(X: npt.NDArray[Any] | pd.DataFrame, y: npt.NDArray[Any]) -> Shape:
    """Count rows, columns and outliers."""
    return int(X.shape[0]), int(X.shape[1]), int(y.sum())


@dataclass(frozen=True)
class Member:
    """A dataset of a testbed.

    Parameters
    ----------
    name : str
        ``collection/name``, as a store has it.
    source : {"catalogue", "motherset", "stand-in", "archive", "extra"}
        A set of the catalogue; a childset of its own motherset or of one that stands in for it;
        a childset of the original archive; or a file that the user pointed to.
    fingerprint : str
        Of X and y: its row in a store or in the shipped performance matrix.
    origin : str
        Where it comes from; a childset's is its motherset's.
    shape : tuple of int
        Rows, columns and outliers.
    file : str, optional
        Its file in the testbed's folder; None for a set that is not copied there.
    motherset : str, optional
        A childset's motherset.
    recipe : Recipe, optional
        A childset's setting.
    replicate : int, optional
        Which of the siblings, from 1.
    fold : int, optional
        POC's fold, from 1.
    stands_in_for : str, optional
        The paper's motherset whose place this one's takes.
    paper_shape : tuple of int, optional
        Rows, columns and outliers in the paper's table, where it has this dataset.
    must_agree : bool
        Whether the shape must be the paper's.
    note : str
        What else there is to know.
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
        """Whether the shape is the paper's; None where the paper has no such dataset."""
        return None if self.paper_shape is None else self.shape == self.paper_shape

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without what is not there."""
        values = asdict(replace(self, recipe=None))
        values["recipe"] = None if self.recipe is None else self.recipe.to_dict()
        return {
            key: value
            for key, value in values.items()
            if value is not None and value is not False and value != ""
        }


@dataclass(frozen=True)
class LeftOut:
    """A dataset of the paper's testbed that is not in this one.

    Parameters
    ----------
    name : str
        The paper's name for it.
    datasets : int
        How many datasets are missing for it.
    reason : str
        Why, and what would mend it.
    """

    name: str
    datasets: int
    reason: str


@dataclass(frozen=True)
class Manifest:
    """A testbed's datasets, and how they came about.

    Parameters
    ----------
    testbed : {"poc", "st", "childsets"}
        Which one; childsets of one's own tables are no testbed of the paper's.
    seed : int
        Of the childsets.
    members : tuple of Member
        The datasets, in the paper's order.
    left_out : tuple of LeftOut
        What the paper's testbed has and this one has not.
    versions : dict
        Of what made the childsets.
    """

    testbed: Literal["poc", "st", "childsets"]
    seed: int
    members: tuple[Member, ...]
    left_out: tuple[LeftOut, ...]
    versions: dict[str, str]

    @property
    def stand_ins(self) -> dict[str, str]:
        """By the paper's motherset, what stands in for it."""
        return {
            member.stands_in_for: member.motherset
            for member in self.members
            if member.stands_in_for is not None and member.motherset is not None
        }

    def counts(self) -> dict[str, int]:
        """How many datasets there are of each source, and how many are left out."""
        found = Counter(member.source for member in self.members)
        return {source: found[source] for source in get_args(Source) if found[source]} | {
            "left out": sum(item.datasets for item in self.left_out)
        }

    def write(self, folder: Path) -> Path:
        """Write the manifest into a folder."""
        document = {
            "format": _FORMAT,
            "testbed": self.testbed,
            "seed": self.seed,
            "versions": self.versions,
            "counts": self.counts(),
            "stand_ins": self.stand_ins,
            "left_out": [asdict(item) for item in self.left_out],
            "members": [member.to_dict() for member in self.members],
        }
        path = folder / MANIFEST
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return path


def read_manifest(path: "str | PathLike[str]") -> Manifest:
    """Read a testbed's manifest.

    Parameters
    ----------
    path : path-like
        The file, or the testbed's folder.

    Raises
    ------
    BadFile
        If it is not there or is no manifest that this version reads.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        path = path / MANIFEST
    remedy = "make the testbed with: metaod testbed poc|st --out DIR"
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadFile(path, f"cannot be read ({error.strerror})", remedy=remedy) from error
    except ValueError as error:
        raise BadFile(path, f"is no JSON ({error})", remedy=remedy) from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != _FORMAT:
        raise BadFile(path, f"is no testbed's manifest of format {_FORMAT}", remedy=remedy)
    try:
        return Manifest(
            document["testbed"],
            document["seed"],
            tuple(_parse_member(record) for record in document["members"]),
            tuple(LeftOut(**record) for record in document["left_out"]),
            document["versions"],
        )
    except (KeyError, TypeError, ValueError, UserError) as error:
        raise BadFile(path, f"is a damaged manifest ({error})", remedy=remedy) from error


def _parse_member(record: dict[str, Any]) -> Member:
    values = {field.name: record[field.name] for field in fields(Member) if field.name in record}
    if "recipe" in values:
        values["recipe"] = Recipe.from_dict(values["recipe"])
    for key in ("shape", "paper_shape"):
        if key in values:
            rows, columns, outliers = values[key]
            values[key] = (rows, columns, outliers)
    return Member(**values)
