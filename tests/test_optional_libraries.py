"""Libraries that only some formats, the store or the page need."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sample_files import FRAME, X, Y, mat73, xlsx

BLOCK = """
import sys
names = "duckdb filelock h5py matplotlib mcp openpyxl pooch requests sqlalchemy starlette"
for name in names.split():
    sys.modules[name] = None
"""


def run_blocked(code):
    return subprocess.run(
        [sys.executable, "-c", BLOCK + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_select_and_fit_work_without_them():
    done = run_blocked("""
        import numpy as np
        import metaod
        X = np.random.default_rng(0).normal(size=(60, 3))
        best = metaod.select(X).best
        model = metaod.MetaOD().fit(X)
        assert model.decision_scores_.shape == (60,)
        print("picked", best)
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("picked ")


@pytest.mark.parametrize(
    ("arguments", "library", "extra"),
    [
        (["db", "info", "--store", "my.db"], "sqlalchemy", "store"),
        (["inspect", "table.mat"], "h5py", "hdf5"),
        (["inspect", "table.xlsx"], "openpyxl", "excel"),
        (["mcp", "--allow", "."], "mcp", "mcp"),
        (["serve"], "starlette", "web"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_that_needs_them_names_the_extra_in_one_line(
    tmp_path, monkeypatch, arguments, library, extra
):
    monkeypatch.chdir(tmp_path)
    Path("table.mat").write_bytes(mat73(X=X, y=Y))
    Path("table.xlsx").write_bytes(xlsx(FRAME))
    done = run_blocked(f"from metaod.cli.main import main\nmain({arguments!r})")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("metaod: error: ")
    assert f" needs {library}; " in line
    assert line.endswith(f'"metaod-next[{extra}]"')


def test_importing_the_store_names_the_missing_package_and_the_extra():
    code = "import sys; sys.modules['sqlalchemy'] = None; import metaod.store"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    *_, line = done.stderr.splitlines()
    assert line.startswith("metaod.errors.MissingExtra: ")
    assert "sqlalchemy" in line
    assert line.endswith('[store]"')
