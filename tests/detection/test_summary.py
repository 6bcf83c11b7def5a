import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from made_result import made_result
from mixed_frames import mixed_frames

from metaod.detection import detect, load, summarise
from metaod.errors import UserError
from metaod.report import render
from metaod.tables import load_example, prepare, read_table


@pytest.fixture(scope="module")
def found():
    return detect(load_example())


@pytest.fixture(scope="module")
def summary(found):
    return summarise(found, {"file": "--example"})


def test_it_is_plain_data_whose_counts_agree_with_the_detection(found, summary):
    assert json.loads(json.dumps(summary, allow_nan=False))["n_rows"] == 600
    assert summary["scores"]["n_flagged"] == np.count_nonzero(found.scores > found.threshold)
    assert summary["scores"]["threshold"] == found.threshold
    for n_flagged, threshold in summary["scores"]["cuts"]:
        assert np.count_nonzero(found.scores > threshold) == n_flagged


def test_the_listed_rows_are_the_most_outlying_with_the_cells_of_the_file(found, summary):
    assert [row["row"] - 1 for row in summary["top"]["rows"]] == found.order[:200].tolist()
    first = summary["top"]["rows"][0]
    cells = dict(zip(summary["top"]["columns"], first["cells"], strict=True))
    frame = found.table.frame
    assert cells["reading_id"] == frame["reading_id"][found.order[0]]
    assert summary["top"]["columns"][: summary["top"]["n_naming"]] == ["reading_id"]
    [why] = [why for why in first["why"] if why["column"] == "vibration_mm_s"]
    assert (why["value"], why["usual"]) == (cells["vibration_mm_s"], "usually 1.43 to 2.86")
    assert first["label"] == found.table.label[found.order[0]]
    has_reasons = [row["why"] is not None for row in summary["top"]["rows"]]
    assert has_reasons == [True] * 100 + [False] * 100


def test_columns_are_sorted_by_their_values(found, summary):
    place = summary["top"]["columns"].index("oil_ppm")
    values = found.table.frame["oil_ppm"].iloc[found.order[:200]].to_numpy()
    ordered = values[list(summary["top"]["orders"][place])]
    n_known = np.count_nonzero(~np.isnan(ordered))
    assert np.all(np.diff(ordered[:n_known]) >= 0)
    assert np.isnan(ordered[n_known:]).all()


def test_it_says_how_the_table_was_read(summary):
    facts = dict(summary["facts"])
    assert facts["columns used"] == "7 of 12"
    assert facts["delimiter"] == "comma"
    assert "24 outliers" in facts["label"]
    [plant] = [column for column in summary["columns"] if column["name"] == "plant"]
    assert (plant["role"], plant["done"]) == (
        "not used",
        "left out: it is unrelated to every other column",
    )


def test_it_names_the_pick_what_to_expect_and_similar_tables(summary):
    assert summary["pick"]["sentence"].endswith(", picked for this table.")
    assert sum(weight for _, weight in summary["pick"]["members"]) == pytest.approx(1)
    assert summary["pick"]["expected"][0].startswith("Expected quality: 0.")
    assert [row["method"] for row in summary["pick"]["measured"]] == [
        "MetaOD's pick",
        "isolation forest",
    ]
    assert len(summary["similar"]) == 5
    assert summary["measure"] == "average precision"
    assert all(0 <= table["performance"] <= 1 for table in summary["similar"])


def test_a_file_can_be_scored_again_by_the_command_and_in_python(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(80)], "x": rng.normal(size=80)})
    frame["y"] = rng.normal(size=80)
    path = tmp_path / "my table.csv"
    frame.to_csv(path, index=False, sep=";")
    table = read_table(path, delimiter=";")
    found = detect(table, top_n=5, id=["name"], random_state=7)
    given = {"file": str(path), "delimiter": ";", "header": True, "na": ["?"], "sheet": None}
    summary = summarise(found, given)
    assert summary["source"] == "my table.csv"
    recipe = summary["recipe"]
    assert recipe["command"] == (
        f"metaod detect '{path}' --delimiter ';' --header --na '?' --seed 7 --id name --top-n 5 "
        "--report report.html"
    )
    assert recipe["python"] == [
        "import metaod",
        f"table = metaod.read_table('{path}', delimiter=';', header=True, na=['?'])",
        "detector = metaod.MetaOD(contamination=0.0625, random_state=7, id=['name']).fit(table)",
        'detector.report("report.html")',
    ]
    assert recipe["seed"] == 7
    steps = [step["command"] for step in summarise(found, given)["steps"]]
    options = "--delimiter ';' --header --na '?' --seed 7 --id name"
    later = "metaod detect NEW_FILE --apply pick.mod"
    assert steps == [
        f"metaod review '{path}' {options}",
        f"metaod detect '{path}' {options}",  # and --top-n, which moves
        f"metaod detect '{path}' {options} --top-n 5 --save pick.mod\n{later}",
        f"metaod detect '{path}' {options} --top-n 5 -o scored.csv",
    ]
    again = {"metaod": __import__("metaod")}
    exec("\n".join(recipe["python"][1:3]), again)
    np.testing.assert_array_equal(again["detector"].labels_, found.flags)


