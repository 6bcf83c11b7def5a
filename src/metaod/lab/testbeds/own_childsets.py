"""Childsets of any labelled tables, in a folder like a testbed's."""

from collections.abc import Iterable
from pathlib import Path

from metaod.errors import BadParameter
from metaod.lab.childsets.generator import ChildsetGenerator
from metaod.lab.childsets.mothersets import Motherset
from metaod.lab.childsets.recipe import Recipe
from metaod.lab.testbeds.childset_making import versions
from metaod.lab.testbeds.folder import TestbedFolder
from metaod.lab.testbeds.manifest import Manifest, Member, shape_of

__all__ = ["build_childsets"]


def build_childsets(
    out: Path, mothersets: Iterable[Motherset], recipe: Recipe, n_siblings: int, *, seed: int = 0
) -> Manifest:
    """Write siblings of one setting, drawn from each motherset.

    Parameters
    ----------
    out : Path
        The folder to write; ``metaod build --data`` reads it.
    mothersets : iterable of Motherset
        Where the rows come from.
    recipe : Recipe
        The setting.
    n_siblings : int
        How many of each.
    seed : int, default=0
        Of the draws; the same seed gives the same bytes.

    Returns
    -------
    Manifest
        As written to ``manifest.json``.
    """
    if n_siblings < 1:
        raise BadParameter("build_childsets", "n_siblings", "an int in [1, inf)", n_siblings)
    folder = TestbedFolder(out)
    members = []
    for motherset in mothersets:
        generator = ChildsetGenerator(motherset, seed=seed)
        for childset in generator.siblings(recipe, n_siblings):
            member = Member(
                f"childsets/{childset.name}",
                "motherset",
                childset.fingerprint,
                childset.origin,
                shape_of(childset.X, childset.y),
                file=f"childsets/{childset.name}.npz",
                motherset=motherset.name,
                recipe=recipe,
                replicate=childset.replicate,
                note=motherset.note,
            )
            members.append(folder.add(member, childset.X, childset.y))
    manifest = Manifest("childsets", seed, tuple(members), (), versions())
    folder.finish(manifest)
    return manifest
