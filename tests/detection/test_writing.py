"""The scored table is the user's table: its bytes, cells and formats."""

import datetime as dt
import gzip
import itertools
import json
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_result import made_result

from metaod.detection import Detection, Reason, RowReasons, check_target, may_run, write_scored
from metaod.detection import _formats as formats
from metaod.errors import BadFile, UserError
from metaod.tables import read_table

CELLS = [
    ["00123", "1234567890123456789", "1,50", "NA", 'say "hi"', "été"],
    ["00007", "9223372036854775807", "-2,25", "3", "two\nlines", "nuît"],
    ["1", "12", "1000,00", "", "a;b", "x"],
]
NAMES = ["code", "id", "price", "gap", "note", "mot"]


def found_in(path, **options):
    table = read_table(path, **options)
    scores = np.linspace(-1.5, 2.25, table.n_rows)
    return Detection(None, table, scores, 1.0, None)


def text_of(names, cells, delimiter, end, *, quote_all):
    def field(cell):
        needed = quote_all or any(c in cell for c in (delimiter, '"', "\n"))
        return '"' + cell.replace('"', '""') + '"' if needed else cell

    return "".join(delimiter.join(map(field, row)) + end for row in [names, *cells])


@pytest.mark.parametrize(
    ("delimiter", "end", "encoding", "quote_all", "packed_in", "packed_out"),
    list(
        itertools.product(
            ";\t|",
            ["\n", "\r\n"],
            ["utf-8", "utf-8-sig", "latin-1", "utf-16"],
            [True, False],
            [True, False],
            [True, False],
        )
    )[::5],
)
def test_text_keeps_every_byte(
    tmp_path, delimiter, end, encoding, quote_all, packed_in, packed_out
):
    before = text_of(NAMES, CELLS, delimiter, end, quote_all=quote_all).encode(encoding)
    source = tmp_path / ("t.csv.gz" if packed_in else "t.csv")
    source.write_bytes(gzip.compress(before) if packed_in else before)
    target = tmp_path / ("s.csv.gz" if packed_out else "s.csv")
    write_scored(found_in(source), target)
    after = gzip.decompress(target.read_bytes()) if packed_out else target.read_bytes()
    added = [["score", "rank", "flag"], ["-1,5", "3", "0"], ["0,375", "2", "0"], ["2,25", "1", "1"]]
    for cells in added:
        further = delimiter + delimiter.join(cells)
        codec = {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(encoding, encoding)
        assert after.count(further.encode(codec)) == 1
        after = after.replace(further.encode(codec), b"")
    assert after == before


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text_of(NAMES, CELLS, ";", "\r\n", quote_all=False), newline="")
    return path


