"""Progress of commands: a line on a terminal, and nothing elsewhere."""

import io
import re
import sys
import time
from types import SimpleNamespace

import pytest

from metaod.cli import progress as module
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import message
from metaod.selection import ProgressReport

STEP = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*[mKA])|\r|\n|[^\x1b\r\n]+|\x1b")


def screen_of(written):
    """What a terminal shows in the end, and every line that it showed."""
    lines, row, column, seen = [""], 0, 0, set()
    for match in STEP.finditer(written):
        part, code = match.group(), match.group(1)
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif code == "2K":
            lines[row] = ""
        elif code and code.endswith("A"):
            row -= int(code[:-1] or 1)
        elif code is None:
            text = lines[row].ljust(column)
            lines[row] = text[:column] + part + text[column + len(part) :]
            column += len(part)
            seen.add(lines[row].rstrip())
    return "\n".join(lines).strip("\n "), seen


class Terminal(io.StringIO):
    """Standard error at a terminal; what is written to it is kept."""

    def isatty(self):
        return True


@pytest.fixture
def open_terminal(monkeypatch):
    """Make standard error a terminal, and show progress at once."""

    def opened():
        # not before the test itself runs: pytest sets sys.stderr between the two
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(module, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(module, "_LEAST_QUIET", 0.0)
    return opened


@pytest.fixture
def waiting(monkeypatch):
    """Reports wait until their line can be seen."""
    update = ProgressLine.update

    def slow(self, *arguments):
        update(self, *arguments)
        if sys.stderr.isatty():
            deadline = time.monotonic() + 10
            while self._live is None and time.monotonic() < deadline:
                time.sleep(0.01)
            self._live.refresh()

    monkeypatch.setattr(ProgressLine, "update", slow)


def test_the_line_is_gone_when_the_work_is_done(open_terminal, waiting):
    terminal = open_terminal()
    with ProgressLine() as line:
        line.show(ProgressReport("prepare"))
        line.show(ProgressReport("fit", 0.5, 75.0, "3 of 7, KDE"))
        message("a warning")
        line.count("datasets", 2, 8)
    shown, seen = screen_of(terminal.getvalue())
    assert shown == "a warning"
    assert any(text.startswith("preparing the table  0:0") for text in seen)
    fits = [text for text in seen if text.startswith("fitting 3 of 7, KDE")]
    assert any(re.search(r"━ +\d+% +1:1[45] left$", text) for text in fits)
    assert any(text.startswith("datasets 2/8") for text in seen)


def test_an_error_removes_the_line_and_shows_the_cursor(open_terminal, waiting):
    terminal = open_terminal()

    def fail():
        with ProgressLine() as line:
            line.show(ProgressReport("prepare"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    written = terminal.getvalue()
    assert screen_of(written)[0] == ""
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_the_line_fits_in_80_columns(open_terminal, waiting):
    terminal = open_terminal()
    with ProgressLine() as line:
        line.update("x" * 300)
        line.update("y" * 300, 0.5, 7200.0)
        line.update("name\x1b[31m\n\u202e")
    shown, seen = screen_of(terminal.getvalue())
    assert shown == ""
    assert 60 < max(map(len, seen)) <= 80
    assert any(r"name\x1b[31m\n\u202e" in text for text in seen)


def test_nothing_in_the_first_two_seconds(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(module, "_STARTED", time.monotonic())
    with ProgressLine() as line:
        line.show(ProgressReport("fit", 0.5, 1.0))
        assert 1.5 < line._timer.interval <= 2.0
    assert made.getvalue() == ""


COMMANDS = {
    "inspect": "preparing the table",
    "describe": "extracting meta-features",
    "select --pick learned-single": "picking a model",
    "detect --json": "fitting 1 of 1, IForest",
    "compare": "fitting PyOD's ADEngine",
    "review --pick committee --answers 2": "fitting 7 of 7, SCiForest",
}


@pytest.mark.parametrize(("line", "text"), COMMANDS.items())
def test_commands_show_progress_on_a_terminal_alone(
    line, text, open_terminal, waiting, run, monkeypatch
):
    terminal = open_terminal()
    # a line without reports is shown too, however short the work is
    monkeypatch.setattr(ProgressLine, "__enter__", enter_and_wait(ProgressLine.__enter__))
    on_terminal = run(*line.split(), "--example")
    shown, seen = screen_of(terminal.getvalue())
    assert shown == ""
    assert any(found.startswith(text) for found in seen)
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    on_pipe = run(*line.split(), "--example")
    assert pipe.getvalue() == ""
    if line != "compare":  # which prints times
        assert on_pipe == on_terminal


def enter_and_wait(enter):
    def entered(self):
        enter(self)
        if sys.stderr.isatty():
            self.update(self._text)
        return self

    return entered


def test_the_pace_tells_the_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    line = ProgressLine()
    now[0] += 10
    line.count("datasets", 1, 4)
    assert line._now() == (0.25, "0:30 left")
    now[0] += 6  # the fraction moves on between two reports
    assert line._now() == (pytest.approx(0.4), "0:24 left")
    now[0] += 50
    fraction, text = line._now()
    assert fraction is None
    assert text == "1:06, longer than expected"
    line.count("datasets", 2, 4)
    assert line._now()[0] == pytest.approx(0.5)
    line.count("figures", 0, 3)  # other work begins
    assert line._now() == (0.0, "1:06")
    line.show(ProgressReport("fit", 0.0, 10.0, "1 of 7, KNN", 0.2))
    now[0] += 9
    assert line._now() == (0.2, "0:01 left")
    now[0] += 9
    assert line._now()[1] == "1:24, longer than expected"


def test_compiling_is_shown(open_terminal, waiting, monkeypatch):
    terminal = open_terminal()
    monkeypatch.setattr(module, "_compilation", lambda: SimpleNamespace(is_running=True, seconds=3))
    with ProgressLine() as line:
        line.show(ProgressReport("fit", 0.25, 10.0, "1 of 4, KDE"))
    shown, seen = screen_of(terminal.getvalue())
    assert shown == ""
    assert "compiling for the first time, about 8 s, once  0:03" in seen


def test_compiling_does_not_count_as_work(monkeypatch):
    now, compilation = [100.0], SimpleNamespace(is_running=False, seconds=0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_compilation", lambda: compilation)
    line = ProgressLine()
    line.show(ProgressReport("fit", 0.25, 10.0, "1 of 4, KDE"))
    now[0] += 50
    compilation.seconds = 48.0
    assert line._now() == (pytest.approx(0.4), "0:08 left")
    line.count("datasets", 1, 4)
    now[0] += 2
    line.count("datasets", 2, 4)
    assert line._now() == (0.5, "0:04 left")