def test_a_table_from_a_pipe_is_named_as_such(found):
    summary = summarise(found, {"file": "-"})
    assert summary["recipe"]["command"] == "metaod detect - --report report.html"
    assert summary["recipe"]["python"][1].startswith("table = ...")
    assert summary["steps"][0]["command"] == "metaod review FILE"


def test_marked_rows_say_so_and_a_gap_is_not_looked_for(found):
    rows = found.order[:3].tolist()
    marked = detect(found.table, marks={rows[0]: True, rows[1]: False, rows[2]: None})
    summary = summarise(marked, {"file": "--example", "marks": "a.marks.csv"})
    said = {row["row"] - 1: row["mark"] for row in summary["top"]["rows"] if row["mark"]}
    assert said.items() <= {rows[0]: "outlier", rows[1]: "not", rows[2]: "unsure"}.items()
    assert said[rows[0]] == "outlier"
    assert summary["scores"]["gap"] is None
    assert "--marks a.marks.csv" in summary["recipe"]["command"]
    assert "learned from 2 marks" in dict(summary["facts"])["marks"]
    fitted = "detector = metaod.MetaOD().fit(table, marks='a.marks.csv')"
    assert fitted in summary["recipe"]["python"]


def test_a_saved_pick_has_a_report_without_a_selection(found, tmp_path):
    found.model.save(tmp_path / "pick.mod")
    later = found.table.take(np.arange(50, 250))
    applied = detect(later, model=load(tmp_path / "pick.mod"))
    summary = summarise(applied, {"file": "later.csv", "apply": "p.metaod"})
    assert summary["pick"]["sentence"].endswith(", of a saved pick.")
    assert (summary["pick"]["expected"], summary["similar"]) == ([], [])
    assert summary["n_rows"] == len(summary["map"]["rows"]) == 200
    assert "detector = metaod.load('p.metaod')" in summary["recipe"]["python"]
    assert "--apply p.metaod" in summary["recipe"]["command"]
    assert not any("review" in step["command"] for step in summary["steps"])
    assert "of a saved pick" in render(summary)


def test_the_committee_says_why(found):
    pick = summarise(detect(found.table, pick="committee"))["pick"]
    assert pick["sentence"].startswith("Rows are scored by the average of 7 models (")
    assert pick["sentence"].endswith(", the same for every table.")
    assert pick["expected"][0].startswith("Mean quality on tables with known outliers: 0.")
    assert pick["why"]


def test_a_frame_of_objects_of_several_kinds_can_be_shown():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["c"] = ["x", 1, None, 2.5, True, "y"] * 10
    summary = summarise(detect(read_table(frame)))
    assert len(summary["top"]["rows"]) == 60
    assert summary["recipe"]["command"] == ""
    assert sorted(summary["top"]["orders"][-1]) == list(range(60))


def test_the_same_table_gives_the_same_bytes():
    pages = [render(summarise(detect(load_example(), top_n=9))) for _ in range(2)]
    assert pages[0] == pages[1]


def test_rows_that_share_a_score_are_divided_as_in_the_detection():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 5, axis=0)
    found = detect(read_table(X), top_n=7)
    summary = summarise(found)
    assert summary["scores"]["n_flagged"] == 7
    flagged = [row["row"] - 1 for row in summary["top"]["rows"][: summary["scores"]["n_flagged"]]]
    assert sorted(flagged) == np.flatnonzero(found.flags).tolist()


def test_the_names_of_a_frames_rows_come_first():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    frame.index = pd.Index([f"r{29 - place:02d}" for place in range(30)], name="key")
    top = summarise(detect(read_table(frame), space="HBOS", pick="learned-single"))["top"]
    assert (top["columns"][0], top["n_naming"]) == ("key", 1)
    rows = top["rows"]
    assert rows[0]["cells"][0] == f"r{30 - rows[0]['row']:02d}"
    assert [rows[place]["cells"][0] for place in top["orders"][0]] == sorted(frame.index)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(mixed_frames(min_rows=2))
def test_every_frame_that_can_be_prepared_has_a_report(frame):
    try:
        table = read_table(frame)
        prepare(table)
    except UserError:
        return
    found = made_result(table, np.arange(len(frame)) % 3 * 1.0, threshold=0.5)
    page = render(summarise(found))
    page.encode()
    assert f"{found.n_flagged}</strong> of {len(frame)} rows" in page
