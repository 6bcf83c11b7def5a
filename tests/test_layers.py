"""The layers contract: it holds, and it fails when a lower room imports a higher one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint_imports(folder):
    # import-linter finds the package through the path: the copy must come before the installed one
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
         "--config", "pyproject.toml", "--no-cache"],
        cwd=folder, env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy):
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("datasets/table.py", "import metaod.detectors.spec"),
        ("detectors/scaling.py", "def late():\n    from metaod.cli import main"),
        ("errors.py", "import metaod.datasets.table"),
        ("cli/main.py", "import pandas"),
    ],
)
def test_a_forbidden_import_breaks_a_contract(copy, file, line):
    path = copy / "src" / "metaod" / file
    path.write_text(path.read_text(encoding="utf-8") + "\n" + line + "\n", encoding="utf-8")
    result = lint_imports(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout


def test_a_new_room_must_be_given_its_place(copy):
    (copy / "src" / "metaod" / "utils").mkdir()
    (copy / "src" / "metaod" / "utils" / "__init__.py").write_text("")
    assert lint_imports(copy).returncode == 1
