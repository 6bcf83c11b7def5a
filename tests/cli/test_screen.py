"""What the commands print with."""

import io
import sys
import threading

import pytest

from metaod.cli import options, screen
from metaod.cli.screen import message_if_long


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


def test_long_work_on_a_terminal_prints_a_message(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(screen, "_LONG_SECONDS", 0.0)
    with message_if_long("compiling"):
        assert terminal.written.wait(30)
    assert terminal.getvalue().startswith("compiling")


@pytest.mark.parametrize(("tty", "seconds"), [(True, 1e6), (False, 0.0)], ids=["short", "a pipe"])
def test_otherwise_nothing_is_printed(monkeypatch, tty, seconds):
    terminal = Terminal(tty=tty)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(screen, "_LONG_SECONDS", seconds)
    with message_if_long("compiling"):
        before = threading.active_count()
    assert terminal.getvalue() == ""
    assert tty or before == threading.active_count()


@pytest.mark.parametrize("trains", [True, False])
def test_training_a_learner_prints_a_message(monkeypatch, capsys, trains):
    monkeypatch.setattr("metaod.history.will_train", lambda learner: trains)
    with options.picking_errors("metaod select", "isac"):
        pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("training isac on the shipped performance matrix (once" in captured.err) == trains
