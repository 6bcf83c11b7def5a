"""Builders in processes of their own, on one store: killed, suspended, or started at once."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from made_builds import content, make_folder, run

from metaod.history import iter_folder
from metaod.store import BuildOptions, Store, build, make_executor
from metaod.store import _claims as claiming
from metaod.store._tasks import run_task

TINY = BuildOptions(detectors=("HBOS", "LODA"), trials=2, references=False, schemas=("paper",))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

# every row that is written to the table of evaluations, however often
_LOG = """
    CREATE TABLE written (dataset integer, model integer, trial integer);
    CREATE FUNCTION note() RETURNS trigger AS $$ BEGIN
        INSERT INTO written VALUES (NEW.dataset, NEW.model, NEW.trial); RETURN NEW;
    END $$ LANGUAGE plpgsql;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON evaluations
        FOR EACH ROW EXECUTE FUNCTION note();
"""


def new_log(postgres):
    url = postgres.new_url()
    Store(url, create=True).close()
    postgres.execute(_LOG, url=url)
    return url


def check_written_once(postgres, url):
    query = "SELECT count(*), count(DISTINCT (dataset, model, trial)) FROM written"
    ((total, distinct),) = postgres.execute(query, url=url)
    ((stored,),) = postgres.execute("SELECT count(*) FROM evaluations", url=url)
    assert total == distinct == stored
    with Store(url, read_only=True) as store:
        assert store.inconsistencies() == []


def build_in_child(url, folder, started, gate, lease):
    """Build; with a gate, stop in the middle of the second task."""
    count = 0

    def stopping(task):
        nonlocal count
        count += 1
        if gate is not None and count == 2:
            started.set()
            gate.wait()
        time.sleep(0.05)
        return run_task(task)

    claiming.run_task = stopping
    if lease is not None:
        claiming.LEASE, claiming.RENEWAL = lease, lease / 4
    with Store(url) as store:
        build(store, iter_folder(folder), TINY)


def start(url, folder, *, gate=None, lease=None):
    context = get_context("fork")
    started = context.Event()
    child = context.Process(target=build_in_child, args=(url, folder, started, gate, lease))
    child.start()
    return child, started


@needs_fork
def test_the_work_of_a_killed_builder_is_taken_over(postgres, tmp_path):
    folder, url = make_folder(tmp_path / "data", count=5), new_log(postgres)
    run(tmp_path / "serial.db", folder, TINY)
    victim, started = start(url, folder, gate=get_context("fork").Event(), lease=1.0)
    assert started.wait(60)
    other, _ = start(url, folder, lease=1.0)
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    other.join(120)
    assert other.exitcode == 0
    assert content(url) == content(tmp_path / "serial.db")
    check_written_once(postgres, url)


@needs_fork
@pytest.mark.cluster
def test_a_builder_that_was_suspended_writes_nothing_twice(postgres, tmp_path):
    folder, url = make_folder(tmp_path / "data", count=4), new_log(postgres)
    run(tmp_path / "serial.db", folder, TINY)
    gate = get_context("fork").Event()
    sleeper, started = start(url, folder, gate=gate, lease=1.0)
    assert started.wait(60)
    os.kill(sleeper.pid, signal.SIGSTOP)  # it renews no lease
    other, _ = start(url, folder, lease=1.0)
    other.join(120)
    assert other.exitcode == 0
    os.kill(sleeper.pid, signal.SIGCONT)
    gate.set()
    sleeper.join(120)
    assert sleeper.exitcode == 0
    assert content(url) == content(tmp_path / "serial.db")
    check_written_once(postgres, url)


@pytest.mark.cluster
def test_a_dask_cluster_beside_another_builder(postgres, tmp_path):
    pytest.importorskip("distributed")
    folder, url = make_folder(tmp_path / "data", count=8), new_log(postgres)
    run(tmp_path / "serial.db", folder, TINY)
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(run, url, folder, TINY)
        report = run(url, folder, TINY, executor=make_executor(2, "dask"))
    assert report.n_tasks + other.result().n_tasks == 8
    assert content(url) == content(tmp_path / "serial.db")
    check_written_once(postgres, url)


BUILDER = textwrap.dedent("""
    import sys
    from metaod.cli.main import main
    from metaod.store import _claims
    _claims.LEASE, _claims.RENEWAL = 5.0, 1.0
    main(sys.argv[1:])
""")


@pytest.mark.cluster
def test_commands_with_one_killed(postgres, tmp_path):
    folder, url = make_folder(tmp_path / "data", count=3, rows=150), new_log(postgres)
    options = BuildOptions(detectors=("HBOS", "COF", "LODA"), trials=1, schemas=("paper",))
    run(tmp_path / "serial.db", folder, options)
    command = [sys.executable, "-c", BUILDER, "build", "--store", url, "--data", str(folder),
               "--family", "HBOS", "--family", "COF", "--family", "LODA",
               "--trials", "1", "--schema", "paper", "--jobs", "2"]  # fmt: skip
    builders = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        for _ in range(3)
    ]
    busy = []
    while not busy and any(builder.poll() is None for builder in builders):
        time.sleep(0.05)
        owners = [str(owner) for (owner,) in postgres.execute("SELECT owner FROM claims", url=url)]
        busy = [own for own in builders if any(name.startswith(f"{own.pid}@") for name in owners)]
    victim = busy[0]
    others = [builder for builder in builders if builder is not victim]
    assert victim.poll() is None, victim.stdout.read()
    os.killpg(victim.pid, signal.SIGKILL)
    try:
        said = [builder.communicate(timeout=300)[0].decode() for builder in others]
    finally:
        for builder in others:
            builder.kill()
    assert [builder.returncode for builder in others] == [0, 0], said
    victim.communicate()
    assert any("by other builders" in text for text in said)
    assert content(url) == content(tmp_path / "serial.db")
    check_written_once(postgres, url)