def test_a_file_without_names_gets_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    write_scored(found_in(path), tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text() == "1,2,-1.5,2,0\n3,4,2.25,1,1\n"


def test_rows_can_be_sorted_and_chosen(source, tmp_path):
    found = found_in(source)
    lines = {}
    for sort, flagged in itertools.product([False, True], repeat=2):
        write_scored(found, tmp_path / "s.csv", sort=sort, flagged_only=flagged)
        lines[sort, flagged] = pd.read_csv(tmp_path / "s.csv", sep=";", dtype=str)["code"].tolist()
    assert lines == {
        (False, False): ["00123", "00007", "1"],
        (True, False): ["1", "00007", "00123"],
        (False, True): ["1"],
        (True, True): ["1"],
    }


def test_another_delimiter_keeps_the_text_of_cells(source, tmp_path):
    write_scored(found_in(source), tmp_path / "s.tsv")
    written = pd.read_csv(tmp_path / "s.tsv", sep="\t", dtype=str, keep_default_na=False)
    assert written[NAMES].to_numpy().tolist() == CELLS
    write_scored(found_in(tmp_path / "s.tsv"), tmp_path / "s.csv")
    again = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
    assert again[NAMES].to_numpy().tolist() == CELLS
    assert list(again.columns[-3:]) == ["score_", "rank_", "flag_"]


@pytest.mark.parametrize("name", ["s.parquet", "s.jsonl", "s.jsonl.gz", "s.xlsx"])
def test_other_formats_hold_numbers_where_no_digit_is_lost(source, tmp_path, name):
    write_scored(found_in(source), tmp_path / name)
    read = {"p": pd.read_parquet, "x": _read_sheet, "j": _read_lines}[name[2]]
    written = read(tmp_path / name)
    assert written["code"].tolist()[:2] == ["00123", "00007"]
    assert written["id"].tolist() == [row[1] for row in CELLS]
    assert written["price"].tolist() == [1.5, -2.25, 1000.0]
    assert written["gap"].dropna().tolist() == [3]
    assert written["note"].tolist() == [row[4] for row in CELLS]
    assert written["score"].tolist() == [-1.5, 0.375, 2.25]
    assert written["rank"].tolist() == [3, 2, 1]
    assert written["flag"].tolist() == [0, 0, 1]


def _read_sheet(path):  # pandas would read text as numbers
    names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return pd.DataFrame(rows, columns=names)


def _read_lines(path):
    text = path.read_bytes()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    return pd.DataFrame(list(map(json.loads, text.splitlines())))


def test_parquet_keeps_types_digits_and_the_index(tmp_path):
    table = pa.table(
        {
            "id": pa.array([2**62 + 1, None, 3]),
            "price": pa.array([Decimal("1.10"), Decimal("2.20"), None]),
            "day": pa.array([0, 1, None], pa.date32()),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = found_in(tmp_path / "t.parquet")
    write_scored(found, tmp_path / "s.parquet")
    assert pq.read_table(tmp_path / "s.parquet").drop(["score", "rank", "flag"]).equals(table)
    write_scored(found, tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[1] == f"{2**62 + 1},1.10,1970-01-01,a,-1.5,3,0"
    assert lines[3].startswith("3,,,a,")
    write_scored(found, tmp_path / "s.xlsx")
    assert _read_sheet(tmp_path / "s.xlsx")["id"].tolist()[0] == str(2**62 + 1)
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0]}, index=pd.Index(["a", "b", "c"], name="key"))
    frame.to_parquet(tmp_path / "i.parquet")
    write_scored(found_in(tmp_path / "i.parquet"), tmp_path / "s.parquet")
    assert pd.read_parquet(tmp_path / "s.parquet").index.tolist() == ["a", "b", "c"]


def test_a_workbook_keeps_its_values(tmp_path):
    frame = pd.DataFrame(
        {
            "code": ["007", "=1+1", "c"],
            "when": pd.to_datetime(["2024-01-01", "2024-02-03 04:05", None], format="ISO8601"),
            "n": [1, 2, 3],
            "outlier": ["no", "no", "yes"],
        }
    )
    with (tmp_path / "t.xlsx").open("wb") as stream:
        formats.write_xlsx([frame], stream)
    write_scored(found_in(tmp_path / "t.xlsx", label="outlier"), tmp_path / "s.xlsx")
    written = _read_sheet(tmp_path / "s.xlsx")
    assert written["code"].tolist() == ["007", "=1+1", "c"]
    assert written["outlier"].tolist() == ["no", "no", "yes"]
    assert written["when"].tolist()[:2] == frame["when"].tolist()[:2]
    write_scored(found_in(tmp_path / "t.xlsx"), tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().splitlines()[1:3] == [
        "007,2024-01-01,1,no,-1.5,3,0",
        "=1+1,2024-02-03 04:05:00,2,no,0.375,2,0",
    ]


def test_a_label_array_is_written_too(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(6.0).reshape(3, 2), y=[0, 0, 1])
    write_scored(found_in(tmp_path / "t.npz", label="y"), tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().splitlines()[-1] == "4.0,5.0,1,2.25,1,1"
    frame = pd.DataFrame({"label": [1.5, 2.5, 4.0], "y": [0, 0, 1]})
    write_scored(found_in(frame, label="y"), tmp_path / "s.csv")
    names, *_, last = (tmp_path / "s.csv").read_text().splitlines()
    assert (names, last) == ("label,label_,score,rank,flag", "4.0,1,2.25,1,1")


def test_an_interrupted_write_leaves_nothing(source, tmp_path, monkeypatch):
    target = tmp_path / "s.csv"
    target.write_text("before")

    def interrupted(self, stream, *_):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("metaod.tables.readers._raw_text.RawText.write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_scored(found_in(source), target)
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.csv", "t.csv"]


def test_a_file_that_was_changed_meanwhile_is_refused(source, tmp_path):
    found = found_in(source)
    source.write_text(source.read_text().replace("00123", "999123"), newline="")
    with pytest.raises(BadFile) as caught:
        write_scored(found, tmp_path / "s.csv")
    assert caught.value.path == str(source)
    assert not (tmp_path / "s.csv").exists()


def test_a_sheet_that_is_too_small_is_refused_first(source, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_XLSX_CHARACTERS", 5)
    with pytest.raises(UserError, match="at most 5 characters"):
        write_scored(found_in(source), tmp_path / "s.xlsx")
    assert not (tmp_path / "s.xlsx").exists()
    monkeypatch.setattr(formats, "_XLSX_ROWS", 3)
    with pytest.raises(UserError, match="a sheet holds at most 2 rows"):
        check_target(tmp_path / "s.xlsx", read_table(source))
    check_target(tmp_path / "s.csv", read_table(source))


COLUMNS = st.one_of(
    st.lists(st.floats(-1e9, 1e9) | st.none(), min_size=6, max_size=6),
    st.lists(st.integers(-(2**62), 2**62), min_size=6, max_size=6),
    st.lists(st.text("ab,;'=😀é \t", max_size=4) | st.none(), min_size=6, max_size=6),
    st.lists(st.dates(dt.date(1700, 1, 1)).map(pd.Timestamp), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.just([None] * 6),
    st.just(["same"] * 6),
)


@given(st.lists(COLUMNS, min_size=1, max_size=4), st.sampled_from(["csv", "parquet", "xlsx"]))
@settings(max_examples=60)
def test_mixed_frames_keep_their_cells(tmp_path_factory, columns, ending):
    folder = tmp_path_factory.getbasetemp()
    before, after = folder / f"before.{ending}", folder / f"after.{ending}"
    columns = [[1.5, 2.5, 3.5, 4.5, 5.5, 6.5], *columns]  # no row is blank
    frame = pd.DataFrame({f"column {i}": column for i, column in enumerate(columns)})
    with before.open("wb") as stream:
        formats.WRITERS.get(f".{ending}", formats.write_csv)([frame], stream)
    try:
        found = found_in(before)
    except UserError:  # such as a sheet without a cell
        assume(False)
    write_scored(found, after)
    if ending == "csv":
        lines = zip(before.read_bytes().splitlines(), after.read_bytes().splitlines(), strict=True)
        assert all(new.startswith(old + b",") for old, new in lines)
    elif ending == "parquet":
        written = pq.read_table(after)
        assert written.select(written.column_names[:-3]).equals(pq.read_table(before))
    else:
        names = found.table.original.names
        assert _read_sheet(after)[list(names)].equals(_read_sheet(before)[list(names)])


def test_ranks_and_flags_of_the_highest():
    found = Detection(None, None, np.array([1.0, 3.0, 3.0, 2.0]), 0.0, None, top_n=1)
    assert found.flags.tolist() == [0, 1, 0, 0]
    assert found.ranks.tolist() == [4, 1, 1, 3]
    assert found.order.tolist() == found.top(4).tolist() == [1, 2, 3, 0]
    for n_flagged in range(5):
        assert found.flagging(n_flagged).n_flagged == n_flagged


def test_formulas_are_copied_or_written_as_text(tmp_path):
    path = tmp_path / "t.csv"
    cells = ["=1+2", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "-2.5", "+1e5", "-", "plain", "- 5 %"]
    rows = "".join(f'"{cell}",{place}\n' for place, cell in enumerate(cells))
    path.write_text(f'"=name",b\n{rows}')
    found = found_in(path, text=["=name"])
    for ending in ("csv", "tsv", "csv.gz"):
        target = tmp_path / f"copied.{ending}"
        write_scored(found, target)
        assert pd.read_csv(target, sep=None, engine="python")["=name"].tolist() == cells
        assert may_run(target) == (ending != "csv.gz")
        write_scored(found, target, no_formulas=True)
        assert not may_run(target) or ending == "tsv"  # a quoted tab before =
        written = pd.read_csv(target, sep=None, engine="python", dtype=str)
        assert list(written) == ["'=name", "b", "score", "rank", "flag"]
        expected = [f"'{cell}" for cell in cells[:5]] + cells[5:]
        assert written["'=name"].tolist() == expected
        assert written["score"].astype(float).tolist() == found.scores.tolist()


@pytest.mark.parametrize(("encoding", "kept"), [("utf-8", "Köln; ć"), ("latin-1", "Köln; ?")])
def test_a_text_that_is_added_is_quoted_and_in_the_encoding_of_the_file(tmp_path, encoding, kept):
    path = tmp_path / "t.csv"
    path.write_text("a;b\nÄ;1\nö;2\n", encoding=encoding)
    table = read_table(path, encoding=encoding)
    texts = ['said "no"', "Köln; ć"]

    def explain(rows, progress=None):
        return [RowReasons(row, 1.0, (Reason("a", texts[row], 0.9, ""),)) for row in rows]

    found = made_result(table, [1.0, 2.0], threshold=0.0, explain=explain)
    write_scored(found, tmp_path / "s.csv", why=True)
    written = pd.read_csv(tmp_path / "s.csv", sep=";", encoding=encoding)
    assert written["why"].tolist() == ['a said "no" (rare)', f"a {kept} (rare)"]
    assert written["a"].tolist() == ["Ä", "ö"]
