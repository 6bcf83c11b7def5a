"""The folder of the uploads: private, and removed when the server ends or at the next start."""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "metaod-serve-"
_LOCK = "in-use"


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
        # held as long as the process lives
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if not _take_lock(self._lock):
            raise RuntimeError(f"another process holds {self.path}, which is new")

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        with contextlib.suppress(OSError):
            os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of this user's servers that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            is_own = sys.platform == "win32" or status.st_uid == os.getuid()
            if stat.S_ISDIR(status.st_mode) and is_own and _is_abandoned(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(lock: Path) -> bool:
    if sys.platform == "win32":
        lock.unlink()  # fails while the file is open
        return True
    opened = os.open(lock, os.O_RDWR)
    try:
        return _take_lock(opened)
    finally:
        os.close(opened)


def _take_lock(opened: int) -> bool:
    """Take the lock, which ends with the process; False if another process holds it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
