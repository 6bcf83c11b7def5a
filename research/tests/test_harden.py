"""A short run of every attack of `make harden`, and that it sees a planted defect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harden import fuzzing
from harden.targets import TARGETS, Target
from metaod.errors import BadFile

ROOT = Path(__file__).parents[2]


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr("harden.fuzzing.WORK", tmp_path)
    return tmp_path


def run(work, *words):
    return subprocess.run(
        [sys.executable, "-m", "harden", *words], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"HARDEN_WORK": str(work)}, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_withstands_a_few_inputs(work, name):
    done = run(work, "input", name, "--seconds", "2", "--seed", "1")
    failures = [path.read_text("utf-8") for path in work.rglob("*.txt")]
    assert (done.returncode, failures) == (0, []), done.stderr
    assert json.loads((work / "counts.json").read_text("utf-8"))[f"input/{name}"]["executions"] > 0


def test_commands_withstand_faults(work):
    done = run(work, "faults", "--count", "6", "--seed", "1")
    failures = [path.read_text("utf-8") for path in work.rglob("*.txt")]
    assert (done.returncode, failures) == (0, [])


def fails(data):
    raise ZeroDivisionError


def says_nothing(data):
    raise BadFile("a.csv", "is bad")


def takes_memory(data):
    return b"x" * (600 * 2**20)


@pytest.mark.parametrize("attempt", [fails, says_nothing, takes_memory])
def test_a_defect_is_kept_once_and_forgotten_when_it_is_fixed(work, attempt):
    session = fuzzing.Session("made", Target([b"x"], attempt))
    session.attempt(b"x")
    session.attempt(b"y")
    assert [path.read_bytes() for path in work.rglob("*.input")] == [b"x"]
    assert session.replay() == 1
    session.target = Target([b"x"], len)
    assert session.replay() == 0
