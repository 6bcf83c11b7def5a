"""Builds on a real Dask cluster: two workers, each a process of its own with a nanny."""

import os
import signal
import sys

import numpy as np
import pytest
from made_cluster import (
    Cluster,
    Running,
    content_of,
    nothing,
    run_or_kill_worker,
    run_slowly,
)

from metaod.errors import MissingExtra, UserError
from metaod.history import iter_folder
from metaod.models import CellState
from metaod.store import BuildOptions, Store, build, make_executor
from metaod.store import _slices as slices

OPTIONS = BuildOptions(trials=1, schemas=("paper",))


def make_tables(folder, names):
    folder.mkdir()
    for number, name in enumerate(names):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(110 + 10 * number, 3))
        X[:6] += 3
        np.savez(folder / f"{name}.npz", X=X, y=np.arange(len(X)) < 6)
    return folder


def run(path, folder, options=OPTIONS, **keywords):
    with Store(path, create=True) as store:
        return build(store, iter_folder(folder), options, **keywords)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """A folder, and the store of its serial build without slices."""
    place = tmp_path_factory.mktemp("serial")
    folder = make_tables(place / "data", ["first", "second"])
    run(place / "serial.db", folder)
    return folder, content_of(place / "serial.db")


@pytest.fixture
def cut(monkeypatch):
    """Cut even small tables into several slices."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", 1.0)


def test_a_cluster_and_one_process_agree_bit_for_bit(tmp_path, cluster, serial, cut):
    folder, expected = serial
    executor = make_executor(scheduler=cluster.address)
    report = run(tmp_path / "a.db", folder, executor=executor)
    assert len(report.plan.tasks) >= 6
    assert content_of(tmp_path / "a.db") == expected


def test_a_worker_killed_during_a_task(tmp_path, cluster, serial, cut):
    folder, expected = serial
    killed = []

    def kill_one(result):
        if not killed:
            with cluster.client() as client:
                killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    executor = Running(make_executor(scheduler=cluster.address), run_slowly)
    run(tmp_path / "a.db", folder, executor=executor, on_task=kill_one)
    assert killed
    assert content_of(tmp_path / "a.db") == expected


def test_a_task_that_kills_its_worker_fails_and_the_others_do_not(tmp_path, cluster):
    folder = make_tables(tmp_path / "data", ["before", "killer", "later"])
    only = {"space": "extended", "detectors": ("COPOD",), "references": False}
    options = BuildOptions(trials=1, schemas=(), **only)
    executor = Running(make_executor(scheduler=cluster.address), run_or_kill_worker)
    report = run(tmp_path / "a.db", folder, options, executor=executor)
    assert report.states == {CellState.OK: 2, CellState.FAILED: 1}
    with Store(tmp_path / "a.db") as store:
        for record in store.datasets():
            cells = store.cells(record.fingerprint)
            is_killer = record.name == "killer"
            assert {cell.state for cell in cells} == {
                CellState.FAILED if is_killer else CellState.OK
            }
            assert all("the worker process ended 3 times" in cell.reason for cell in cells) == (
                is_killer
            )


def test_messages(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr("metaod.store._dask._SECONDS_TO_CONNECT", 1.0)
    with pytest.raises(UserError, match=r"127.0.0.1:9: no Dask scheduler answers .*dask scheduler"):
        make_executor(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(UserError, match="no Dask scheduler answers"):
        make_executor(scheduler="nonsense://x:y")
    other = {"metaod": "0.0.1"}
    monkeypatch.setattr("metaod.store._dask._own_versions", lambda: other)
    with pytest.raises(UserError, match=r"the worker has metaod .*, this process has 0.0.1"):
        list(make_executor(scheduler=cluster.address).run(nothing, [1, 2]))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"metaod-next\[cluster\]"):
        make_executor(2, "dask")
