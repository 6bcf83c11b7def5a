"""One builder at a time, across processes, and a kill at any moment."""

import errno
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from made_store import HBOS, dataset, fingerprint, new_store, ok

from metaod.errors import UserError
from metaod.store import Store
from metaod.store._sqlite import file_lock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

HOLDER = textwrap.dedent("""
    import os, sys, time
    from metaod.store import Store
    with Store(sys.argv[1], create=True) as store, store.writer_lock():
        child = os.fork() if sys.argv[2] == "fork" else os.getpid()
        if child:
            print(child, flush=True)
        time.sleep(60)
""")


def start_holder(path, how):
    """Start a process that holds the lock of a store; return it and the number that it prints."""
    command = [sys.executable, "-c", HOLDER, str(path), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def kill(process):
    process.kill()
    process.wait()
    process.stdout.close()


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
    process, pid = start_holder(path, "alone")
    try:
        with Store(path) as store:
            words = rf"a\.db: process {pid} on {socket.gethostname()}, since 20.*, is writing"
            with pytest.raises(UserError, match=words) as caught, store.writer_lock():
                pass
            assert caught.value.code == "store-locked"
            # reading goes on meanwhile
            assert store.datasets() == []
    finally:
        kill(process)
    with Store(path) as store, pytest.raises(ZeroDivisionError), store.writer_lock():
        raise ZeroDivisionError
    assert not (tmp_path / "a.db.lock").exists()


@needs_fork
def test_a_child_does_not_keep_the_lock_of_its_killed_parent(tmp_path):
    process, child = start_holder(tmp_path / "a.db", "fork")
    kill(process)
    try:
        os.kill(child, 0)
        with Store(tmp_path / "a.db") as store, store.writer_lock():
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

    monkeypatch.setattr("metaod.store._sqlite.FileLock.acquire", refuses)
    words = r"cannot lock a file \(No locks available\); keep the store on a local disk"
    with pytest.raises(UserError, match=words):
        Store(tmp_path / "a.db", create=True)


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
