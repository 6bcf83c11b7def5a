"""Parquet files and XLSX workbooks."""

import builtins
import datetime as dt
import io
import struct
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sample_files import FRAME, xlsx

from metaod.errors import BadColumn, BadFile, BadParameter, MissingExtra
from metaod.tables import read_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


def parquet(table):
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


# Parquet


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
    assert "rounded" in table.warnings[0]


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
def test_columns_that_are_no_columns(column):
    with pytest.raises(BadColumn, match=r"'odd'.*not numbers, dates or text"):
        read(parquet(pa.table({"a": [1, 2], "odd": column})))


def test_doubled_names_of_parquet():
    with pytest.raises(BadColumn, match="'a': is there more than once"):
        read(parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])))


def test_promises_of_parquet():
    constant = parquet(pa.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}))
    assert len(constant) < 10**5
    with pytest.raises(BadFile, match="promises 1,000,000 rows × 2 columns"):
        read(constant, max_bytes=10**7)


def test_parquet_without_rows_or_columns():
    with pytest.raises(BadFile, match="no rows"):
        read(parquet(pa.table({"a": pa.array([], pa.float64())})))
    with pytest.raises(BadFile, match="no rows"):
        read(pd.DataFrame().to_parquet())


# XLSX


def book(*sheets):
    """Write a workbook: each sheet its title and its rows."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets:
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def test_types_of_xlsx():
    day = pd.Timestamp("2020-01-02").to_pydatetime()
    table = read(
        book(
            (
                "S",
                [
                    ["i", "f", "b", "gap", "d", "clock", "s", "as text", "nothing"],
                    [1, 1.5, True, False, day, dt.time(12, 30), "x", "7"],
                    [2, None, False, None, day, None, "N/A", "8.5"],
                ],
            )
        )
    )
    kinds = {name: dtype.kind for name, dtype in table.frame.drop(columns="s").dtypes.items()}
    assert "".join(kinds.values()) == "ifbbMfff"
    assert table.frame["s"].isna().tolist() == [False, True]
    assert table.frame["as text"].tolist() == [7, 8.5]
    assert table.frame["clock"][0] == 45_000


def test_sheets():
    data = book(("One", [["a"], [1]]), ("Two", [["b"], [2]]))
    table = read(data)
    assert list(table.frame) == ["a"]
    assert "of 2 sheets the first, 'One'" in table.warnings[0]
    assert list(read(data, sheet="Two").frame) == ["b"]
    assert list(read(data, sheet=1).frame) == ["b"]
    for sheet in ("Three", 2, -1):
        with pytest.raises(BadParameter, match="'One', 'Two'"):
            read(data, sheet=sheet)


def test_blank_rows_and_columns_are_left_out():
    rows = [[], [None, "a", None, "b"], [None, 1, None, 2], [], [None, 3, None, 4]]
    assert read(book(("S", rows))).frame.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_headers_of_xlsx():
    assert list(read(book(("S", [[1.5, "x"], [2.5, "y"]]))).frame) == ["x1", "x2"]
    assert list(read(book(("S", [["id", 2019], [1, 2]]))).frame) == ["id", "2019"]
    indexed = read(book(("S", [[None, "a"], ["r1", 1], ["r2", 2]])))
    assert list(indexed.index) == ["r1", "r2"]
    assert list(read(book(("S", [["a", "b"], ["c", "d"]])), header=False).frame) == ["x1", "x2"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([["a", None, "a"], [1, 2, 3]], "line 1, column 2: the column has no name"),
        ([[], ["a", "b", "a"], [1, 2, 3]], "line 2, column 3: the name 'a' is already"),
        ([["a", "b"]], "a header but no rows"),
        ([], "sheet 'S' is empty"),
    ],
)
def test_faulty_sheets(rows, told):
    with pytest.raises(BadFile, match=told):
        read(book(("S", rows)))


def test_a_word_among_numbers_of_a_sheet():
    rows = [["a"], *[[i] for i in range(30)]]
    rows[20] = ["oops"]
    rows.insert(3, [])
    with pytest.raises(BadColumn, match="row 22: 'oops' is not a number"):
        read(book(("S", rows)))
    assert read(book(("S", rows)), na="oops").frame["a"].isna().sum() == 1
    assert read(book(("S", rows)), text="a").frame["a"][19] == "oops"


def test_missing_labels_of_a_sheet_name_their_row():
    with pytest.raises(BadColumn, match="row 3: the label is missing"):
        read(book(("S", [["a", "y"], [1, "o"], [2, None]])), label="y")


def edited(data, name, old, new):
    """Replace bytes in one member of a workbook."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for member in source.namelist():
            content = source.read(member)
            if member == name:
                assert old in content
                content = content.replace(old, new)
            target.writestr(member, content)
    return buffer.getvalue()


def test_what_a_sheet_says_of_its_size_is_not_believed():
    data = book(("S", [["a", "b"], [1, 2]]))
    sheet = "xl/worksheets/sheet1.xml"
    claimed = edited(data, sheet, b'ref="A1:B2"', b'ref="A1:XFD1048576"')
    assert read(claimed).frame.shape == (1, 2)
    small = edited(data, sheet, b'ref="A1:B2"', b'ref="A1"')
    assert read(small).frame.shape == (1, 2)
    far = edited(data, sheet, b'<row r="2"', b'<row r="99999999999"')
    with pytest.raises(BadFile, match="rows beyond 1,048,576"):
        read(far)


def test_bombs_in_xlsx():
    data = book(("S", [["a"], [1]]))
    bomb = edited(data, "xl/worksheets/sheet1.xml", b"</sheetData>", b" " * 10**6 + b"</sheetData>")
    with pytest.raises(BadFile, match="unpacks to"):
        read(bomb, max_bytes=10**5)
    wide = book(("S", [["a", "b"], [1, 2]]))
    wide = edited(wide, "xl/worksheets/sheet1.xml", b'r="B2"', b'r="XFD2"')
    with pytest.raises(BadFile, match="takes 262,144 bytes or more"):
        read(wide, max_bytes=200_000)


def test_locked_archives():
    data = bytearray(xlsx(FRAME))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = data.index(mark) + offset
        data[at : at + 2] = struct.pack("<H", 1)
    with pytest.raises(BadFile, match="password"):
        read(bytes(data))


def test_openpyxl_is_an_extra(monkeypatch):
    real_import = builtins.__import__

    def without_openpyxl(name, *args, **kwargs):
        if name == "openpyxl":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    data = xlsx(FRAME)
    monkeypatch.setattr(builtins, "__import__", without_openpyxl)
    with pytest.raises(MissingExtra, match=r'pip install "metaod-next\[excel\]"'):
        read(data)
