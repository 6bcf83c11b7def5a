"""The marks file: what is written, read, repaired and refused."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadFile
from metaod.review import Mark, MarksFile, read_marks

HEADER = "row,id,content,answer,time,version\n"
A = Mark(417, True, "A-7", "h1")
B = Mark(3, False, "", "h2")
C = Mark(9, None, "", "h3")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.marks.csv"


def write(path, *marks):
    with MarksFile(path) as file:
        for mark in marks:
            file.add([mark])


def hand_written(path, text):
    path.write_bytes(text.encode())
    return path


def test_a_mark_has_row_key_content_answer_time_and_version(path):
    write(path, A, B, C)
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] + "\n" == HEADER
    assert lines[1].startswith("417,A-7,h1,yes,2")
    assert lines[1].endswith("Z,1")
    assert [line.split(",")[3] for line in lines[1:]] == ["yes", "no", "unsure"]


def test_marks_come_back_in_their_order(path):
    write(path, A)
    write(path, C, B)
    assert read_marks(path).marks == (A, C, B)


def test_an_answer_is_on_disk_when_add_returns(path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(path.stat().st_size), real(file)))
    with MarksFile(path) as file:
        file.add([A])
        assert synced[0] == path.stat().st_size
        assert read_marks(path).marks == (A,)
        file.add([B, C])
        assert synced[-1] == path.stat().st_size
        assert read_marks(path).marks == (A, B, C)


def test_a_mark_can_be_taken_back_and_given_again(path):
    write(path, A, B)
    before = path.read_bytes()
    with MarksFile(path) as file:
        file.withdraw([A])
        assert read_marks(path).marks == (B,)
        file.add([Mark(417, False, "A-7", "h1")])
    assert path.read_bytes().startswith(before)  # lines are only added
    assert read_marks(path).marks == (B, Mark(417, False, "A-7", "h1"))


def test_a_key_with_delimiters_quotes_and_other_letters(path):
    mark = Mark(1, True, 'a,"b";\tŁódź 東', "h1")
    write(path, mark)
    assert read_marks(path).marks == (mark,)


def test_a_review_without_an_answer_leaves_no_file(path):
    MarksFile(path).close()
    assert not path.exists()


# interrupted


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "t.marks.csv"
    write(path, A, Mark(5, False, "Łódź", "h5"), C)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    # a line is whole without its line end, too
    n_whole = sum(len(b"\n".join(whole.split(b"\n")[: n + 2])) <= cut for n in range(3))
    with MarksFile(path) as file:
        assert len(file.found.marks) == n_whole
        file.add([B])
    marks = read_marks(path)
    assert marks.marks == (*(A, Mark(5, False, "Łódź", "h5"), C)[:n_whole], B)
    assert marks.notes == ()


def test_a_line_that_was_cut_off_is_said_and_removed(path):
    write(path, A, B)
    whole = path.read_bytes()
    path.write_bytes(whole + b"9,,h3,uns")
    assert read_marks(path).marks == (A, B)
    assert path.read_bytes() != whole  # reading changes nothing
    with MarksFile(path) as file:
        (note,) = file.found.notes
    assert "line, 4, was cut off" in note
    assert "9,,h3,uns" in note
    assert path.read_bytes() == whole


KILLED = """
import sys, time
from metaod.review import Mark, MarksFile
file = MarksFile(sys.argv[1])
for row in range(1, 10**6):
    file.add([Mark(row, row % 2 == 0, "", f"h{row}")])
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
    with MarksFile(path) as file:  # its lock has ended with it
        rows = [mark.row for mark in file.found.marks]
    assert rows[: len(said)] == said
    assert len(rows) - len(said) <= 1  # an answer that was not said to be on disk may be


def test_a_full_disk_loses_the_last_answer_alone(path, monkeypatch):
    real = os.write

    def full(file, data):
        real(file, data[:7])
        raise OSError(28, "No space left on device")

    with MarksFile(path) as file:
        file.add([A])
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(BadFile, match="No space left on device"):
            file.add([B])
        monkeypatch.undo()
        assert read_marks(path).marks == (A,)
        file.add([C])
    assert read_marks(path).marks == (A, C)


# written by hand


@pytest.mark.parametrize(
    "text",
    [
        "row,answer\n417,yes\n3,no\n9,unsure\n",
        "row,answer\r\n417,y\r\n3,N\r\n9,?",
        "\ufeffRow;Answer;Comment\n417;YES;a fraud\n\n3;no\n9;unsure;\n",
        "answer\trow\nyes\t417.0\nno\t3\nunsure\t9\n",
    ],
)
def test_a_file_written_by_hand(path, text):
    marks = read_marks(hand_written(path, text)).marks
    assert [(mark.row, mark.answer) for mark in marks] == [(417, True), (3, False), (9, None)]


