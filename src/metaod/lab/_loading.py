"""Loading a catalogued set: from a folder the user has, the cache, or its addresses."""

import fnmatch
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from metaod.errors import BadFile, BadParameter, UnavailableDataset, UserError
from metaod.history import (
    ENDING,
    LabelledDataset,
    default_cache_dir,
    holds_variables,
    read_labelled,
)
from metaod.lab._cataloguing import CatalogueEntry, Source, catalogue
from metaod.lab._download import fetch

__all__ = ["LabelledDataset", "load_dataset", "read_entry"]


def load_dataset(
    name: str | CatalogueEntry,
    *,
    data_dir: "str | PathLike[str] | None" = None,
    download: bool = True,
    cache_dir: "str | PathLike[str] | None" = None,
    timeout: float = 20.0,
) -> LabelledDataset:
    """Load a catalogued set and check that its content is what the catalogue says.

    The set is looked for in `data_dir`, then in the cache, then at its addresses in turn.

    Parameters
    ----------
    name : str or CatalogueEntry
        ``"odds/annthyroid"``, a short name that only one collection has, or an entry.
    data_dir : path-like, optional
        A folder that holds ``collection/name.ext`` or ``name.ext``, of any kind that MetaOD
        reads, or the set's file as its own collection names it (``1_ALOI.npz``).
    download : bool, default=True
        Whether to download what is in neither folder.
    cache_dir : path-like, optional
        The folder that keeps downloads; by default ``METAOD_CACHE`` or the system's cache.
    timeout : float, default=20.0
        Seconds to wait for a connection, and then for each piece of the answer.

    Returns
    -------
    LabelledDataset
        X and y as read.

    Raises
    ------
    BadParameter
        If the catalogue has no such name.
    BadFile
        If the file in `data_dir` is not this set.
    UnavailableDataset
        If the set can be had from nowhere; the message tells how to get it by hand.
    """
    for folder, given in (("data_dir", data_dir), ("cache_dir", cache_dir)):
        if given is not None and not isinstance(given, str | PathLike):
            raise BadParameter("load_dataset", folder, "a path or None", given)
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise BadParameter("load_dataset", "timeout", "a number above 0", timeout)
    entry = name if isinstance(name, CatalogueEntry) else catalogue()[name]
    if data_dir is not None:
        dataset = _from_folder(entry, Path(data_dir).expanduser())
        if dataset is not None:
            return dataset
    cache = default_cache_dir() if cache_dir is None else Path(cache_dir).expanduser()
    dataset = _from_cache(entry, cache)
    if dataset is not None:
        return dataset
    if not download:
        raise UnavailableDataset(f"{entry.name} is not on this machine", remedy=_by_hand(entry))
    try:
        return _from_addresses(entry, cache, timeout)
    except OSError as error:
        raise UserError(
            f"the cache cannot be written to ({error.strerror or error})",
            where=str(cache),
            remedy="name another folder with cache_dir or METAOD_CACHE",
        ) from error


def _from_folder(entry: CatalogueEntry, folder: Path) -> LabelledDataset | None:
    if not folder.is_dir():
        raise BadFile(folder, "is no folder", remedy="name the folder that holds the datasets")
    errors = []
    for path in _files_of(entry, folder):
        try:
            return _read_checked(entry, path)
        except UserError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return None


def _from_cache(entry: CatalogueEntry, cache: Path) -> LabelledDataset | None:
    for path in _matching(cache / entry.collection, re.escape(entry.short_name) + ENDING.pattern):
        try:
            return _read_checked(entry, path)
        except UserError:
            continue  # damaged since: a fresh download takes its place
    return None


def _from_addresses(entry: CatalogueEntry, cache: Path, timeout: float) -> LabelledDataset:
    reasons = []
    folder = cache / entry.collection
    folder.mkdir(parents=True, exist_ok=True)
    for source in entry.sources:
        # inside the cache, so that the last step is one rename; what is not the set goes with it
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
            try:
                dataset = _first_that_fits(entry, source, Path(temporary), timeout)
            except UnavailableDataset as error:
                reasons.append(str(error))
                continue
            target = folder / (entry.short_name + "".join(dataset.path.suffixes))
            dataset.path.replace(target)
            return replace(dataset, path=target)
    tried = "; ".join(reasons) or "the catalogue has no address for it"
    raise UnavailableDataset(
        f"{entry.name} could not be downloaded ({tried})", remedy=_by_hand(entry)
    )


def _first_that_fits(
    entry: CatalogueEntry, source: Source, folder: Path, timeout: float
) -> LabelledDataset:
    whats = []
    for path in fetch(source, folder, timeout=timeout):
        try:
            return _read_checked(entry, path)
        except UserError as error:
            whats.append(error.what)
    others = f", nor is any of {len(whats) - 1} others there" if len(whats) > 1 else ""
    raise UnavailableDataset(f"the file {whats[0]}{others}", where=source.address)


def read_entry(entry: CatalogueEntry, path: Path) -> LabelledDataset:
    """Read a file as a set of the catalogue; whether it is that set is not checked."""
    in_variables = holds_variables(path)
    return read_labelled(
        path,
        name=entry.name,
        origin=entry.origin,
        labels=("y",) if in_variables else entry.label_columns,
        drop=() if in_variables else entry.drop_columns,
    )


def _read_checked(entry: CatalogueEntry, path: Path) -> LabelledDataset:
    dataset = read_entry(entry, path)
    if entry.fingerprint is None:
        has = _in_words(*dataset.X.shape, int(dataset.y.sum()))
        expected = _in_words(entry.rows, entry.columns, entry.outliers)
    else:
        has, expected = dataset.fingerprint, entry.fingerprint
    if has != expected:
        raise BadFile(
            path,
            f"is not {entry.name}: it has {has} where the catalogue has {expected}",
            remedy="check that it is the right version, complete and unchanged",
        )
    return replace(dataset, entry=entry)


def _in_words(rows: int, columns: int, outliers: int) -> str:
    return f"{rows} rows × {columns} columns with {outliers} outliers"


def _files_of(entry: CatalogueEntry, folder: Path) -> Iterator[Path]:
    """Give the files that may be the set, the likeliest first."""
    name = re.escape(entry.short_name) + ENDING.pattern
    own_names = [_name_at(source) for source in entry.sources]
    patterns = [name, *own_names, r"\d+_" + name]
    places = [folder / entry.collection, folder, *(folder / place for place in entry.folders)]
    found = (path for place in places for pattern in patterns for path in _matching(place, pattern))
    yield from dict.fromkeys(found)


def _matching(folder: Path, pattern: str) -> list[Path]:
    # names are compared as listed: some file systems find Pima.mat where pima.mat is asked for
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if re.fullmatch(pattern, path.name))


def _name_at(source: Source) -> str:
    """Give the pattern of the file's name at its source."""
    return fnmatch.translate(source.member or PurePosixPath(urlsplit(source.address).path).name)


def _by_hand(entry: CatalogueEntry) -> str:
    kinds = [(source.member or source.kind).rpartition(".")[2] for source in entry.sources]
    file = f"{entry.name}.{kinds[0] if kinds else 'npz'}"
    place = entry.homepage or "its owner"
    return (
        f"get it by hand from {place}, save it as {file} in a folder of yours, "
        "and name that folder with data_dir (--data-dir)"
    )
