"""The memory that is free, of which a table may take half."""

import subprocess
import sys
from pathlib import Path

import pytest

from metaod import _memory
from metaod.options import Reading

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system with 16 GiB available, and folders for its control groups."""
    for name in ("groups/memory/pod", "groups/pod/inner", "own"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {16 * 2**20} kB\n")
    (tmp_path / "own/status").write_text("VmData: 1024 kB\n")
    monkeypatch.setattr(_memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(_memory, "_OWN", tmp_path / "own")
    return tmp_path


@pytest.mark.parametrize(
    ("own", "folder", "files", "free"),
    [
        ("", ".", ("memory.max", "max"), 16),
        ("", ".", ("memory.max", "memory.current", "inactive_file"), 5),
        ("0::/pod/inner", "pod/inner", ("memory.max", "memory.current", "inactive_file"), 5),
        ("0::/pod/inner", "pod", ("memory.max", "memory.current", "inactive_file"), 5),
        ("0::/other", "pod", ("memory.max", "memory.current", "inactive_file"), 16),
        ("4:memory:/pod", "memory/pod",
         ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), 5),
    ],
)  # fmt: skip
def test_the_limit_of_a_control_group_is_respected(system, own, folder, files, free):
    (system / "own/cgroup").write_text(f"{own}\n" if own else "")
    place = system / "groups" / folder
    if files[1] == "max":
        (place / files[0]).write_text("max\n")
    else:
        limit, used, dropped = files
        (place / limit).write_text(f"{8 * GIB}\n")
        (place / used).write_text(f"{6 * GIB}\n")
        (place / "memory.stat").write_text(f"anon 1\n{dropped} {3 * GIB}\n")
    assert _memory.free_memory() == free * GIB
    assert Reading().memory_limit == min(8, free / 2) * GIB
    assert Reading(max_bytes=32 * GIB).memory_limit == 32 * GIB


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limits of Linux")
def test_the_limit_of_the_process_is_respected():
    code = (
        "import resource\nfrom metaod._memory import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**29, 2**29))\nprint(free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2**28 < float(done.stdout) < 2**29
