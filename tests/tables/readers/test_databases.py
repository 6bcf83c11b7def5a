"""Rows of SQLite, DuckDB and servers: what is selected, what is refused, and what stays hidden."""

import gzip
import io

import pandas as pd
import pytest
from made_postgres import PASSWORD
from sample_files import FRAME, SAMPLES, duckdb_file, sqlite

import metaod
from metaod.errors import BadColumn, BadFile, UserError
from metaod.tables import read_table

OTHER = pd.DataFrame({"other table": range(3)})


@pytest.fixture(params=["sqlite", "duckdb", "sqlite url", "duckdb url", "server"])
def place(request, tmp_path):
    """Return a database with one table t, which holds FRAME, as read_table takes it."""
    kind = request.param
    is_duckdb = kind.startswith("duckdb")
    path = tmp_path / "t.db"
    path.write_bytes(SAMPLES["duckdb"][1] if is_duckdb else sqlite(t=FRAME))
    if kind == "server":
        return f"sqlite+pysqlite:///{path}"
    return f"{kind.split()[0]}:///{path}" if kind.endswith("url") else path


def test_the_only_table_its_name_and_a_query_give_the_same_rows(place):
    whole = read_table(place, label="y")
    pd.testing.assert_frame_equal(whole.frame, FRAME.drop(columns="y"), check_dtype=False)
    assert whole.label.tolist() == FRAME["y"].tolist()
    assert read_table(place, label="y", query="t").frame.equals(whole.frame)
    some = read_table(place, query="SELECT b, a AS other FROM t WHERE b > 9 ORDER BY b DESC")
    assert some.frame["b"].tolist() == FRAME["b"][FRAME["b"] > 9].tolist()[::-1]
    assert some.frame["other"].tolist() == FRAME["a"][FRAME["b"] > 9].tolist()[::-1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT nothing FROM t",
        "SELECT a FROM t; SELECT b FROM t",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE u AS SELECT * FROM t",
        "ATTACH '{folder}/new.db' AS other",
        "VACUUM INTO '{folder}/new.db'",
        "COPY t TO '{folder}/new.csv'",
        "EXPORT DATABASE '{folder}/new'",
        "SELECT * FROM read_text('{folder}/t.db')",
        "SELECT a FROM t WHERE b < 0",
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_only_reads_the_file(tmp_path, kind, query):
    path = tmp_path / "t.db"
    path.write_bytes(SAMPLES[kind][1])
    try:
        found = read_table(path, query=query.format(folder=tmp_path))
    except UserError as error:
        assert error.where.startswith(str(path))
    else:
        assert kind == "duckdb"  # it answers with the last of several queries
        assert found.frame["b"].tolist() == FRAME["b"].tolist()
    assert path.read_bytes() == SAMPLES[kind][1]
    assert [file.name for file in tmp_path.iterdir()] == ["t.db"]


def test_several_tables_have_to_be_named():
    data = sqlite(t=FRAME, **{'o"ther': OTHER})
    with pytest.raises(BadFile, match=r"2 tables: 't', 'o\"ther'.*'query'"):
        read_table(io.BytesIO(data))
    packed = io.BytesIO(gzip.compress(data))
    assert read_table(packed, query='o"ther').frame.equals(OTHER)
    with pytest.raises(BadFile, match=r"no table 'nope'; .*'t', 'o\"ther'"):
        read_table(io.BytesIO(data), query="nope")


def test_rows_that_need_too_much_memory_are_refused_while_they_come():
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r"
    data = io.BytesIO(sqlite(t=FRAME))
    with pytest.raises(BadFile, match="needs at least"):
        read_table(data, query=endless, max_bytes=10**6)
    with pytest.raises(BadFile, match="too big"):
        read_table(
            io.BytesIO(sqlite(t=FRAME)), query="SELECT zeroblob(2000000) AS a", max_bytes=10**6
        )
    with pytest.raises(BadColumn, match="more than once"):
        read_table(io.BytesIO(sqlite(t=FRAME)), query="SELECT a, b AS a FROM t")


def test_a_scored_table_has_the_rows_that_were_read(tmp_path):
    path = tmp_path / "t.sqlite"
    frame = pd.DataFrame({"a": range(60), "b": [number % 7 for number in range(60)]})
    path.write_bytes(sqlite(t=frame))
    table = read_table(path, query="SELECT a, b FROM t ORDER BY random()")
    cells = table.original.read_numbers([5, 3, 40])
    assert cells.to_dict("list") == table.frame.iloc[[5, 3, 40]].to_dict("list")


def test_a_server_is_read_only_and_knows_its_types(postgres):
    url = postgres.new_url()
    columns = "d date, n numeric(6, 2), u uuid, j jsonb, b bytea, k text, z timestamptz"
    row = "'2024-02-03', 1.5, gen_random_uuid(), '{\"a\": [1]}', '\\x61', 'null', '2024-01-01Z'"
    insert = f"INSERT INTO t SELECT {row} FROM generate_series(1, 3)"
    postgres.execute(f"CREATE TABLE t ({columns})", insert, url=url)
    frame = read_table(url).frame
    assert frame.dtypes.astype(str).str[:8].tolist()[:2] == ["datetime", "float64"]
    assert frame[["j", "b", "k"]].iloc[0].tolist() == ['{"a": [1]}', "a", "null"]
    assert str(frame["z"][0]) == "2024-01-01 00:00:00"
    changing = "DELETE FROM t RETURNING k"
    for query in (changing, f"WITH gone AS ({changing}) SELECT * FROM gone"):
        with pytest.raises(BadFile, match="the query failed"):
            read_table(url, query=query)
    asked = "SELECT current_setting('transaction_read_only') AS a, 1 AS b"
    assert read_table(url, query=asked).frame["a"][0] == "on"
    assert read_table(url, query="SELECT '100%' AS p, 'a:b' AS q, 1::int AS r").n_columns == 3


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://guarded:{secret}@127.0.0.1:1/made",
        "postgresql://guarded:{secret}@[127.0.0.1:1/made",
        "postgresql://127.0.0.1:1/made?user=guarded&password={secret}",
        "unknown://guarded:{secret}@host/made",
        "https://guarded:{secret}@host/t.csv",
        "postgresql+nodriver://guarded:{secret}@host/made",
    ],
)
def test_messages_hide_passwords(url):
    url = url.format(secret=PASSWORD)
    for read in (read_table, metaod.detect_file):
        with pytest.raises(UserError) as caught:
            read(url)
        assert PASSWORD not in str(caught.value)


def test_duckdb_types_are_kept():
    frame = FRAME.assign(k=["NA", "1", "x"] * 4)
    read = read_table(io.BytesIO(duckdb_file(frame))).frame
    assert read["k"].tolist() == frame["k"].tolist()
