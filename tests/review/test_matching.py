"""Marks find their rows again after the table has changed."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadFile
from metaod.review import Mark, RowContents, _contents, match_marks
from metaod.tables import read_table

TEXT = "order,price,plant\n" + "".join(
    f"A-{row},{row * 1.5},{'north' if row % 3 else 'south'}\n" for row in range(12)
)


def contents(content, key=None, **options):
    return RowContents.of(read_table(io.BytesIO(content.encode()), **options), key)


def marks_of(text, rows, key=None):
    """Marks of the rows with these positions: yes for even ones."""
    of = contents(text, key=key)
    return [Mark(row + 1, row % 2 == 0, of.key(row), of.hashes[row]) for row in rows]


def matched(marks, text, key=None):
    return match_marks(marks, contents(text, key=key), "t.marks.csv")


def orders(text, found):
    lines = text.splitlines()[1:]
    return {lines[row].split(",")[0]: mark.answer for row, mark in found.rows.items()}


def test_an_unchanged_table():
    found = matched(marks_of(TEXT, [7, 2, 4]), TEXT)
    assert found.answers == {7: False, 2: True, 4: True}
    assert list(found.rows) == [7, 2, 4]  # in the order in which they were given
    assert found.note() == ""


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(12)), kept=st.integers(1, 12))
def test_rows_added_removed_and_reordered(order, kept):
    header, *lines = TEXT.splitlines()
    changed = "\n".join([header, "B-1,3,west", *(lines[row] for row in order[:kept])]) + "\n"
    marks = marks_of(TEXT, range(12))
    found = matched(marks, changed)
    expected = {lines[row].split(",")[0]: row % 2 == 0 for row in order[:kept]}
    assert orders(changed, found) == expected
    assert {mark.row - 1 for mark in found.unmatched} == set(order[kept:])


def test_what_matches_no_row_is_said():
    shorter = TEXT.replace("A-2,3.0,north\n", "")
    found = matched(marks_of(TEXT, [2, 4]), shorter)
    assert found.note() == (
        "1 mark of the marks file matches no row and is not used (kept in the file): row 3"
    )
    header, *lines = TEXT.splitlines()
    many = "\n".join([header, *lines[:1]]) + "\nB,2,west\n"
    note = matched(marks_of(TEXT, range(12)), many).note()
    assert note.startswith("11 marks of the marks file match no row and are not used")
    assert note.endswith(": " + ", ".join(f"row {row}" for row in range(2, 12)) + " and 1 more")


def test_the_key_finds_a_row_whose_cells_have_changed():
    changed = TEXT.replace("A-4,6.0,north", "A-4,7.0,south").replace("A-0,0.0,south\n", "")
    marks = marks_of(TEXT, [4, 6], key=["order"])
    assert orders(changed, matched(marks, changed, key=["order"])) == {"A-4": True, "A-6": True}
    assert orders(changed, matched(marks, changed)) == {"A-6": True}  # by content alone


def test_a_key_that_the_table_has_twice_decides_nothing():
    marks = marks_of(TEXT, [4, 6], key=["plant"])
    changed = TEXT.replace("A-4,6.0,north", "A-4,7.0,north")
    assert orders(changed, matched(marks, changed, key=["plant"])) == {"A-6": True}


def test_duplicated_rows_are_matched_by_number_first():
    text = "a,b\n" + "1,2\n" * 5 + "3,4\n"
    of = contents(text)
    marks = [Mark(4, True, "", of.hashes[3]), Mark(2, False, "", of.hashes[1])]
    assert matched(marks, text).answers == {3: True, 1: False}
    longer = "a,b\n9,9\n" + "1,2\n" * 5 + "3,4\n"
    found = matched(marks, longer)
    assert sorted(found.answers.values()) == [False, True]
    fewer = "a,b\n9,9\n1,2\n3,4\n"
    assert len(matched(marks, fewer).unmatched) == 1  # each row has one mark at most


def test_marks_by_number_alone():
    marks = [Mark(3, True), Mark(12, False)]
    assert matched(marks, TEXT).answers == {2: True, 11: False}
    with pytest.raises(BadFile, match="line 2: row 13 does not exist: the table has 12 rows"):
        matched([Mark(13, True, line=2)], TEXT)


def test_marks_by_key_alone():
    marks = [Mark(None, True, "A-7"), Mark(None, False, "A-77")]
    found = matched(marks, TEXT, key=["order"])
    assert found.answers == {7: True}
    assert "id 'A-77'" in found.note()
    with pytest.raises(BadFile, match="by its id alone; name the column of the ids with --id"):
        matched(marks, TEXT)


def test_marks_of_another_table():
    other = "order,price,plant\nX,1,west\nY,2,west\n"
    with pytest.raises(BadFile) as error:
        matched(marks_of(TEXT, [1, 2]), other)
    assert str(error.value) == (
        "t.marks.csv: belongs to another table, or every row has changed: none of its marks "
        "matches a row; name the marks file of this table with --marks, "
        "or its column of ids with --id"
    )


def test_contradictory_marks_of_one_row():
    of = contents(TEXT)
    marks = [Mark(3, True, "", of.hashes[2], line=2), Mark(3, False, line=5)]
    with pytest.raises(BadFile, match="line 5: marks row 3 as 'no', and line 2 as 'yes'"):
        matched(marks, TEXT)
    agreed = [marks[0], Mark(3, True, line=5)]
    assert matched(agreed, TEXT).answers == {2: True}
    assert matched(agreed, TEXT).unmatched == ()


def test_no_marks():
    assert matched([], TEXT).rows == {}


# contents


def test_the_options_for_reading_do_not_change_the_content():
    text = "code,price,fault\n" + "".join(f"0{row},{row}.50,{row % 2}\n" for row in range(6))
    plain = contents(text).hashes
    for options in ({"label": "fault"}, {"text": ["price"]}, {"na": ["2.50"]}):
        assert contents(text, **options).hashes == plain


def test_the_same_rows_in_another_notation_or_format(tmp_path):
    plain = contents("name,price,n\nx,1.50,3\ny,2,4\n").hashes
    assert contents("n;price;name\n3,0;1,5;x\n4;2;y\n").hashes == plain
    frame = pd.DataFrame({"name": ["x", "y"], "price": [1.5, 2.0], "n": [3, 4]})
    frame.to_parquet(tmp_path / "t.parquet")
    assert RowContents.of(read_table(tmp_path / "t.parquet")).hashes == plain
    assert RowContents.of(read_table(frame)).hashes == plain
    assert RowContents.of(read_table(frame.assign(empty=np.nan))).hashes == plain


def test_rows_are_read_in_blocks(tmp_path, monkeypatch):
    frame = pd.DataFrame({"k": list("abcde"), "n": range(5)}, index=[0.5, 9.0, 1.0, 2.0, 7.0])
    frame.reset_index(drop=True).to_parquet(tmp_path / "t.parquet")
    whole = RowContents.of(read_table(frame), ["k"])
    monkeypatch.setattr(_contents, "_BLOCK", 2)
    for table in (frame, tmp_path / "t.parquet"):
        assert RowContents.of(read_table(table), ["k"]) == whole


def test_rows_that_differ_have_other_contents():
    text = "a,b\n1,2\n2,1\n12,\n,12\n1,2.0000001\n12345678901234567,1\n12345678901234568,1\n"
    hashes = contents(text).hashes
    assert len(set(hashes)) == len(hashes) == 7
    assert all(text.startswith("h") for text in hashes)  # no number for a spreadsheet


def test_keys_are_one_line():
    frame = pd.DataFrame({"k": ["a\nb", "c\x1b[2J"], "n": [7, 8]})
    assert RowContents.of(read_table(frame), ["k", "n"]).keys == (r"a\nb / 7", r"c\x1b[2J / 8")
