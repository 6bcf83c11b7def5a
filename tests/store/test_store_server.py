"""A store on PostgreSQL: addresses, errors, secrets, types, order, versions, lost connections."""

import io
import math
import re
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, given, settings
from made_builds import content as built
from made_builds import make_folder, run
from made_postgres import PASSWORD
from made_store import HBOS, IFOREST, content, dataset, fingerprint, new_store, ok

from metaod.cli.main import main
from metaod.errors import BadParameter, UserError, hide_password
from metaod.store import BuildOptions, MetaFeatureRecord, Store, export_parquet
from metaod.store import _schema as schema
from metaod.store import _server as server
from metaod.store._database import StoreLocation

TINY = BuildOptions(detectors=("HBOS",), references=False, schemas=())


# addresses


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_addresses_that_users_have(scheme, postgres):
    url = postgres.new_url().replace("postgresql", scheme, 1)
    with Store(url, create=True) as store:
        assert str(store).startswith("postgresql://owner@/made?")
        assert store.engine.dialect.driver == "psycopg"
        assert store.datasets() == []


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError, match=r'needs psycopg; .*pip install "metaod-next\[postgres\]"$'):
        Store("postgresql://localhost/db")


@settings(max_examples=30, phases=[Phase.generate], deadline=None)
@given(
    user=st.text("abc@:/ü% ", min_size=1, max_size=6),
    password=st.text("xyz@:/?#&=%ü ", min_size=1, max_size=8).map(lambda word: f"<{word}>"),
)
def test_no_address_shows_its_password(user, password):
    quoted = f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@host/db"
    for url in (quoted, f"postgresql://host/db?password={quote(password, safe='')}"):
        place = StoreLocation.parse(url)
        for shown in (str(place), repr(place), hide_password(url)):
            assert password not in shown
            assert quote(password, safe="") not in shown
            assert "***" in shown
    # an address that cannot be read is shown in its error
    for url in (f"postgresql://me:{password}@host:port/db", f"nonsense://me:{password}@host/db"):
        with pytest.raises(BadParameter) as caught:
            Store(url)
        assert password not in "".join(traceback.format_exception(caught.value))


# errors


def wrong(postgres, kind):
    """An address that does not work, and words of its error."""
    local = {"host": str(postgres.folder)}
    secret = quote(PASSWORD, safe="")
    return {
        "password": (
            f"postgresql://guarded:{secret}x@/made?host={quote(local['host'], safe='')}",
            "refuses the connection: password authentication failed .*; check the user's name and",
        ),
        "database": (
            f"postgresql://guarded:{secret}@/nowhere?host={quote(local['host'], safe='')}",
            'database "nowhere" does not exist.* createdb',
        ),
        "right": (
            f"postgresql://guarded:{secret}@/made?host={quote(local['host'], safe='')}",
            "you may not do this: permission denied for schema public",
        ),
        "port": (
            f"postgresql://guarded:{secret}@127.0.0.1:1/made",
            "the server cannot be reached: .*refused.* check the host and the port",
        ),
        "host": (
            f"postgresql://guarded:{secret}@no-such-host.invalid/made?connect_timeout=3",
            "the server cannot be reached: .* check the host",
        ),
        "schema": (
            postgres.url(schema="nowhere", password=PASSWORD),
            "no schema has been selected to create in; create the schema first",
        ),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "debug"),
    [*((kind, False) for kind in ("password", "database", "right", "port", "host", "schema")),
     ("password", True), ("right", True)],
)  # fmt: skip
def test_errors_are_one_line_without_the_password(postgres, kind, debug, tmp_path):
    url, words = wrong(postgres, kind)
    out, errors = io.StringIO(), io.StringIO()
    arguments = ["db", "init", "--store", url, *(["--debug"] if debug else [])]
    with redirect_stdout(out), redirect_stderr(errors), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    shown = out.getvalue() + errors.getvalue()
    assert PASSWORD not in shown
    last = errors.getvalue().strip().rpartition("\n")[2]
    assert re.search(words, last)
    if not debug:
        assert errors.getvalue().count("\n") == 1
        with pytest.raises(UserError, match=words) as caught:
            Store(url, create=True)
        assert PASSWORD not in "".join(traceback.format_exception(caught.value))
        assert "\n" not in str(caught.value)


