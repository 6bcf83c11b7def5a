"""The marks file of a table: what is written, read, repaired and refused."""

import io
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadFile, Setting
from metaod.review import TableMarks, read_marks
from metaod.tables import read_table

HEADER = "row,id,content,answer,time,version\n"
TABLE = read_table(io.BytesIO(b"order,n\n" + b"".join(b"A-%d,%d\n" % (i, i) for i in range(12))))
MARKS = [(7, True), (2, False), (9, None)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.marks.csv"


def write(path, *marks, key="order"):
    with TableMarks(path, TABLE, key) as file:
        for row, answer in marks:
            file.add({row: answer})


def answers(path, key="order"):
    return list(read_marks(path, TABLE, key).answers.items())


def hand_written(path, text):
    path.write_bytes(text.encode())
    return path


def test_a_mark_has_row_key_content_answer_time_and_version(path):
    write(path, *MARKS)
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] + "\n" == HEADER
    assert lines[1].startswith("8,A-7,h")
    assert lines[1].endswith("Z,1")
    assert [line.split(",")[3] for line in lines[1:]] == ["yes", "no", "unsure"]


def test_an_answer_is_on_disk_when_add_returns(path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(path.stat().st_size), real(file)))
    with TableMarks(path, TABLE) as file:
        for n_marks in (1, 2):
            file.add(dict([MARKS[n_marks]]))
            assert len(synced) == n_marks
            assert synced[-1] == path.stat().st_size
            assert len(answers(path)) == n_marks


def test_a_mark_can_be_taken_back_and_given_again(path):
    write(path, *MARKS[:2])
    before = path.read_bytes()
    with TableMarks(path, TABLE, "order") as file:
        file.withdraw([7])
        assert answers(path) == [MARKS[1]]
        file.add({7: False})
    assert path.read_bytes().startswith(before)  # lines are only added
    assert answers(path) == [MARKS[1], (7, False)]


def test_a_key_with_delimiters_quotes_and_other_letters(path):
    table = read_table({"k": ['a,"b";\tŁódź 東', "b"], "n": [1, 2]})
    with TableMarks(path, table, "k") as file:
        file.add({0: True})
    changed = read_table({"k": ["c", 'a,"b";\tŁódź 東'], "n": [3, 4]})
    assert read_marks(path, changed, "k").answers == {1: True}


def test_a_review_without_an_answer_leaves_no_file(path):
    TableMarks(path, TABLE).close()
    assert list(path.parent.iterdir()) == []


# interrupted


@settings(max_examples=40)
@given(data=st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "t.marks.csv"
    write(path, *MARKS)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    # a line is whole without its line end, too
    n_whole = sum(len(b"\n".join(whole.split(b"\n")[: n + 2])) <= cut for n in range(3))
    with TableMarks(path, TABLE) as file:
        assert len(file.used.answers) == n_whole
        file.add({4: False})
    assert answers(path) == [*MARKS[:n_whole], (4, False)]
    assert read_marks(path, TABLE).notes == ()


def test_a_line_that_was_cut_off_is_named_and_removed(path):
    write(path, *MARKS[:2])
    whole = path.read_bytes()
    path.write_bytes(whole + b"9,,h3,uns")
    assert answers(path) == MARKS[:2]
    assert path.read_bytes() != whole  # reading changes nothing
    with TableMarks(path, TABLE) as file:
        (note,) = file.used.notes
    assert "9,,h3,uns" in note
    assert path.read_bytes() == whole


KILLED = """
import sys
import pandas as pd
from metaod.review import TableMarks
from metaod.tables import read_table
file = TableMarks(sys.argv[1], read_table(pd.DataFrame({"n": range(100_000)})))
for row in range(10**5):
    file.add({row: row % 2 == 0})
    print(row, flush=True)
"""


def test_a_killed_process_loses_no_answer_and_no_lock(path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    said = [int(process.stdout.readline()) for _ in range(20)]
    process.kill()
    said += [int(line) for line in process.stdout.read().split()]
    process.wait()
    table = read_table({"n": list(range(100_000))})
    with TableMarks(path, table) as file:  # its lock has ended with it
        rows = list(file.used.answers)
    assert rows[: len(said)] == said
    assert len(rows) - len(said) <= 1  # an answer that was not said to be on disk may be


def test_a_full_disk_loses_only_the_last_answer(path, monkeypatch):
    def full(file):
        os.truncate(file, path.stat().st_size - 3)
        raise OSError(28, "No space left on device")

    with TableMarks(path, TABLE) as file:
        file.add(dict(MARKS[:1]))
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BadFile, match="No space left on device"):
            file.add(dict(MARKS[1:2]))
        monkeypatch.undo()
        assert answers(path) == MARKS[:1]
        file.add(dict(MARKS[2:]))
    assert answers(path) == [MARKS[0], MARKS[2]]


# written by hand


@pytest.mark.parametrize(
    "text",
    [
        "row,answer\n8,yes\n3,no\n10,unsure\n",
        "row,answer\r\n8,y\r\n3,N\r\n10,?",
        "\ufeffRow;Answer;Comment\n8;YES;a fraud\n\n3;no\n10;unsure;\n",
        "answer\trow\nyes\t8.0\nno\t3\nunsure\t10\n",
    ],
)
def test_a_file_written_by_hand(path, text):
    assert answers(hand_written(path, text)) == MARKS


def test_a_file_written_by_hand_can_be_continued(path):
    hand_written(path, "answer;row;why\nyes;4;late")
    write(path, MARKS[0])
    assert path.read_text() == "answer;row;why\nyes;4;late\nyes;8;\n"
    assert answers(path) == [(3, True), MARKS[0]]


# bad input: one line, and the file stays as it is


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("row,answer\n5,yes\n5,yes\n", 3, "line 2 as 'yes'"),
        ("row,answer\n5,yes\n5,no\n", 3, "row 5 as 'no', and line 2 as 'yes'"),
        ("row,answer\n5,maybe\n", 2, "'maybe'"),
        ("row,answer\n5,maybe", 2, "'maybe'"),
        ("row,answer\n0,yes\n", 2, "row is '0'"),
        ("row,answer\nfive,yes\n", 2, "row is 'five'"),
        (f"row,answer\n{'9' * 5000},yes\n", 2, "row is '999999999999999...'"),
        (f"row,answer\n{'x' * 200_000},yes\n", 2, "200,005 bytes"),
        (f"row,answer,version\n1,yes,{'9' * 5000}\n", 2, "version is '999999999999999...'"),
        ("row,answer\n-1,yes\n", 2, "row is '-1'"),
        (HEADER + "5,,h1,yes,,2\n", 2, "version 2"),
        (HEADER + "5,,h1,yes,,x\n", 2, "version is 'x'"),
        (HEADER + "5,,h1,ye\n6,,h2,no,,1\n", 2, "4 values where the first line has 6"),
        ("age,height\n5,6\n", 1, "column 'answer'"),
        ("rows,answer\n5,yes\n", 1, "column 'row'"),
        ("a note to myself\n", 1, "column 'answer'"),
        ("row,mark\n5,yes\n", 1, "column 'answer'"),
        ("\n", 1, "column 'answer'"),
        ("PK\x03\x04\0\0", 1, "binary"),
        ("row,answer\n13,yes\n", 2, "row 13 does not exist: the table has 12 rows"),
        ("row,answer\n\udcff,yes\n5,no\n", 2, "UTF-8"),
    ],
)
def test_bad_files_are_refused_and_kept(path, text, line, named):
    data = text.encode(errors="surrogateescape")
    path.write_bytes(data)
    for opening in (read_marks, TableMarks):
        with pytest.raises(BadFile) as error:
            opening(path, TABLE)
        assert error.value.line == line
        assert named in str(error.value.what)
        assert error.value.remedy
        assert "\n" not in str(error.value)
        assert path.read_bytes() == data


