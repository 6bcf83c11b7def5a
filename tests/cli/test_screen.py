"""What the commands print with."""

import io
import json
import sys

import pytest

from metaod.cli import screen


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_characters_that_a_stream_lacks_are_replaced(monkeypatch, encoding):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding, "strict"))
    screen.prepare_streams()
    table = screen.grid("größe")
    table.add_row("3 × 4 … 😀 \udcff")
    screen.console().print(table)
    sys.stdout.flush()
    shown = written.getvalue().decode(encoding)
    expected = {"ascii": "3 x 4 ... ? ?", "latin-1": "3 × 4 ... ? ?", "utf-8": "3 × 4 … 😀 ?"}
    assert expected[encoding] in shown


def test_json_is_never_changed_by_the_encoding(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", "strict"))
    screen.prepare_streams()
    screen.print_json({"größe": "😀"})
    sys.stdout.flush()
    assert json.loads(written.getvalue()) == {"größe": "😀"}


def test_a_message_cannot_control_the_terminal(capsys):
    screen.message("a\x1b[31m.csv")
    assert capsys.readouterr().err == "a\\x1b[31m.csv\n"


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("", 200), ("wide", 200)])
def test_a_pipe_is_as_wide_as_asked(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert screen.console().width == width
