"""One builder at a time, across processes, and a kill at any moment."""

import errno
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from made_store import HBOS, IFOREST, dataset, fingerprint, new_store, ok

from metaod.errors import UserError
from metaod.store import Store, _sqlite
from metaod.store._sqlite import file_lock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

WRITER = textwrap.dedent("""
    import sys
    sys.path.insert(0, sys.argv[2])
    from made_store import HBOS, IFOREST, dataset, fingerprint, ok, vector
    from metaod.store import Store
    with Store(sys.argv[1], create=True) as store, store.writer_lock():
        store.add_models([HBOS, IFOREST])
        print("ready", flush=True)
        for number in range(100_000):
            if store.missing([fingerprint(number)], {IFOREST.id: 40}):
                store.add_dataset(dataset(number))
                trials = [ok(IFOREST, t, t / 40, reason="x" * 400) for t in range(40)]
                store.record_task(fingerprint(number), trials, [vector(*range(100))])
                print(number, flush=True)
""")


def start_writer(path):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parents[1] / "made")],
        stdout=subprocess.PIPE,
        text=True,
    )


def kill(process):
    process.kill()
    printed = process.stdout.read().split()
    process.wait()
    process.stdout.close()
    return printed


def test_finished_tasks_survive_kills_at_random_moments(tmp_path):
    path = tmp_path / "a.db"
    finished = set()
    draw = random.Random(3)
    for _ in range(3):
        process = start_writer(path)
        assert process.stdout.readline() == "ready\n"
        finished.add(int(process.stdout.readline()))  # however slow the machine is
        time.sleep(draw.uniform(0.0, 0.25))
        finished |= {int(word) for word in kill(process)}
        with Store(path) as store:
            assert store.inconsistencies() == []
            there = store.datasets()
            whole = 0
            for record in there:
                n_trials = len(store.evaluations(record.fingerprint))
                n_vectors = len(store.metafeatures(record.fingerprint))
                assert (n_trials, n_vectors) in {(0, 0), (40, 1)}
                whole += n_trials > 0
            # a task may be finished without having had the time to say so
            assert whole >= len(finished)
            assert store.missing(map(fingerprint, finished), {IFOREST.id: 40}) == {}


@needs_fork
def test_killed_while_it_is_created(tmp_path):
    for number in range(12):
        path = tmp_path / f"{number}.db"
        child = get_context("fork").Process(target=Store, args=(path,), kwargs={"create": True})
        child.start()
        time.sleep(0.002 * number)
        child.kill()
        child.join()
        # it is there whole or not at all
        if path.exists():
            Store(path, read_only=True).close()
        with Store(path, create=True) as store, store.writer_lock():
            assert store.inconsistencies() == []
        assert {item.name for item in tmp_path.iterdir()} == {f"{k}.db" for k in range(number + 1)}


def make_and_add(path, number):
    with Store(path, create=True) as store:
        store.add_dataset(dataset(number))


@needs_fork
def test_several_processes_create_a_store_at_once(tmp_path):
    path = tmp_path / "a.db"
    makers = [
        get_context("fork").Process(target=make_and_add, args=(path, number)) for number in range(6)
    ]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert [maker.exitcode for maker in makers] == [0] * 6
    with Store(path) as store:
        assert len(store.datasets()) == 6
    assert [item.name for item in tmp_path.iterdir()] == ["a.db"]


def test_the_second_builder_learns_who_holds_the_lock(tmp_path):
    path = tmp_path / "a.db"
    process = start_writer(path)
    try:
        assert process.stdout.readline() == "ready\n"
        with Store(path) as store:
            words = (
                rf"a\.db: process {process.pid} on {socket.gethostname()}, since 20.*, is writing"
            )
            with pytest.raises(UserError, match=words), store.writer_lock():
                pass
            # reading goes on meanwhile
            assert isinstance(store.datasets(), list)
    finally:
        kill(process)
    with Store(path) as store, store.writer_lock():
        assert f"process {os.getpid()} on" in (tmp_path / "a.db.lock").read_text()
    assert not (tmp_path / "a.db.lock").exists()


PARENT = textwrap.dedent("""
    import os, sys, time
    from metaod.store import Store
    with Store(sys.argv[1], create=True) as store, store.writer_lock():
        child = os.fork()
        if child:
            print(child, flush=True)
        time.sleep(60)
""")


@needs_fork
def test_a_child_does_not_keep_the_lock_of_its_killed_parent(tmp_path):
    path = tmp_path / "a.db"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        child = int(process.stdout.readline())
        process.kill()
    try:
        os.kill(child, 0)
        with Store(path) as store, store.writer_lock():
            pass
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_unreadable_holder_is_another_process(tmp_path):
    store, lock = tmp_path / "x", tmp_path / "x.lock"
    with file_lock(store):
        for text in (b"", b"{}", b"[1]", b"\xff\xfe"):
            lock.write_bytes(text)
            with (
                pytest.raises(UserError, match="x: another process is writing to this store"),
                file_lock(store),
            ):
                pass


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuses(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_sqlite.FileLock, "acquire", refuses)
    words = r"cannot lock a file \(No locks available\); keep the store on a local disk"
    with pytest.raises(UserError, match=words):
        Store(tmp_path / "a.db", create=True)


def test_waiting_for_the_lock(tmp_path):
    path = tmp_path / "a.db"
    process = start_writer(path)
    assert process.stdout.readline() == "ready\n"
    with Store(path) as store:
        process.kill()
        with store.writer_lock(wait=30.0):
            pass
    process.wait()
    process.stdout.close()


def test_an_error_inside_releases_the_lock(tmp_path):
    with new_store(tmp_path / "a.db") as store:
        with pytest.raises(ZeroDivisionError), store.writer_lock():
            raise ZeroDivisionError
        with store.writer_lock():
            pass


def test_threads_may_share_a_store(tmp_path):
    with new_store(tmp_path / "a.db", range(12)) as store:
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda number: store.record_task(fingerprint(number), [ok(HBOS)]), range(12)
                )
            )
        assert store.missing(map(fingerprint, range(12)), {HBOS.id: 1}) == {}
        assert store.inconsistencies() == []
