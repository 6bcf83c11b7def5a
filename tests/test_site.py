"""The documentation site: what it must hold. `make docs` builds it, with warnings as errors."""

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest
from made_commands import COMMANDS

import metaod
import metaod.errors
import metaod.testing

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONTENTS = runpy.run_path(str(DOCS / "conf.py"))["CONTENTS"]
AUTODOC = re.compile(r"^\.\. auto(?:class|function|data):: (\S+)$", re.MULTILINE)
DOCUMENTED = [
    name
    for page in sorted(DOCS.glob("api/*.md"))
    for name in AUTODOC.findall(page.read_text("utf-8"))
]


@pytest.fixture(scope="module")
def reference():
    """The page of commands, as the site writes it."""
    sys.path.insert(0, str(DOCS / "_extensions"))
    try:
        return import_module("commands").reference()
    finally:
        sys.path.pop(0)


def in_sidebar():
    found = [entry.rpartition("<")[2].rstrip(">") for pages in CONTENTS.values() for entry in pages]
    assert len(found) == len(set(found))
    return set(found)


def test_the_sidebar_reaches_every_page():
    pages = {str(path.relative_to(ROOT).with_suffix("")) for path in DOCS.glob("**/*.md")}
    below = re.findall(r"<(api/\w+)>$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    reached = in_sidebar() | {f"docs/{page}" for page in below}
    assert pages - reached == set()
    elsewhere = {
        "CONTRIBUTING", "CHANGELOG", "SECURITY", "RELEASING", "results/README", "research/README",
    }  # fmt: skip
    assert reached - pages - elsewhere == set()


def test_the_reference_has_every_command_and_every_option(reference):
    part = re.compile(r"^### metaod ([a-z ]+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
    parts = dict(part.findall(reference))
    assert set(parts) == {name for name, command in COMMANDS.items() if not command.hidden}
    for name, part in parts.items():
        options = [
            option for option in COMMANDS[name].params if not getattr(option, "hidden", False)
        ]
        for option in options:
            shown = max(option.opts, key=len) if option.opts[0].startswith("-") else option.metavar
            assert shown is None or shown in part, f"{name}: {shown}"


def test_the_reference_has_docstrings_of_every_public_name():
    exported = {f"metaod.{name}" for name in metaod.__all__ if not name.startswith("__")}
    exported |= {f"metaod.testing.{name}" for name in metaod.testing.__all__}
    for module in (metaod.cluster, metaod.plot):
        exported.remove(module.__name__)
        exported |= {f"{module.__name__}.{name}" for name in module.__all__}
    assert exported - set(DOCUMENTED) == set()
    assert len(DOCUMENTED) == len(set(DOCUMENTED))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_names_are_exported_and_have_docstrings(name):
    module, _, attribute = name.rpartition(".")
    owner = import_module(module)
    assert attribute in getattr(owner, "__all__", [attribute])
    assert getattr(owner, attribute).__doc__


def test_every_error_that_users_meet_is_documented():
    names = {
        f"metaod.errors.{name}"
        for name, value in vars(metaod.errors).items()
        if isinstance(value, type) and issubclass(value, metaod.errors.UserError)
    }
    assert names - set(DOCUMENTED) == set()
