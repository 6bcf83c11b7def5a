import datetime as dt
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sample_files import FRAME

from metaod.errors import BadColumn, BadFile
from metaod.tables import read_table, stream_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


def parquet(table):
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def test_types_of_parquet():
    stamp = pd.Timestamp("2020-01-02 03:04:05").to_pydatetime()
    table = read(
        parquet(
            pa.table(
                {
                    "small": pa.array([1, 2], pa.int8()),
                    "gap": pa.array([1, None], pa.int32()),
                    "half": pa.array(np.array([1, 2], np.float16)),
                    "decimal": pa.array([1, 2], pa.decimal128(10, 2)),
                    "truth": [True, False],
                    "maybe": [True, None],
                    "day": [stamp.date(), None],
                    "zoned": pa.array([stamp, stamp], pa.timestamp("us", "Europe/Berlin")),
                    "clock": [stamp.time(), None],
                    "took": [dt.timedelta(minutes=1), None],
                    "nothing": pa.nulls(2),
                    "word": ["a", None],
                    "category": pa.array(["a", "b"]).dictionary_encode(),
                }
            )
        )
    )
    kinds = "".join(dtype.kind for dtype in table.frame.dtypes)
    assert kinds == "ifffbbMMfff" + kinds[-2:]
    assert table.frame["clock"][0] == 3 * 3600 + 4 * 60 + 5
    assert table.frame["took"][0] == 60
    assert table.frame["zoned"][0] == pd.Timestamp(stamp)
    assert table.frame["word"].isna().tolist() == [False, True]
    assert table.frame["category"].tolist() == ["a", "b"]
    assert len(table.warnings) == 2


def test_extension_types_of_parquet_are_read_as_stored():
    months = pd.DataFrame({"month": pd.period_range("1970-03", periods=2, freq="M")})
    assert read(months.to_parquet()).frame["month"].tolist() == [2, 3]


def test_large_whole_numbers_of_parquet():
    table = read(parquet(pa.table({"a": pa.array([2**64 - 1, 1], pa.uint64())})))
    assert table.frame["a"].dtype == np.float64
    assert table.warnings[0].code == "rounded-numbers"


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["r1", "r2", "r3"], name="row"),
        pd.Index([5, 3, 9]),
        pd.RangeIndex(10, 16, 2),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", None]),
    ],
)
def test_the_index_of_pandas_is_kept(index):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=index)
    pd.testing.assert_frame_equal(read(frame.to_parquet()).frame, frame)


def test_labels_of_parquet():
    table = read(FRAME.to_parquet(), label="y")
    assert table.label.tolist() == FRAME["y"].tolist()
    assert "y" not in table.frame


@pytest.mark.parametrize(
    "column",
    [[[1, 2], [3]], [{"a": 1}, {"a": 2}], [b"\xff", b"a"]],
    ids=["list", "struct", "binary"],
)
def test_unsupported_column_types(column):
    with pytest.raises(BadColumn, match="'odd'"):
        read(parquet(pa.table({"a": [1, 2], "odd": column})))


def test_repeated_names_in_parquet():
    with pytest.raises(BadColumn, match="'a'"):
        read(parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])))


def test_parquet_larger_than_allowed():
    constant = parquet(pa.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}))
    assert len(constant) < 10**5
    with pytest.raises(BadFile, match=r"1,000,000 rows.*2 columns"):
        read(constant, max_bytes=10**7)


def test_parquet_without_rows_or_columns():
    with pytest.raises(BadFile, match="no rows"):
        read(parquet(pa.table({"a": pa.array([], pa.float64())})))
    with pytest.raises(BadFile, match="no rows"):
        read(pd.DataFrame().to_parquet())


def test_more_rows_than_are_stored(monkeypatch):
    monkeypatch.setattr("metaod.tables.readers._source._SMALL_BYTES", 10**6)
    buffer = io.BytesIO()
    pd.DataFrame({"a": np.zeros(2_000_000)}).to_parquet(buffer)
    buffer.seek(0)
    with pytest.raises(BadFile, match="16,000,000 bytes"):
        read_table(buffer)


def test_texts_that_are_stored_once_and_needed_in_every_row(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": ["x" * 10_000] * 5_000, "b": range(5_000)}).to_parquet(path)
    assert path.stat().st_size < 50_000
    with pytest.raises(BadFile, match=r"50,320,000 bytes.*10,000,0"):
        read_table(path, max_bytes=10**7)
    assert read_table(path, max_bytes=10**9).frame["a"].str.len().eq(10_000).all()


@pytest.mark.parametrize("stored", [True, False], ids=["as a dictionary", "as text"])
def test_one_text_in_very_many_rows_is_not_unpacked(tmp_path, monkeypatch, stored):
    monkeypatch.setattr("metaod.tables.readers.parquet._MOST_CHUNK_BYTES", 2**20)
    n_rows, path = 300_000, tmp_path / "t.parquet"
    codes = pa.array(np.zeros(n_rows, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 2_000]))
    table = pa.table({"s": text, "x": np.arange(n_rows) % 97})
    pyarrow.parquet.write_table(table, path, store_schema=stored, compression="zstd")
    before = pa.total_allocated_bytes()
    with pytest.raises(BadFile, match=r"unpacks to 0\.6 GiB or more, .* times its size"):
        read_table(path)
    with pytest.raises(BadFile, match=r"rows 1 to 65,536 need 131,072,000 bytes"):
        list(stream_table(path).cells())
    assert pa.total_allocated_bytes() - before < 2**25
