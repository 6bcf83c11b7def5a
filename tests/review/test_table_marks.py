"""Marks find their rows again after the table has changed."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadFile, Setting
from metaod.review import TableMarks, read_marks
from metaod.tables import read_table

TEXT = "order,price,plant\n" + "".join(
    f"A-{row},{row * 1.5},{'north' if row % 3 else 'south'}\n" for row in range(12)
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.marks.csv"


def table_of(content, **options):
    return read_table(io.BytesIO(content.encode()), **options)


def mark(path, text, rows, key=None):
    """Mark the rows with these positions: yes for even ones."""
    path.unlink(missing_ok=True)
    with TableMarks(path, table_of(text), key) as file:
        file.add({row: row % 2 == 0 for row in rows})


def orders(path, text, key=None):
    """Answers by the order's number."""
    lines = text.splitlines()[1:]
    found = read_marks(path, table_of(text), key)
    return {lines[row].split(",")[0]: answer for row, answer in found.answers.items()}


def test_an_unchanged_table(path):
    mark(path, TEXT, [7, 2, 4])
    found = read_marks(path, table_of(TEXT))
    assert list(found.answers.items()) == [(7, False), (2, True), (4, True)]
    assert found.notes == found.unmatched == ()


@settings(max_examples=25)
@given(order=st.permutations(range(12)), kept=st.integers(1, 12))
def test_rows_added_removed_and_reordered(tmp_path_factory, order, kept):
    path = tmp_path_factory.mktemp("marks") / "t.marks.csv"
    header, *lines = TEXT.splitlines()
    changed = "\n".join([header, "B-1,3,west", *(lines[row] for row in order[:kept])]) + "\n"
    mark(path, TEXT, range(12))
    expected = {lines[row].split(",")[0]: row % 2 == 0 for row in order[:kept]}
    assert orders(path, changed) == expected
    unmatched = read_marks(path, table_of(changed)).unmatched
    assert set(unmatched) == {f"row {row + 1}" for row in order[kept:]}


def test_marks_that_match_no_row_are_named(path):
    mark(path, TEXT, range(12))
    header, *lines = TEXT.splitlines()
    (note,) = read_marks(path, table_of("\n".join([header, lines[0], "B,2,west\n"]))).notes
    assert note.startswith("11 marks")
    assert note.endswith(": " + ", ".join(f"row {row}" for row in range(2, 12)) + " and 1 more")


def test_the_key_finds_a_row_whose_cells_have_changed(path):
    changed = TEXT.replace("A-4,6.0,north", "A-4,7.0,south").replace("A-0,0.0,south\n", "")
    mark(path, TEXT, [4, 6], "order")
    assert orders(path, changed, ["order"]) == {"A-4": True, "A-6": True}
    assert orders(path, changed) == {"A-6": True}  # by content alone


def test_a_key_that_the_table_has_twice_decides_nothing(path):
    mark(path, TEXT, [4, 6], "plant")
    changed = TEXT.replace("A-4,6.0,north", "A-4,7.0,north")
    assert orders(path, changed, "plant") == {"A-6": True}


def test_duplicated_rows_are_matched_by_number_first(path):
    text = "a,b\n" + "1,2\n" * 5 + "3,4\n"
    mark(path, text, [2, 1])
    assert read_marks(path, table_of(text)).answers == {2: True, 1: False}
    longer = "a,b\n9,9\n" + "1,2\n" * 5 + "3,4\n"
    assert sorted(read_marks(path, table_of(longer)).answers.values()) == [False, True]
    fewer = read_marks(path, table_of("a,b\n9,9\n1,2\n3,4\n"))
    assert len(fewer.unmatched) == 1  # each row has one mark at most


def test_marks_by_key_alone(path):
    path.write_text("id,answer\nA-7,yes\nA-77,no\n")
    found = read_marks(path, table_of(TEXT), ["order"])
    assert found.answers == {7: True}
    assert found.unmatched == ("id 'A-77'",)
    with pytest.raises(BadFile) as error:
        read_marks(path, table_of(TEXT))
    assert (error.value.code, error.value.line) == ("marks-need-id", 2)
    assert error.value.remedy.values["id"] == Setting("id")


def test_marks_of_another_table(path):
    mark(path, TEXT, [1, 2])
    with pytest.raises(BadFile) as error:
        read_marks(path, table_of("order,price,plant\nX,1,west\nY,2,west\n"))
    assert error.value.code == "marks-of-other-table"


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_two_marks_of_one_row(path, answer):
    mark(path, TEXT, [2])
    path.write_text(path.read_text() + f"3,,,{answer},,1\n")
    if answer == "yes":
        found = read_marks(path, table_of(TEXT))
        assert (found.answers, found.unmatched) == ({2: True}, ())
        return
    with pytest.raises(BadFile, match=r"row 3.*'no'.*line 2.*'yes'") as error:
        read_marks(path, table_of(TEXT))
    assert error.value.line == 3


# what identifies a row


def same_rows(path, first, second):
    """Whether every row of a table is found again in another one."""
    path.unlink(missing_ok=True)
    with TableMarks(path, first) as file:
        file.add(dict.fromkeys(range(first.n_rows), True))
    return len(read_marks(path, second).answers) == first.n_rows


def test_the_options_for_reading_do_not_change_the_content(path):
    text = "code,price,fault\n" + "".join(f"0{row},{row}.50,{row % 2}\n" for row in range(6))
    for options in ({"label": "fault"}, {"text": ["price"]}, {"na": ["2.50"]}):
        assert same_rows(path, table_of(text), table_of(text, **options))


def test_the_same_rows_in_another_notation_or_format(path):
    plain = table_of("name,price,n\nx,1.50,3\ny,2,4\n")
    frame = pd.DataFrame({"name": ["x", "y"], "price": [1.5, 2.0], "n": [3, 4]})
    frame.to_parquet(path.with_name("t.parquet"))
    others = [
        table_of("n;price;name\n3,0;1,5;x\n4;2;y\n"),
        read_table(path.with_name("t.parquet")),
        read_table(frame),
        read_table(frame.assign(empty=np.nan)),
    ]
    for other in others:
        assert same_rows(path, plain, other)


def test_rows_are_read_in_blocks(path, monkeypatch):
    frame = pd.DataFrame({"k": list("abcde"), "n": range(5)}, index=[0.5, 9.0, 1.0, 2.0, 7.0])
    frame.reset_index(drop=True).to_parquet(path.with_name("t.parquet"))
    with TableMarks(path, read_table(frame), "k") as file:
        file.add(dict.fromkeys(range(5), False))
    monkeypatch.setattr("metaod.review._table_marks._BLOCK", 2)
    for source in (frame, path.with_name("t.parquet")):
        assert list(read_marks(path, read_table(source), "k").answers) == list(range(5))


def test_rows_that_differ_have_other_contents(path):
    text = "a,b\n1,2\n2,1\n12,\n,12\n1,2.0000001\n12345678901234567,1\n12345678901234568,1\n"
    mark(path, text, range(7))
    hashes = pd.read_csv(path)["content"]
    assert hashes.nunique() == 7
    assert hashes.str.startswith("h").all()  # no number for a spreadsheet


def test_keys_are_one_line(path):
    frame = pd.DataFrame({"k": ["a\nb", "c\x1b[2J"], "n": [7, 8]})
    with TableMarks(path, read_table(frame), ["k", "n"]) as file:
        file.add({0: True, 1: False})
    assert pd.read_csv(path)["id"].tolist() == [r"a\nb / 7", r"c\x1b[2J / 8"]
