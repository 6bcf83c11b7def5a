"""Build POC, ST, and folders of childsets of a user's own tables."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from metaod.errors import BadFile, BadParameter
from research.catalogue import Catalogue, CatalogueEntry, catalogue, shape_text
from research.childsets.generator import ChildsetGenerator
from research.childsets.mothersets import Motherset
from research.childsets.recipe import SIBLINGS, Recipe
from research.loading import UnavailableDataset, load_dataset, read_entry
from research.testbeds.folder import LeftOut, Manifest, Member, TestbedFolder, shape_of
from research.testbeds.sources import ChildsetSources, OnMotherset, childset_member, versions


def build_poc(
    out: Path,
    *,
    mothersets: Path | None = None,
    archive: Path | None = None,
    seed: int = 0,
    on_motherset: OnMotherset | None = None,
) -> Manifest:
    """Write the POC testbed: 20 × 5 childsets; each fold has one of every motherset.

    Parameters
    ----------
    out : Path
        The folder to write; ``metaod build --data`` reads it.
    mothersets : Path, optional
        A folder of mothersets.
    archive : Path, optional
        A folder of the original childsets, which are preferred to made ones.
    seed : int, default=0
        Seed of the childsets; the same seed gives the same bytes.
    on_motherset : callable, optional
        Called with a motherset's name, how many are done and how many there are.
    """
    sources = ChildsetSources(mothersets, archive, seed)
    folder = TestbedFolder(out)
    members, left_out = sources.write(folder, SIBLINGS, on_motherset)
    # each fold holds one sibling of every motherset: the folds are the replicates
    folded = tuple(replace(member, fold=member.replicate) for member in members)
    return folder.finish(Manifest("poc", seed, folded, tuple(left_out), versions()))


def build_st(
    out: Path,
    *,
    mothersets: Path | None = None,
    archive: Path | None = None,
    data: Path | None = None,
    extras: Mapping[str, Path] | None = None,
    seed: int = 0,
    on_motherset: OnMotherset | None = None,
) -> Manifest:
    """Write the ST testbed: the paper's sets by fingerprint, and one childset of each motherset.

    The sets are not copied: their performance is in the shipped matrix, or in a store that
    ``metaod build --data`` filled. The folder holds the childsets, and the files of `extras`.

    Parameters
    ----------
    out, mothersets, archive, seed, on_motherset
        As for :func:`build_poc`; the childsets are POC's first siblings of the same seed.
    data : Path, optional
        A folder of the sets: each is read and its fingerprint verified, and missing ones are left
        out. Without it the catalogue's fingerprints are used.
    extras : mapping of str to Path, optional
        Files of sets whose fingerprint is not in the catalogue, such as ``speech``.
    """
    entries = catalogue().filter(in_st=True)
    given = {
        _entry_without_fingerprint(entries, name): path for name, path in (extras or {}).items()
    }
    if data is not None and not data.expanduser().is_dir():
        raise BadFile(data, "is not a folder", remedy="name the folder that holds the datasets")
    sources = ChildsetSources(mothersets, archive, seed)
    folder = TestbedFolder(out)
    members: list[Member] = []
    left_out: list[LeftOut] = []
    for entry in entries:
        if entry.name in given:
            members.append(_add_extra(folder, entry, given[entry.name]))
            continue
        try:
            members.append(_catalogued(entry, data))
        except UnavailableDataset as error:
            left_out.append(LeftOut(entry.name, 1, str(error)))
    childsets, missing = sources.write(folder, 1, on_motherset)
    found = (*members, *childsets)
    return folder.finish(Manifest("st", seed, found, (*left_out, *missing), versions()))


def _entry_without_fingerprint(entries: Catalogue, name: str) -> str:
    wanted = [entry for entry in entries if entry.fingerprint is None]
    for entry in wanted:
        if name.casefold() in (entry.name, entry.short_name):
            return entry.name
    raise BadParameter(
        "research testbed st", "--extra", [entry.short_name for entry in wanted], name
    )


def _catalogued(entry: CatalogueEntry, data: Path | None) -> Member:
    if entry.fingerprint is None:
        raise UnavailableDataset(
            "the catalogue has no fingerprint of it",
            remedy=f"add your own copy with --extra {entry.short_name}=FILE",
        )
    if data is not None:
        load_dataset(entry, data_dir=data, download=False)
    return Member(
        entry.name, "catalogue", entry.fingerprint, entry.origin, entry.shape, note=entry.note
    )


def _add_extra(folder: TestbedFolder, entry: CatalogueEntry, path: Path) -> Member:
    path = path.expanduser()
    dataset = read_entry(entry, path)
    shape = shape_of(dataset.X, dataset.y)
    if shape != entry.shape:
        found, expected = shape_text(*shape), shape_text(*entry.shape)
        raise BadFile(
            path,
            f"is not {entry.name}: {found} where the paper has {expected}",
            remedy="check that it is the right file, complete and unchanged",
        )
    member = Member(entry.name, "extra", dataset.fingerprint, entry.origin, shape)
    member = replace(member, file=f"{entry.name}.npz", paper_shape=entry.shape)
    return folder.add(member, dataset.X.to_numpy(dtype=float), dataset.y)


def build_childsets(
    out: Path, mothersets: Iterable[Motherset], recipe: Recipe, n_siblings: int, *, seed: int = 0
) -> Manifest:
    """Write `n_siblings` of one setting, drawn from each motherset.

    The folder `out` is like a testbed's: ``metaod build --data`` reads it. The same seed gives the
    same bytes.
    """
    if n_siblings < 1:
        raise BadParameter("build_childsets", "n_siblings", "an int in [1, inf)", n_siblings)
    folder = TestbedFolder(out)
    members = []
    for motherset in mothersets:
        generator = ChildsetGenerator(motherset, seed=seed)
        for childset in generator.siblings(recipe, n_siblings):
            member = childset_member(childset, childset.name, "motherset", note=motherset.note)
            members.append(folder.add(member, childset.X, childset.y))
    return folder.finish(Manifest("childsets", seed, tuple(members), (), versions()))
