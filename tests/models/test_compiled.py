"""Functions that are compiled when they are first called."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from metaod.models import compilation, njit

# numba keeps compiled functions of files only
SOURCE = """
from metaod.models import njit

@njit(cache=True)
def doubled(value):
    return 2 * value

@njit(cache=True)
def total(values):
    '''Return twice the sum.'''
    result = 0.0
    for value in values:
        result += doubled(value)
    return result
"""

RUN = """
import sys
import numpy as np
import kernels
from metaod.models import compilation
assert "numba" not in sys.modules
assert kernels.total(np.arange(3.0)) == 6
print(compilation.seconds)
"""


@pytest.fixture
def kernels(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "kernels.py").write_text(SOURCE)
    return package


def start(kernels, **environment):
    path = f"{kernels}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    inherited = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(RUN)],
        env={**inherited, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def seconds_of(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return float(out)


def test_numba_is_imported_by_the_first_call_and_a_later_process_compiles_nothing(kernels):
    assert seconds_of(start(kernels)) > 0
    assert seconds_of(start(kernels)) == 0
    assert list((kernels / "__pycache__").glob("*.nbi"))


def test_processes_may_compile_at_once(kernels):
    processes = [start(kernels) for _ in range(2)]
    for process in processes:
        seconds_of(process)
    assert seconds_of(start(kernels)) == 0


def test_a_folder_that_cannot_be_written_is_replaced_by_one_of_the_user(kernels, tmp_path):
    # a file in place of the folder refuses writing to every user
    (kernels / "__pycache__").write_text("")
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert seconds_of(start(kernels, PYTHONDONTWRITEBYTECODE="1", **home)) > 0
    assert seconds_of(start(kernels, PYTHONDONTWRITEBYTECODE="1", **home)) == 0
    assert list(tmp_path.rglob("*.nbi"))


def test_without_a_folder_to_keep_it_in_compiled_code_is_used_once_and_a_warning_says_so(kernels):
    (kernels / "__pycache__").write_text("")
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    process = start(kernels, **nowhere)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert float(out) > 0
    assert err.count("NUMBA_CACHE_DIR") == 1


def test_threads_share_one_compilation():
    @njit()
    def triple(value):
        return 3 * value

    barrier = threading.Barrier(4)

    def call(value):
        barrier.wait()
        return triple(value)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, [2.0] * 4)) == [6.0] * 4


def test_compilation_is_timed_and_seen_while_it_runs():
    def extremes(values):
        return values.max() + values.min()

    before, seen, is_over = compilation.seconds, [], threading.Event()

    def watch():
        while not is_over.wait(0.002):
            seen.append(compilation.is_running)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert njit()(extremes)(np.arange(3.0)) == 2
    is_over.set()
    watcher.join()
    assert True in seen
    assert not compilation.is_running
    taken = compilation.seconds - before
    assert taken > 0
    assert compilation.seconds - before == taken  # nothing compiles any more


def test_a_function_keeps_its_name_and_text(kernels, monkeypatch):
    monkeypatch.syspath_prepend(str(kernels))
    import kernels as module  # noqa: PLC0415 - made by the fixture

    assert (module.total.__name__, module.total.__doc__) == ("total", "Return twice the sum.")
