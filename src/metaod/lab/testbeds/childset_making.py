"""Taking a motherset's childsets from where they can be had, and saying where that was."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from metaod._version import __version__
from metaod.errors import UserError
from metaod.history import fingerprint
from metaod.lab.childsets.generator import Childset, ChildsetGenerator
from metaod.lab.childsets.mothersets import Motherset, list_mothersets
from metaod.lab.childsets.recipe import Recipe
from metaod.lab.childsets.synthetic import make_synthetic
from metaod.lab.testbeds.archive import Archive
from metaod.lab.testbeds.folder import TestbedFolder
from metaod.lab.testbeds.manifest import LeftOut, Member, Source, shape_of
from metaod.lab.testbeds.settings import Setting, settings

__all__ = ["ChildsetMaker", "OnMotherset", "versions"]

#: Called with a motherset's name, how many are done and how many there are.
OnMotherset = Callable[[str, int, int], None]

_MADE, _ORIGINAL = "childsets", "emmott"  # collections


def versions() -> dict[str, str]:
    """What the bytes of a childset depend on, beside the seed."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "metaod": __version__, **libraries}


@dataclass(frozen=True)
class _Choice:
    """The motherset that a setting's childsets are made of."""

    motherset: Motherset
    number: int
    source: Source
    stands_in_for: str | None = None
    note: str = ""


class ChildsetMaker:
    """Takes childsets from the original archive, or makes them of mothersets.

    Parameters
    ----------
    mothersets : Path or None
        A folder of mothersets. ``synthetic`` is generated if it is not there.
    archive : Path or None
        A folder of the original childsets; what it has is taken from there.
    seed : int
        Of the draws.
    """

    def __init__(self, mothersets: Path | None, archive: Path | None, seed: int) -> None:
        if mothersets is None and archive is None:
            raise UserError(
                "there is nothing to take childsets from",
                where="metaod testbed",
                remedy="name a folder with --mothersets or --archive",
            )
        self._mothersets = {} if mothersets is None else list_mothersets(mothersets)
        self._archive = None if archive is None else Archive(archive)
        self._seed = seed

    def take(
        self, folder: TestbedFolder, n_siblings: int, on_motherset: OnMotherset | None = None
    ) -> tuple[list[Member], list[LeftOut]]:
        """Write so many siblings of every motherset into a folder.

        Returns
        -------
        members, left_out : list
            What was written, and of which mothersets not all could be had.
        """
        members: list[Member] = []
        left_out: list[LeftOut] = []
        for done, setting in enumerate(settings(), start=1):
            taken, lacking = self._siblings(folder, setting, n_siblings)
            members += taken
            left_out += lacking
            if on_motherset is not None:
                on_motherset(setting.motherset, done, len(settings()))
        if not members:
            raise UserError(
                "none of the 20 mothersets is there",
                where="metaod testbed",
                remedy="check --mothersets and --archive",
            )
        return members, left_out

    def _siblings(
        self, folder: TestbedFolder, setting: Setting, n_siblings: int
    ) -> tuple[list[Member], list[LeftOut]]:
        replicates = range(1, n_siblings + 1)
        taken = {replicate: self._original(folder, setting, replicate) for replicate in replicates}
        missing = [replicate for replicate, member in taken.items() if member is None]
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
                        taken[replicate] = _add_made(folder, setting, choice, childset)
                else:
                    reason = f"{choice.motherset.name} has no row that is {recipe.difficulty}"
        members = [member for member in taken.values() if member is not None]
        left_out = [LeftOut(setting.motherset, len(missing), reason)] if reason else []
        return members, left_out

    def _original(self, folder: TestbedFolder, setting: Setting, replicate: int) -> Member | None:
        number = setting.number + replicate - 1
        found = None if self._archive is None else self._archive.read(setting.motherset, number)
        if found is None:
            return None
        X, y = found
        name = f"{setting.motherset}_{number:04d}"
        member = Member(
            f"{_ORIGINAL}/{name}",
            "archive",
            fingerprint(X, y),
            self._origin(setting),
            shape_of(X, y),
            file=f"{_ORIGINAL}/{name}.npz",
            motherset=setting.motherset,
            recipe=setting.recipe,
            replicate=replicate,
            paper_shape=setting.shape if replicate == 1 else None,
        )
        return folder.add(member, X, y)

    def _origin(self, setting: Setting) -> str:
        listed = self._mothersets.get(setting.motherset)
        return setting.origin if listed is None else listed.origin

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
        return _Choice(
            self._mothersets[stand_in.motherset].load(),
            stand_in.number,
            "stand-in",
            setting.motherset,
            stand_in.reason,
        )


def _add_made(
    folder: TestbedFolder, setting: Setting, choice: _Choice, childset: Childset
) -> Member:
    name = f"{childset.motherset}_{childset.recipe.number(childset.replicate):04d}"
    in_paper = childset.replicate == 1 and choice.stands_in_for is None
    member = Member(
        f"{_MADE}/{name}",
        choice.source,
        childset.fingerprint,
        childset.origin,
        shape_of(childset.X, childset.y),
        file=f"{_MADE}/{name}.npz",
        motherset=childset.motherset,
        recipe=childset.recipe,
        replicate=childset.replicate,
        stands_in_for=choice.stands_in_for,
        paper_shape=setting.shape if in_paper else None,
        must_agree=setting.must_agree and in_paper,
        note=choice.note,
    )
    return folder.add(member, childset.X, childset.y)
