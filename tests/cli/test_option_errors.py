"""Errors of functions, in the words of the command line."""

import ast
import re
from pathlib import Path

import pytest
import typer

import metaod
from metaod.cli import main as command
from metaod.cli.option_errors import _OPTIONS, named_by_option, without_parameters
from metaod.errors import BadParameter

ROOT = typer.main.get_command(command.app)


def err(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        command.main([str(argument) for argument in arguments])
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select", "--example", "--pick", "both"], "'--pick' option of metaod select"),
        (["detect", "--example", "--max-seconds", "-1"], "'--max-seconds' option of metaod detect"),
        (["compare", "--example", "--exclude", "KNNN"], "'--exclude' option of metaod compare"),
        (["info", "--learner", "nobody"], "'--learner' option of metaod info"),
        (["models", "--learner", "nobody"], "'--learner' option of metaod models"),
        (["inspect", "t.csv", "--sheet", "a"], "'--sheet' option of metaod inspect"),
        (["inspect", "t.csv", "--decimal", "x"], "'--decimal' option of metaod inspect"),
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
def test_the_option_is_named_instead_of_the_parameter(
    capsys, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    assert words in err(capsys, *arguments)


def test_a_parameter_without_an_option_keeps_its_name():
    error = BadParameter("MetaODLearner", "n_estimators", "at least 1", 0)
    assert named_by_option(error, ROOT, ["train", "--set", "n_estimators=0"]) is error


def test_the_renamed_options_exist():
    def options(found):
        for inner in getattr(found, "commands", {}).values():
            yield from options(inner)
        yield from (option.name for option in found.params)

    assert set(_OPTIONS.values()) <= set(options(ROOT))


def messages():
    """Texts of the package that name an option."""
    for path in sorted(Path(metaod.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    part.value if isinstance(part, ast.Constant) else "value"
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_messages_name_options_without_parameters():
    found = [text for text in messages() if re.search(r"[(,] ?--[a-z]", text) and "\n" not in text]
    assert len(found) > 10
    for text in found:
        assert not re.search(r"\b[a-z_]+=", without_parameters(text)), text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as text: text='a b' (--text 'a b'), or", "as text: --text 'a b', or"),
        ("(decimal='.', --decimal ., if so)", "(--decimal ., if so)"),
        ("or raise max_bytes (--max-bytes) if", "or raise --max-bytes if"),
        ("name the column with --label (in Python: label=)", "name the column with --label"),
        ("skip fewer (--skip-rows, --skip-footer)", "skip fewer (--skip-rows, --skip-footer)"),
        ("n_neighbors=20 needs at least 21 rows", "n_neighbors=20 needs at least 21 rows"),
    ],
)
def test_a_parameter_beside_its_option_is_left_out(text, shown):
    assert without_parameters(text) == shown


def test_errors_of_reading_name_options_alone(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1;2\n" * 20 + "n.a.;3\n" + "1;4\n")
    text = err(capsys, "inspect", path)
    assert "--bad-values" in text
    assert "=" not in text
