"""Follow the recipe "Add an executor" of CONTRIBUTING literally, in a copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import metaod

# 1. one file, with one class
THREADS = '''
"""Runs the tasks in threads."""

from concurrent.futures import ThreadPoolExecutor, as_completed


class ThreadsExecutor:
    """Runs the tasks in threads of this process."""

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    def run(self, function, tasks):
        """Yield each result as soon as it is ready."""
        with ThreadPoolExecutor(self.n_jobs) as pool:
            for future in as_completed([pool.submit(function, task) for task in tasks]):
                yield future.result()
'''

# 2. one line in EXECUTORS, and its import
LINE = '    "threads": ThreadsExecutor,\n'
IMPORT = "from metaod.store._threads import ThreadsExecutor\n"


def test_the_recipe(tmp_path):
    package = Path(metaod.__file__).parent
    copy = tmp_path / "src" / "metaod"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    (copy / "history" / "shipped").symlink_to(package / "history" / "shipped")
    (copy / "store" / "_threads.py").write_text(THREADS)
    path = copy / "store" / "_executors.py"
    errors = "from metaod.models import CellState\n"
    joblib = '    "joblib": JoblibExecutor,\n'
    text = path.read_text("utf-8")
    path.write_text(text.replace(errors, errors + IMPORT).replace(joblib, joblib + LINE), "utf-8")

    # 3. make_executor and `metaod build --executor` know it
    code = (
        "from metaod.cli.main import main\n"
        "from metaod.store import make_executor\n"
        "print(sorted(make_executor(2, 'threads').run(abs, [-1, 2, -3])), flush=True)\n"
        f"main(['build', '--store', 'x.db', '--data', {str(tmp_path)!r}, '--executor', 'y'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout == "[1, 2, 3]\n", done.stderr
    assert done.returncode == 2
    assert "'threads'" in done.stderr
