"""Load a catalogued set: from a folder of the user, the cache, or its addresses."""

import fnmatch
import gzip
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from os import PathLike
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from platformdirs import user_cache_path

from metaod.errors import BadFile, BadParameter, MissingExtra, UserError
from metaod.history import LabelledDataset
from metaod.history._datasets import LABELLED_FILE_ENDINGS, read_labelled
from metaod.learners import OnStep
from research.catalogue import CatalogueEntry, Source, catalogue, shape_text

_MAX_MEMBER_BYTES = 2**31


class UnavailableDataset(UserError):
    """A catalogued dataset can neither be found in the given folder nor downloaded."""

    code = "unavailable-dataset"


def holds_variables(path: Path) -> bool:
    """Whether a file, by its name, holds variables such as X and y instead of columns."""
    return path.suffix.lower() in (".npz", ".mat", ".h5", ".hdf5")


def default_cache_dir() -> Path:
    """Return ``METAOD_CACHE`` if it is set, else the system's cache folder for MetaOD."""
    chosen = os.environ.get("METAOD_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("metaod")


def load_dataset(
    name: str | CatalogueEntry,
    *,
    data_dir: "str | PathLike[str] | None" = None,
    download: bool = True,
    cache_dir: "str | PathLike[str] | None" = None,
    timeout: float = 20.0,
    progress: OnStep | None = None,
) -> LabelledDataset:
    """Load a catalogued set and check its content against the catalogue.

    The set is searched for in `data_dir`, then in the cache, then at its addresses in turn.

    Parameters
    ----------
    name : str or CatalogueEntry
        ``"odds/annthyroid"``, a short name that only one collection has, or an entry.
    data_dir : path-like, optional
        A folder that holds ``collection/name.ext`` or ``name.ext``, of any kind that MetaOD
        reads, or the set's file as its own collection names it (``1_ALOI.npz``).
    download : bool, default=True
        Whether to download a set that is in neither folder.
    cache_dir : path-like, optional
        The folder that keeps downloads; by default ``METAOD_CACHE`` or the system's cache.
    timeout : float, default=20.0
        Seconds to wait for a connection, and then for each piece of the answer.
    progress : callable, optional
        Called with ``"bytes"`` and the numbers of bytes downloaded and in all, if that is known.

    Raises
    ------
    UnavailableDataset
        If the set was not found; the message says how to get it by hand.
    """
    for folder, given in (("data_dir", data_dir), ("cache_dir", cache_dir)):
        if given is not None and not isinstance(given, str | PathLike):
            raise BadParameter("load_dataset", folder, "a path or None", given)
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise BadParameter("load_dataset", "timeout", "a number above 0", timeout)
    entry = name if isinstance(name, CatalogueEntry) else catalogue()[name]
    cache = default_cache_dir() if cache_dir is None else Path(cache_dir).expanduser()
    dataset = None if data_dir is None else _from_folder(entry, Path(data_dir).expanduser())
    dataset = dataset or _from_cache(entry, cache)
    if dataset is not None:
        return dataset
    if not download:
        raise UnavailableDataset(f"{entry.name} is not on this machine", remedy=_by_hand(entry))
    try:
        return _from_addresses(entry, cache, timeout, progress)
    except OSError as error:
        raise UserError(
            f"the cache cannot be written to ({error.strerror or error})",
            where=str(cache),
            remedy="name another folder with cache_dir or METAOD_CACHE",
        ) from error


def _from_folder(entry: CatalogueEntry, folder: Path) -> LabelledDataset | None:
    if not folder.is_dir():
        raise BadFile(folder, "is not a folder", remedy="name the folder that holds the datasets")
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
    for path in _matching(
        cache / entry.collection, re.escape(entry.short_name) + LABELLED_FILE_ENDINGS.pattern
    ):
        try:
            return _read_checked(entry, path)
        except UserError:
            continue  # a damaged file: a fresh download replaces it
    return None


def _from_addresses(
    entry: CatalogueEntry, cache: Path, timeout: float, progress: OnStep | None
) -> LabelledDataset:
    reasons = []
    folder = cache / entry.collection
    folder.mkdir(parents=True, exist_ok=True)
    for source in entry.sources:
        # inside the cache, so that the last step is one rename; other files are deleted with it
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
            try:
                dataset = _download_checked(entry, source, Path(temporary), timeout, progress)
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


def _download_checked(
    entry: CatalogueEntry,
    source: Source,
    folder: Path,
    timeout: float,
    progress: OnStep | None,
) -> LabelledDataset:
    path = folder / f"download.{source.kind}"
    _download(source.address, path, timeout, progress)
    problems = []
    for candidate in _unpack(path, source, folder) if source.kind == "tar.gz" else [path]:
        try:
            return _read_checked(entry, candidate)
        except UserError as error:
            problems.append(error.what)
    others = f", nor is any of the {len(problems) - 1} others" if len(problems) > 1 else ""
    raise UnavailableDataset(f"the file {problems[0]}{others}", where=source.address)


class _Bytes:
    """Counts the bytes of a download; with the methods that pooch calls."""

    total = 0

    def __init__(self, progress: OnStep) -> None:
        self._progress = progress
        self._done = 0

    def update(self, n_bytes: int) -> None:
        self._done += n_bytes
        if self.total:
            self._progress("bytes", min(self._done, self.total), self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


def _download(address: str, target: Path, timeout: float, progress: OnStep | None) -> None:
    try:
        # needed only here, and slow to import
        import pooch  # noqa: PLC0415
        import requests  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            "pooch and requests", extra="research", needed_for="downloading datasets"
        ) from error
    try:
        shown = False if progress is None else _Bytes(progress)
        download = pooch.HTTPDownloader(progressbar=shown, timeout=timeout, chunk_size=2**16)
        download(address, str(target), None)
    except requests.HTTPError as error:
        reason = f"the server answered {error.response.status_code}"
        raise UnavailableDataset(reason, where=address) from error
    except requests.Timeout as error:
        raise UnavailableDataset(f"no answer within {timeout:g} s", where=address) from error
    except requests.RequestException as error:
        reason = f"no connection, or it was interrupted ({type(error).__name__})"
        raise UnavailableDataset(reason, where=address) from error


def _unpack(path: Path, source: Source, folder: Path) -> Iterator[Path]:
    pattern = source.member or "*"
    n_found = 0
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                fits = fnmatch.fnmatchcase(PurePosixPath(member.name).name, pattern)
                wanted = member.isfile() and fits and member.size <= _MAX_MEMBER_BYTES
                content = archive.extractfile(member) if wanted else None
                if content is None:
                    continue
                n_found += 1
                # a name of our own: an archive's member names must not become paths
                target = folder / f"member{n_found}{PurePosixPath(pattern).suffix}"
                with content, target.open("wb") as file:
                    shutil.copyfileobj(content, file)
                yield target
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UnavailableDataset("the archive is damaged", where=source.address) from error
    if not n_found:
        raise UnavailableDataset(f"no {pattern} in the archive", where=source.address)


def read_entry(entry: CatalogueEntry, path: Path) -> LabelledDataset:
    """Read a file as a set of the catalogue, without checking its content."""
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
        found = shape_text(*dataset.X.shape, int(dataset.y.sum()))
        expected = shape_text(*entry.shape)
    else:
        found, expected = dataset.fingerprint, entry.fingerprint
    if found != expected:
        raise BadFile(
            path,
            f"is not {entry.name}: it has {found} where the catalogue has {expected}",
            remedy="check that it is the right version, complete and unchanged",
        )
    return replace(dataset, verified=dataset.fingerprint == entry.fingerprint)


def _files_of(entry: CatalogueEntry, folder: Path) -> Iterator[Path]:
    """Yield the files that may be the set, the likeliest first."""
    name = re.escape(entry.short_name) + LABELLED_FILE_ENDINGS.pattern
    own_names = [
        fnmatch.translate(source.member or PurePosixPath(urlsplit(source.address).path).name)
        for source in entry.sources
    ]
    patterns = [name, *own_names, r"\d+_" + name]
    folders = [folder / entry.collection, folder, *(folder / inner for inner in entry.folders)]
    pairs = product(folders, patterns)
    yield from dict.fromkeys(path for pair in pairs for path in _matching(*pair))


def _matching(folder: Path, pattern: str) -> list[Path]:
    # compares listed names: some file systems open Pima.mat when asked for pima.mat
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if re.fullmatch(pattern, path.name))


def _by_hand(entry: CatalogueEntry) -> str:
    kinds = [(source.member or source.kind).rpartition(".")[2] for source in entry.sources]
    file = f"{entry.name}.{kinds[0] if kinds else 'npz'}"
    return (
        f"get it by hand from {entry.homepage or 'its owner'}, save it as {file} in a folder, "
        "and name that folder with data_dir (--data-dir)"
    )
