"""``metaod inspect``."""

import io
import json
import sys

import pytest

from metaod.cli import main as command


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        command.main(["inspect", *arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_the_example_shows_every_kind_of_column(capsys):
    code, out, _ = call(capsys, "--example")
    assert code == 0
    assert "600 rows × 12 columns" in out
    assert "24 outliers" in out
    for word in (
        "reading_id",
        "identifier",
        "8 numeric columns, with 'gaps' of all columns",
        "unrelated to every other column",
        "unless named in 'time'",
        "constant",
        "median",
    ):
        assert word in out


def test_json_lists_each_column_once(capsys):
    data = json.loads(call(capsys, "--example", "--json")[1])
    assert data["rows"] == 600
    assert len({column["name"] for column in data["record"]["columns"]}) == 12
    made = [name for column in data["record"]["columns"] for name in column["outputs"]]
    assert [*made, *data["record"]["evidence"]] == data["prepared_columns"]


def test_a_table_from_a_pipe(capsys, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,4\n5,7\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    code, out, err = call(capsys, "-")
    assert (code, err) == (0, "")
    assert "3 rows × 2 columns" in out


def test_reading_options_reach_the_reader(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;klass\n1,5;x?;0\n2,5;y;1\n3,0;x?;0\n", encoding="latin-1")
    data = json.loads(
        call(capsys, str(path), "--json", "--label", "klass", "--decimal", ",", "--na", "x?",
             "--encoding", "latin-1", "--delimiter", ";", "--header", "--text", "b")[1]
    )  # fmt: skip
    assert data["outliers"] == 1
    assert [column["name"] for column in data["record"]["columns"]] == ["a", "b"]
    assert data["record"]["columns"][1]["n_missing"] == 2


def test_many_columns_are_cut_with_a_hint(capsys, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(str((i * j) % 7 + j) for j in range(60)) for i in range(9)))
    out = call(capsys, str(path), "--no-header")[1]
    assert "20 more columns" in out
    assert "x60" in call(capsys, str(path), "--no-header", "--all")[1]


def test_bad_files_are_one_line(capsys, tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3\n")
    code, _, err = call(capsys, str(path))
    assert code == 2
    assert "line 3" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["speed [m/s]", "[/nope]", ":smile:", "[red]x", "a\\b"])
def test_names_are_shown_as_they_are(capsys, tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},b\n1,2\n3,4\n5,9\n")
    code, out, err = call(capsys, str(path))
    assert (code, err) == (0, "")
    assert name in out


def test_control_characters_do_not_reach_the_terminal(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\x1b[31m,b\n1,2\n3,4\n5,9\n")
    out = call(capsys, str(path))[1]
    assert "\x1b" not in out
    assert "a\\x1b[31m" in out


@pytest.mark.parametrize("extra", [["--label", "fault"], ["--delimiter", ";"], ["x.csv"]])
def test_options_that_the_example_would_ignore_are_refused(capsys, extra):
    code, _, err = call(capsys, "--example", *extra)
    assert code == 2
    assert "--example" in err


def test_roles_of_columns_are_shown(capsys):
    arguments = ("--example", "--id", "operator", "--ignore", "plant", "--time", "date")
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    roles = {line.split()[0]: line for line in out.splitlines() if line.split()[1:]}
    assert "named in 'id'" in roles["operator"]
    assert " ignored " in roles["plant"]
    assert "days since 1970-01-01" in roles["date"]
    data = json.loads(call(capsys, *arguments, "--json")[1])
    given = {column["name"]: column["role"] for column in data["record"]["columns"]}
    assert (given["operator"], given["plant"], given["power_kw"]) == ("id", "ignored", "used")


def test_an_unknown_column_is_one_line_with_close_names(capsys):
    code, out, err = call(capsys, "--example", "--ignore", "power")
    assert (code, out) == (2, "")
    assert err.endswith("close names are: 'power_kw'\n")
