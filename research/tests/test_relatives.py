"""Relatives in a store: found, joined, and read from the command line."""

import json

import numpy as np
import pytest

from metaod.errors import UserError
from metaod.history import iter_folder
from metaod.store import Store, record_of
from research.__main__ import main
from research.relatives import find_relatives, join_related, named, sketches_of

LABELS = (np.arange(300) < 15).astype(int)


def table(number, n=300):
    X = np.random.default_rng(number).normal(size=(n, 5))
    X[LABELS[:n] == 1] += 4
    return X


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    tables = {"first": table(1), "second": table(2), "third": table(3)}
    tables |= {"again": table(2)[::-1], "part": table(2)[:150]}
    for name, X in tables.items():
        np.savez(folder / f"{name}.npz", X=X, y=LABELS[: len(X)])
    return folder


@pytest.fixture
def store(tmp_path, data):
    with Store(tmp_path / "a.db", create=True) as made:
        made.add_datasets([record_of(entry) for entry in iter_folder(data)])
        yield made


def origins(store):
    return {item.name: item.origin for item in store.datasets()}


def test_relatives_are_found_and_joined_once(store, data):
    sketches = sketches_of(named(store), iter_folder(data))
    assert sketches.keys() == named(store).keys()
    pairs = {(item.one, item.other): str(item) for item in find_relatives(sketches)}
    assert {frozenset(pair) for pair in pairs} == {
        frozenset(pair) for pair in (("again", "second"), ("again", "part"), ("part", "second"))
    }
    changed = join_related(store, pairs)
    assert {(name, before) for name, before, _ in changed} == {
        ("again", "again"), ("second", "second"),
    }  # fmt: skip
    assert origins(store) == {
        "again": "part", "second": "part", "part": "part", "first": "first", "third": "third",
    }  # fmt: skip
    assert join_related(store, pairs) == []


def test_pairs_of_unknown_datasets_are_refused(store):
    with pytest.raises(UserError, match="no dataset is called 'fourth'"):
        join_related(store, {("first", "fourth"): "why"})


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["relatives", *map(str, arguments)])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_the_command(capsys, tmp_path, store, data):
    path = store.location.path
    store.close()
    code, out, _ = call(capsys, "--store", path, "--json")
    assert (code, len(json.loads(out)["not compared"])) == (0, 5)
    (tmp_path / "pairs.csv").write_text("one,other,reason\nfirst,third,the same sensor\n")
    more = ["--data", data, "--join", "--also", tmp_path / "pairs.csv"]
    code, out, _ = call(capsys, "--store", path, *more)
    assert code == 0
    assert "3 pairs, 0 of different origins" in out
    assert "third: third joined to first" in out
    code, _, err = call(capsys, "--store", path, "--also", tmp_path / "no.csv")
    assert (code, err.count("\n")) == (2, 1)
