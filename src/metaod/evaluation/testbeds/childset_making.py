"""Taking a motherset's childsets from where they can be had, and saying where that was."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from metaod.datasets.childsets import (
    ChildsetGenerator,
    Motherset,
    list_mothersets,
    make_synthetic,
)
from metaod.datasets.childsets.recipe import Recipe
from metaod.datasets.fingerprinting import fingerprint
from metaod.errors import UserError
from metaod.evaluation.testbeds.archive import Archive
from metaod.evaluation.testbeds.folder import TestbedFolder
from metaod.evaluation.testbeds.manifest import LeftOut, Member, Source, shape_of
from metaod.evaluation.testbeds.settings import Setting, settings

__all__ = ["ChildsetMaker", "OnMotherset", "versions"]

#: Called with a motherset's name, how many are done and how many there are.
OnMotherset = Callable[[str, int, int], None]

_MADE, _ORIGINAL = "childsets", "emmott"  # collections


def versions() -> dict[str, str]:
    """What the bytes of a childset depend on, beside the seed."""
    packages = ("metaod", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


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
            What was written, and the mothersets of which nothing could be had.
        """
        members: list[Member] = []
        left_out: list[LeftOut] = []
        for done, setting in enumerate(settings(), start=1):
            taken = list(self._siblings(folder, setting, n_siblings))
            members += taken
            if len(taken) < n_siblings:
                reason = "neither the archive nor the mothersets have it"
                left_out.append(LeftOut(setting.motherset, n_siblings - len(taken), reason))
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
    ) -> Iterator[Member]:
        generator: ChildsetGenerator | None = None
        choice: _Choice | None = None
        for replicate in range(1, n_siblings + 1):
            original = self._original(folder, setting, replicate)
            if original is not None:
                yield original
                continue
            if generator is None:
                choice = self._choose(setting)
                if choice is None:
                    return
                generator = ChildsetGenerator(choice.motherset, seed=self._seed)
            if choice is not None:
                yield _made(folder, setting, choice, generator, replicate)

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


def _made(
    folder: TestbedFolder,
    setting: Setting,
    choice: _Choice,
    generator: ChildsetGenerator,
    replicate: int,
) -> Member:
    recipe = Recipe.from_number(choice.number)
    childset = generator.make(recipe, replicate)
    name = f"{childset.motherset}_{recipe.number(replicate):04d}"
    in_paper = replicate == 1 and choice.stands_in_for is None
    member = Member(
        f"{_MADE}/{name}",
        choice.source,
        childset.fingerprint,
        childset.origin,
        shape_of(childset.X, childset.y),
        file=f"{_MADE}/{name}.npz",
        motherset=childset.motherset,
        recipe=recipe,
        replicate=replicate,
        stands_in_for=choice.stands_in_for,
        paper_shape=setting.shape if in_paper else None,
        must_agree=setting.must_agree and in_paper,
        note=choice.note,
    )
    return folder.add(member, childset.X, childset.y)
