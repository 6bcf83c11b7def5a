"""The package's structure: rooms, their interfaces, and no import cycles."""

import ast
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {path.parent.name for path in (ROOT / "src" / "metaod").glob("*/__init__.py")}
ABOVE_ALL = {"cli", "testing"}


def module_name(path):
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in (ROOT / "src" / "metaod").rglob("*.py")}


def imports(name, source, modules, *, is_package=False):
    """Modules of the package that a module imports, imports inside functions included.

    What a package's ``__init__`` imports for types, it imports for others when they first use it. A
    text that is the name of a module is an import as well: of ``metaod._lazy``, of a registry.
    """
    found, for_types = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for_types |= {id(inner) for inner in ast.walk(node)}
        if id(node) in for_types and not is_package:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.partition(":")[0]
            found |= {text} if "." in text and not name.startswith(f"{text}.") else set()
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & modules) or {node.module}
            found |= {node.module} if inner - modules else set()
    return {module for module in found if module in modules and module != name}


def import_graph(files):
    modules = set(files)
    return {
        name: imports(name, path.read_text("utf-8"), modules, is_package=path.name == "__init__.py")
        for name, path in files.items()
    }


def cycles(graph):
    """Sets of modules that import each other, directly or through others (Kosaraju)."""
    order, seen = [], set()
    for start in graph:
        stack = [(start, iter(graph[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(graph[following])))
    reverse = defaultdict(set)
    for node, others in graph.items():
        for other in others:
            reverse[other].add(node)
    found, placed = [], set()
    for start in reversed(order):
        group, todo = set(), [start] if start not in placed else []
        while todo:
            node = todo.pop()
            if node not in placed:
                placed.add(node)
                group.add(node)
                todo += reverse[node]
        if len(group) > 1:
            found.append(sorted(group))
    return found


def room(module):
    return module.split(".")[1] if module.count(".") else ""


def bypasses(graph):
    """Imports of a file of another room, which should go through the room's package."""
    return sorted(
        (name, other)
        for name, others in graph.items()
        for other in others
        if name != "metaod"
        and room(other) in ROOMS - ABOVE_ALL
        and room(name) != room(other)
        and other != f"metaod.{room(other)}"
    )


@cache
def graph():
    """Return the imports of the whole package."""
    return import_graph(FILES)


def test_no_modules_import_each_other():
    assert cycles(graph()) == []


def test_a_cycle_through_a_late_import_is_found():
    modules = {"metaod.a", "metaod.b", "metaod.c"}
    sources = {
        "metaod.a": "from metaod.b import x",
        "metaod.b": "def f():\n    from metaod import c",
        "metaod.c": "import metaod.a",
    }
    graph = {name: imports(name, source, modules) for name, source in sources.items()}
    assert cycles(graph) == [["metaod.a", "metaod.b", "metaod.c"]]


def layers():
    """The rooms of each layer, the highest first, as pyproject.toml declares them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    lines = settings["contracts"][0]["layers"]
    return [{name.strip(" ()") for name in line.split("|")} for line in lines]


def upward(graph):
    """Imports of a room that is not in a lower layer."""
    height = {name: place for place, names in enumerate(layers()) for name in names}
    return sorted(
        (name, other)
        for name, others in graph.items()
        for other in others
        if room(name) != room(other) and "" not in (room(name), room(other))
        and height[room(name)] >= height[room(other)]
    )  # fmt: skip


def test_a_lower_room_never_imports_a_higher_one():
    assert upward(graph()) == []


@pytest.mark.parametrize(
    "source",
    [
        'homes = {"Store": "metaod.store"}\n__getattr__ = by_hand(__name__, homes)',
        'def __getattr__(name):\n    return getattr(import_module("metaod.store"), name)',
        "def __getattr__(name):\n    from metaod.store import Store\n    return Store",
        "if TYPE_CHECKING:\n    from metaod.store import Store",
    ],
    ids=["helper", "by hand", "late", "for types"],
)
def test_a_late_export_of_a_higher_room_is_found(source):
    planted = imports("metaod.detection", source, set(FILES), is_package=True)
    assert ("metaod.detection", "metaod.store") in upward({"metaod.detection": planted})


def test_rooms_import_each_other_through_their_packages():
    assert bypasses(graph()) == []


def test_an_import_of_another_rooms_file_is_found():
    graph = {"metaod.web": {"metaod.models._spec", "metaod.models"}}
    assert bypasses(graph) == [("metaod.web", "metaod.models._spec")]


def test_what_a_package_exports_is_there():
    for name in ROOMS:
        package = __import__(f"metaod.{name}", fromlist=["__all__"])
        for exported in getattr(package, "__all__", ()):
            assert getattr(package, exported) is not None, (name, exported)


def test_late_exports_are_declared_and_their_types_agree():
    """There is one way to export late, and mypy knows what is exported."""
    for name, path in FILES.items():
        text = path.read_text("utf-8")
        if "__getattr__" not in text or path.name != "__init__.py":
            continue
        assert "exports(__name__)" in text, name
        package = import_module(name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module != "metaod._lazy":
                home = import_module(node.module)
                for exported in (alias.name for alias in node.names):
                    assert getattr(package, exported) is getattr(home, exported), exported


def test_what_a_file_imports_from_a_package_is_exported():
    """mypy does not see names that a package imports when they are first used."""
    lacking, packages = [], {f"metaod.{room}" for room in ROOMS}
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            package = getattr(node, "module", None)
            if not isinstance(node, ast.ImportFrom) or package not in packages:
                continue
            own = getattr(__import__(package, fromlist=["__all__"]), "__all__", ())
            names = {alias.name for alias in node.names} - set(own)
            lacking += [(name, package, n) for n in names if f"{package}.{n}" not in FILES]
    assert lacking == []


@pytest.fixture(scope="module")
def reached():
    found, todo = set(), ["metaod.cli.detect"]
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += graph()[module]
    return found


def test_detect_does_not_reach_the_store(reached):
    assert "store" not in {room(module) for module in reached}


def test_the_contracts_hold():
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_of_tests_have_names_of_their_own():
    folders = (ROOT / "tests", ROOT / "research" / "tests")
    names = [path.name for folder in folders for path in folder.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
