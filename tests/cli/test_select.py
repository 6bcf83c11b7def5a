"""``metaod select``."""

import functools
import json
import re

import pytest
from made_selection import MODELS, made_select

from metaod.models import COMMITTEE, ModelSpec, average_of, member_ids


@pytest.fixture
def call(run, monkeypatch):
    asked = []

    def picked(X, **options):
        asked.append({name: value for name, value in options.items() if name != "progress"})
        return made_select(X, **options)

    def select(*arguments, **rest):
        return run("select", *arguments, **rest)

    monkeypatch.setattr("metaod.selection.select", picked)
    select.asked = asked
    return select


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},{i * 3 % 5}\n" for i in range(40)) + "inf,-90\n")
    return str(path)


def test_the_screen_shows_pick_ranking_explanation_and_confidence(call, table):
    out = call(table)
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][1:6] == ["41", "rows", "×", "2", "columns"]
    assert lines[1] == ["pick:", "k", "nearest", "neighbours"]
    assert "note: Treated as missing: 1 infinite value in 'a'." in out
    assert ["1", *MODELS[0].split(), "0.70", "0.40–0.90", "0.01"] in lines
    assert ["3", *MODELS[2].split(), "0.50", "0.20–0.70", "-"] in lines
    assert out.index("Why this pick") < out.index("made-up reason") < out.index("Confidence")
    assert "Expected performance: 0.70.\nwarning: the table is made up" in out
    out = call(table, "--top", "1")
    assert MODELS[1] not in out
    assert "2 more models" in out


def test_json_is_one_object_or_a_list(call, table):
    one = json.loads(call(table, "--json", "--top", "2"))
    assert one["pick"] == {MODELS[0]: 1.0}
    assert [row["model"] for row in one["ranking"]] == list(MODELS[:2])
    two = json.loads(call(table, table, "--json"))
    assert [item["pick"] for item in two] == [one["pick"]] * 2
    assert two[0]["ranking"][2]["seconds"] is None
    assert call(table, table).count("pick: ") == 2


def test_options_of_picking_reach_the_selection(call, table):
    call(table, "--exclude", "LOF", "--exclude", "ABOD", "--space", "paper", "--max-seconds", "2.5",
         "--learner", "metaod", "--pick", "learned-single", "--seed", "4")  # fmt: skip
    [asked] = call.asked
    assert list(asked.pop("exclude")) == ["LOF", "ABOD"]
    assert asked == {
        "learner": "metaod",
        "pick": "learned-single",
        "space": "paper",
        "max_seconds": 2.5,
        "random_state": 4,
    }


def test_the_committee_is_printed_as_json(run):
    found = json.loads(run("select", "--example", "--pick", "committee", "--json"))
    assert set(found["pick"]) == {spec.id for spec in COMMITTEE}
    assert found["why"]["is_fixed"]


@pytest.mark.parametrize("width", [80, 200])
def test_an_average_is_shown_by_its_members(call, table, monkeypatch, width):
    average = average_of(*map(ModelSpec.parse, MODELS)).id
    made = functools.partial(made_select, models=(average, *MODELS))
    monkeypatch.setattr("metaod.selection.select", made)
    monkeypatch.setenv("COLUMNS", str(width))
    out = call(table)
    assert "ZAverage" not in out
    assert max(map(len, out.splitlines())) <= max(width, len(table) + 30)
    one, two, three = member_ids(average)
    shown = [line.split() for line in out.splitlines()]
    first = next(place for place, words in enumerate(shown) if words[:1] == ["1"])
    if width == 200:
        assert " ".join(shown[first]).startswith(f"1 {one} + {two} + {three} 0.70")
    else:
        short = [re.sub(r"[a-z_]+=", "", name).split(",")[0] for name in (one, two, three)]
        assert all(name in out for name in short)
        assert "--verbose shows them" in out
        verbose = call(table, "--verbose")
        assert one.partition(",")[0] in verbose
        assert "--verbose shows them" not in verbose
    assert json.loads(call(table, "--json"))["ranking"][0]["model"] == average


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["t.csv", "--seed", "4294967296"], "4294967295"),
        ([], "no FILE was given"),
        (["t.csv", "-"], "together with other files"),
    ],
)
def test_mistakes(call, table, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert says in call(*arguments, code=2)
