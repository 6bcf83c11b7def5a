"""The examples in the help: every option has one, and every one of them is accepted."""

import pytest
from made_commands import COMMANDS, ROOT, parse, words_of

from metaod.cli.main import make_app, read_examples
from metaod.metafeatures import SCHEMAS

EXAMPLES = read_examples()


def lines(name):
    examples = "\n".join(EXAMPLES[name]).replace("\\\n", " ").split("\n")
    return (words_of(example) for example in examples)


def test_every_command_has_examples():
    assert set(EXAMPLES) == {"", *COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_accepted(name):
    for words in lines(name):
        assert " ".join(words).startswith(name)
        parse(words)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_option_has_an_example(name):
    used = {word.partition("=")[0] for words in lines(name) for word in words}
    for option in (COMMANDS[name] if name else ROOT).params:
        flags = {*option.opts, *option.secondary_opts}
        if option.param_type_name == "option" and "--help" not in flags:
            has_own = any(f"{flag} " in f"{option.help} " for flag in flags)
            assert flags & used or has_own, f"metaod {name}: no example of {option.opts[0]}"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_ends_with_the_examples_in_80_columns(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        make_app()(args=[*name.split(), "--help"], prog_name="metaod")
    out = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, out)) <= 80
    end = [line.strip() for line in out[out.index(" Examples:") + 1 :] if line]
    assert end == [line.strip() for line in EXAMPLES[name]]


@pytest.mark.parametrize("name", ["describe", "build", "train"])
def test_the_help_lists_every_schema(name):
    (option,) = [option for option in COMMANDS[name].params if option.name.startswith("schema")]
    for schema in SCHEMAS:
        assert schema in option.help
