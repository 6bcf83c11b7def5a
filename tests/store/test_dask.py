"""Builds on a real Dask cluster: two workers, each a process of its own with a nanny."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import dask
import numpy as np
import pytest
from made_cluster import (
    Cluster,
    Running,
    content_of,
    count_sent,
    forget_files,
    nothing,
    run_or_kill_worker,
    run_or_lack_memory_for_cof_15,
    run_slowly,
)

from metaod.errors import BadFile, MissingExtra, UserError
from metaod.history import iter_folder
from metaod.models import CellState
from metaod.store import BuildOptions, Store, _dask, _dask_worker, build, make_executor
from metaod.store import _slices as slices
from metaod.store._dask_worker import versions

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
    monkeypatch.setattr("metaod.store._dask_client._SECONDS_TO_CONNECT", 1.0)
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
    monkeypatch.setattr("metaod.store._dask_worker.__version__", "0.0.1")
    versions.cache_clear()
    with pytest.raises(UserError, match=r"the worker has metaod .*, this process has 0.0.1"):
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


def test_a_large_model_is_over_budget_alone(tmp_path, cluster, monkeypatch):
    folder = make_tables(tmp_path / "data", ["only"])
    options = BuildOptions(
        detectors=("HBOS", "OCSVM"), trials=1, references=False, schemas=("paper",)
    )
    monkeypatch.setattr("metaod.store._memory._KERNEL_BYTES", 1.6e5)  # 1.9 GB
    executor = make_executor(scheduler=cluster.address)
    run(tmp_path / "a.db", folder, options, executor=executor)
    with Store(tmp_path / "a.db") as store:
        [record] = store.datasets()
        cells = store.cells(record.fingerprint)
        assert len(store.metafeatures(record.fingerprint)) == 1
    states = {(cell.model.partition("(")[0], cell.state) for cell in cells}
    assert states == {("HBOS", CellState.OK), ("OCSVM", CellState.OVER_BUDGET)}
    reasons = {cell.reason for cell in cells if cell.state == CellState.OVER_BUDGET}
    assert all("MiB of memory, the largest worker has" in reason for reason in reasons)
    assert not run(tmp_path / "a.db", folder, options, executor=executor).plan.tasks


def test_a_model_without_enough_memory_fails_alone(tmp_path, cluster):
    folder = make_tables(tmp_path / "data", ["only"])
    options = BuildOptions(detectors=("HBOS", "COF"), trials=1, schemas=(), references=False)
    executor = Running(make_executor(scheduler=cluster.address), run_or_lack_memory_for_cof_15)
    run(tmp_path / "a.db", folder, options, executor=executor)
    with Store(tmp_path / "a.db") as store:
        [record] = store.datasets()
        failed = [c for c in store.cells(record.fingerprint) if c.state != CellState.OK]
    assert [(cell.model, cell.state) for cell in failed] == [
        ("COF(n_neighbors=15)", CellState.FAILED)
    ]
    assert "the worker ran out of memory, once on this task" in failed[0].reason


def test_threads_of_a_worker_share_one_copy(tmp_path, serial, cut, monkeypatch):
    original, expected = serial
    folder = shutil.copytree(original, tmp_path / "data")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_dask, "_PART_BYTES", 1000)
    sent = count_sent(monkeypatch)
    with Cluster(tmp_path, n_workers=1, threads=4, cwd=tmp_path / "elsewhere") as cluster:
        executor = make_executor(scheduler=cluster.address)
        run(tmp_path / "a.db", folder.name, executor=executor)
        assert content_of(tmp_path / "a.db") == expected
        assert sorted(sent) == ["data/first.npz", "data/second.npz"]
        # a worker whose disk is full, and a table that is deleted meanwhile
        with cluster.client() as client:
            client.run(forget_files)
        [copies] = tmp_path.rglob("metaod-files")
        shutil.rmtree(copies)
        copies.write_text("no folder")
        options = BuildOptions(space="extended", trials=1)
        with pytest.raises(UserError, match=r"cannot keep a copy of .*\(File exists\); free"):
            run(tmp_path / "a.db", folder.name, options, executor=executor)
        copies.unlink()

        def delete(plan):
            for path in folder.iterdir():
                path.unlink()

        with pytest.raises(BadFile, match=r"npz: cannot be read \(No such file"):
            run(tmp_path / "a.db", folder.name, options, executor=executor, on_plan=delete)


class FakeClient:
    """A client of a scheduler that tells of its workers, or is lost."""

    status, id = "running", "fake"

    def __init__(self, answers):
        self.scheduler = SimpleNamespace(address="tcp://fake:1", identity=None)
        self.answers = iter(answers)

    def sync(self, function, **_):
        return {"workers": dict.fromkeys(next(self.answers), FACTS)}

    def run(self, function, *_, workers, **options):
        return dict.fromkeys(workers, function())


FACTS = {"resources": {}, "memory_limit": 0, "nthreads": 1, "status": "running"}


def test_a_worker_is_lost_after_two_looks_without_it(monkeypatch):
    monkeypatch.setattr(_dask, "_SECONDS_BETWEEN_LOOKS", 0.0)
    looks = [["a", "b"], [], ["a", "b"], ["b"], ["b"]]
    made = _dask._Run(FakeClient(looks), nothing, iter([]))
    known = []
    for _ in looks:
        assert not list(made._look_at_workers())
        known.append({address: worker.is_open for address, worker in made._workers.items()})
    both = {"a": True, "b": True}
    assert known == [both, {"a": False, "b": False}, both, {"a": False, "b": True}, {"b": True}]


@pytest.mark.parametrize("method", ["sync", "run"])
def test_a_scheduler_that_is_lost(monkeypatch, method):
    def fail(*_, **__):
        raise OSError("closed")

    client = FakeClient([["a"]])
    setattr(client, method, fail)
    with pytest.raises(UserError, match="the connection to the Dask scheduler was lost"):
        list(_dask._Run(client, nothing, iter([1])).results())


def test_a_folder_that_may_not_be_read_has_no_file(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", refuse)
    assert not _dask_worker._is_file(Path("x"))
