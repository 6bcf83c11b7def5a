"""Files that are read in chunks give the rows that reading them at once gives."""

import gzip
import io
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from metaod.errors import BadFile, UserError
from metaod.tables import Preparation, is_large, read_table, stream_table
from metaod.tables import _stream as streams
from metaod.tables.readers._reader import RowSample, draw_rows


def opened(path, chunk_rows=3, size=10**6, **options):
    stream = stream_table(path, **options)
    stream.file.chunk_rows = chunk_rows
    stream.draw(size, seed=0)
    return stream


def matrix(preparation, tables):
    return np.vstack([preparation.transform(table).X for table in tables])


def assert_same(stream, table):
    """Compare the prepared rows of all chunks with those of a table."""
    chunks = list(stream.chunks())
    assert sum(chunk.n_rows for chunk in chunks) == table.n_rows == stream.n_rows
    try:
        preparation = Preparation().fit(table)
    except UserError:  # nothing to score
        return
    assert np.array_equal(matrix(preparation, chunks), preparation.transform(table).X)


# samples


@given(st.integers(1, 400), st.integers(1, 60), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_a_sample_does_not_depend_on_the_parts_in_which_rows_are_read(n_rows, size, part, seed):
    sample = RowSample(size, seed)
    for start in range(0, n_rows, part):
        sample.offer([f"row {row}" for row in range(start, min(start + part, n_rows))])
    rows, items = sample.drawn()
    assert rows.tolist() == draw_rows(n_rows, size, seed).tolist()
    assert items == [f"row {row}" for row in rows]
    assert len(rows) == min(n_rows, size)


def test_every_row_is_as_likely_to_be_in_the_sample():
    counts = np.zeros(40)
    for seed in range(2000):
        counts[draw_rows(40, 8, seed)] += 1
    assert chisquare(counts).pvalue > 0.001
    assert chisquare(counts.reshape(4, 10).sum(axis=1)).pvalue > 0.001


# text


@st.composite
def texts(draw):
    n_columns, n_rows = draw(st.integers(2, 4)), draw(st.integers(3, 12))
    kinds = draw(st.lists(st.booleans(), min_size=n_columns, max_size=n_columns))
    numbers = st.sampled_from(["1", "2.5", "-3", "", "NA", "1e3", "12", "0"])
    words = st.sampled_from(["red", 'say "no"', "two\nlines", "a,b", "x;y", "Köln", "", "7", "t"])
    rows = [[draw(words if is_text else numbers) for is_text in kinds] for _ in range(n_rows)]
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    delimiter = draw(st.sampled_from([",", ";", "\t"]))
    stream = io.StringIO()
    frame = pd.DataFrame(rows, columns=[f"c{place}" for place in range(n_columns)])
    frame.to_csv(stream, index=False, sep=delimiter, lineterminator=end)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"]))
    blank = draw(st.sampled_from(["", end, end + end]))
    return (stream.getvalue() + blank).encode(encoding), encoding


@settings(deadline=None, max_examples=30)
@given(texts(), st.integers(1, 7), st.booleans())
def test_text_in_chunks_is_the_text_read_at_once(tmp_path_factory, text, chunk_rows, packed):
    data, encoding = text
    path = tmp_path_factory.mktemp("streams") / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    given_encoding = None if encoding in ("utf-8", "utf-8-sig", "utf-16") else encoding
    try:
        table = read_table(path, encoding=given_encoding)
    except UserError as error:
        assume("two records" not in str(error))
        with pytest.raises(UserError):
            list(opened(path, chunk_rows, encoding=given_encoding).chunks())
        return
    stream = opened(path, chunk_rows, encoding=given_encoding)
    assert stream.sample.warnings == table.warnings
    pd.testing.assert_frame_equal(stream.sample.frame, table.frame)
    assert_same(stream, table)
    places = np.arange(table.n_rows)[::-1]
    assert stream.sample.original.texts(places.tolist()) == table.original.texts(places.tolist())
    rows = stream.take(places)
    assert rows.frame.index.tolist() == places.tolist()
    read = [cells for _, cells in stream.cells()]
    assert pa.concat_tables(read).equals(table.original.read())


def test_notations_dates_and_codes_keep_the_types_of_the_sample(tmp_path):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "": [f"r{i}" for i in range(60)],
            "price": [f"${value:,.2f}" for value in rng.uniform(900, 2000, 60)],
            "paid": rng.choice(["true", "false"], 60),
            "day": [f"{1 + i % 28:02d}.03.2024" for i in range(60)],
            "iso": [f"2024-03-{1 + i % 28:02d}" for i in range(60)],
            "clock": [f"10:{i % 60:02d}" for i in range(60)],
            "code": [f"{i % 7:05d}" for i in range(60)],
            "count": rng.integers(0, 9, 60),
            "size": [f"{value:.1f}" if value > 1 else "-" for value in rng.uniform(0, 9, 60)],
        }
    )
    frame.to_csv(path, index=False)
    table = read_table(path)
    for chunk_rows in (1, 7, 100):
        stream = opened(path, chunk_rows)
        assert_same(stream, table)
        index = [name for chunk in stream.chunks() for name in chunk.frame.index]
        assert index == table.frame.index.tolist()
        assert not stream.misfits()


