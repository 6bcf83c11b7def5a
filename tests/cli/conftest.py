"""Fixtures for the tests of all commands."""

import pytest
import typer
from made_selection import pick_with

from metaod.cli.detect import detect
from metaod.cli.main import main


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    """Print as to a pipe, 200 columns wide, whatever terminal the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(capsys):
    """Run a command line, and check its exit code; a user's mistake is one line."""

    def called(*arguments, code=0):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out = capsys.readouterr()
        assert stop.value.code == code, out.err
        if code == 2:
            assert out.err.startswith("metaod: error: ")
            assert out.err.count("\n") == 1
            return out.err
        return out.out

    return called


@pytest.fixture
def call(capsys, monkeypatch):
    """Call ``metaod detect`` with a pick that needs no learner; return what it printed."""
    pick_with(monkeypatch)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(detect)

    def run(*arguments):
        app(args=list(map(str, arguments)), standalone_mode=False)
        return capsys.readouterr()

    return run
