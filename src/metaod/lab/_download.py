"""Fetching a set's files from an address."""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from metaod.errors import UnavailableDataset
from metaod.lab._cataloguing import Source

__all__ = ["fetch"]

_MAX_MEMBER_BYTES = 2**31


def fetch(source: Source, folder: Path, *, timeout: float) -> Iterator[Path]:
    """Download a source into a folder and give the files that may be the set, one by one.

    Parameters
    ----------
    source : Source
        The address; an archive is unpacked, and yields every member that fits its pattern.
    folder : Path
        Where the files go; nothing else is written.
    timeout : float
        Seconds to wait for a connection, and then for each piece of the answer.

    Raises
    ------
    UnavailableDataset
        If the address does not give the file.
    """
    target = folder / f"download.{source.kind}"
    _download(source.address, target, timeout)
    if source.kind == "tar.gz":
        yield from _unpack(target, source, folder)
    else:
        yield target


def _download(address: str, target: Path, timeout: float) -> None:
    import pooch  # noqa: PLC0415 - needed only here, and slow to import
    import requests  # noqa: PLC0415 - likewise

    try:
        pooch.HTTPDownloader(timeout=timeout, chunk_size=2**16)(address, str(target), None)
    except requests.HTTPError as error:
        reason = f"the server answered {error.response.status_code}"
        raise UnavailableDataset(reason, where=address) from error
    except requests.Timeout as error:
        raise UnavailableDataset(f"no answer within {timeout:g} s", where=address) from error
    except requests.RequestException as error:
        reason = f"no connection, or it broke off ({type(error).__name__})"
        raise UnavailableDataset(reason, where=address) from error


def _unpack(path: Path, source: Source, folder: Path) -> Iterator[Path]:
    pattern = source.member or "*"
    n_found = 0
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                fits = fnmatchcase(PurePosixPath(member.name).name, pattern)
                wanted = member.isfile() and fits and member.size <= _MAX_MEMBER_BYTES
                content = archive.extractfile(member) if wanted else None
                if content is None:
                    continue
                n_found += 1
                # a name of our own: what an archive calls its members never becomes a path
                target = folder / f"member{n_found}{PurePosixPath(pattern).suffix}"
                with content, target.open("wb") as file:
                    shutil.copyfileobj(content, file)
                yield target
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UnavailableDataset("the archive is damaged", where=source.address) from error
    if not n_found:
        raise UnavailableDataset(f"no {pattern} in the archive", where=source.address)