def test_columns_that_a_chunk_has_only_gaps_or_whole_numbers_of(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["1,5,x", "2,6,y", ",,", ",,", "3.5,7,x", "4.5,,y", "0x10,8,x", "5,9,"]
    path.write_text("\n".join(["a,b,c", *rows]) + "\n")
    frames = []
    for chunk_rows in (1, 2, 3, 8):
        stream = opened(path, chunk_rows, size=4)
        frames.append(np.vstack([chunk.frame[["b"]].to_numpy(float) for chunk in stream.chunks()]))
    assert all(np.array_equal(frame, frames[0], equal_nan=True) for frame in frames)


def numbers_with_a_late_word(path, n_rows=3000, at=2500, word="oops"):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{c}" for a, b, c in rng.normal(size=(n_rows, 3))]
    lines[at] = f"1.5,{word},2"
    path.write_text("a,b,c\n" + "\n".join(lines) + "\n")


def test_a_word_that_the_sample_did_not_show_is_missing_with_a_note(tmp_path):
    path = tmp_path / "t.csv"
    numbers_with_a_late_word(path)
    found = []
    for chunk_rows in (17, 1000, 5000):
        stream = opened(path, chunk_rows, size=50)
        assert 2500 not in stream.rows
        frame = pd.concat([chunk.frame for chunk in stream.chunks()])
        assert frame["b"].isna().tolist() == [row == 2500 for row in range(3000)]
        found.append(frame["b"].to_numpy(float))
        [note] = stream.misfits()
        assert note.code == "bad-values-finding"
        assert (note.values["row"], note.values["shown"]) == (2501, "'oops'")
    assert all(np.array_equal(values, found[0], equal_nan=True) for values in found)


def test_what_to_do_with_a_word_that_the_sample_did_not_show(tmp_path):
    path = tmp_path / "t.csv"
    numbers_with_a_late_word(path)
    for kind, remedy in (("error", "fix it, take such values"), ("text", "read the column as")):
        stream = opened(path, 1000, size=50, bad_values=kind)
        what = rf"column 'b': row 2,501: 'oops' is not a number, .*; {remedy}"
        for columns in (None, ["a"]):
            with pytest.raises(UserError, match=what):
                list(stream.chunks(columns))
    chunks = opened(path, 1000, size=50, bad_values="missing").chunks()
    assert sum(chunk.frame["b"].isna().sum() for chunk in chunks) == 1


def test_a_total_that_does_not_fit_is_an_error_wherever_the_sample_is(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{value},{value * 1.5},{value % 7}" for value in range(400)]
    path.write_text("\n".join(["a,b,c", *rows, "Total,12,13", ""]))
    with pytest.raises(BadFile, match=r"line 402.*'Total'.*skip_footer=1"):
        read_table(path, bad_values="error")
    with pytest.raises(BadFile, match=r"line 402.*'Total'.*skip_footer=1"):
        opened(path, size=100, bad_values="error")
    assert opened(path, size=100, skip_footer=1).n_rows == 400


def test_hexadecimal_numbers_are_read_in_columns_of_whole_numbers_alone(tmp_path):
    rows = [f"{value},{value}.5" for value in range(1000)]
    rows[700] = "0x10,0x10"
    (tmp_path / "t.csv").write_text("\n".join(["whole,real", *rows, ""]))
    stream = opened(tmp_path / "t.csv", 100, size=50)
    assert 700 not in stream.rows
    frame = pd.concat([chunk.frame for chunk in stream.chunks()])
    assert frame["whole"].iloc[700] == 16
    assert np.isnan(frame["real"].iloc[700])


def test_a_word_in_the_sample_is_an_error_that_names_its_line(tmp_path):
    path = tmp_path / "t.csv"
    numbers_with_a_late_word(path, word='"two\nlines"')
    with pytest.raises(BadFile) as at_once:
        read_table(path, bad_values="error")
    with pytest.raises(BadFile) as streamed:
        opened(path, bad_values="error")
    assert str(streamed.value) == str(at_once.value)
    assert "line 2502" in str(streamed.value)


@pytest.mark.parametrize(
    ("line", "what"), [("1,2", "2 fields where"), ('1,"open,2', "a quote is opened")]
)
def test_a_faulty_record_is_named_by_its_line(tmp_path, line, what):
    path = tmp_path / "t.csv"
    numbers_with_a_late_word(path)
    lines = path.read_text().splitlines()
    lines[2900] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadFile, match=f"line 2901: {what}"):
        list(opened(path, 1000, size=20).chunks())


def test_totals_below_the_table(tmp_path):
    path = tmp_path / "t.csv"
    values = np.arange(1, 101)
    rows = [f"item{i},{value},{2 * value}" for i, value in enumerate(values)]
    path.write_text("\n".join(["name,a,b", *rows, f"Total,{values.sum()},{2 * values.sum()}", ""]))
    stream = opened(path)
    assert stream.n_rows == 100
    assert stream.sample.warnings == read_table(path).warnings
    assert sum(chunk.n_rows for chunk in stream.chunks()) == 100
    sampled = opened(path, size=20)
    assert "footer-read" in [warning.code for warning in sampled.sample.warnings]
    assert opened(path, size=20, skip_footer=1).n_rows == 100


# Parquet


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 2**16))
def test_parquet_in_chunks_is_the_file_read_at_once(tmp_path_factory, chunk_rows, group, seed):
    path = tmp_path_factory.mktemp("streams") / "t.parquet"
    rng = np.random.default_rng(seed)
    n_rows = 25
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "count": pd.array(rng.integers(0, 5, n_rows), dtype="Int64"),
            "color": pd.Categorical(rng.choice(["red", "blue"], n_rows)),
            "text": rng.choice(["a", "b", "c"], n_rows),
            "money": [f"${value:,.2f}" for value in rng.uniform(900, 2000, n_rows)],
            "day": pd.date_range("2024-01-01", periods=n_rows, freq="h"),
            "truth": rng.random(n_rows) > 0.5,
        }
    )
    frame.loc[rng.integers(0, n_rows, 3), "count"] = pd.NA
    frame.loc[:5, "number"] = np.nan
    if seed % 2:
        frame.index = pd.Index([f"r{i}" for i in range(n_rows)], name="key")
    frame.to_parquet(path, row_group_size=group)
    table, stream = read_table(path), opened(path, chunk_rows)
    pd.testing.assert_frame_equal(stream.sample.frame, table.frame)
    assert_same(stream, table)
    places = rng.permutation(n_rows)[:7]
    taken = stream.take(places)
    assert taken.frame["number"].tolist() == pytest.approx(
        table.frame["number"].iloc[places].tolist(), nan_ok=True
    )
    assert pa.concat_tables(cells for _, cells in stream.cells()).equals(pq.read_table(path))
    [*some] = [cells for _, cells in stream.cells(np.sort(places))]
    expected = pq.read_table(path).take(np.sort(places))
    assert pa.concat_tables(some).to_pylist() == expected.to_pylist()


