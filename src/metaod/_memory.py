"""The memory that is free: of the machine, of its control group, and of what the process may take.

psutil only reports the free memory of the machine.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SYSTEM, _OWN = Path("/proc/meminfo"), Path("/proc/self")
_GROUPS = Path("/sys/fs/cgroup")
# the limit, what is used, and what of it are files that can be dropped: versions 2 and 1
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory() -> float:
    """Return the bytes that this process can still take; infinity where nothing tells."""
    return max(0.0, min(_limits(), default=float("inf")))


def used_memory() -> int:
    """Return the bytes of data of this process, as the system counts them for its limit."""
    return _number(_OWN / "status", "VmData:") * 1024


def _limits() -> Iterator[float]:
    with suppress(OSError, LookupError):
        yield _number(_SYSTEM, "MemAvailable:") * 1024.0
    for folder in _folders():
        for limit, used, dropped in _FILES:
            with suppress(OSError, ValueError, LookupError):  # no such group, or no limit
                most = float((folder / limit).read_text())
                files = _number(folder / "memory.stat", dropped)
                yield most - float((folder / used).read_text()) + files
    with suppress(ImportError, OSError, LookupError):
        import resource  # noqa: PLC0415 - not on Windows

        own = resource.getrlimit(resource.RLIMIT_DATA)[0]
        if own != resource.RLIM_INFINITY:
            yield float(own - used_memory())


def _folders() -> Iterator[Path]:
    """Yield the folders of this process's control group and of those around it."""
    yield from (_GROUPS, _GROUPS / "memory")
    with suppress(OSError):
        for line in (_OWN / "cgroup").read_text().splitlines():
            _, kinds, own = line.split(":", 2)
            if kinds in ("", "memory"):
                inner = _GROUPS / kinds / own.lstrip("/")
                yield from (inner, *inner.parents[: len(Path(own).parts) - 2])


def _number(file: Path, name: str) -> int:
    """Return the number behind a name in a file of the kernel."""
    words = file.read_text().split()
    if name not in words:
        raise LookupError(name)
    return int(words[words.index(name) + 1])
