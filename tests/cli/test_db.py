"""``metaod build`` and ``metaod db``."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stdout
from io import StringIO

import numpy as np
import pytest

from metaod.cli import main as command


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name in ("one", "two"):
        rng = np.random.default_rng(len(name) + ord(name[0]))
        X = rng.normal(size=(80, 3))
        X[:5] += 5
        np.savez(folder / f"{name}.npz", X=X, y=(np.arange(80) < 5).astype(int))
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory, data):
    """A store that no test changes."""
    path = tmp_path_factory.mktemp("store") / "my.db"
    arguments = ["build", "--store", str(path), "--data", str(data), "--family", "COF",
                 "--family", "LODA", "--trials", "2", "--schema", "paper"]  # fmt: skip
    printed = StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit):
        command.main(arguments)
    assert "2 datasets done" in printed.getvalue()
    return path


def test_build_and_look(run, store):
    facts = json.loads(run("db", "info", "--store", store, "--json"))
    assert facts["datasets"] == 2
    assert facts["models"] == 61
    assert facts["references"] == 5
    assert [item["schema"] for item in facts["metafeatures"]] == ["paper"]
    # COF(50) applies to 80 rows, the reference with kNN(100) does not
    assert facts["cells"] == {"not applicable": 2, "ok": 130}
    out = run("db", "info", "--store", store)
    assert "2 of 2 origins" in out
    assert "130 ok" in out


def test_list_and_show(run, store):
    assert "80" in run("db", "list", "--store", store)
    names = json.loads(run("db", "list", "--store", store, "--json"))
    assert [item["name"] for item in names] == ["one", "two"]
    models = json.loads(run("db", "list", "models", "--store", store, "--json"))
    assert len(models) == 66
    out = run("db", "show", "one", "--store", store, "--top", "3")
    assert "65 cells ok, 1 not" in out
    assert "not applicable" in out
    cells = json.loads(run("db", "show", "one", "--store", store, "--json"))
    assert cells[0]["ap"] >= cells[1]["ap"]
    assert cells[-1]["ap"] is None


def test_export_import_merge(run, tmp_path, store):
    run("db", "export", tmp_path / "out", "--store", store)
    out = run("db", "import", tmp_path / "out", "--store", tmp_path / "other.db")
    assert "2 datasets" in out
    assert "132 cells" in out
    assert "added: nothing" in run("db", "merge", tmp_path / "other.db", "--store", store)


def test_verify(run, data, store):
    out = run("db", "verify", "--store", store, "--data", data, "--sample", "20")
    assert "20 cells" in out
    assert "all agree" in out


def test_a_changed_store_is_named_and_not_exported(run, tmp_path, store):
    changed = tmp_path / "changed.db"
    shutil.copy(store, changed)
    with closing(sqlite3.connect(changed)) as connection, connection:
        connection.execute("UPDATE cells SET ap = ap / 2 WHERE state = 'ok' AND dataset = 1")
    assert "warning: the store is inconsistent in 65 places" in run(
        "db", "info", "--store", changed
    )
    facts = json.loads(run("db", "info", "--store", changed, "--json"))
    assert len(facts["inconsistencies"]) == 65
    refused = run("db", "export", tmp_path / "out", "--store", changed, code=2)
    assert "is inconsistent in 65 places" in refused
    assert not (tmp_path / "out").exists()


def test_init_and_add(run, tmp_path, data):
    path = tmp_path / "new.db"
    run("db", "init", "--store", path)
    assert "2 datasets added" in run("db", "add", "--store", path, "--data", data)
    assert "0 datasets added, 2 were in the store already" in run(
        "db", "add", "--store", path, "--data", data
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["db", "info", "--store", "{tmp}/none.db"], "none.db"),
        (["db", "init", "--store", "{store}"], "exists already"),
        (["db", "show", "three", "--store", "{store}"], "three"),
        (["db", "merge", "{store}", "--store", "{store}", "--prefer", "me"], "'target'"),
        (["db", "import", "{tmp}", "--store", "{store}"], "manifest"),
        (["db", "verify", "--store", "{store}", "--data", "{tmp}/nowhere"], "nowhere"),
        (["build", "--store", "{store}", "--data", "{data}", "--retry", "ok!"], "'over budget'"),
        (["build", "--store", "{store}", "--data", "{data}", "--only", "zzz"], "--only"),
        (["build", "--store", "{tmp}", "--data", "{data}"], "{tmp}"),
        (["build", "--store", "{tmp}/x/y.db", "--data", "{data}"], "y.db"),
        (["build", "--data", "{data}"], "--store"),
    ],
)
def test_mistakes_are_one_line(run, tmp_path, data, store, arguments, says):
    places = {"tmp": tmp_path, "store": store, "data": data}
    err = run(*(argument.format(**places) for argument in arguments), code=2)
    assert says.format(**places) in err


INTERRUPTED = """
import os, sys
import metaod.history
from metaod.cli import db, main, progress

class Interrupting(progress.ProgressLine):
    def count(self, what, done, total):
        os.kill(os.getpid(), int(sys.argv[1]))

db.ProgressLine = Interrupting
metaod.history.shipped_folder = lambda: sys.argv[2]
main.main(["db", "init", "--store", "my.db", "--shipped"])
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory, store):
    folder = tmp_path_factory.mktemp("exported")
    with redirect_stdout(StringIO()), pytest.raises(SystemExit):
        command.main(["db", "export", str(folder), "--store", str(store)])
    return folder


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_init_that_is_interrupted_leaves_an_empty_store(tmp_path, run, monkeypatch, exported, how):
    line = [sys.executable, "-c", INTERRUPTED, str(int(how)), str(exported)]
    result = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
    assert result.returncode == codes[how], result.stderr
    # the same command goes on
    monkeypatch.setattr("metaod.history.shipped_folder", lambda: exported)
    again = run("db", "init", "--store", tmp_path / "my.db", "--shipped")
    assert "added: 2 datasets" in again
