"""Progress of long work: a bar on a terminal, lines in logs."""

import io

from metaod.cli import progress as module
from metaod.cli.progress import Steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_now_and_then_and_at_the_end(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with Steps() as steps:
        for done in range(1, 8):
            now[0] += 4.0
            steps.on_step("trainings", done, 7)
    out = capsys.readouterr()
    assert out.err.splitlines() == ["trainings: 4/7", "trainings: 7/7"]
    assert out.out == ""


def test_no_lines_where_none_are_wanted(capsys):
    with Steps(lines=False) as steps:
        steps.on_step("trainings", 7, 7)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Steps() as steps:
        steps.on_step("trainings", 1, 2)
        steps.on_step("timed\x1b[31m", 1, 4)
        steps.on_step("trainings", 2, 2)
        tasks = {task.description: (task.completed, task.total) for task in steps._bar.tasks}
    # control characters do not reach the terminal
    assert tasks == {"trainings": (2, 2), "timed\\x1b[31m": (1, 4)}
    assert "trainings: 2/2" not in screen.getvalue()
    assert not steps._bar.live.is_started


def test_an_error_stops_the_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    steps = Steps()
    try:
        with steps:
            steps.on_step("trainings", 1, 2)
            raise RuntimeError
    except RuntimeError:
        pass
    assert not steps._bar.live.is_started