def test_the_same_rows_are_drawn_from_text_and_parquet(tmp_path):
    frame = pd.DataFrame({"a": np.arange(500) * 1.5, "b": np.arange(500) % 7})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=60)
    text, parquet = (opened(tmp_path / f"t.{kind}", size=40) for kind in ("csv", "parquet"))
    assert text.rows.tolist() == parquet.rows.tolist()
    assert text.sample.frame["a"].tolist() == frame["a"].iloc[text.rows].tolist()
    assert not text.covers_all


def test_the_start_of_a_stored_index_is_kept(tmp_path):
    frame = pd.DataFrame({"a": np.arange(50) * 1.5}, index=pd.RangeIndex(1000, 1100, 2))
    frame.to_parquet(tmp_path / "t.parquet")
    stream = opened(tmp_path / "t.parquet", 20, size=10)
    assert np.concatenate([chunk.index for chunk in stream.chunks()]).tolist() == [*frame.index]
    assert stream.take(np.array([7, 3])).index.tolist() == [1014, 1006]


def test_bytes_that_are_no_text_are_refused_wherever_they_stand(tmp_path):
    texts = pa.array([b"plain"] * 400 + [b"\xff\xfe"] + [b"plain"] * 99).view(pa.string())
    table = pa.table({"a": np.arange(500.0), "t": texts})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    with pytest.raises(BadFile, match="Invalid UTF8"):
        opened(tmp_path / "t.parquet")
    stream = opened(tmp_path / "t.parquet", 100, size=20)
    assert 400 not in stream.rows
    with pytest.raises(BadFile, match="Invalid UTF8"):
        list(stream.chunks())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_rows_have_the_columns_of_the_file(tmp_path, kind):
    frame = pd.DataFrame({"a": np.arange(50) * 1.5, "b": ["x", "y"] * 25})
    getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", index=False)
    stream = opened(tmp_path / f"t.{kind}", size=20)
    none = np.empty(0, dtype=np.int64)
    [(first, cells)] = stream.cells(none)
    assert (first, cells.num_rows, cells.column_names) == (0, 0, ["a", "b"])
    assert stream.take(none).frame.shape == (0, 2)


