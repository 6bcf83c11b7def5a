import datetime as dt
import io
import struct
import zipfile

import openpyxl
import pandas as pd
import pytest
from sample_files import FRAME, xlsx

from metaod.errors import BadColumn, BadFile, BadParameter
from metaod.tables import read_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


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
    assert (table.warnings[0].code, table.warnings[0].values["read"]) == ("sheet", "One")
    assert list(read(data, sheet="Two").frame) == ["b"]
    assert list(read(data, sheet=1).frame) == ["b"]
    for sheet in ("Three", 2, -1):
        with pytest.raises(BadParameter, match="'One', 'Two'"):
            read(data, sheet=sheet)


COVERS = [
    [],
    [["Annual report"]],
    [["Annual report"], [], ["by", "me"], ["on", dt.date(2024, 1, 2)]],
    [["About these data"], ["a paragraph of text"], ["another one"], ["and a last one"]],
]


@pytest.mark.parametrize("cover", COVERS)
def test_a_cover_sheet_is_passed_over(cover):
    data = book(("Cover", cover), ("Data", [["a", "b"], [1, 2], [3, 4]]), ("Notes", [["x"]]))
    table = read(data)
    assert table.frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    [warning] = table.warnings
    assert (warning.code, warning.values["read"]) == ("sheet", "Data")


def test_titles_and_totals_of_a_sheet():
    rows = [["Sales"], ["made", "today"], [], ["city", "n", "price", "day"]]
    rows += [["Rome", 1, "1,50", "18.03.2024"], ["Bonn", 2, "2,50", "19.03.2024"]]
    rows += [["Oslo", 4, "0,25", "20.03.2024"], ["Total", 7, "4,25"]]
    table = read(book(("S", rows)))
    assert table.frame["n"].tolist() == [1, 2, 4]
    assert table.frame["price"].tolist() == [1.5, 2.5, 0.25]
    assert table.frame["day"].dtype.kind == "M"
    codes = [warning.code for warning in table.warnings[:3]]
    assert codes == ["title-left-out", "sheet-rows", "footer-left-out"]
    assert {"first": 5, "n_rows": 3, "last": 7}.items() <= table.warnings[1].values.items()
    assert len(read(book(("S", rows)), skip_footer=0, bad_values="text").frame) == 4
    assert len(read(book(("S", rows)), skip_rows=3, skip_footer=2).frame) == 2
    with pytest.raises(BadFile, match="no rows between those that are skipped"):
        read(book(("S", rows)), skip_rows=8)


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
    with pytest.raises(BadColumn, match=r"'oops'.*row 22"):
        read(book(("S", rows)), bad_values="error")
    assert read(book(("S", rows))).misfits["a"].rows.tolist() == [19]
    assert read(book(("S", rows)), na="oops").frame["a"].isna().sum() == 1
    assert read(book(("S", rows)), text="a").frame["a"][19] == "oops"


def test_missing_labels_of_a_sheet_name_their_row():
    with pytest.raises(BadColumn, match="row 3"):
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


def test_the_size_that_a_sheet_declares_is_ignored(monkeypatch):
    data = book(("S", [["a", "b"], [1, 2]]))
    sheet = "xl/worksheets/sheet1.xml"
    claimed = edited(data, sheet, b'ref="A1:B2"', b'ref="A1:XFD1048576"')
    assert read(claimed).frame.shape == (1, 2)
    small = edited(data, sheet, b'ref="A1:B2"', b'ref="A1"')
    assert read(small).frame.shape == (1, 2)
    far = edited(data, sheet, b'<row r="2"', b'<row r="99999999999"')
    monkeypatch.setattr("metaod.tables.readers.excel._MAX_ROWS", 1000)
    with pytest.raises(BadFile, match="1,000,"):
        read(far)


def test_bombs_in_xlsx():
    data = book(("S", [["a"], [1]]))
    bomb = edited(data, "xl/worksheets/sheet1.xml", b"</sheetData>", b" " * 10**6 + b"</sheetData>")
    with pytest.raises(BadFile, match="unpacks to"):
        read(bomb, max_bytes=10**5)
    wide = book(("S", [["a", "b"], [1, 2]]))
    wide = edited(wide, "xl/worksheets/sheet1.xml", b'r="B2"', b'r="XFD2"')
    with pytest.raises(BadFile, match="1,048,576 bytes"):
        read(wide, max_bytes=200_000)


def test_locked_archives():
    data = bytearray(xlsx(FRAME))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = data.index(mark) + offset
        data[at : at + 2] = struct.pack("<H", 1)
    with pytest.raises(BadFile, match="password"):
        read(bytes(data))


def test_formulas_without_stored_values_are_named_and_a_total_of_them_is_left_out():
    rows = [["name", "n", "twice"], *[[f"p{n}", n, f"=B{n + 2}*2"] for n in range(5)]]
    table = read(book(("S", [*rows, ["Total", "=SUM(B2:B6)", "=SUM(C2:C6)"]])))
    assert table.frame["n"].tolist() == list(range(5))
    notes = {warning.code: warning.values for warning in table.warnings}
    assert notes.keys() == {"formulas", "footer-left-out"}
    assert notes["formulas"]["columns"] == "'twice': 5"
    plain = read(book(("S", [["name", "n"], ["=A1", 1], ["x", 2]])))
    assert [warning.code for warning in plain.warnings] == ["formulas"]
