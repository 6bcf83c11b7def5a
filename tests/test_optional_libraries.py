"""Libraries that only some formats, the store or the page need."""

import subprocess
import sys
import textwrap

import pytest
from sample_files import X, Y, mat73

BLOCK = """
import sys
names = "filelock h5py matplotlib mcp openpyxl pooch requests sqlalchemy"
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


@pytest.mark.parametrize("command", [["db", "info"], ["db", "list"]])
def test_a_command_that_needs_them_ends_with_one_line(tmp_path, command):
    done = run_blocked(f"""
        from metaod.cli.main import main
        main({[*command, "--store", str(tmp_path / "my.db")]!r})
    """)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("metaod: error: the store needs filelock; install it with: pip install")
    assert line.endswith('[store]"')


def test_reading_hdf5_names_the_extra(tmp_path):
    path = tmp_path / "table.mat"
    path.write_bytes(mat73(X=X, y=Y))
    done = run_blocked(f"""
        from metaod.cli.main import main
        main(["inspect", {str(path)!r}])
    """)
    assert done.returncode == 2
    assert done.stderr == (
        "metaod: error: reading HDF5 files and those of MATLAB 7.3 needs h5py; "
        'install it with: pip install "metaod-next[hdf5]"\n'
    )


@pytest.mark.parametrize("package", ["sqlalchemy", "filelock"])
def test_importing_the_store_names_the_missing_package_and_the_extra(package):
    code = f"import sys; sys.modules[{package!r}] = None; import metaod.store"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    *_, line = done.stderr.splitlines()
    assert line.startswith("metaod.errors.MissingExtra: ")
    assert package in line
    assert line.endswith('[store]"')