@pytest.mark.parametrize("text", [None, "", "row,id,con"])
def test_a_file_that_is_absent_or_cut_in_its_first_line(path, text):
    if text is not None:
        hand_written(path, text)
    with pytest.raises(BadFile, match="metaod review"):
        read_marks(path, TABLE)
    write(path, MARKS[0])
    assert answers(path) == MARKS[:1]


def test_a_folder_and_a_device_are_refused(tmp_path):
    for opening in (read_marks, TableMarks):
        with pytest.raises(BadFile, match="is a folder"):
            opening(tmp_path, TABLE)
    with pytest.raises(BadFile, match="is a device"):
        read_marks("/dev/null", TABLE)


def test_a_file_that_may_not_be_written(path, monkeypatch):
    write(path, MARKS[0])
    real = Path.open

    def refuse(name, mode="r", *args, **kwargs):
        if name == path and mode != "rb":
            raise PermissionError(13, "Permission denied")
        return real(name, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadFile, match="Permission denied") as error:
        TableMarks(path, TABLE)
    assert error.value.remedy.values["set"] == Setting("marks")


def test_a_missing_folder(tmp_path):
    with pytest.raises(BadFile, match="cannot be written"):
        TableMarks(tmp_path / "no" / "t.marks.csv", TABLE)
    assert not (tmp_path / "no").exists()


def test_two_reviews_of_one_file(path):
    with TableMarks(path, TABLE) as first:
        for _ in range(2):
            with pytest.raises(BadFile) as error:
                TableMarks(path, TABLE)
            assert error.value.code == "marks-in-use"
        first.add(dict(MARKS[:1]))
        assert answers(path) == MARKS[:1]  # reading needs no lock
    write(path, MARKS[1])
    assert answers(path) == MARKS[:2]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_another_program_changes_meanwhile(path, replaced):
    with TableMarks(path, TABLE) as file:
        file.add(dict(MARKS[:1]))
        text = path.read_text() + "5,,,no,,1\n"
        if replaced:
            path.unlink()
        path.write_text(text)
        with pytest.raises(BadFile, match="changed by another program"):
            file.add(dict(MARKS[1:2]))
    assert path.read_text() == text


def test_times_are_utc(path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        write(path, MARKS[0])
    finally:
        monkeypatch.undo()
        time.tzset()
    written = path.read_text().splitlines()[1].split(",")[4]
    said = datetime.strptime(written, "%Y-%m-%dT%H:%M:%S%z")
    assert abs((datetime.now(UTC) - said).total_seconds()) < 60


def test_a_file_that_is_too_large_for_marks_is_not_read(path):
    with path.open("wb") as file:
        file.truncate(2**40)  # sparse: reading it would fill the memory
    with pytest.raises(BadFile, match=r"more than the .* of any marks file"):
        read_marks(path, TABLE)
