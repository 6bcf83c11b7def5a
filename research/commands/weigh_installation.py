"""Weigh an installation: what each distribution adds, and why it is there.

``python -m research weigh-installation [EXTRA ...]`` reads the sizes that pip recorded in the
environment that runs it, for what metaod-next needs alone and with the extras that are named. The
last column is what would not be installed without a direct dependency.
"""

import argparse
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "metaod-next"


def needs(name: str, extras: Iterable[str] = ()) -> set[str]:
    """Return the distributions that one needs directly, in this environment."""
    found = set()
    for line in metadata.requires(name) or []:
        requirement = Requirement(line)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            if canonicalize_name(requirement.name) == ROOT:
                found |= needs(ROOT, requirement.extras)
            else:
                found.add(canonicalize_name(requirement.name))
    return found


def closure(names: Iterable[str]) -> set[str]:
    """Return the distributions and all that they need."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += needs(name)
    return found


def megabytes(name: str) -> float:
    """Return the size of a distribution's files on disk, with the bytecode that pip compiles."""
    files = metadata.files(name) or []
    paths = {Path(str(file.locate())) for file in files}
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    extras = parser.parse_args().extras
    direct = needs(ROOT, extras)
    everything = closure(direct)
    sizes = {name: megabytes(name) for name in everything}
    total = sum(sizes.values()) + megabytes(ROOT)
    print("| distribution | MB | share | needed by | MB without it |")
    print("|---|---|---|---|---|")
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        users = sorted(user for user in everything if name in needs(user))
        users = [ROOT, *users] if name in direct else users
        only = everything - closure(direct - {name})
        saved = sum(sizes[other] for other in only) if name in direct else 0.0
        cells = (name, f"{sizes[name]:.1f}", f"{sizes[name] / total:.0%}", ", ".join(users))
        print("|", *(f"{cell} |" for cell in cells), f"{saved:.1f} |" if saved else "|")
    print(f"| **{ROOT} itself** | {megabytes(ROOT):.1f} | {megabytes(ROOT) / total:.0%} | | |")
    print(f"| **total** | {total:.1f} | | | |")
