"""Options of commands come from their declaration, and errors name them."""

import re
from pathlib import Path

import pytest
import typer

import metaod
from metaod.cli import main as command
from metaod.cli.main import _OPTIONS
from metaod.options import Columns, Picking, Reading

ROOT = typer.main.get_command(command.make_app())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select", "--example", "--pick", "both"], "'--pick' option of metaod select"),
        (["detect", "--example", "--max-seconds", "-1"], "'--max-seconds' option of metaod detect"),
        (["detect", "--example", "--jobs", "0"], "'--jobs' option of metaod detect"),
        (["compare", "--example", "--exclude", "KNNN"], "'--exclude' option of metaod compare"),
        (["models", "--learner", "nobody"], "'--learner' option of metaod models"),
        (["inspect", "t.csv", "--sheet", "a"], "'--sheet' option of metaod inspect"),
        (["inspect", "t.csv", "--decimal", "x"], "'--decimal' option of metaod inspect"),
        (["review", "t.csv", "--strategy", "x"], "'--strategy' option of metaod review"),
        (["describe", "--example", "--schema", "dreams"], "'--schema' option of metaod describe"),
        (["build", "--store", "s.db", "--data", ".", "--space", "outer"],
         "'--space' option of metaod build"),
        (["build", "--store", "s.db", "--data", ".", "--family", "LOFF"],
         "'--family' option of metaod build"),
        (["build", "--store", "s.db", "--data", ".", "--jobs", "0"],
         "'--jobs' option of metaod build"),
        (["build", "--store", "s.db", "--data", ".", "--executor", "magic"],
         "'--executor' option of metaod build"),
        (["build", "--store", "s.db", "--data", ".", "--averages"],
         "'--averages' option of metaod build"),
        (["train", "--store", "s.db", "-o", "a", "--learner", "nobody"],
         "'--learner' option of metaod train"),
        (["db", "list", "tables", "--store", "s.db"], "of metaod db list"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_the_option_is_named_instead_of_the_parameter(run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    assert words in run(*arguments, code=2)


def test_the_renamed_options_exist():
    def options(found):
        for inner in getattr(found, "commands", {}).values():
            yield from options(inner)
        yield from (option.name for option in found.params)

    assert set(_OPTIONS.values()) <= set(options(ROOT))


def test_no_text_names_a_parameter_beside_its_option():
    """A message names a `Setting`, which each front end words."""
    for path in Path(metaod.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"[a-z]=\S* \(--[a-z]|[a-z]=\S*, --[a-z]", text), path


@pytest.mark.parametrize("group", [Reading, Columns, Picking])
def test_detect_has_every_declared_option(group):
    known = {parameter.name: parameter for parameter in ROOT.commands["detect"].params}
    for name, declared in group.declared().items():
        if not declared.only_python:
            assert known[name].help.startswith(declared.help.rstrip("."))
