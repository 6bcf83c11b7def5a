"""Names of a package that are imported when they are first used, so that commands start fast."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def exports(package: str, **homes: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    ``homes`` names the modules of the package, each with what is imported from it. The package
    also imports these names for types, which is what mypy and ``tests/test_structure.py`` read.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home_of[name]}")
        found = module if home_of[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    return find
