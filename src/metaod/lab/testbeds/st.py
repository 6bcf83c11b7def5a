"""The ST testbed: datasets of three collections, and one childset a motherset."""

from collections.abc import Mapping
from pathlib import Path

from metaod.errors import BadFile, BadParameter, UnavailableDataset
from metaod.history import LabelledDataset
from metaod.lab._cataloguing import Catalogue, CatalogueEntry, catalogue
from metaod.lab._loading import load_dataset, read_entry
from metaod.lab.testbeds.childset_making import ChildsetMaker, OnMotherset, versions
from metaod.lab.testbeds.folder import TestbedFolder
from metaod.lab.testbeds.manifest import LeftOut, Manifest, Member, Shape, shape_of

__all__ = ["build_st"]


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
    """Write the ST testbed: the paper's sets by fingerprint, and a childset a motherset.

    The sets are not copied: their performance is in the shipped matrix, or in a store that
    ``metaod build --data`` filled. The folder holds the childsets, and what `extras` names.

    Parameters
    ----------
    out : Path
        The folder to write; ``metaod build --data`` reads it.
    mothersets : Path, optional
        A folder of mothersets.
    archive : Path, optional
        A folder of the original childsets, taken before any is made.
    data : Path, optional
        A folder of the sets: each is read and its fingerprint verified, and one that is not
        there is left out. Without it the catalogue's fingerprints are taken.
    extras : mapping of str to Path, optional
        Files of sets that the catalogue has no fingerprint of, such as ``speech``.
    seed : int, default=0
        Of the childsets; the first siblings of POC with the same seed.
    on_motherset : callable, optional
        Called with a motherset's name, how many are done and how many there are.

    Returns
    -------
    Manifest
        As written to ``manifest.json``.
    """
    known = catalogue().filter(in_st=True)
    given = {_missing_entry(known, name).name: path for name, path in (extras or {}).items()}
    if data is not None and not data.expanduser().is_dir():
        raise BadFile(data, "is no folder", remedy="name the folder that holds the datasets")
    maker = ChildsetMaker(mothersets, archive, seed)
    folder = TestbedFolder(out)
    members: list[Member] = []
    left_out: list[LeftOut] = []
    for entry in known:
        if entry.name in given:
            members.append(_add_extra(folder, entry, given[entry.name]))
            continue
        try:
            members.append(_catalogued(entry, data))
        except UnavailableDataset as error:
            left_out.append(LeftOut(entry.name, 1, str(error)))
    childsets, lacking = maker.take(folder, 1, on_motherset)
    manifest = Manifest("st", seed, (*members, *childsets), (*left_out, *lacking), versions())
    folder.finish(manifest)
    return manifest


def _missing_entry(known: Catalogue, name: str) -> CatalogueEntry:
    wanted = [entry for entry in known if entry.fingerprint is None]
    for entry in wanted:
        if name.casefold() in (entry.name, entry.short_name):
            return entry
    raise BadParameter("metaod testbed st", "--extra", [entry.short_name for entry in wanted], name)


def _catalogued(entry: CatalogueEntry, data: Path | None) -> Member:
    if entry.fingerprint is None:
        raise UnavailableDataset(
            "the catalogue has no fingerprint of it",
            remedy=f"who has it adds it with --extra {entry.short_name}=FILE",
        )
    if data is not None:
        load_dataset(entry, data_dir=data, download=False)
    return Member(
        entry.name,
        "catalogue",
        entry.fingerprint,
        entry.origin,
        (entry.rows, entry.columns, entry.outliers),
        note=entry.note,
    )


def _add_extra(folder: TestbedFolder, entry: CatalogueEntry, path: Path) -> Member:
    dataset = _read_extra(entry, path.expanduser())
    member = Member(
        entry.name,
        "extra",
        dataset.fingerprint,
        entry.origin,
        shape_of(dataset.X, dataset.y),
        file=f"{entry.name}.npz",
        paper_shape=(entry.rows, entry.columns, entry.outliers),
    )
    return folder.add(member, dataset.X.to_numpy(dtype=float), dataset.y)


def _read_extra(entry: CatalogueEntry, path: Path) -> LabelledDataset:
    dataset = read_entry(entry, path)
    found = shape_of(dataset.X, dataset.y)
    expected = (entry.rows, entry.columns, entry.outliers)
    if found != expected:
        raise BadFile(
            path,
            f"is not {entry.name}: {_in_words(found)} where the paper has {_in_words(expected)}",
            remedy="check that it is the right file, complete and unchanged",
        )
    return dataset


def _in_words(shape: Shape) -> str:
    return "{} rows × {} columns with {} outliers".format(*shape)
