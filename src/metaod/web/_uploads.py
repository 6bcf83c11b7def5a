"""Files of uploads: their private folder, which is removed at the end, and their names."""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import unicodedata
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from filelock import FileLock, Timeout

from metaod.tables import READ_ENDINGS

MARKS_FILE = "marks.csv"  # the answers of a review, in the folder of the table

_PREFIX = "metaod-serve-"
_LOCK = "in-use"
_ENDINGS = READ_ENDINGS | {".gz"}
_LONGEST_NAME = 120  # characters


class UploadFolder:
    """A new folder that only this user can open.

    Parameters
    ----------
    parent : Path, optional
        Where it is made; by default the system's folder for temporary files.
    """

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        _remove_leftovers(parent)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # mode 0700
        self._lock = FileLock(self.path / _LOCK, timeout=0, thread_local=False)
        self._lock.acquire()  # ends with the process

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of this user's servers that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, Timeout):
            status = folder.lstat()
            is_own = sys.platform == "win32" or status.st_uid == os.getuid()
            if stat.S_ISDIR(status.st_mode) and is_own and (folder / _LOCK).exists():
                FileLock(folder / _LOCK, timeout=0).acquire().lock.release()
                shutil.rmtree(folder, ignore_errors=True)


def shown_name(given: str) -> str:
    r"""Return the last part of a client's file name without control characters.

    Examples
    --------
    >>> shown_name("../../etc/pass\u202ewd.csv"), shown_name("")
    ('passwd.csv', 'table')
    """
    last = given.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()
    if len(plain) > _LONGEST_NAME:
        ending = stored_ending(plain)
        plain = plain[: _LONGEST_NAME - len(ending) - 1] + "…" + ending
    return plain.strip(".") or "table"


def stored_ending(name: str) -> str:
    """Return the ending that a file is stored with: a known one, or none.

    Examples
    --------
    >>> stored_ending("a.b.CSV.gz"), stored_ending("a.exe"), stored_ending("a.csv/../b")
    ('.csv.gz', '', '')
    """
    ending = ""
    for suffix in reversed(PurePosixPath(name).suffixes[-2:]):
        known = suffix.lower() in _ENDINGS and (not ending or ending == ".gz")
        if not known:
            break
        ending = suffix.lower() + ending
    return ending


def disposition(name: str) -> str:
    r"""Return the header that makes a browser save an answer under a name (RFC 6266).

    Examples
    --------
    >>> disposition('a"b ü.csv')
    'attachment; filename="a_b _.csv"; filename*=UTF-8\'\'a%22b%20%C3%BC.csv'
    """
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%/:*?<>|' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
