"""Lines of a title above the header, and rows of totals and notes below the table."""

import io
import re

import pandas as pd
import pytest

from metaod.errors import BadFile, Setting
from metaod.tables import read_table

ROWS = "city;n;price\nRome;1;1,50\nBonn;2;2,50\nOslo;4;0,25\n"


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def values(table):
    return table.frame.to_dict("list")


EXPECTED = {"city": ["Rome", "Bonn", "Oslo"], "n": [1, 2, 4], "price": [1.5, 2.5, 0.25]}


@pytest.mark.parametrize(
    ("title", "n_lines"),
    [
        ("Sales report\n", 1),
        ("Sales report;;\n", 1),
        ("Sales report\n\nby: me;2024-01-02\n\n", 4),
        ("\nSales report\r\n", 2),
        ('"Sales\nreport"\n', 2),
        ("Sales report, of 2024\nfor all cities\n", 2),
    ],
)
def test_a_title_is_passed_over_with_a_warning(title, n_lines):
    table = read(title + ROWS)
    assert values(table) == EXPECTED
    told = "the first line was" if n_lines == 1 else f"the first {n_lines} lines were"
    assert str(table.warnings[0]).startswith(f"{told} left out as a title, 'Sales")
    assert table.warnings[0].values["setting"] == Setting("skip_rows", 0)
    assert table.original.raw.skip_lines == n_lines
    assert values(read(title + ROWS, skip_rows=n_lines)) == EXPECTED
    assert read(title + ROWS, skip_rows=n_lines).warnings == ()


def test_errors_below_a_title_name_the_line_of_the_file():
    with pytest.raises(BadFile, match="line 5"):
        read("Sales\n" + ROWS[:-1].replace("Oslo;4;0,25", "Oslo;4") + "\nRome;1;2\n")


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2,3\n4,5,6\n",
        "a,,c\nx,y,z\nx,y,z\n",
        "1,,\n4,5,6\n7,8,9\n",
        "name,city\nr1,Bob,Rome\nr2,Ann,Oslo\n",
        "a\n1,5\n2,5\n3,5\n",
    ],
)
def test_first_lines_that_are_no_title(text):
    try:
        warnings = read(text).warnings
    except BadFile:
        return
    assert not any(warning.code == "title-left-out" for warning in warnings)


TOTALS = ["Total;7;4,25\n", "Gesamt:;7;4,25\n", "sum;7;\n", "Mean;2,33;1,417\n", "Totals;7;\n"]


@pytest.mark.parametrize("total", TOTALS)
def test_a_total_is_left_out_with_a_warning(total):
    table = read(ROWS + total)
    assert values(table) == EXPECTED
    [warning] = table.warnings
    assert warning.code == "footer-left-out"
    assert table.original.raw.n_rows == 3
    assert len(read(ROWS + total, skip_footer=0).frame) == 4


DIRTY = "city;n;price;shop\nRome;1;1,50;N\nBonn;2;2,50;S\nOslo;4;;W\nUlm;50;0,75;N\n"


@pytest.mark.parametrize(
    ("last", "is_left_out"),
    [
        ("Total;12;;\n", True),  # the wrong 50 is 5
        ("Total;12;4,75;\n", True),
        ("Total;12;;N\n", False),  # it may be a city without a price
        ("Total;12;4,75;N\n", False),
        ("Total;3;;\n", False),  # too small for a sum
    ],
)
def test_a_total_of_wrong_rows_is_left_out_with_its_difference(last, is_left_out):
    table = read(DIRTY + last)
    assert len(table.frame) == 5 - is_left_out
    assert table.warnings[0].code == ("footer-left-out" if is_left_out else "footer-read")
    assert ("'n' is 45 less than" in str(table.warnings[0])) == ("12" in last)


@pytest.mark.parametrize("last", ["Total;8;5,25\n", "Sum;1;\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_may_be_a_total_is_only_told(last, end):
    table = read((ROWS + last).replace("\n", end))
    assert len(table.frame) == 4
    assert table.warnings[0].values["setting"] == Setting("skip_footer", 1)
    assert values(read((ROWS + last).replace("\n", end), skip_footer=1)) == EXPECTED


def test_a_word_that_is_also_above_is_no_total():
    assert read("a;n\nTotal;1\nb;2\nTotal;3\n").warnings == ()


def test_a_total_among_dates_is_offered_in_the_error():
    days = "".join(f"{day:02d}.03.2024;{day};{day % 3}\n" for day in range(1, 29))
    with pytest.raises(BadFile, match=r"'Total'.*line 30.*skip_footer=1"):
        read(f"day;n;m\n{days}Total;1;2\n", bad_values="error")
    assert "footer-read" in {note.code for note in read(f"day;n;m\n{days}Total;1;2\n").warnings}
    table = read(f"day;n;m\n{days}Total;406;28\n")
    assert table.frame["day"].dtype.kind == "M"


@pytest.mark.parametrize("note", ["Source: the office;;\n", "made in 2024;;\nby the office;;\n"])
def test_a_total_above_notes_is_left_out_with_them(note):
    table = read(ROWS + "Total;7;4,25\n" + note)
    assert values(table) == EXPECTED
    assert table.warnings[0].code == "footer-left-out"
    assert "rows are a total and" in str(table.warnings[0])


def test_a_total_above_skipped_rows_is_told():
    text = ROWS + "Total;7;4,25\nSource: the office\n"
    with pytest.raises(BadFile, match=r"skip_footer=2.*line 5"):
        read(text)
    assert "skip_footer=2" in str(read(text, skip_footer=1).warnings[0])
    assert values(read(text, skip_footer=2)) == EXPECTED


@pytest.mark.parametrize("as_index", [True, False])
def test_a_total_in_a_frame_is_told_and_kept(as_index):
    frame = pd.DataFrame({"city": ["Rome", "Bonn", "Lima", "Total"], "n": [1.0, 2.0, 4.0, 7.0]})
    table = read_table(frame.set_index("city") if as_index else frame)
    assert len(table.frame) == 4
    assert re.match(
        "the last row (is called|begins with) 'Total': remove it", str(table.warnings[0])
    )
    assert read_table(frame[:3]).warnings == ()


def test_short_lines_at_the_end_are_offered_to_be_left_out():
    with pytest.raises(BadFile, match="skip_footer=2"):
        read(ROWS + "\nSource: the office\nmade in 2024\n")
    assert values(read(ROWS + "\nSource: the office\nmade in 2024\n", skip_footer=2)) == EXPECTED
    noted = read("city;n;price;m\nRome;1;1,50;1\nBonn;2;2,50;2\nSource: the office;;;\n")
    assert noted.warnings[0].values["setting"] == Setting("skip_footer", 1)


def test_more_lines_than_there_are():
    with pytest.raises(BadFile, match="has no more than 9 lines"):
        read(ROWS, skip_footer=9)
    with pytest.raises(BadFile):
        read(ROWS, skip_rows=9)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("day,price\n18.03.2024,$5\n19.03.2024,$6\n", True),
        ("Berlin,18.03.2024\nParis,19.03.2024\nRome,20.03.2024\n", False),
        ("product,Mar-24,Apr-24\napple,5,6\npear,7,8\n", True),
        ("product,18.03.2024\napple,5\npear,7\n", True),
        ("12 kg,x\n13 kg,y\n", False),
    ],
)
def test_headers_above_notations(text, header):
    assert (list(read(text).frame) != ["x1", "x2"]) == header