def test_a_file_written_by_hand_can_be_continued(path):
    hand_written(path, "answer;row;why\nyes;4;late")
    write(path, A)
    assert path.read_text() == "answer;row;why\nyes;4;late\nyes;417;\n"
    assert [mark.row for mark in read_marks(path).marks] == [4, 417]


def test_marks_by_id_alone(path):
    marks = read_marks(hand_written(path, "id,answer\nA-7,yes\n")).marks
    assert marks == (Mark(None, True, "A-7"),)


# bad input: one line, and the file stays as it is


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("row,answer\n5,yes\n5,yes\n", "line 3: marks row 5 again, as on line 2"),
        ("row,answer\n5,yes\n5,no\n", "line 3: marks row 5 as 'no', and line 2 as 'yes'"),
        ("row,answer\n5,maybe\n", "line 2: the answer is 'maybe'; an answer is yes, no or unsure"),
        ("row,answer\n5,maybe", "line 2: the answer is 'maybe'"),
        ("row,answer\n0,yes\n", "line 2: '0' is not the number of a row; the first row"),
        ("row,answer\nfive,yes\n", "'five' is not the number of a row"),
        (f"row,answer\n{'9' * 5000},yes\n", "'999999999999999...' is not the number of a row"),
        (f"row,answer\n{'x' * 200_000},yes\n", "has a line of 200,005 bytes"),
        (f"row,answer,version\n1,yes,{'9' * 5000}\n", "the version is '999999999999999...'"),
        ("row,answer\n-1,yes\n", "'-1' is not the number of a row"),
        (HEADER + "5,,h1,yes,,2\n", "marks file of version 2, which is unknown; update metaod"),
        (HEADER + "5,,h1,yes,,x\n", "line 2: the version is 'x'"),
        (HEADER + "5,,h1,ye\n6,,h2,no,,1\n", "line 2: 4 values where the first line has 6"),
        ("age,height\n5,6\n", "line 1: has no column 'answer'; a marks file is a CSV"),
        ("rows,answer\n5,yes\n", "line 1: has no column 'row'"),
        ("PK\x03\x04\0\0", "line 1: holds binary data"),
    ],
)
def test_bad_files_are_refused_and_kept(path, text, said):
    hand_written(path, text)
    for opening in (read_marks, MarksFile):
        with pytest.raises(BadFile) as error:
            opening(path)
        assert said in str(error.value)
        assert "\n" not in str(error.value)
        assert path.read_bytes() == text.encode()


def test_bytes_that_are_no_text_are_refused(path):
    path.write_bytes(b"row,answer\n\xff\xfe,yes\n5,no\n")
    with pytest.raises(BadFile, match="line 2: is not text in UTF-8"):
        read_marks(path)


@pytest.mark.parametrize("text", ["", "row,id,con"])
def test_a_file_cut_in_its_first_line(path, text):
    hand_written(path, text)
    with pytest.raises(BadFile, match="is empty or cut off in its first line"):
        read_marks(path)
    write(path, A)
    assert read_marks(path).marks == (A,)


def test_no_file_to_read(path):
    with pytest.raises(BadFile, match=r"does not exist; .* 'metaod review'"):
        read_marks(path)


def test_a_folder_and_a_device_are_refused(tmp_path):
    for opening in (read_marks, MarksFile):
        with pytest.raises(BadFile, match="is a folder"):
            opening(tmp_path)
        with pytest.raises(BadFile, match="is a device"):
            opening("/dev/null")


def test_a_file_that_may_not_be_written(path, monkeypatch):
    real = os.open

    def refuse(name, flags, *args, **kwargs):
        if Path(name) == path and flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BadFile, match=r"cannot be written \(Permission denied\); name another"):
        MarksFile(path)


def test_a_missing_folder(tmp_path):
    with pytest.raises(BadFile, match="cannot be written"):
        MarksFile(tmp_path / "no" / "t.marks.csv")


def test_two_reviews_of_one_file(path):
    with MarksFile(path) as first:
        for _ in range(2):
            with pytest.raises(BadFile, match="is open in another review; end that one first"):
                MarksFile(path)
        first.add([A])
        assert read_marks(path).marks == (A,)  # reading needs no lock
    write(path, B)
    assert read_marks(path).marks == (A, B)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_another_program_changes_meanwhile(path, replaced):
    with MarksFile(path) as file:
        file.add([A])
        text = path.read_text() + "5,,,no,,1\n"
        if replaced:
            path.unlink()
        path.write_text(text)
        with pytest.raises(BadFile, match="was changed by another program"):
            file.add([B])
    assert path.read_text() == text


def test_times_are_utc(path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        write(path, A)
    finally:
        monkeypatch.undo()
        time.tzset()
    written = path.read_text().splitlines()[1].split(",")[4]
    said = datetime.strptime(written, "%Y-%m-%dT%H:%M:%S%z")
    assert abs((datetime.now(UTC) - said).total_seconds()) < 60
