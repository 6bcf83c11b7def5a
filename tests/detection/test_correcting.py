"""Findings in a file, accepted ones of them, and copies of tables with these corrections."""

import gzip
import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from made_findings import made_findings
from made_result import made_result

from metaod.detection import (
    Correction,
    read_corrections,
    write_cells,
    write_corrected,
    write_scored,
)
from metaod.errors import BadColumn, BadFile, UserError
from metaod.tables import read_table, stream_table

TEXT = 'Sales;;\r\n\r\nname;"price";note\r\nA;12,50;"x ""y"""\r\nB;1250,00;é\r\n\r\nC;99;\r\n'
FINDINGS = [
    (1, "price", 1250.0, "about 12.5", "decimal", "", 12.5, 0.95),
    (2, "price", 99.0, "10 to 20", "code", "", None, 0.8),
    (0, "note", 'x "y"', "", "pattern", "", None, 0.1),
]


def text_table(tmp_path, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    return read_table(path, decimal=",", encoding=encoding)


def found_in(table, *findings):
    return made_result(table, np.zeros(table.n_rows), wrong=made_findings(table.n_rows, *findings))


def accepting(path, answers, **changes):
    """Write answers into a file of findings, as a person does."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame = frame.assign(accept=answers, **changes)
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "json"])
def test_findings_are_written_and_read_again(tmp_path, ending):
    path = tmp_path / f"cells.{ending}"
    write_cells(found_in(text_table(tmp_path), *FINDINGS), path)
    readers = {
        "csv": pd.read_csv, "xlsx": pd.read_excel, "parquet": pd.read_parquet, "json": pd.read_json,
    }  # fmt: skip
    frame = readers[ending](path)
    assert frame[["row", "column", "kind"]].to_numpy().tolist() == [
        [2, "price", "decimal"], [3, "price", "code"],
    ]  # fmt: skip
    assert read_corrections(path) == ()
    frame["accept"] = ["Ja", "nein"] if ending == "csv" else ["Yes", "no"]
    if ending == "json":
        path.write_text(json.dumps(frame.to_dict("records")))
    else:
        getattr(frame, {"csv": "to_csv", "xlsx": "to_excel"}.get(ending, "to_parquet"))(
            path, index=False
        )
    assert read_corrections(path) == (Correction(1, "price", "12,50", "1250,00"),)


def test_a_suggestion_has_the_decimals_of_its_column(tmp_path):
    rows = "1;89,0;12,00;5,41\n2;24,95;1,50;5,3128\n"
    (tmp_path / "t.csv").write_text("n;price;total;lat\n" + rows * 9)
    table = read_table(tmp_path / "t.csv")
    new = {"n": [4, 5], "price": [89.0, 1.255], "total": [-3, 4.5], "lat": [5.5, 5.0]}
    findings = [(row, name, 1.0, "", "decimal", "", own, 0.95)
                for name, values in new.items() for row, own in enumerate(values)]  # fmt: skip
    write_cells(found_in(table, *findings), tmp_path / "cells.csv")
    frame = pd.read_csv(tmp_path / "cells.csv", dtype=str).set_index(["column", "row"])
    assert {name: [frame["suggestion"][name, row] for row in "12"] for name in new} == {
        "n": ["4", "5"], "price": ["89,0", "1,255"], "total": ["-3,00", "4,50"],
        "lat": ["5,5", "5"],
    }  # fmt: skip


def test_a_table_without_findings_needs_no_corrections(tmp_path):
    table = text_table(tmp_path)
    write_cells(found_in(table), tmp_path / "cells.csv")
    write_corrected(table, read_corrections(tmp_path / "cells.csv"), tmp_path / "fixed.csv")
    assert (tmp_path / "fixed.csv").read_bytes() == TEXT.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_only_accepted_cells_of_a_text_change(tmp_path, encoding):
    table = text_table(tmp_path, encoding)
    write_cells(found_in(table, *FINDINGS), tmp_path / "cells.csv")
    accepted = read_corrections(accepting(tmp_path / "cells.csv", ["yes", "yes"]))
    log = write_corrected(table, accepted, tmp_path / "fixed.csv")
    expected = TEXT.replace("1250,00", "12,50").replace("C;99", "C;")
    assert (tmp_path / "fixed.csv").read_bytes() == expected.encode(encoding)
    assert log.name == "fixed.csv.log.csv"
    assert log.read_text().splitlines() == [
        "row,column,before,after", '2,price,"1250,00","12,50"', "3,price,99,",
    ]  # fmt: skip
    own = accepting(tmp_path / "cells.csv", ["y", ""], suggestion=["13,00; or so", ""])
    write_corrected(table, read_corrections(own), tmp_path / "fixed.csv")
    expected = TEXT.replace("1250,00", '"13,00; or so"')
    assert (tmp_path / "fixed.csv").read_bytes() == expected.encode(encoding)
    assert (tmp_path / "t.csv").read_bytes() == TEXT.encode(encoding)


@pytest.mark.parametrize("streamed", [False, True])
def test_other_formats_keep_all_other_cells(tmp_path, streamed):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, None, 2.0],
                          "d": pd.to_datetime(["2024-01-01"] * 3)})  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    source = (stream_table if streamed else read_table)(tmp_path / "t.parquet")
    if streamed:
        source.draw(10, 0)
    corrections = [Correction(1, "a", "20"), Correction(2, "b", ""), Correction(1, "c", "1.25"),
                   Correction(0, "d", "2025-01-01", "2024-01-01")]  # fmt: skip
    write_corrected(source, corrections, tmp_path / "f.parquet")
    fixed = pq.read_table(tmp_path / "f.parquet")
    assert fixed.schema.types == pq.read_table(tmp_path / "t.parquet").schema.types
    expected = frame.assign(
        a=[1, 20, 3], b=["x", None, None], c=[0.5, 1.25, 2.0],
        d=pd.to_datetime(["2025-01-01", "2024-01-01", "2024-01-01"]),
    )  # fmt: skip
    pd.testing.assert_frame_equal(fixed.to_pandas(), expected, check_dtype=False)
    with pytest.raises(BadColumn, match="does not fit the type"):
        write_corrected(source, [Correction(0, "a", "many")], tmp_path / "g.parquet")
    assert not (tmp_path / "g.parquet").exists()


RECORDS = [
    '{"id": "é", "by": {"age": 41, "city": "Ulm"}, "tags": ["a", "b"], "paid": true, "n": 1.50}',
    '{"id":"b",  "by":{"city":"Paxis"}, "paid":false, "n":2871, "more":{}}',
    '{"id": "c", "by": {"age": 3e1, "city": "Bern"}, "tags": [], "paid": true, "n": 2, "x.y": 1}',
]
CHANGES = [
    (("by.city", 1, "Paris", "Paxis"), ('"Paxis"', '"Paris"')),
    (("n", 1, "28.71", "2871"), ("2871", "28.71")),
    (("by.age", 1, "30", ""), ('"Paris"}', '"Paris", "age": 30}')),
    (("id", 0, "ü", "é"), ('"é"', '"ü"')),
    (("tags", 0, "[1]", None), ('["a", "b"]', "[1]")),
    (("paid", 1, "True", "False"), ('"paid":false', '"paid":true')),
    (("by.age", 2, "", "30"), ("3e1", "null")),
    (("x.y", 2, "7", "1"), ('"x.y": 1', '"x.y": 7')),
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", "\r\n\r\n".join(RECORDS)),
        ("t.jsonl.gz", "\ufeff" + "\n".join(RECORDS)),
        ("t.json", "[\n  " + ",\n ".join(RECORDS) + "]\n"),
        ("t.json", '{"n": 3, "data": {"rows": [' + ", ".join(RECORDS) + "]}}"),
        (
            "t.json",
            "{" + ", ".join(f'"{k}": {own}' for k, own in zip("abc", RECORDS, strict=True)) + "}",
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_only_accepted_values_of_json_change(tmp_path, name, text, encoding):
    pack = gzip.compress if name.endswith("gz") else bytes
    (tmp_path / name).write_bytes(pack(text.encode(encoding)))
    corrections = [Correction(row, own, new, old) for (own, row, new, old), _ in CHANGES]
    write_corrected(read_table(tmp_path / name), corrections, tmp_path / f"fixed-{name}")
    written = (tmp_path / f"fixed-{name}").read_bytes()
    expected = text
    for _, (before, after) in CHANGES:
        expected = expected.replace(before, after, 1)
    unpack = gzip.decompress if name.endswith("gz") else bytes
    assert unpack(written) == expected.encode(encoding)


def test_json_without_names_of_columns_in_each_record_is_corrected_too(tmp_path):
    path, fixed = tmp_path / "t.json", tmp_path / "fixed.json"
    changes = [Correction(1, "a", "5", "2"), Correction(2, "b", "z")]
    for text, expected in (
        (
            '[["a", "b"], [1, "x"], [2, "y"], [3, "x"]]',
            '[["a", "b"], [1, "x"], [5, "y"], [3, "z"]]',
        ),
        ('{"a": [1, 2, 3], "b": ["x", "y", "x"]}', '{"a": [1, 5, 3], "b": ["x", "y", "z"]}'),
    ):
        path.write_text(text)
        write_corrected(read_table(path), changes, fixed)
        assert fixed.read_text() == expected
    path.write_text('[{"a": 1, "b": "x"}, {}, {"a": 3, "b": "x"}]')
    write_corrected(read_table(path), [Correction(1, "a", "5"), Correction(1, "b", "z")], fixed)
    assert fixed.read_text() == '[{"a": 1, "b": "x"}, {"a": 5, "b": "z"}, {"a": 3, "b": "x"}]'
    write_corrected(read_table(path), [Correction(0, "a", "5")], tmp_path / "fixed.jsonl")
    assert (tmp_path / "fixed.jsonl").read_text().startswith('{"a": 5')


def test_a_frame_is_corrected_and_keeps_its_other_words(tmp_path):
    frame = pd.DataFrame({"a": [*(f"{n / 2}" for n in range(60)), "heavy", "light"]})
    table = read_table(frame, bad_values="finding")
    assert len(table.misfits["a"].rows) == 2
    write_corrected(table, [Correction(60, "a", "7.5", "heavy")], tmp_path / "f.csv")
    written = pd.read_csv(tmp_path / "f.csv")["a"].tolist()
    assert (float(written[60]), written[61]) == (7.5, "light")


@pytest.mark.parametrize(
    ("correction", "told"),
    [
        (Correction(3, "price", "1"), "row 4: there is no such cell"),
        (Correction(-1, "price", "1"), "there is no such cell"),
        (Correction(0, "cost", "1"), "there is no such cell"),
        (Correction(1, "price", "1", "1250,10"), "row 2 holds '1250,00'"),
    ],
)
def test_what_does_not_belong_to_the_table_is_refused(tmp_path, correction, told):
    with pytest.raises(BadColumn, match=told):
        write_corrected(text_table(tmp_path), [correction], tmp_path / "f.csv")
    assert not (tmp_path / "f.csv").exists()
    assert not (tmp_path / "f.csv.log.csv").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("row,column,suggestion\n1,a,2\n", "column 'accept'"),
        ("row,column,suggestion,accept\n1,a,2,maybe\n", "'maybe' is not an answer"),
        ("row,column,suggestion,accept\n0,a,2,yes\n", "'0' is no row"),
        ("row,column,suggestion,accept\n1,a,,yes\n", "nothing says what the cell should hold"),
        ("row,column,suggestion,accept\n1,a,2,yes\n1,a,3,yes\n", "two different values"),
    ],
)
def test_a_file_of_findings_that_cannot_be_used_is_refused(tmp_path, text, told):
    (tmp_path / "cells.csv").write_text(text)
    with pytest.raises(UserError, match=told):
        read_corrections(tmp_path / "cells.csv")
    (tmp_path / "bad.json").write_text("[[1, 2], 3]")
    for name in ("none", "bad"):
        with pytest.raises(BadFile):
            read_corrections(tmp_path / f"{name}.json")


def workbook(path):
    """A workbook with a title, a formula, formats, a comment and a second sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet["A1"] = "Sales of May"
    rows = [("name", "price", "double"), ("A", 12.5, "=B4*2"), ("B", 1250, "=B5*2"), ("C", 14, 28)]
    for number, cells in enumerate(rows, start=3):
        for place, cell in enumerate(cells, start=1):
            sheet.cell(number, place, cell)
    sheet["B4"].number_format = "0.00 €"
    sheet["B5"].comment = openpyxl.comments.Comment("mine", "me")
    sheet.column_dimensions["A"].width = 31
    other = book.create_sheet("Notes")
    other["A1"] = "=Sales!B4"
    book.save(path)
    return read_table(path, sheet="Sales")


def test_the_users_own_workbook_gets_marks_and_columns(tmp_path):
    table = workbook(tmp_path / "t.xlsx")
    found = found_in(table, (1, "price", 1250, "about 12.5", "decimal", "", 12.5, 0.95))
    names = write_scored(found, tmp_path / "s.xlsx")
    book = openpyxl.load_workbook(tmp_path / "s.xlsx")
    assert book.sheetnames == ["Sales", "Notes"]
    sheet = book["Sales"]
    assert [cell.value for cell in sheet[3]] == ["name", "price", "double", *names]
    assert [cell.value for cell in sheet[4]] == ["A", 12.5, "=B4*2", 0, 1, 0, None]
    assert sheet["A1"].value == "Sales of May"
    assert sheet["B4"].number_format == "0.00 €"
    assert sheet.column_dimensions["A"].width == 31
    assert book["Notes"]["A1"].value == "=Sales!B4"
    assert sheet["B5"].fill.fgColor.rgb != sheet["B4"].fill.fgColor.rgb
    assert sheet["B5"].comment.text.startswith("mine\n")
    assert "decimal shift?" in sheet["B5"].comment.text
    assert sheet.cell(5, 7).value == found.findings_of(1)[0].sentence()
    write_scored(found, tmp_path / "sorted.xlsx", sort=True)
    assert openpyxl.load_workbook(tmp_path / "sorted.xlsx").sheetnames == ["scored"]


def test_a_workbook_is_corrected_in_place(tmp_path):
    table = workbook(tmp_path / "t.xlsx")
    write_corrected(table, [Correction(1, "price", "12.75", "1250")], tmp_path / "f.xlsx")
    before = openpyxl.load_workbook(tmp_path / "t.xlsx")
    after = openpyxl.load_workbook(tmp_path / "f.xlsx")
    assert after["Sales"]["B5"].value == 12.75
    after["Sales"]["B5"].value = 1250
    for sheet in before:
        cells = [[cell.value for cell in row] for row in after[sheet.title].iter_rows()]
        assert cells == [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert after["Sales"]["B4"].number_format == "0.00 €"


def test_a_formula_is_not_overwritten_and_gets_no_suggestion(tmp_path):
    table = workbook(tmp_path / "t.xlsx")
    findings = [(row, "double", 9.0, "", "far", "", 8.0, 0.9) for row in (0, 2)]
    write_cells(found_in(table, *findings), tmp_path / "cells.csv")
    found = pd.read_csv(tmp_path / "cells.csv", dtype=str, keep_default_na=False)
    assert found["suggestion"].tolist() == ["", "8"]
    corrections = [Correction(row, "double", "8", "9") for row in (0, 1)]
    with pytest.raises(BadColumn, match="'double': rows 1; 2 hold formulas"):
        write_corrected(table, corrections, tmp_path / "f.xlsx")
    assert not (tmp_path / "f.xlsx").exists()
    write_corrected(table, [Correction(0, "double", "8")], tmp_path / "f.csv")  # it has no formulas


def test_cells_that_a_spreadsheet_would_run_are_protected_and_still_corrected(tmp_path):
    lines = ["name;size", *(f"n{i};{i % 7},5" for i in range(40))]
    lines[8], lines[9] = "=cmd|x;2,5", "-2,5;@SUM(A1)"
    path, cells = tmp_path / "t.csv", tmp_path / "cells.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    table = read_table(path)
    write_cells(
        made_result(
            table,
            [1.0] * 40,
            threshold=2.0,
            wrong=made_findings(
                40,
                (8, "size", "@SUM(A1)", "a number", "type", "", "=1+1", 0.9),
                (7, "name", "=cmd|x", "", "pattern", "", "n7", 0.8),
            ),
        ),
        cells,
    )
    found = pd.read_csv(cells, dtype=str, keep_default_na=False)
    assert found["value"].tolist() == ["'@SUM(A1)", "'=cmd|x"]
    assert found["suggestion"].tolist() == ["'=1+1", "n7"]
    found.assign(accept="yes").to_csv(cells, index=False)
    accepted = read_corrections(cells)
    assert [own.text for own in accepted] == ["=1+1", "n7"]
    for no_formulas, text in ((False, "=1+1"), (True, "'=1+1")):
        write_corrected(table, accepted, tmp_path / "fixed.csv", no_formulas=no_formulas)
        after = (tmp_path / "fixed.csv").read_text("utf-8").splitlines()
        assert after == [*lines[:8], "n7;2,5", f"-2,5;{text}", *lines[10:]]
