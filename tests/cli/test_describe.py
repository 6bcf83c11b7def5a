"""``metaod describe``."""

import csv
import io
import json

import pytest
import typer

from metaod.cli.inspect import describe
from metaod.errors import UserError
from metaod.metafeatures import schema


@pytest.fixture
def call(capsys):
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(describe)

    def run(*arguments):
        app(args=list(arguments), standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_the_example_is_described_by_groups(call):
    out = call("--example")
    assert "600 rows ×" in out
    for word in ("size", "n_rows", "iForest", "kurtosis", "loda_histogram_entropy", "undefined"):
        assert word in out
    # a summary's six numbers stand in one row
    row = next(
        line
        for line in out.splitlines()
        if line.startswith((" skewness ", "skewness ")) and "max" not in line
    )
    assert len(row.split()) == 7
    assert any(line.split()[:1] == ["sample_mean"] for line in out.splitlines())


def test_json_has_every_feature(call):
    data = json.loads(call("--example", "--json"))
    assert tuple(data["features"]) == schema("paper").names
    assert data["features"]["n_rows"] == data["rows"] == 600
    assert data["schemas"] == {"paper": schema("paper").version}
    # undefined by definition: all trees have the same mean importance
    assert data["features"]["iforest_importance_mean_skewness"] is None
    assert sum(map(len, data["groups"].values())) == len(data["features"])


def test_csv_has_every_feature(call):
    rows = list(csv.DictReader(io.StringIO(call("--example", "--csv"))))
    assert tuple(row["name"] for row in rows) == schema("paper").names
    values = {row["name"]: row["value"] for row in rows}
    assert float(values["n_rows"]) == 600
    assert values["iforest_importance_mean_skewness"] == ""


def test_schemas_can_be_chosen_and_combined(call):
    names = (*schema("scores").names, *schema("paper").names)
    data = json.loads(call("--example", "--json", "--schema", "scores", "--schema", "paper"))
    assert tuple(data["features"]) == names


def test_reading_options_and_the_seed_reach_their_places(call, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{i * i % 11};{'xy'[i % 2]};{int(i > 37)}" for i in range(40)]
    path.write_text("a;b;klass\n" + "\n".join(lines) + "\n", encoding="latin-1")
    options = ("--label", "klass", "--decimal", ",", "--encoding", "latin-1", "--delimiter", ";")
    first = json.loads(call(str(path), "--json", *options))
    assert first["rows"] == 40
    assert first["features"]["categorical_share"] == 0.5
    again = json.loads(call(str(path), "--json", "--seed", "3", *options))
    assert first["features"]["iforest_score_mean"] != again["features"]["iforest_score_mean"]


@pytest.mark.parametrize(
    "wrong",
    [(), ("t.csv", "--example"), ("--example", "--json", "--csv"), ("--example", "--schema", "x")],
)
def test_errors_name_the_option(call, wrong):
    with pytest.raises(UserError):
        call(*wrong)