def test_commands_show_no_password(postgres, tmp_path):
    postgres.execute("CREATE SCHEMA IF NOT EXISTS owned AUTHORIZATION guarded")
    host = quote(str(postgres.folder), safe="")
    url = f"postgresql://guarded:{PASSWORD}@/made?host={host}&options=-csearch_path%3Downed"
    folder = make_folder(tmp_path / "data", count=1)
    out, codes = io.StringIO(), []
    for arguments in (
        ["db", "init", "--store", url],
        ["build", "--store", url, "--data", str(folder), "--family", "HBOS", "--schema", "none"],
        ["db", "info", "--store", url, "--json"],
        ["db", "list", "--store", url],
        ["db", "show", "nothing", "--store", url],
        ["db", "verify", "--store", url, "--data", str(folder), "--sample", "2"],
        ["db", "export", str(tmp_path / "out"), "--store", url],
        ["db", "init", "--store", url],
        ["db", "merge", url, "--store", url],
    ):
        with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as ended:
            main(arguments)
        codes.append(ended.value.code)
    assert codes == [0, 0, 0, 0, 2, 0, 0, 2, 2]
    assert PASSWORD not in out.getvalue()
    assert "guarded" in out.getvalue()
    # nor is it in the rows of claims
    with Store(url) as store, store.reading() as connection:
        for table in (schema.meta, schema.claims):
            assert PASSWORD not in str(connection.execute(table.select()).all())


def test_an_option_that_the_driver_does_not_know():
    with pytest.raises(UserError, match=r"the address is not understood: .*nonsense.*; check"):
        Store("postgresql://me:secret@127.0.0.1:9/db?nonsense=1")


def test_other_databases_of_the_server_are_refused(postgres):
    postgres.execute("CREATE SCHEMA other", "CREATE TABLE other.meta (key text, value text)")
    with pytest.raises(UserError, match="is not a store: its table 'meta' is another program's"):
        Store(postgres.url(schema="other"), create=True)
    with pytest.raises(UserError, match="'meta'"):
        Store(postgres.url())


def test_a_database_that_cannot_store_every_text(postgres):
    postgres.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(UserError, match="the database has the encoding SQL_ASCII; create one with"):
        Store(postgres.url(database="plain"), create=True)


def test_a_builder_without_the_right_to_create_tables(postgres, tmp_path):
    url = postgres.new_url()
    Store(url, create=True).close()
    name = url.rpartition("%3D")[2]
    postgres.execute(
        f"GRANT USAGE ON SCHEMA {name} TO guarded",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO guarded",
    )
    other = postgres.url(user="guarded", schema=name, password=PASSWORD)
    folder = make_folder(tmp_path / "data", count=1)
    with Store(other, read_only=True) as store:
        assert store.datasets() == []
    with pytest.raises(UserError, match="you may not do this: permission denied for table"):
        run(other, folder, TINY)
    postgres.execute(
        f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO guarded",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {name} TO guarded",
    )
    assert run(other, folder, TINY).n_tasks == 1


# the same content, bit for bit, and the same order


names = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=8
)
finite = st.floats(0.0, 1.0)
values = st.floats(allow_infinity=False)


@settings(max_examples=2, deadline=None, phases=[Phase.generate])
@given(
    named=st.lists(st.tuples(names, names), min_size=2, max_size=6),
    figures=st.lists(finite, min_size=3, max_size=3),
    vector=st.lists(values, min_size=4, max_size=4),
)
def test_both_databases_hold_the_same(postgres, named, figures, vector, tmp_path_factory):
    found = []
    for place in ("sqlite://", postgres.new_url()):
        with new_store(place) as store:
            for number, (name, collection) in enumerate([*named, ("a", "B"), ("B", "a")]):
                store.add_dataset(dataset(number, name=name, collection=collection, n_rows=2**40))
                trials = [ok(IFOREST, t, ap, seed=2**60) for t, ap in enumerate(figures)]
                vectors = [MetaFeatureRecord("made", 1, ["a", "b", "c", "d"], vector)]
                store.record_task(fingerprint(number), trials, vectors)
            folder = export_parquet(store, tmp_path_factory.mktemp("out"), evaluations=True)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
            found.append((content(store), files, summary(store)))
            P, M = store.performance_matrix(), store.metafeature_matrix("made")
            found[-1] += (repr(P.to_csv()), repr(M.to_csv()), M.to_numpy().tobytes())
            found[-1] += (store.datasets_frame().to_csv(), store.cells_frame().to_csv())
    assert found[0] == found[1]


