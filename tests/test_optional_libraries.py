"""Libraries that only the store and the lab need: everything else works without them."""

import subprocess
import sys
import textwrap

import pytest

BLOCK = """
import sys
for name in ("filelock", "sqlalchemy", "pooch", "requests", "matplotlib", "mcp"):
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
