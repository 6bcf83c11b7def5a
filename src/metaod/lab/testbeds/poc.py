"""The POC testbed: five siblings of each of 20 mothersets, in five folds."""

from dataclasses import replace
from pathlib import Path

from metaod.lab.childsets.recipe import SIBLINGS
from metaod.lab.testbeds.childset_making import ChildsetMaker, OnMotherset, versions
from metaod.lab.testbeds.folder import TestbedFolder
from metaod.lab.testbeds.manifest import Manifest

__all__ = ["build_poc"]


def build_poc(
    out: Path,
    *,
    mothersets: Path | None = None,
    archive: Path | None = None,
    seed: int = 0,
    on_motherset: OnMotherset | None = None,
) -> Manifest:
    """Write the POC testbed: 20 × 5 childsets, of which each fold has one of every motherset.

    Parameters
    ----------
    out : Path
        The folder to write; ``metaod build --data`` reads it.
    mothersets : Path, optional
        A folder of mothersets.
    archive : Path, optional
        A folder of the original childsets, taken before any is made.
    seed : int, default=0
        Of the childsets; the same seed gives the same bytes.
    on_motherset : callable, optional
        Called with a motherset's name, how many are done and how many there are.

    Returns
    -------
    Manifest
        As written to ``manifest.json``.
    """
    maker = ChildsetMaker(mothersets, archive, seed)
    folder = TestbedFolder(out)
    members, left_out = maker.take(folder, SIBLINGS, on_motherset)
    # each fold holds one sibling of every motherset: the folds are the replicates
    folded = tuple(replace(member, fold=member.replicate) for member in members)
    manifest = Manifest("poc", seed, folded, tuple(left_out), versions())
    folder.finish(manifest)
    return manifest
