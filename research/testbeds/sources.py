"""The childsets of the paper's mothersets: their settings, and where each childset comes from."""

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._version import __version__
from metaod.errors import BadColumn, BadFile, UserError
from metaod.history import fingerprint
from metaod.models import Matrix
from metaod.tables import read_table
from research.childsets.generator import Childset, ChildsetGenerator
from research.childsets.mothersets import Motherset, list_mothersets, make_synthetic
from research.childsets.recipe import Recipe
from research.testbeds.folder import LeftOut, Member, Shape, Source, TestbedFolder, shape_of

OnMotherset = Callable[[str, int, int], None]
"""Called with a motherset's name, how many are done and how many there are."""

_MADE, _ORIGINAL = "childsets", "emmott"  # collections
_TRUTH = "ground.truth"
_NOT_FEATURES = ("point.id", "motherset", "origin", "original.label", "diff.score", _TRUTH)


def versions() -> dict[str, str]:
    """Versions that the bytes of a childset depend on."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "metaod": __version__, **libraries}


@dataclass(frozen=True)
class StandIn:
    """A motherset that replaces another one."""

    motherset: str
    origin: str
    number: int
    reason: str


@dataclass(frozen=True)
class Setting:
    """A motherset and the setting of its childsets."""

    motherset: str
    origin: str
    number: int  # of the first sibling in the benchmark; it encodes the recipe
    shape: Shape  # of that sibling in the paper's ST table
    must_agree: bool = False  # whether a childset made here must have that shape
    normal_at_least: float | None = None
    stand_in: StandIn | None = None

    @property
    def recipe(self) -> Recipe:
        return Recipe.from_number(self.number)


@cache
def settings() -> tuple[Setting, ...]:
    """Return the settings of the 20 mothersets, in the paper's order, from ``settings.json``."""
    text = resources.files(__package__).joinpath("settings.json").read_text("utf-8")
    return tuple(_parse_setting(record) for record in json.loads(text)["settings"])


def _parse_setting(record: dict[str, Any]) -> Setting:
    rows, columns, outliers = record["shape"]
    stand_in = StandIn(**record["stand_in"]) if "stand_in" in record else None
    return Setting(**{**record, "shape": (rows, columns, outliers), "stand_in": stand_in})


class Archive:
    """A folder with CSV files of the original benchmark of Emmott et al., at any depth.

    Files are named ``wave_benchmark_0661.csv`` or ``wave_0661.csv``.
    """

    def __init__(self, folder: Path) -> None:
        folder = folder.expanduser()
        if not folder.is_dir():
            remedy = "unpack the archive and name its folder"
            raise BadFile(folder, "is not a folder", remedy=remedy)
        self._files = {
            path.stem.replace("_benchmark_", "_"): path for path in sorted(folder.rglob("*.csv"))
        }
        if not self._files:
            raise BadFile(folder, "has no CSV file", remedy="unpack the archive's files there")

    def read(self, motherset: str, number: int) -> tuple[Matrix, npt.NDArray[np.int8]] | None:
        """Return X and y of a childset, or None if the folder has no such file."""
        path = self._files.get(f"{motherset}_{number:04d}")
        if path is None:
            return None
        frame = read_table(path).frame
        if _TRUTH not in frame.columns:
            remedy = "check that it is the archive's"
            raise BadColumn(_TRUTH, "is not in the table", path=path, remedy=remedy)
        truth = [str(value).strip().lower() for value in frame[_TRUTH]]
        if not set(truth) <= {"nominal", "anomaly"}:
            found, remedy = ", ".join(sorted(set(truth))[:5]), "it should hold nominal and anomaly"
            raise BadColumn(_TRUTH, f"holds {found}", path=path, remedy=remedy)
        features = frame.drop(columns=[name for name in _NOT_FEATURES if name in frame.columns])
        for name, column in features.items():
            if not pd.api.types.is_numeric_dtype(column.dtype):
                raise BadColumn(name, "is not numeric", path=path, remedy="features are numbers")
        X = features.to_numpy(dtype=np.float64)
        return X, np.array([value == "anomaly" for value in truth], dtype=np.int8)


@dataclass(frozen=True)
class _Choice:
    """The motherset that a setting's childsets are made from."""

    motherset: Motherset
    number: int
    source: Source
    stands_in_for: str | None = None
    note: str = ""


