"""A line for who waits, where they wait long and look on."""

import io
import sys
import threading

import pytest

from metaod.cli import picking, waiting
from metaod.cli.waiting import not_silent


class Terminal(io.StringIO):
    def __init__(self, *, tty=True):
        super().__init__()
        self._tty = tty
        self.written = threading.Event()

    def isatty(self):
        return self._tty

    def write(self, text):
        self.written.set()
        return super().write(text)


def test_long_work_on_a_terminal_says_a_word(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(waiting, "_PATIENCE", 0.0)
    with not_silent("compiling"):
        assert screen.written.wait(30)
    assert screen.getvalue().startswith("compiling")


@pytest.mark.parametrize(("tty", "patience"), [(True, 1e6), (False, 0.0)], ids=["short", "a pipe"])
def test_else_nothing_is_said(monkeypatch, tty, patience):
    screen = Terminal(tty=tty)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(waiting, "_PATIENCE", patience)
    with not_silent("compiling"):
        before = threading.active_count()
    assert screen.getvalue() == ""
    assert tty or before == threading.active_count()


@pytest.mark.parametrize("trains", [True, False])
def test_training_a_rival_is_told(monkeypatch, capsys, trains):
    monkeypatch.setattr("metaod.history.will_train", lambda learner: trains)
    with picking.picking("metaod select", "isac"):
        pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("training isac on the shipped performance matrix, once" in captured.err) == trains
