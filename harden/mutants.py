"""Change the mathematics in one place, and see whether a test notices.

A sample of changes is drawn with a seed: a comparison, an operator, a number or a condition. The
tests of the changed file run on a copy of the package. Changes that no test notices are listed.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from harden import ROOT

TESTED = {
    "learners/_dcg.py": ["tests/learners/test_dcg.py"],
    "history/_metrics.py": ["tests/history/test_metrics.py"],
    "tables/_column_values.py": [
        "tests/tables/test_column_values.py", "tests/tables/test_preparation_properties.py"],
    "tables/_preparation.py": [
        "tests/tables/test_preparation.py", "tests/tables/test_preparation_properties.py"],
    "wrong_cells/_numbers.py": ["tests/wrong_cells/test_evidence.py"],
    "wrong_cells/_formulas.py": ["tests/wrong_cells/test_evidence.py"],
    "review/_ranker.py": ["tests/review/test_ranker.py", "tests/review/test_marked_table.py"],
    "review/_features.py": ["tests/review/test_features.py"],
}  # fmt: skip
"""Files of the mathematics, with the tests that mirror them."""

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
}


def changes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Change a tree in one place after another; yield the line and the change, then undo it."""
    typed = {id(part) for node in ast.walk(tree) for part in _annotations(node)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if id(node) in typed:
            continue
        if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
            owner, key = (node.ops, 0) if isinstance(node, ast.Compare) else (vars(node), "op")
            old = owner[key]
            new = SWAPS.get(type(old))
            options = [] if new is None else [new()]
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            owner, key, old = vars(node), "value", node.value
            options = [old + 1]
        elif isinstance(node, ast.Attribute | ast.Name):
            key = "attr" if isinstance(node, ast.Attribute) else "id"
            owner, old = vars(node), getattr(node, key)
            options = [NAMES[old]] if old in NAMES else []
        elif isinstance(node, ast.If | ast.IfExp):
            owner, key, old = vars(node), "test", node.test
            options = [ast.UnaryOp(ast.Not(), old)]
        else:
            continue
        before = ast.unparse(node).partition("\n")[0]
        for new in options:
            owner[key] = new
            yield line, f"`{before[:60]}` → `{ast.unparse(node).partition(chr(10))[0][:60]}`"
            owner[key] = old


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if getattr(node, name, None) is not None:
            yield from ast.walk(getattr(node, name))


def survives(file: str, source: str, folder: Path) -> bool:
    """Whether the tests of a file pass with another source of it."""
    path = folder / "src" / "metaod" / file
    whole = path.read_text("utf-8")
    path.write_text(source, encoding="utf-8")
    for kept in [*folder.rglob("*.nbi"), *folder.rglob("*.nbc")]:
        kept.unlink()  # numba does not notice changes in other files
    words = ["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *TESTED[file]]
    env = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    try:
        done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True,
                              timeout=600, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return False  # noticed: it never ends
    finally:
        path.write_text(whole, encoding="utf-8")
    return done.returncode == 0


def sample(count: int, seed: int, files: list[str]) -> Iterator[tuple[str, int, str, bool]]:
    """Yield changes drawn from all or some files: file, line, change, and whether it survives."""
    found = [
        (file, number)
        for file in files or TESTED
        for number, _ in enumerate(
            changes(ast.parse((ROOT / "src/metaod" / file).read_text("utf-8")))
        )
    ]
    with tempfile.TemporaryDirectory(prefix="harden-") as place:
        folder = Path(place)
        for name in ("src", "tests", "research"):
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
        passing: set[str] = set()
        for file, wanted in Random(seed).sample(found, min(count, len(found))):
            tree = ast.parse((ROOT / "src/metaod" / file).read_text("utf-8"))
            if file not in passing and not survives(file, ast.unparse(tree), folder):
                raise RuntimeError(f"the tests of {file} fail without a change")
            passing.add(file)
            for number, (line, change) in enumerate(changes(tree)):
                if number == wanted:
                    yield file, line, change, survives(file, ast.unparse(tree), folder)
