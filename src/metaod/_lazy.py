"""Names of a package that are imported when they are first used, so that commands start fast."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def exports(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: what it imports for types is imported on first use.

    The block ``if TYPE_CHECKING:`` is read from the package's source, so that a name has one home,
    which mypy and ``tests/test_structure.py`` read, too.
    """

    def find(name: str) -> Any:
        module = _homes(package).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = import_module(module)
        found = found if module == f"{package}.{name}" else getattr(found, name)
        setattr(sys.modules[package], name, found)
        return found

    return find


@cache
def _homes(package: str) -> dict[str, str]:
    """Return the module of each name that a package imports for types."""
    loader: Any = sys.modules[package].__loader__
    tree = ast.parse(loader.get_source(package))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{alias.name}" if node.module == package else str(node.module)
        for node in imports
        for alias in node.names
    }
