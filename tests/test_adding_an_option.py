"""Follow the recipe "Add an option" of CONTRIBUTING literally, in a copy of the package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metaod

# 1. one field
FIELD = """    max_rows: int | None = option(
        None, "Read at most so many rows.", metavar="N", minimum=1, is_kept=True
    )
"""

# 2. the code that uses it
READ = "    content = reader.read(opened, options)\n"
USE = "    content = replace(content, frame=content.frame[: options.max_rows])\n"

CODE = """
import metaod
from metaod.errors import Setting, UserError
from metaod.options import Reading, command_words
print(metaod.read_table("t.npy", max_rows=3).n_rows)
try:
    metaod.read_table("t.npy", max_rows=0)
except UserError as error:
    print(error.code, error.name, error.got)
assert "Read at most so many rows." in metaod.read_table.__doc__
assert Reading.json_schema()["properties"]["max_rows"]["minimum"] == 1
print(*command_words("max_rows", 3))
model = metaod.MetaOD().fit(metaod.read_table("t.npy", max_rows=50))
model.save("pick.mod", reading={"max_rows": 50})
print(metaod.load("pick.mod").reading_)
"""


@pytest.fixture
def run(tmp_path):
    """Run Python with the changed copy of the package."""
    package = Path(metaod.__file__).parent
    copy = tmp_path / "src" / "metaod"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    (copy / "history" / "shipped").symlink_to(package / "history" / "shipped")
    for name, old, new in (
        ("options.py", "    sheet: ", f"{FIELD}    sheet: "),
        ("tables/_reading.py", READ, READ + USE),
    ):
        text = (copy / name).read_text("utf-8")
        assert old in text
        (copy / name).write_text(text.replace(old, new, 1), "utf-8")
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(60, 2)))

    def run_python(*words):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "200"},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_python


def test_the_recipe(run):
    assert run("-c", CODE).splitlines() == [
        "3",
        "bad-parameter max_rows 0",
        "--max-rows 3",
        "{'max_rows': 50}",
    ]
    found = json.loads(run("-m", "metaod", "inspect", "t.npy", "--max-rows", "4", "--json"))
    assert found["rows"] == 4
    assert "Read at most so many rows." in run("-m", "metaod", "detect", "--help")
