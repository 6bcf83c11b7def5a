"""Any small frame, written in any dialect or kind that is supported, reads back equal."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from sample_files import mat, mat73, npz, xlsx

from metaod.detection import _formats
from metaod.tables import read_table

CALM = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**53), 2**53).map(float)


def words(odd):
    """Draw text; the letter first keeps it apart from numbers, dates and missing words."""
    return st.builds(str.__add__, st.sampled_from("kéω"), st.text(alphabet=odd, max_size=6))


def names(odd):
    drawn = st.builds(str.__add__, st.sampled_from("mnö"), st.text(alphabet=odd, max_size=4))
    return st.lists(drawn.map(str.strip), min_size=1, max_size=5, unique=True)


@st.composite
def frames(draw, odd=" ,;|\t\"'\n\r.abcÄ€", numbers=NUMBERS, most=2**63 - 1):
    """Draw a frame of float, text, int and bool columns, the first two with gaps."""
    n_rows = draw(st.integers(1, 6))
    floats, texts = (numbers, np.nan), (words(odd), None)
    whole, truths = (st.integers(-most - 1, most), ...), (st.booleans(), ...)
    columns = {}
    for name in draw(names(odd="abc ,;\"'x")):
        values, gap = draw(st.sampled_from([floats, texts, whole, truths]))
        column = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        if gap is not ...:
            lost = draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
            lost[0] = False  # a column of nothing has no type to come back with
            column = [gap if gone else value for value, gone in zip(column, lost, strict=True)]
        columns[name] = pd.Series(column)
    return pd.DataFrame(columns)


@st.composite
def dialects(draw):
    delimiter = draw(st.sampled_from(",;\t| "))
    quoting = draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL]))
    if delimiter == " ":  # tabs count as blanks, which no writer knows
        quoting = csv.QUOTE_NONNUMERIC
    # the writer quotes for the sake of the ends of lines it writes, not of others in the text
    line_ends = ["\r\n"] if quoting == csv.QUOTE_MINIMAL else ["\n", "\r\n", "\r"]
    return {
        "sep": delimiter,
        "decimal": draw(st.sampled_from("." if delimiter == "," else ".,")),
        # runs of blanks count as one, so that nothing between two of them is nothing
        "na_rep": "NA" if delimiter == " " else draw(st.sampled_from(["", "NA", "?", "null"])),
        "lineterminator": draw(st.sampled_from(line_ends)),
        "quoting": quoting,
    }


ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])


def assert_same(table, frame):
    # text cannot tell 1.0 from 1, so that types may differ where values do not
    assert_frame_equal(table.frame, frame, check_dtype=False, check_exact=True)


@CALM
@given(frames(), dialects(), ENCODINGS, st.booleans())
def test_delimited_text_by_pandas(frame, dialect, encoding, gzipped):
    data = frame.to_csv(index=False, **dialect).encode(encoding)
    table = read_table(
        io.BytesIO(gzip.compress(data, mtime=0) if gzipped else data),
        delimiter=dialect["sep"],
        decimal=dialect["decimal"],
        header=True,
    )
    assert_same(table, frame)


@CALM
@given(st.data())
def test_delimited_text_by_csv(data):
    width = data.draw(st.integers(2, 4))
    field = words(" ,;|\t\"'\n\r.ab") | st.just("")
    rows = data.draw(st.lists(st.tuples(*[field] * width), min_size=1, max_size=5))
    delimiter = data.draw(st.sampled_from(",;\t|"))
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    table = read_table(io.StringIO(buffer.getvalue()), delimiter=delimiter, header=False)
    read = [[("" if pd.isna(v) else v) for v in row] for row in table.frame.to_numpy().tolist()]
    assert read == [list(row) for row in rows]


@CALM
@given(
    st.lists(
        st.tuples(st.integers(-999, 999).map(lambda n: n + 0.25), words("ab"), st.integers(0, 99)),
        min_size=2,
        max_size=8,
    ),
    dialects(),
    ENCODINGS,
    st.booleans(),
)
def test_dialects_are_recognised(rows, dialect, encoding, index):
    frame = pd.DataFrame(rows, columns=["one", "two", "three"])
    if dialect["sep"] == " ":
        index = False  # the name of the index is nothing, and so are the blanks around it
    data = frame.to_csv(index=index, **dialect).encode(encoding)
    assert_same(read_table(io.BytesIO(data)), frame)


@CALM
@given(frames())
def test_parquet(frame):
    table = read_table(io.BytesIO(frame.to_parquet()))
    assert_frame_equal(table.frame, frame, check_exact=True)


# a sheet holds numbers of 15 digits at least, no infinities and no carriage returns
@settings(CALM, max_examples=15)
@given(frames(odd=" ,;ab\"'\n", numbers=st.integers(-(10**9), 10**9).map(lambda n: n / 64)))
def test_xlsx(frame):
    frame = frame.select_dtypes(exclude="int64").assign(last=range(len(frame)))
    assert_same(read_table(io.BytesIO(xlsx(frame)), header=True), frame)


@CALM
@given(frames(most=10**15 - 2), st.sampled_from([_formats.write_jsonl, _formats.write_json]))
def test_json_as_it_is_written(frame, write):
    buffer = io.BytesIO()
    write([frame], buffer)
    buffer.seek(0)
    assert_same(read_table(buffer), frame)


@CALM
@given(st.data())
def test_arrays(data):
    shape = data.draw(st.tuples(st.integers(2, 5), st.integers(2, 4)))
    values = st.lists(st.floats(width=32), min_size=shape[0] * shape[1], max_size=20)
    x = np.array(data.draw(values)[: shape[0] * shape[1]]).reshape(shape)
    y = data.draw(st.lists(st.integers(0, 1), min_size=shape[0], max_size=shape[0]))
    written = data.draw(
        st.sampled_from(
            [
                npz(X=x, y=y),
                npz(compressed=True, other=x, y=y),
                mat("4", X=x, y=y),
                mat("5", X=x, y=y),
                mat("5", compressed=True, data=x, y=np.array(y)[:, None]),
                mat73(X=x, y=y),
            ]
        )
    )
    table = read_table(io.BytesIO(written), label="y")
    np.testing.assert_array_equal(table.frame.to_numpy(), x)
    np.testing.assert_array_equal(table.label, y)
