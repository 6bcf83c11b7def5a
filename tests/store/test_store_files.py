"""Files that are no stores, cannot be written, are full, or were left by a killed writer."""

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from tempfile import gettempdir

import pytest
from made_store import HBOS, content, dataset, filled_store, fingerprint, new_store, ok
from sqlalchemy import event

from metaod.errors import BadFile, BadParameter, UserError
from metaod.store import Store
from metaod.store._sqlite import APPLICATION_ID


def listing(folder):
    """Names, contents and times of everything in a folder."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if path.is_file()
    }


@contextmanager
def ordinary_user(*folders):
    """The superuser may write everywhere; be somebody else for a while."""
    if os.name != "posix" or (os.geteuid() == 0 and not hasattr(os, "setresuid")):
        pytest.skip("permissions cannot be tried here")
    for folder in folders:
        for parent in folder.parents:
            if parent.stat().st_uid == os.getuid() and parent.is_relative_to(gettempdir()):
                parent.chmod(parent.stat().st_mode | 0o055)
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


# what is no store


def execute(path, script):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def change_a_store(path, script):
    filled_store(path).close()
    execute(path, script)


MARK = f"PRAGMA application_id = {APPLICATION_ID};"
META = "CREATE TABLE meta (key, value);"
NO_STORES = {
    "zero bytes": (lambda path: path.touch(), "is an empty file, not a store"),
    "text": (lambda path: path.write_text("a,b\n1,2\n" * 100), "is not a store: file is not"),
    "zeros": (lambda path: path.write_bytes(bytes(8192)), "is not a store: file is not"),
    "one byte": (lambda path: path.write_bytes(b"S"), "is not a store"),
    "a folder": (lambda path: path.mkdir(), "is a folder"),
    "another program's": (lambda path: execute(path, META), "another program's SQLite database"),
    "marked, empty": (
        lambda path: execute(path, f"{MARK} CREATE TABLE t (x)"),
        "it lacks the table 'meta'",
    ),
    "marked, other meta": (
        lambda path: execute(path, MARK + META),
        "its table 'meta' is another program's",
    ),
    "without a column": (
        lambda path: change_a_store(path, "ALTER TABLE datasets DROP COLUMN licence"),
        "its table 'datasets' lacks licence",
    ),
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("kind", NO_STORES)
def test_a_foreign_file_is_refused_and_not_altered(tmp_path, kind, create):
    make, words = NO_STORES[kind]
    path = tmp_path / "file.db"
    make(path)
    before = listing(tmp_path)
    for keywords in ({"create": create}, {"read_only": True}):
        with pytest.raises(BadFile, match=words):
            Store(path, **keywords)
    assert listing(tmp_path) == before


def test_a_truncated_store_is_refused_and_not_altered(tmp_path):
    filled_store(tmp_path / "whole.db").close()
    whole = (tmp_path / "whole.db").read_bytes()
    for size in (1, 15, 16, 50, 99, 100, 511, 512, 1000, 4095, 4096, 8192, len(whole) - 4096,
                 len(whole) - 1):  # fmt: skip
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "cut.db").write_bytes(whole[:size])
        before = listing(folder)
        with pytest.raises(BadFile):
            Store(folder / "cut.db")
        assert listing(folder) == before


def test_damage_inside_is_a_bad_file_when_it_is_met(tmp_path):
    path = tmp_path / "a.db"
    filled_store(path).close()
    data = bytearray(path.read_bytes())
    pages = len(data) // 4096
    for page in range(2, pages):
        data[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    with pytest.raises(BadFile, match=r"a\.db: is damaged: .*; restore a copy"):
        content(Store(path, read_only=True))


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("datasets", "n_rows", "'many'"), ("datasets", "n_outliers", "-1"),
        ("datasets", "origin", "CAST(x'ff' AS TEXT)"), ("models", "params", "'{'"),
        ("models", "params", "x'cafe'"), ("models", "scaling", "'x'"), ("evaluations", "ap", "'x'"),
        ("cells", "state", "'x'"), ("metafeature_schemas", "version", "x'00'"),
        ("metafeature_schemas", "features", "'[]'"), ("metafeatures", "vector", "x'010203'"),
    ],
)  # fmt: skip
def test_a_value_that_another_program_wrote_is_a_bad_file(tmp_path, table, column, value):
    path = tmp_path / "a.db"
    script = f"PRAGMA ignore_check_constraints = ON; UPDATE {table} SET {column} = {value}"
    change_a_store(path, script)
    with pytest.raises(BadFile, match=r"a\.db: is damaged: .*; restore a copy"):
        content(Store(path, read_only=True))


@pytest.mark.parametrize(
    ("change", "ask"),
    [
        ("cells SET ap = 'x'", lambda store: store.performance_matrix()),
        ("cells SET n_trials = 'x', ap = 'y'", lambda store: store.cells_frame()),
        ("cells SET state = x'ff'", lambda store: store.summary()),
        ("metafeatures SET vector = x'010203'", lambda store: store.metafeature_matrix("made")),
        ("metafeatures SET vector = zeroblob(8)", lambda store: store.metafeature_matrix("made")),
    ],
)
def test_a_question_about_such_values_is_a_bad_file(tmp_path, change, ask):
    path = tmp_path / "a.db"
    change_a_store(path, f"PRAGMA ignore_check_constraints = ON; UPDATE {change}")
    with (
        Store(path, read_only=True) as store,
        pytest.raises(BadFile, match=r"^/.*/a\.db: is damaged: .*; restore a copy"),
    ):
        ask(store)


@pytest.mark.parametrize("change", ["datasets SET n_rows = 'many'", "models SET params = '{'"])
def test_values_of_datasets_and_models_are_inspected(tmp_path, change):
    change_a_store(tmp_path / "a.db", f"UPDATE {change}")
    with Store(tmp_path / "a.db") as store:
        assert any("that metaod did not write" in found for found in store.inconsistencies())


def test_names_of_tables_that_are_no_text_are_a_bad_file(tmp_path):
    path = tmp_path / "a.db"
    filled_store(path).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE models", b"CREATE TABLE \xbaodels"))
    with pytest.raises(BadFile, match=r"a\.db: is damaged: .*; restore a copy"):
        content(Store(path, read_only=True))


def test_there_is_no_such_store(tmp_path):
    with pytest.raises(UserError, match=r"a\.db: there is no such store; make it with: metaod db"):
        Store(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="the folder does not exist"):
        Store(tmp_path / "no" / "a.db", create=True)
    with pytest.raises(BadFile, match="lacks the table 'meta'"):
        Store("sqlite://")


@pytest.mark.parametrize(
    "url",
    ["", "postgres//x", "sqlite:///file:a.db?mode=ro&uri=true", "sqlite+aiosqlite:///a.db",
     "nonsense://host/db", "://", "mysql://me@host/db", "postgresql+pg8000://me@host/db"],
)  # fmt: skip
def test_urls_that_are_none(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        Store(url)
    with pytest.raises(BadParameter, match="'create' parameter"):
        Store("sqlite://", create=True, read_only=True)


def test_a_path_that_cannot_be(tmp_path):
    with pytest.raises(UserError, match=r"cannot be examined \(File name too long\); check the"):
        Store(tmp_path / ("x" * 300), create=True)


# making one


def test_a_store_at_rest_is_one_file(tmp_path):
    store = filled_store(tmp_path / "a.db")
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    store.close()
    with Store(tmp_path / "a.db") as store:
        assert store.summary()["size_bytes"] == (tmp_path / "a.db").stat().st_size


def test_files_left_by_a_killed_creator_are_replaced(tmp_path):
    for name in ("a.db.new", "a.db.new-journal", "a.db.lock"):
        (tmp_path / name).write_bytes(b"half of a file")
    with Store(tmp_path / "a.db", create=True) as store:
        assert store.inconsistencies() == []
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


# versions


@pytest.mark.parametrize("version", ["0", "12"])
def test_a_store_of_another_version_is_refused(tmp_path, version):
    path = tmp_path / "a.db"
    change_a_store(path, f"UPDATE meta SET value = '{version}' WHERE key = 'schema_version'")
    before = listing(tmp_path)
    for read_only in (False, True):
        with pytest.raises(UserError, match=f"schema version {version}, this") as caught:
            Store(path, read_only=read_only)
        assert caught.value.code == "schema-version"
    assert listing(tmp_path) == before


# full, read-only, locked


def test_a_store_that_cannot_be_written_is_refused_at_once(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "a.db"
    with filled_store(path) as store:
        expected = content(store)
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        with ordinary_user(path):
            with pytest.raises(UserError, match=r"cannot be written; allow writing, or work on"):
                Store(path)
            with pytest.raises(UserError, match="the folder cannot be written"):
                Store(folder / "new.db", create=True)
            with Store(path, read_only=True) as store:
                assert content(store) == expected
                with pytest.raises(UserError, match="opened for reading only"):
                    store.add_dataset(dataset(9))
    finally:
        folder.chmod(0o755)
    assert [item.name for item in folder.iterdir()] == ["a.db"]


def test_a_store_that_becomes_read_only_says_so(tmp_path):
    with new_store(tmp_path / "a.db", [1]) as store:

        @event.listens_for(store.engine, "connect")
        def read_only(connection, _record):
            connection.execute("PRAGMA query_only = ON")

        with pytest.raises(UserError, match=r"a\.db: the store is read-only; allow writing"):
            store.record_task(fingerprint(1), [ok(HBOS)])


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "a.db"
    filled_store(path).close()
    path.chmod(0o000)
    with (
        ordinary_user(path),
        pytest.raises(BadFile, match=r"a\.db: cannot be opened; check that you may read it"),
    ):
        Store(path, read_only=True)


def test_a_second_writer_waits_and_then_says_why_it_cannot(tmp_path):
    path = tmp_path / "a.db"
    with new_store(path, [1]) as one, Store(path, timeout=0.05) as two:
        with one.writing():
            assert len(two.datasets()) == 1
            with pytest.raises(UserError, match=r"a\.db: another process is writing .*; wait"):
                two.record_task(fingerprint(1), [ok(HBOS)])
        two.record_task(fingerprint(1), [ok(HBOS)])


# what a killed writer leaves


@pytest.fixture(params=["in the middle", "header before pages"])
def killed(tmp_path, request):
    """The two files as they are in the middle of a transaction that has reached the disk."""
    path = tmp_path / "alive.db"
    with filled_store(path) as store:
        expected = content(store)
        store.engine.dispose()
    folder = tmp_path / "killed"
    folder.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("PRAGMA user_version = 7")  # so that the journal holds the first page
        writer.execute("UPDATE evaluations SET ap = 0.125 WHERE state = 'ok'")
        writer.execute("UPDATE datasets SET name = printf('%.5000c', 'x')")
        for name in ("alive.db", "alive.db-journal"):
            shutil.copy(tmp_path / name, folder / name)
        writer.execute("ROLLBACK")
    if request.param == "header before pages":
        with (folder / "alive.db").open("r+b") as file:
            file.seek(28)
            n_pages = int.from_bytes(file.read(4))
            file.seek(28)
            file.write((n_pages + 100).to_bytes(4))
    return folder / "alive.db", expected


@pytest.mark.parametrize("read_only", [False, True])
def test_an_unfinished_transaction_is_undone(killed, read_only):
    path, expected = killed
    with Store(path, read_only=read_only) as store:
        assert content(store) == expected
        assert store.inconsistencies() == []
    assert [item.name for item in path.parent.iterdir()] == ["alive.db"]


def test_an_unfinished_transaction_on_a_read_only_medium(killed):
    path, _ = killed
    for item in path.parent.iterdir():
        item.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with (
            ordinary_user(path),
            pytest.raises(UserError, match="cannot be undone in a read-only folder; copy it"),
        ):
            Store(path, read_only=True)
    finally:
        path.parent.chmod(0o755)
