"""Faults of a Dask cluster of several processes: `make test-cluster` runs them."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import dask
import dask.dataframe as dd
import made_cluster
import numpy as np
import pytest
from made_builds import content, make_folder, run
from made_cluster import Cluster, Fake, busy_keys, kill, n_picks_received, nothing, times_of
from test_dask import FAMILIES, OPTIONS

import metaod
from metaod.history import iter_folder
from metaod.models import CellState
from metaod.store import BuildOptions, Store, build, make_executor

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    place = tmp_path_factory.mktemp("serial")
    folder = make_folder(place / "data", 8, rows=110)
    run(place / "serial.db", folder, OPTIONS)
    return folder, content(place / "serial.db")


SLOWLY = """
import sys
import made_cluster
from metaod.store import _executors
real = _executors._Run.__init__
_executors._Run.__init__ = lambda self, client, _: real(self, client, made_cluster.run_slowly)
from metaod.cli.main import main
main(sys.argv[1:])
"""


def start_build(path, folder, cluster, *, slowly=True):
    """Start a build; a slow one does not end before a test interferes."""
    program = ["-c", SLOWLY] if slowly else ["-m", "metaod"]
    command = [sys.executable, *program, "build", "--store", str(path), "--data", str(folder),
               "--trials", "1", "--schema", "paper", "--scheduler", cluster.address,
               *(word for name in FAMILIES for word in ("--family", name))]  # fmt: skip
    folders = [*filter(None, sys.path), str(Path(made_cluster.__file__).parent)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
    )  # fmt: skip


def n_finished(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as connection:
            return connection.execute("select count(distinct dataset) from evaluations").fetchone()[
                0
            ]
    except sqlite3.Error:
        return 0


def finish(path, folder, cluster):
    """Finish a build that was stopped; return how many datasets it had finished."""
    before = n_finished(path)
    done = start_build(path, folder, cluster, slowly=False)
    _, errors = done.communicate(timeout=300)
    assert done.returncode == 0, errors
    assert f"{8 - before} datasets to evaluate, {before} finished before" in errors
    return before


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.01)


def test_the_driver_is_killed(tmp_path, serial):
    folder, expected = serial
    path = tmp_path / "a.db"
    with Cluster(tmp_path) as cluster:
        driver = start_build(path, folder, cluster)
        wait_until(lambda: n_finished(path) >= 2 or driver.poll() is not None)
        kill(driver)
        assert 2 <= finish(path, folder, cluster) < 8
    assert content(path) == expected


def test_the_scheduler_is_killed_and_started_again(tmp_path, serial):
    folder, expected = serial
    path = tmp_path / "a.db"
    with Cluster(tmp_path) as cluster:
        driver = start_build(path, folder, cluster)
        wait_until(lambda: n_finished(path) >= 2 or driver.poll() is not None)
        kill(cluster.scheduler)
        _, errors = driver.communicate(timeout=120)
        assert driver.returncode == 2, errors
        assert "the connection to the Dask scheduler was lost; start the scheduler" in errors
        assert "Traceback" not in errors
        cluster.start_scheduler()
        cluster.add_worker()
        cluster.wait_for(1)
        finish(path, folder, cluster)
    assert content(path) == expected


def test_an_interrupt_cancels_what_runs(tmp_path, serial):
    folder, _ = serial
    path = tmp_path / "a.db"
    with Cluster(tmp_path) as cluster:
        driver = start_build(path, folder, cluster)
        wait_until(lambda: n_finished(path) >= 1 or driver.poll() is not None)
        os.killpg(driver.pid, signal.SIGINT)
        _, errors = driver.communicate(timeout=60)
        assert driver.returncode == 130, errors
        assert "Traceback" not in errors
        with cluster.client() as client:
            wait_until(lambda: not any(client.run(busy_keys).values()), 20)


def test_workers_that_join_later_are_used(tmp_path, serial):
    folder, expected = serial
    with Cluster(tmp_path, n_workers=0) as cluster:
        executor = make_executor(scheduler=cluster.address)
        late = threading.Timer(2.0, cluster.add_worker)
        late.start()
        try:
            run(tmp_path / "a.db", folder, OPTIONS, executor=executor)
        finally:
            late.join()
        seen = set()

        def tasks():
            # until the second worker has run one, however long its start takes
            end = time.monotonic() + 90
            for number in count():
                if len(seen) == 2 or time.monotonic() > end:
                    return
                yield Fake(number, seconds=0.1)

        for number, (address, *_) in enumerate(executor.run(times_of, tasks())):
            if number == 5:
                cluster.add_worker()
            seen.add(address)
        assert len(seen) == 2
    assert content(tmp_path / "a.db") == expected


@pytest.mark.parametrize("other_content", [False, True])
def test_workers_without_the_files(tmp_path, serial, monkeypatch, other_content):
    """A relative path, and workers in another folder, where it names nothing or another file."""
    folder, expected = serial
    monkeypatch.chdir(folder.parent)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if other_content:
        shutil.copytree(folder, elsewhere / folder.name)
        for path in (elsewhere / folder.name).iterdir():
            np.savez(path, X=np.random.default_rng(9).normal(size=(50, 2)), y=np.arange(50) < 5)
    with Cluster(tmp_path, cwd=elsewhere) as cluster:
        executor = make_executor(scheduler=cluster.address)
        run(tmp_path / "a.db", folder.name, OPTIONS, executor=executor)
    assert content(tmp_path / "a.db") == expected


def test_memory(tmp_path, serial):
    folder, _ = serial
    with Cluster(tmp_path, n_workers=0) as cluster:
        cluster.add_worker(threads=4, resources="memory=1e9")
        cluster.wait_for(1)
        executor = make_executor(scheduler=cluster.address)
        tasks = [Fake(number, n_bytes=int(6e8 if number % 3 else 1e8)) for number in range(12)]
        spans = list(executor.run(times_of, tasks))
        assert len(spans) == 12
        for _, start, _, _ in spans:
            together = sum(n_bytes for _, other, after, n_bytes in spans if other <= start < after)
            assert together <= 1e9
        assert any(a[1] < b[2] and b[1] < a[2] for a in spans for b in spans if a is not b)
        # what fits no worker is recorded, and the build goes on
        options = BuildOptions(detectors=("HBOS", "OCSVM"), trials=1, references=False, schemas=())
        with Store(tmp_path / "a.db", create=True) as store:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(
                    "metaod.store._tasks._TABLE_COPIES", 330_000
                )  # 0.87 to 1.4 GB a table
                report = build(store, iter_folder(folder), options, executor=executor)
            assert report.states[CellState.OVER_BUDGET]
            assert report.states[CellState.OK]
            reasons = {
                cell.reason
                for record in store.datasets()
                for cell in store.cells(record.fingerprint)
                if cell.state == CellState.OVER_BUDGET
            }
        assert all("MiB of memory, the largest worker has 954 MiB" in reason for reason in reasons)


def test_ten_thousand_tasks_are_taken_as_there_is_room(tmp_path):
    with Cluster(tmp_path) as cluster:
        taken = 0

        def tasks():
            nonlocal taken
            for number in range(10_000):
                taken += 1
                yield number

        ahead = 0
        results = []
        for result in make_executor(scheduler=cluster.address).run(nothing, tasks()):
            results.append(result)
            ahead = max(ahead, taken - len(results))
    assert sorted(results) == list(range(10_000))
    assert ahead <= 2 * 2 + 1


def test_scores_of_a_dask_table_by_a_pick_that_travels_once(tmp_path):
    frame = metaod.load_example().frame
    pick = metaod.MetaOD().fit(frame)
    with Cluster(tmp_path) as cluster, cluster.client() as client:
        scored = metaod.cluster.score(dd.from_pandas(frame, npartitions=12), pick)
        found = client.compute(scored).result()
        arrivals = client.run(n_picks_received)
    np.testing.assert_allclose(found["score"], -pick.score_samples(frame), rtol=1e-9)
    assert found["flag"].tolist() == pick.labels_.tolist()
    # from the other worker, or from the graph: not with each of the 12 partitions
    assert set(arrivals.values()) <= {0, 1}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_tls_is_set_up_by_the_settings_of_dask(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=metaod",
               "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    settings = {"distributed.comm.tls.ca-file": str(certificate)}
    for role in ("client", "scheduler", "worker"):
        settings[f"distributed.comm.tls.{role}.cert"] = str(certificate)
        settings[f"distributed.comm.tls.{role}.key"] = str(key)
    for name, value in settings.items():
        variable = name.replace(".", "__").replace("-", "_").upper()
        monkeypatch.setenv(f"DASK_{variable}", value)
    with (
        dask.config.set(settings),
        Cluster(tmp_path, n_workers=1, protocol="tls") as cluster,
    ):
        executor = make_executor(scheduler=cluster.address)
        assert sorted(executor.run(nothing, range(5))) == [0, 1, 2, 3, 4]