# which files


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_of_a_file_that_changed_are_not_read(tmp_path, kind):
    frame = pd.DataFrame({"a": np.arange(50) * 1.5, "b": np.arange(50) % 7})
    path = tmp_path / f"t.{kind}"
    getattr(frame, f"to_{kind}")(path, index=False)
    stream = opened(path, size=20)
    chunks = stream.chunks()
    next(chunks)
    getattr(frame[::-1], f"to_{kind}")(path, index=False)
    os.utime(path, ns=(0, 0))
    reads = [
        lambda: stream.take(np.array([3])),
        lambda: stream.sample.original.read_numbers(np.array([3])),
        lambda: list(chunks),
    ]
    for read in reads:
        with pytest.raises(BadFile, match="was changed after it was read"):
            read()


@pytest.mark.parametrize("damage", ["cut", "cut early", "sum"])
def test_a_damaged_gzip_file_is_refused(tmp_path, damage):
    path = tmp_path / "t.csv.gz"
    rng = np.random.default_rng(0)
    packed = gzip.compress(pd.DataFrame(rng.normal(size=(300, 3))).to_csv(index=False).encode())
    packed = {
        "cut": packed[:-100],
        "cut early": packed[:40],
        "sum": packed[:-8] + b"\0\0\0\0" + packed[-4:],
    }[damage]
    path.write_bytes(packed)
    assert not is_large(path)
    with pytest.raises(BadFile):
        read_table(path)
    with pytest.raises(BadFile, match="cannot be read as gzip"):
        stream_table(path)


def test_a_gzipped_empty_text_is_refused(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b""))
    assert not is_large(tmp_path / "t.csv.gz")
    with pytest.raises(BadFile, match="empty"):
        stream_table(tmp_path / "t.csv.gz")


def test_which_files_are_large(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(5000) * 1.5, "b": np.arange(5000) % 7})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", frame.to_numpy())
    paths = [tmp_path / f"t.{ending}" for ending in ("csv", "csv.gz", "parquet", "npy")]
    assert [is_large(path) for path in paths] == [False] * 4
    monkeypatch.setattr(streams, "MOST_ROWS", 4000)
    assert [is_large(path) for path in paths] == [True, True, True, False]
    monkeypatch.setattr(streams, "MOST_ROWS", 10**6)
    monkeypatch.setattr("metaod.options.free_memory", lambda: 3e5)
    assert [is_large(path) for path in paths] == [True, True, True, False]
    assert not is_large("-")
    assert not is_large(tmp_path / "absent.csv")
    for other in (tmp_path / "t.npy", "-"):
        with pytest.raises(UserError) as caught:
            stream_table(other)
        assert caught.value.code == "not-in-chunks"
    with pytest.raises(BadFile, match="does not exist"):
        stream_table(tmp_path / "absent.csv")


def test_rows_of_an_unread_text_cannot_be_chosen(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    raw = stream_table(tmp_path / "t.csv").raw
    for order in ([0, 1], [1, 0]):
        with pytest.raises(ValueError, match="before their number is known"):
            raw.write(io.BytesIO(), [], lambda _: [], np.array(order))
