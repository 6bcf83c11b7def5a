"""Follow the recipe "Add an option" of CONTRIBUTING literally, in a copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaod

# 1. one field
FIELD = """    digits: int | None = option(
        None, "Round numbers to so many decimals.", metavar="N", minimum=0, is_kept=True
    )
"""

# 2. the code that uses it
READ = "    label = None\n"
USE = "    frame = frame if options.digits is None else frame.round(options.digits)\n"

CODE = """
import pandas as pd
import metaod
from metaod.errors import Setting, UserError
from metaod.options import Reading, command_words
for source in ("t.npy", "t.csv", pd.read_csv("t.csv")):
    frame = metaod.read_table(source, digits=1).frame
    assert (frame == frame.round(1)).all(axis=None)
try:
    metaod.read_table("t.npy", digits=-1)
except UserError as error:
    print(error.code, error.name, error.got)
assert "Round numbers to so many decimals." in metaod.read_table.__doc__
assert Reading.json_schema()["properties"]["digits"]["minimum"] == 0
print(*command_words("digits", 3))
model = metaod.MetaOD().fit(metaod.read_table("t.npy", digits=1))
model.save("pick.mod", reading={"digits": 1})
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
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.save(tmp_path / "t.npy", X)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)

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


def test_the_recipe(run, tmp_path):
    assert run("-c", CODE).splitlines() == [
        "bad-parameter digits -1",
        "--digits 3",
        "{'digits': 1}",
    ]
    run("-m", "metaod", "detect", "t.csv", "--digits", "1", "-o", "out.csv")
    [first, written] = (pd.read_csv(tmp_path / name) for name in ("t.csv", "out.csv"))
    pd.testing.assert_frame_equal(written[["a", "b"]], first)
    assert "Round numbers to so many decimals." in run("-m", "metaod", "detect", "--help")