class ChildsetSources:
    """Take childsets from the original archive, or make them from mothersets.

    ``synthetic`` is generated if the folder of mothersets does not have it.
    """

    def __init__(self, mothersets: Path | None, archive: Path | None, seed: int) -> None:
        if mothersets is None and archive is None:
            raise UserError(
                "no source of childsets",
                where="research testbed",
                remedy="name a folder with --mothersets or --archive",
            )
        self._mothersets = {} if mothersets is None else list_mothersets(mothersets)
        self._archive = None if archive is None else Archive(archive)
        self._seed = seed

    def write(
        self, folder: TestbedFolder, n_siblings: int, on_motherset: OnMotherset | None = None
    ) -> tuple[list[Member], list[LeftOut]]:
        """Write `n_siblings` of every motherset; return what was written and what is missing."""
        members: list[Member] = []
        left_out: list[LeftOut] = []
        for done, setting in enumerate(settings(), start=1):
            written, missing = self._write_siblings(folder, setting, n_siblings)
            members += written
            left_out += missing
            if on_motherset is not None:
                on_motherset(setting.motherset, done, len(settings()))
        if not members:
            raise UserError(
                "none of the 20 mothersets was found",
                where="research testbed",
                remedy="check --mothersets and --archive",
            )
        return members, left_out

    def _write_siblings(
        self, folder: TestbedFolder, setting: Setting, n_siblings: int
    ) -> tuple[list[Member], list[LeftOut]]:
        replicates = range(1, n_siblings + 1)
        found = {replicate: self._original(folder, setting, replicate) for replicate in replicates}
        missing = [replicate for replicate, member in found.items() if member is None]
        reason = ""
        if missing:
            choice = self._choose(setting)
            if choice is None:
                reason = "neither the archive nor the mothersets have it"
            else:
                generator = ChildsetGenerator(choice.motherset, seed=self._seed)
                recipe = Recipe.from_number(choice.number)
                if generator.candidates(recipe).size:
                    for replicate in missing:
                        childset = generator.make(recipe, replicate)
                        found[replicate] = _add_made(folder, setting, choice, childset)
                else:
                    reason = f"{choice.motherset.name} has no row that is {recipe.difficulty}"
        members = [member for member in found.values() if member is not None]
        left_out = [LeftOut(setting.motherset, len(missing), reason)] if reason else []
        return members, left_out

    def _original(self, folder: TestbedFolder, setting: Setting, replicate: int) -> Member | None:
        number = setting.number + replicate - 1
        found = None if self._archive is None else self._archive.read(setting.motherset, number)
        if found is None:
            return None
        X, y = found
        name = f"{_ORIGINAL}/{setting.motherset}_{number:04d}"
        listed = self._mothersets.get(setting.motherset)
        member = Member(
            name,
            "archive",
            fingerprint(X, y),
            setting.origin if listed is None else listed.file.origin,
            shape_of(X, y),
            file=f"{name}.npz",
            motherset=setting.motherset,
            recipe=setting.recipe,
            replicate=replicate,
            paper_shape=setting.shape if replicate == 1 else None,
        )
        return folder.add(member, X, y)

    def _choose(self, setting: Setting) -> _Choice | None:
        if setting.motherset in self._mothersets:
            motherset = self._mothersets[setting.motherset].load()
            motherset = replace(motherset, normal_at_least=setting.normal_at_least)
            return _Choice(motherset, setting.number, "motherset", note=motherset.note)
        if setting.motherset == "synthetic" and self._mothersets:
            motherset = make_synthetic()
            return _Choice(motherset, setting.number, "motherset", note=motherset.note)
        stand_in = setting.stand_in
        if stand_in is None or stand_in.motherset not in self._mothersets:
            return None
        motherset, replaced = self._mothersets[stand_in.motherset].load(), setting.motherset
        return _Choice(motherset, stand_in.number, "stand-in", replaced, stand_in.reason)


def _add_made(
    folder: TestbedFolder, setting: Setting, choice: _Choice, childset: Childset
) -> Member:
    name = f"{childset.motherset}_{childset.recipe.number(childset.replicate):04d}"
    in_paper = childset.replicate == 1 and choice.stands_in_for is None
    member = childset_member(
        childset,
        name,
        choice.source,
        stands_in_for=choice.stands_in_for,
        paper_shape=setting.shape if in_paper else None,
        must_agree=setting.must_agree and in_paper,
        note=choice.note,
    )
    return folder.add(member, childset.X, childset.y)


def childset_member(childset: Childset, name: str, source: Source, **others: Any) -> Member:
    """Describe a childset that is made here; `others` are further fields of the member."""
    return Member(
        f"{_MADE}/{name}",
        source,
        childset.fingerprint,
        childset.origin,
        shape_of(childset.X, childset.y),
        file=f"{_MADE}/{name}.npz",
        motherset=childset.motherset,
        recipe=childset.recipe,
        replicate=childset.replicate,
        **others,
    )
