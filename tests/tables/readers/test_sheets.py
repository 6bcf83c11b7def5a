"""XLS and OpenDocument sheets, which follow the rules of XLSX workbooks."""

import io
import zipfile

import pandas as pd
import pytest
from sample_files import FRAME, N_ROWS, SAMPLES, XLS, ods

from metaod.errors import BadFile, BadParameter
from metaod.tables import read_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


def with_content(old, new, data=SAMPLES["ods"][1]):
    """Replace text in the content of an OpenDocument file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            content = source.read(name).decode()
            assert name != "content.xml" or old in content
            target.writestr(name, content.replace(old, new) if name == "content.xml" else content)
    return buffer.getvalue()


def test_an_xls_workbook():
    table = read(XLS, label="y")
    assert table.frame["city"].tolist() == ["Bonn", "Köln", "Rom"] * 2
    assert table.frame["n"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table.frame["price"].isna().tolist() == [False, False, True, False, False, False]
    assert table.frame["day"].tolist() == list(pd.date_range("2024-02-01", periods=6))
    assert table.frame["clock"].tolist() == [45_000 + i for i in range(6)]
    assert table.frame["is_new"].tolist() == [True, False] * 3
    codes = [warning.code for warning in table.warnings]
    assert codes == ["sheet", "title-left-out", "sheet-rows", "footer-left-out"]
    assert read(XLS, sheet="Data", skip_footer=0, bad_values="missing").n_rows == 7
    with pytest.raises(BadParameter, match="'Cover', 'Data'"):
        read(XLS, sheet="Other")


def test_an_opendocument_sheet():
    pd.testing.assert_frame_equal(read(SAMPLES["ods"][1]).frame, FRAME, check_dtype=False)
    rows = [["a", "b"], [1, True], [2, False]]
    table = read(ods(("Cover", [["About"]]), ("Data", rows)))
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": [True, False]}
    assert (table.warnings[0].code, table.warnings[0].values["read"]) == ("sheet", "Data")


NOTE = "<office:annotation><text:p>note</text:p></office:annotation>"
CELL = '<table:table-cell office:value-type="float" office:value="{}">'


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        # the same row and the same cell again
        (f"<table:table-row>{CELL.format(4)}", None, [1, 4, 4, 4]),
        ("<text:p>b<", f"{NOTE}<text:p>b<", [1, 4]),
        ("<text:p>b</text:p>", "<text:p><text:span>b</text:span></text:p>", [1, 4]),
        ('"float" office:value="4"', '"currency" office:currency="EUR" office:value="4.0"', [1, 4]),
        ('"float" office:value="4"', '"percentage" office:value="4"', [1, 4]),
    ],
)  # fmt: skip
def test_what_cells_of_opendocument_sheets_hold(old, new, found):
    repeated = old.replace("table-row>", 'table-row table:number-rows-repeated="3">')
    data = with_content(old, new or repeated, ods(("S", [["b", "c"], [1, 2], [4, 5]])))
    table = read(data)
    assert table.frame["b"].tolist() == found
    assert list(table.frame) == ["b", "c"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<office:body", '<!DOCTYPE a [<!ENTITY b "c">]><office:body', "declares entities"),
        ('columns-repeated="1"', 'columns-repeated="99999999"', "beyond row"),
        ('columns-repeated="1"', 'columns-repeated="16000"', "times its size"),
        ("<table:table-row>", '<table:table-row table:number-rows-repeated="2000000">', "beyond"),
        ("<table:table-row>", '<table:table-row table:number-rows-repeated="900000">', "its size"),
        ("</table:table>", "", "cannot be read as an OpenDocument sheet"),
    ],
)
def test_opendocument_sheets_that_are_refused(old, new, told):
    if "16000" in new:  # many rows of many cells
        rows = [["a", "b", None, "c"], *[[n, n, None, n] for n in range(4000)]]
        data = with_content(old, new, ods(("S", rows)))
    elif "rows-repeated" in new:
        data = with_content(old, new, ods(("S", [["a", "b", "c", "d", "e"]])))
    else:
        data = with_content(old, new)
    with pytest.raises(BadFile, match=told):
        read(data)


def test_a_scored_copy_is_a_new_workbook(tmp_path):
    from metaod.detection import detect, write_scored  # noqa: PLC0415 - a higher room

    for kind in ("xls", "ods"):
        path = tmp_path / f"t.{kind}"
        path.write_bytes(SAMPLES["ods"][1] if kind == "ods" else XLS)
        found = detect(read_table(path))
        write_scored(found, tmp_path / f"{kind}.xlsx")
        again = read_table(tmp_path / f"{kind}.xlsx")
        assert again.n_rows == (N_ROWS if kind == "ods" else 6)
        assert {"score", "rank", "flag"} <= set(again.frame)
