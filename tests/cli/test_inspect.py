"""``metaod inspect`` and ``metaod describe``."""

import csv
import io
import json

import pytest

from metaod.metafeatures import schema


def test_the_example_shows_every_kind_of_column(run):
    out = run("inspect", "--example")
    for word in ("600 rows × 12 columns", "24 outliers", "reading_id", "identifier", "constant",
                 "8 columns of numbers, with missing values of all", "time", "median"):  # fmt: skip
        assert word in out


def test_json_lists_each_column_once(run):
    data = json.loads(run("inspect", "--example", "--json"))
    assert data["rows"] == 600
    assert len({column["name"] for column in data["record"]["columns"]}) == 12
    made = [name for column in data["record"]["columns"] for name in column["outputs"]]
    assert [*made, *data["record"]["evidence"]] == data["prepared_columns"]


def test_reading_options_reach_the_reader(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;klass\n1,5;x?;0\n2,5;y;1\n3,0;x?;0\n", encoding="latin-1")
    data = json.loads(
        run("inspect", path, "--json", "--label", "klass", "--decimal", ",", "--na", "x?",
            "--encoding", "latin-1", "--delimiter", ";", "--header", "--text", "b")
    )  # fmt: skip
    assert data["outliers"] == 1
    assert [column["name"] for column in data["record"]["columns"]] == ["a", "b"]
    assert data["record"]["columns"][1]["n_missing"] == 2


def test_many_columns_are_cut_with_a_hint(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(str((i * j) % 7 + j) for j in range(60)) for i in range(9)))
    assert "20 more columns" in run("inspect", path, "--no-header")
    assert "x60" in run("inspect", path, "--no-header", "--all")


@pytest.mark.parametrize("name", ["speed [m/s]", "[/nope]", ":smile:", "[red]x", "a\\b"])
def test_names_are_shown_as_they_are(run, tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},b\x1b[31m\n1,2\n3,4\n5,9\n")
    out = run("inspect", path)
    assert name in out
    assert "b\\x1b[31m" in out
    assert "\x1b" not in out  # which would control the terminal


@pytest.mark.parametrize("extra", [["--label", "fault"], ["--delimiter", ";"], ["x.csv"]])
def test_options_that_the_example_would_ignore_are_refused(run, extra):
    assert "--example" in run("inspect", "--example", *extra, code=2)


def test_roles_of_columns_are_shown(run):
    arguments = ("--example", "--id", "operator", "--ignore", "plant", "--time", "date")
    data = json.loads(run("inspect", *arguments, "--json"))
    given = {column["name"]: column["role"] for column in data["record"]["columns"]}
    assert (given["operator"], given["plant"], given["power_kw"]) == ("id", "ignored", "used")
    assert "days since 1970-01-01" in run("inspect", *arguments)


# meta-features


def test_the_example_is_described_by_groups(run):
    out = run("describe", "--example")
    for word in ("600 rows ×", "size", "n_rows", "iForest", "kurtosis", "undefined"):
        assert word in out
    # a summary's six numbers are in one row
    row = next(
        line
        for line in out.splitlines()
        if line.startswith((" skewness ", "skewness ")) and "max" not in line
    )
    assert len(row.split()) == 7


def test_json_and_csv_have_every_feature(run):
    data = json.loads(run("describe", "--example", "--json"))
    assert tuple(data["features"]) == schema("paper").names
    assert data["features"]["n_rows"] == data["rows"] == 600
    assert data["schemas"] == {"paper": schema("paper").version}
    # undefined by definition: all trees have the same mean importance
    assert data["features"]["iforest_importance_mean_skewness"] is None
    assert sum(map(len, data["groups"].values())) == len(data["features"])
    rows = csv.DictReader(io.StringIO(run("describe", "--example", "--csv")))
    values = {row["name"]: row["value"] for row in rows}
    assert tuple(values) == schema("paper").names
    assert float(values["n_rows"]) == 600
    assert values["iforest_importance_mean_skewness"] == ""


def test_schemas_and_the_seed(run):
    both = ("--schema", "scores", "--schema", "paper")
    first = json.loads(run("describe", "--example", "--json", *both))
    assert tuple(first["features"]) == (*schema("scores").names, *schema("paper").names)
    again = json.loads(run("describe", "--example", "--json", *both, "--seed", "3"))
    assert first["features"]["iforest_score_mean"] != again["features"]["iforest_score_mean"]
    assert "--csv" in run("describe", "--example", "--json", "--csv", code=2)
