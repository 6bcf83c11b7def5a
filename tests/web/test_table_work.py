"""What the process of a table does, without the process."""

import csv
import gzip
import io
import json
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from made_findings import made_findings
from made_server import made_csv

from metaod.detection import read_corrections
from metaod.errors import UserError
from metaod.tables import read_table
from metaod.web import Limits
from metaod.web._held_tables import Job
from metaod.web._inspection import UploadedTable
from metaod.web._problems import Problem, problem_of
from metaod.web._table_work import TableWork
from metaod.wrong_cells import Pattern


@pytest.fixture
def work_on(tmp_path, monkeypatch):
    """Open a table as its process does, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def make(data, name="table.csv", **limits):
        file = f"uploaded-table{''.join(Path(name).suffixes)}"
        Path(file).write_bytes(data)
        uploaded = UploadedTable(file, name, asdict(Limits(**limits)), progress=lambda _: None)
        return TableWork(uploaded)

    return make


def inspected(work, reading=None, roles=None):
    return work._uploaded.inspection(reading or {}, roles or {})


def scored(work, reading=None, roles=None, **options):
    work.detection(reading or {}, roles or {}, **options)
    return work


def rows_of(work, **options):
    file = work.write_scored(**options)["file"]
    return list(csv.DictReader(io.StringIO(Path(file).read_text())))


def chosen(work):
    scores = work.result()["scores"]
    return scores["cuts"][scores["chosen"]]


def test_roles_and_options_of_reading_are_used(work_on):
    roles, reading = {"ignore": ["weight"], "id": ["name"]}, {"na": ["violet"]}
    found = inspected(work_on(made_csv()), reading, roles)
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["weight"]["role"] == "ignored"
    assert columns["name"]["role"] == "id"
    assert columns["colour"]["n_missing"] == 1


def test_a_label_measures_and_is_no_column(work_on):
    lines = made_csv(40).decode().splitlines()
    label = ["bad", *(str(int(i in (7, 11))) for i in range(40))]
    data = "\n".join(f"{line},{own}" for line, own in zip(lines, label, strict=True))
    work = work_on(data.encode())
    found = inspected(work, {"label": "bad"})
    assert found["n_labelled"] == 2
    assert found["n_columns"] == 4
    assert found["columns"][0]["role"] == "label"
    assert found["columns"][0]["examples"] == ["0", "1"]


def test_another_table_is_read_if_a_role_changes(work_on):
    work = work_on(made_csv())
    scored(work, roles={"id": ["name"]})
    assert work.result()["top"]["rows"][0]["cells"][0] == "item 7"
    scored(work, roles={"ignore": ["name"]})
    assert work.result()["top"]["n_naming"] == 0


def test_a_table_without_a_column_to_score_can_be_described(work_on):
    rows = (f"r{i},2024-01-{1 + i % 28:02d} {i % 24:02d}:00" for i in range(60))
    work = work_on(("id,when\n" + "\n".join(rows)).encode())
    found = inspected(work)
    assert [column["is_used"] for column in found["columns"]] == [False, False]
    assert "nothing is left to score" in found["warnings"][-1]
    used = inspected(work, roles={"time": ["when"]})["columns"]
    assert [column["is_used"] for column in used] == [False, True]


def test_limits_on_rows_and_columns(work_on):
    for thing, most in (("rows", 59), ("columns", 3)):
        with pytest.raises(UserError) as caught:
            inspected(work_on(made_csv(), **{f"max_{thing}": most}))
        assert caught.value.code == f"many-{thing}"
    inspected(work_on(made_csv(), max_rows=60, max_columns=4))


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_the_scored_table_has_the_format_of_the_upload(work_on, ending):
    frame = pd.read_csv(io.BytesIO(made_csv()))
    own = Path(f"own{ending}")
    if ending == ".parquet":
        frame.to_parquet(own)
    else:
        own.write_bytes(gzip.compress(made_csv()))
    work = scored(work_on(own.read_bytes(), own.name))
    written = work.write_scored()
    assert written["name"] == f"own-scored{ending}"
    back = read_table(written["file"]).frame
    assert list(back.columns) == [*frame.columns, "score", "rank", "flag", "suspect"]
    assert list(back["name"]) == list(frame["name"])
    assert len(rows_of(work, format="csv")) == 60


def test_another_number_of_flags_reaches_the_scored_table(work_on):
    work = scored(work_on(made_csv()))
    estimated = chosen(work)[0]
    assert work.flag(3)["n_flagged"] == 3
    assert sum(row["flag"] == "1" for row in rows_of(work)) == 3
    assert chosen(work)[0] == 3
    for n in (0, 60):
        assert work.flag(n)["n_flagged"] == n
        assert chosen(work)[0] == n
    assert not work.result()["is_estimated"]
    assert work.flag(None)["n_flagged"] == estimated
    assert work.result()["is_estimated"]
    with pytest.raises(Problem) as caught:
        work.flag(61)
    assert caught.value.code == "many-flags"


def test_answers_keep_the_number_of_flags_and_survive_a_detection_and_the_process(work_on):
    work = scored(work_on(made_csv()))
    work.flag(9)
    assert work.answer(3, "yes")["n_flagged"] == 9
    assert not work.result()["is_estimated"]
    assert work.flag(None)["n_flagged"] != 9
    report = Path(work.write_report()["file"]).read_text()
    assert "metaod detect table.csv --marks table.marks.csv --report" in report
    scored(work, roles={"ignore": ["colour"]})
    first = work.result()["top"]["rows"][0]
    assert (first["row"], first["mark"]) == (3, "outlier")
    work._close_review()  # as the end of a process does
    again = scored(work_on(made_csv()))
    assert again.question()["n_found"] == 1
    assert again.back()["row"] == 3


def with_findings(work):
    cells = [(row, "size", 10.5, "1", "code", "", None, 0.9) for row in range(20)]
    shift = (30, "weight", 120, "about 12", "decimal", "", 12, 0.8)
    work._first = replace(work._first, wrong=made_findings(60, *cells, shift))
    work._update()
    return work


def test_the_list_and_the_map_flag_the_rows_of_the_scored_table(work_on):
    work = with_findings(scored(work_on(made_csv())))
    work._summary = None
    result = work.result()
    flagged = {i for i, row in enumerate(rows_of(work), start=1) if row["flag"] == "1"}
    assert result["n_flagged"] == len(flagged) >= 21
    assert {row["row"] for row in result["top"]["rows"] if row["is_flagged"]} == flagged
    shown = zip(result["map"]["rows"], result["map"]["flagged"], strict=True)
    assert {row + 1 for row, is_flagged in shown if is_flagged} == flagged
    work.flag(2)
    assert work.result()["n_flagged"] == 2
    report = Path(work.write_report()["file"]).read_text()
    assert report.count('class="flagged"') == 2
    work.flag(None)
    assert work.result()["top"] == result["top"]
    assert Path(work.write_report()["file"]).read_text().count('class="flagged"') == len(flagged)


def test_one_answer_is_for_a_pattern(work_on):
    work = scored(work_on(made_csv()))
    session = work._reviewed()
    pattern = Pattern((4, 9, 20), ("size",), "size high", where="with name 'x'")
    session.__dict__["patterns"] = (pattern,)
    work._learned(9)
    shown = work.question()
    assert (shown["row"], shown["pattern"]["rows"]) == (10, [5, 10, 21])
    assert shown["pattern"]["sentence"] == pattern.sentence()
    after = work.answer(10, "no", alike=True)
    assert (after["n_answered"], after["n_found"]) == (3, 0)
    assert {row: session.answers[row] for row in (4, 9, 20)} == {4: False, 9: False, 20: False}
    assert work.back()["n_answered"] == 0
    work._learned(30)
    assert work.question()["pattern"] is None
    assert work.answer(31, "yes", alike=True)["n_answered"] == 1


def test_findings_are_answered_and_the_answers_survive_the_process(work_on):
    work = with_findings(scored(work_on(made_csv())))
    first = work.result()["wrong"]
    assert (first["n_cells"], first["n_rows"], first["n_groups"]) == (21, 21, 2)
    assert first["groups"][0]["cells"][0]["names"] == ["item 0"]
    assert {cell["name"]: cell["value"] for cell in work.row(1)["cells"]}["size"] == "10.5"
    shown = work.row(31)
    assert (shown["cells"][0]["name"], shown["cells"][0]["finding"]["suggestion"]) == (
        "weight",
        "12",
    )
    assert not first["has_answers"]
    left = work.judge(31, "weight", "wrong")
    assert (left["n_wrong"], left["n_corrected"], left["n_groups"]) == (1, 1, 1)
    assert (left["n_cells"], left["n_rows"], left["has_answers"]) == (20, 20, True)
    assert work.row(31)["cells"][0]["correction"] == "12"
    assert work.question()["n_found"] == 1  # the row is an outlier
    left = work.judge(4, "size", "wrong", correction="1.5", alike=True)
    assert (left["n_wrong"], left["n_corrected"], left["groups"]) == (21, 21, [])
    work._close_review()  # as the end of a process does
    again = scored(work_on(made_csv()))
    assert len(again._judgements[0]) == 21
    assert again.take_back()["taken_back"] == {"row": 1, "name": "size"}
    assert again._judgements[1] == {(30, "weight"): "12"}
    again._close_review()
    other = scored(work_on(made_csv()), {"na": ["violet"]})  # rows may be others
    assert other._judgements == ({}, {})


def test_accepted_corrections_are_written_alone_with_a_log_and_for_the_command_line(work_on):
    work = with_findings(scored(work_on(made_csv(), "my items.csv")))
    with pytest.raises(Problem) as caught:
        work.write_corrected()
    assert caught.value.code == "no-correction"
    work.judge(31, "weight", "wrong")
    work.judge(4, "size", "wrong", correction="1.5")
    work.judge(5, "size", "wrong")  # a code: the cell gets empty
    work.judge(6, "size", "right")
    written = work.write_corrected()
    assert written["name"] == "my items-corrected.csv"
    before, after = made_csv().split(b"\n"), Path(written["file"]).read_bytes().split(b"\n")
    changed = [
        row for row, lines in enumerate(zip(before, after, strict=True)) if len(set(lines)) > 1
    ]
    assert changed == [4, 5, 31]
    assert (after[5].split(b",")[1], after[31].split(b",")[2]) == (b"", b"12")
    log = work.write_corrected(log=True)
    assert log["name"] == "my items-corrected.csv.log.csv"
    assert Path(log["file"]).read_text().splitlines()[1:] == [
        "4,size,13.5,1.5", "5,size,14.5,", "31,weight,106,12"
    ]  # fmt: skip
    accepted = read_corrections(work.write_cells()["file"])
    assert {(own.row, own.column): own.text for own in accepted} == work._judgements[1]
    assert not list(Path().glob("*corrected*"))


def test_findings_that_are_not_there_cannot_be_answered(work_on):
    work = with_findings(scored(work_on(made_csv())))
    work.judge(2, "size", "right")
    for row, column, code in (
        (2, "size", "answered"), (31, "size", "no-finding"), (61, "size", "no-row")
    ):  # fmt: skip
        with pytest.raises(Problem) as caught:
            work.judge(row, column, "wrong")
        assert caught.value.code == code
    work.take_back()
    with pytest.raises(Problem) as caught:
        work.take_back()
    assert caught.value.code == "no-answer"


def test_an_answer_about_a_finding_is_not_overwritten(work_on):
    work = with_findings(scored(work_on(made_csv())))
    work.judge(31, "weight", "wrong")
    with pytest.raises(Problem) as caught:
        work.judge(31, "weight", "right")  # in another tab
    assert (caught.value.status, caught.value.code) == (409, "answered")
    assert work._session.answers == {30: True}
    work.take_back()
    assert work.judge(31, "weight", "right")["n_right"] == 1
    assert work._session.answers == {}


def test_every_row_can_be_answered(work_on):
    work = scored(work_on(made_csv(40)))
    for _ in range(40):
        found = work.answer(work.question()["row"], "no")
    assert found["row"] is None
    assert found["cells"] == []
    assert found["left"]["estimate"] == 0
    assert work.back()["row"] is not None


def test_results_are_json_also_of_infinite_and_hostile_cells(work_on):
    hostile = '"<script>alert(1)</script>","\u202e=cmd|calc","' + "x" * 10_000 + '"'
    lines = ["<b>a</b>,b,c,d", *(f"{i},{i * i % 7},t{i % 3},{i}" for i in range(40))]
    lines += [f"inf,{hostile}", "-inf,3,t1,5"]
    work = work_on("\n".join(lines).encode(), "own.csv")
    documents = [inspected(work, {"bad_values": "text"})]
    documents.append(work.detection({"bad_values": "text"}, {}))
    documents += [work.result(), work.question()]
    for found in documents:
        text = json.dumps(found, allow_nan=False)
        assert len(text) < 200_000
    assert "<b>a</b>" in [column["name"] for column in documents[0]["columns"]]


BAD_FILES = {
    "empty.csv": b"",
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "cut.parquet": b"PAR1" + bytes(40),
    "broken.csv.gz": b"\x1f\x8b\x08\x00broken",
    "broken.xlsx": b"PK\x03\x04" + bytes(30),
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "own.pkl": b"\x80\x04\x95" + bytes(20),
    "header.csv": b"a,b\n",
    "uneven.csv": b"a,b\n1,2\n3,4,5\n6,7\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_clear_problem_with_the_name_of_the_user(work_on, tmp_path, name):
    work = work_on(BAD_FILES[name], name)
    with pytest.raises(UserError) as caught:
        inspected(work)
    found = problem_of(caught.value).document()
    assert found["status"] == 422
    assert found["remedy"]
    assert name in found["where"]
    assert "False" not in found["remedy"]  # options are named as in the form
    text = str(found)
    assert str(tmp_path) not in text
    assert "uploaded-table" not in text


def test_other_errors_show_nothing_of_the_server():
    found = problem_of(ValueError("/srv/secret")).document()
    assert found["status"] == 500
    assert "secret" not in str(found)
    assert problem_of(MemoryError()).status == 422


def test_rows_are_explained_once_for_the_result_the_report_and_the_table(work_on):
    work = scored(work_on(made_csv()))
    work._found.model.explain_rows = pytest.fail
    assert work.result()["top"]["rows"][0]["why"]
    assert work.write_report()["file"]
    assert rows_of(work, why=True)


def test_the_example_is_named_as_the_command_line_names_it(work_on):
    example = files("metaod").joinpath("tables/examples/machines.csv").read_bytes()
    work = work_on(example, "machines.csv")
    work._uploaded.read({"label": "fault"}, {})
    work._found = SimpleNamespace(marks=None)
    assert work._given() == {"file": "--example", "marks": None}
    work._uploaded.read({}, {})
    assert work._given() == {"file": "machines.csv", "marks": None}


def test_the_time_left_runs_out():
    job = Job("detection")
    assert job.document()["seconds_left"] is None
    job.report({"stage": "fitting", "done": 0.5, "seconds_left": 20.0})
    job.reported -= 5
    assert job.document()["seconds_left"] == pytest.approx(15, abs=1)
    job.reported -= 20
    assert job.document()["seconds_left"] is None
