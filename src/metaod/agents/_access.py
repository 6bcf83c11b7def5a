"""Which files a server may read and write: those that the user has named, and no others."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from metaod._files import expanded
from metaod.errors import BadFile
from metaod.tables import READ_ENDINGS

_MOST_SCANNED = 10_000  # entries of folders, so that a listing ends
_LONGEST_PATH, _LONGEST_NAME = 4096, 255  # bytes
_LIST = "list_files names the files"
_REFUSALS = {  # what is wrong, and the remedy, by code
    "not-a-path": ("is not a path", _LIST),
    "parent-folder": ("a path may not contain '..'", _LIST),
    "outside": ("is outside the files that the user has allowed with --allow", _LIST),
    "no-file": ("there is no such file", _LIST),
    "folder": ("is a folder", f"{_LIST} in it"),
    "special-file": ("is a device, a pipe or a socket", "name a file"),
    "not-readable": ("cannot be read", "the user can change its rights"),
    "large-file": ("is larger than {limit:,} bytes", "the user can raise --max-bytes"),
    "no-writing": ("writing is not allowed", "the user can allow it with --allow-write FOLDER"),
    "outside-target": ("is outside the folder for new files", "give a name without a folder"),
    "exists": ("exists already", "give another name"),
    "no-folder": ("its folder does not exist", "give a name without a folder"),
    "no-path": ("there is no such file or folder", "check its name"),
    "not-a-folder": ("is not a folder", "name a folder"),
    "not-writable": ("cannot be written", "check its rights"),
}


@dataclass(frozen=True)
class Access:
    """What the user has allowed.

    Parameters
    ----------
    readable : tuple of Path
        Files and folders that may be read, with all that is inside; resolved.
    writable : Path or None
        The folder in which new files may be made; resolved.
    max_bytes : int
        The largest file that is read.
    """

    readable: tuple[Path, ...]
    writable: Path | None
    max_bytes: int

    @classmethod
    def of(cls, readable: Sequence[Path], writable: Path | None, max_bytes: int) -> "Access":
        """Check what a user names: everything must exist, and the last must be a folder."""
        found = tuple(_existing(path) for path in readable)
        if writable is None:
            return cls(found, None, max_bytes)
        folder = _existing(writable)
        if not folder.is_dir():
            raise _refused(writable, "not-a-folder")
        if not os.access(folder, os.W_OK):
            raise _refused(writable, "not-writable")
        return cls(found, folder, max_bytes)

    def table(self, name: str) -> Path:
        """Return the file that a client names, if it may be read."""
        path = self._inside(name)
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            raise _refused(name, "not-readable" if path.exists() else "no-file") from error
        if stat.S_ISDIR(status.st_mode):
            raise _refused(name, "folder")
        if not stat.S_ISREG(status.st_mode):
            raise _refused(name, "special-file")
        if not os.access(path, os.R_OK):
            raise _refused(name, "not-readable")
        if status.st_size > self.max_bytes:
            raise _refused(name, "large-file", limit=self.max_bytes)
        return path

    def target(self, name: str) -> Path:
        """Return the new file that a client names, if it may be made."""
        if self.writable is None:
            raise _refused(name, "no-writing")
        given = _checked(name)
        place = given if given.is_absolute() else self.writable / given
        path = place.parent.resolve() / place.name
        if not path.is_relative_to(self.writable) or path == self.writable:
            raise _refused(name, "outside-target")
        if os.path.lexists(path):
            raise _refused(name, "exists")
        if not path.parent.is_dir():
            raise _refused(name, "no-folder")
        return path

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield the names and sizes of files that look like tables."""
        n_scanned = 0
        for place in self.readable:
            if place.is_file():
                yield str(place), place.stat().st_size
                continue
            for folder, folders, names in os.walk(place):
                folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
                for name in sorted(names):
                    n_scanned += 1
                    if n_scanned > _MOST_SCANNED:
                        return
                    path = Path(folder) / name
                    with suppress(OSError):  # removed in the meantime
                        if self._is_table(path):
                            yield str(path), path.stat().st_size

    def _is_table(self, path: Path) -> bool:
        ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
        if ending.lower() not in READ_ENDINGS or path.name.startswith("."):
            return False
        if not _is_text(str(path)):  # no client could name it
            return False
        return path.is_file() and self._is_allowed(path.resolve())

    def _inside(self, name: str) -> Path:
        """Return the resolved path; links that lead outside are refused like any other path.

        The error is the same whether a file outside exists or not.
        """
        given = _checked(name)
        places = [given] if given.is_absolute() else [base / given for base in self._folders]
        allowed = [path for path in map(_resolved, places) if path and self._is_allowed(path)]
        if not allowed:
            raise _refused(name, "outside")
        return next((path for path in allowed if path.exists()), allowed[0])

    @property
    def _folders(self) -> list[Path]:
        """Where names without a folder are looked for."""
        return [path if path.is_dir() else path.parent for path in self.readable]

    def _is_allowed(self, path: Path) -> bool:
        return any(
            path == place or (place.is_dir() and path.is_relative_to(place))
            for place in self.readable
        )


def _refused(name: str | Path, code: str, **values: int) -> BadFile:
    what, remedy = _REFUSALS[code]
    return BadFile(name, what.format(**values), remedy=remedy, code=code)


def clipped(text: str, most: int = 200) -> str:
    """Return a text without its end if it is long.

    >>> clipped("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _existing(path: Path) -> Path:
    try:
        return expanded(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _refused(path, "no-path") from error


def _checked(name: str) -> Path:
    """Refuse names that no file of the user has: empty, too long, with a NUL, or with '..'."""
    if not name.strip() or "\0" in name or len(name) > _LONGEST_PATH:
        raise _refused(repr(name[:40]), "not-a-path")
    path = Path(name)
    if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
        raise _refused(repr(clipped(name, 40)), "not-a-path")
    if ".." in path.parts or ".." in name.replace("\\", "/").split("/"):
        raise _refused(name, "parent-folder")
    return path


def _is_text(name: str) -> bool:
    with suppress(UnicodeEncodeError):
        return bool(name.encode())
    return False


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, or names that are too long
        return None