def summary(store):
    known = store.summary()
    for name in ("store", "created", "size_bytes"):
        known.pop(name)
    return known


def test_text_that_postgresql_cannot_hold(postgres):
    with new_store(postgres.new_url(), [1]) as store, new_store(numbers=[1]) as other:
        for each in (store, other):
            each.record_task(fingerprint(1), [ok(HBOS, reason="a\0b\udc80")])
        assert content(store) == content(other)
        with pytest.raises(UserError, match="a text with the character NUL cannot be stored"):
            store.add_dataset(dataset(2, name="a\0b"))
        assert len(store.datasets()) == 1


# versions and locks


def test_several_create_a_store_at_once(postgres):
    url = postgres.new_url()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: new_store(url, [number]).close(), range(4)))
    with Store(url) as store:
        assert (len(store.datasets()), len(store.models())) == (4, 4)


def test_a_long_transaction_of_another_is_named(postgres, monkeypatch):
    monkeypatch.setattr(server, "WAITS", (0.01,))
    url = postgres.new_url()
    with new_store(url, [1]) as one, Store(url, timeout=0.1) as other, one.writing():
        with pytest.raises(UserError, match=r"waited too long \(2 attempts\); no finished work"):
            other.record_task(fingerprint(1), [ok(HBOS)])
        assert other.evaluations(fingerprint(1)) == []


# the server goes away


@pytest.fixture
def own_server(postgres):
    """The server, which the test may stop; it runs again afterwards."""
    yield postgres
    postgres.halt()
    postgres.start()


def test_a_build_survives_a_restart_of_the_server(own_server, tmp_path):
    folder, url = make_folder(tmp_path / "data", count=5), own_server.new_url()
    run(tmp_path / "serial.db", folder, TINY)
    restarted = []

    def restart(result):
        if len(restarted) < 2:
            own_server.halt()
            again = threading.Timer(0.7, own_server.start)
            again.start()
            restarted.append(again)

    report = run(url, folder, TINY, on_task=restart)
    for timer in restarted:
        timer.join()
    assert len(restarted) == 2
    assert report.n_tasks == 5
    assert built(url) == built(tmp_path / "serial.db")


def test_a_server_that_stays_away_ends_a_build_and_loses_nothing(own_server, tmp_path, monkeypatch):
    monkeypatch.setattr(server, "WAITS", (0.01, 0.02))
    folder, url = make_folder(tmp_path / "data", count=3), own_server.new_url()
    words = r"the server cannot be reached: .*\(3 attempts\); no finished work is lost; run the"
    with pytest.raises(UserError, match=words):
        run(url, folder, TINY, on_task=lambda result: own_server.halt())
    own_server.start()
    report = run(url, folder, TINY)
    assert report.n_tasks == 2
    run(tmp_path / "serial.db", folder, TINY)
    assert built(url) == built(tmp_path / "serial.db")


def test_a_task_that_is_finished_when_the_connection_breaks_is_not_lost(own_server, monkeypatch):
    """The server commits, but its answer does not arrive: the transaction is repeated."""
    with new_store(own_server.new_url(), [1]) as store:
        commit, failed = store.engine.dialect.do_commit, []

        def breaks(connection):
            commit(connection)
            if not failed:
                failed.append(True)
                connection.dbapi_connection.close()
                connection.dbapi_connection.execute("SELECT 1")

        monkeypatch.setattr(store.engine.dialect, "do_commit", breaks)
        monkeypatch.setattr(server, "WAITS", (0.01, 0.02))
        store.record_task(fingerprint(1), [ok(HBOS)])
        assert failed == [True]
        assert len(store.evaluations(fingerprint(1))) == 1
        assert math.isclose(store.cells(fingerprint(1))[0].ap, 0.5)
