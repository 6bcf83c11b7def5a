"""Builds on a real Dask cluster: two workers, each a process of its own with a nanny."""

import os
import signal
import subprocess
import sys

import dask
import pytest
from made_builds import content, make_folder, run
from made_cluster import (
    Cluster,
    Running,
    nothing,
    run_or_kill_worker,
    run_or_lack_memory,
    run_slowly,
)

from metaod.errors import BadFile, MissingExtra, UserError
from metaod.models import CellState
from metaod.store import BuildOptions, Store, make_executor
from metaod.store._executors import versions

FAMILIES = ("HBOS", "COF", "LODA")
OPTIONS = BuildOptions(detectors=FAMILIES, trials=1, schemas=("paper",))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """A folder, and the store of its serial build."""
    place = tmp_path_factory.mktemp("serial")
    folder = make_folder(place / "data", rows=110, names=["first", "second"])
    run(place / "serial.db", folder, OPTIONS)
    return folder, content(place / "serial.db")


def test_a_cluster_and_one_process_agree_bit_for_bit(tmp_path, cluster, serial):
    folder, expected = serial
    executor = make_executor(scheduler=cluster.address)
    report = run(tmp_path / "a.db", folder, OPTIONS, executor=executor)
    assert len(report.plan.tasks) == 2
    assert content(tmp_path / "a.db") == expected


def test_a_worker_killed_during_a_task(tmp_path, cluster, serial):
    folder, expected = serial
    killed = []

    def kill_one(result):
        if not killed:
            with cluster.client() as client:
                killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    executor = Running(make_executor(scheduler=cluster.address), run_slowly)
    run(tmp_path / "a.db", folder, OPTIONS, executor=executor, on_task=kill_one)
    assert killed
    assert content(tmp_path / "a.db") == expected


def test_a_task_that_kills_its_worker_fails_and_the_others_do_not(tmp_path, cluster):
    folder = make_folder(tmp_path / "data", rows=110, names=["before", "killer", "later"])
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
            assert all("workers ended" in cell.reason for cell in cells) == is_killer


def test_messages(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr("metaod.store._executors._SECONDS_TO_CONNECT", 1.0)
    with pytest.raises(UserError, match=r"127.0.0.1:9: no Dask scheduler answers .*dask scheduler"):
        make_executor(scheduler="tcp://127.0.0.1:9")
    for address in ("nonsense://x:1", "tls://127.0.0.1:9", "ucx://127.0.0.1:9"):
        with pytest.raises(UserError, match="no Dask scheduler answers"):
            make_executor(scheduler=address)
    for address in ("", "myhost", "tcp://", "tcp://:8786", "inproc://1.2.3.4:5", "tcp://a:b"):
        with pytest.raises(UserError, match=r"is not the address of a Dask .*tcp://HOST:PORT"):
            make_executor(scheduler=address)
    with (
        dask.config.set({"scheduler-address": ""}),
        pytest.raises(UserError, match="is not the address"),
    ):
        make_executor(2, "dask")
    monkeypatch.setattr("metaod.artifacts._artifact.__version__", "0.0.1")
    versions.cache_clear()
    with pytest.raises(UserError, match=r"the worker has metaod .*, the build has 0.0.1"):
        list(make_executor(scheduler=cluster.address).run(nothing, [1, 2]))
    monkeypatch.undo()
    versions.cache_clear()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"metaod-next\[cluster\]"):
        make_executor(2, "dask")


def test_no_traceback_after_an_address_without_an_answer(tmp_path):
    command = [sys.executable, "-m", "metaod", "build", "--store", str(tmp_path / "a.db"),
               "--data", str(tmp_path), "--scheduler", "tls://127.0.0.1:9"]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no Dask scheduler answers" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_task_without_enough_memory_fails_and_the_others_do_not(tmp_path, cluster):
    folder = make_folder(tmp_path / "data", rows=110, names=["killer", "other"])
    options = BuildOptions(detectors=("HBOS",), trials=1, schemas=(), references=False)
    executor = Running(make_executor(scheduler=cluster.address), run_or_lack_memory)
    report = run(tmp_path / "a.db", folder, options, executor=executor)
    assert report.states == {CellState.OK: 40, CellState.FAILED: 40}
    assert run(tmp_path / "a.db", folder, options, executor=executor).plan.tasks == ()


def test_a_table_that_is_deleted_meanwhile(tmp_path, cluster):
    folder = make_folder(tmp_path / "data", rows=110, names=["only"])

    def delete(plan):
        (folder / "only.npz").unlink()

    executor = make_executor(scheduler=cluster.address)
    with pytest.raises(BadFile, match=r"npz: cannot be read \(No such file"):
        run(tmp_path / "a.db", folder, OPTIONS, executor=executor, on_plan=delete)
