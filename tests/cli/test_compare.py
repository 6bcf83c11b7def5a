"""``metaod compare``."""

import json

import numpy as np
import pandas as pd
import pytest
import typer
from made_selection import selecting

from metaod.cli.compare import compare
from metaod.detection import _estimator as estimator
from metaod.errors import UserError

MEASURES = ("ap", "roc_auc", "precision_at_n")


@pytest.fixture
def call(capsys, monkeypatch):
    monkeypatch.setattr(estimator, "make_selection", selecting())
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(compare)

    def run(*arguments):
        app(args=list(map(str, arguments)), standalone_mode=False)
        return capsys.readouterr().out

    return run


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for number, outlier in enumerate((9.0, 1.5)):
        frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
        frame.loc[[3, 8, 20], ["a", "b"]] += outlier
        frame["bad"] = np.isin(np.arange(60), [3, 8, 20]).astype(int)
        paths.append(tmp_path / f"t{number}.csv")
        frame.to_csv(paths[-1], index=False)
    return paths


def test_the_screen_has_a_line_a_method(call, tables):
    lines = [line.split() for line in call(tables[0], "--label", "bad").splitlines()]
    assert "3 outliers (5.0%)" in " ".join(lines[0])
    rows = {words[0]: words for words in lines if words[:1] in (["MetaOD's"], ["isolation"])}
    assert rows["MetaOD's"][2:5] == ["1.000", "1.000", "1.000"]
    assert rows["MetaOD's"][6:] == ["k", "nearest", "neighbours"]
    assert any(words[:2] == ["PyOD's", "ADEngine"] for words in lines)


def test_several_tables_end_with_their_means(call, tables):
    found = json.loads(call(*tables, "--label", "bad", "--json"))
    out = call(*tables, "--label", "bad")
    means = out.partition("mean of 2 tables")[2].splitlines()
    for place, method in enumerate(("MetaOD's pick", "isolation forest", "PyOD's ADEngine")):
        (line,) = [line for line in means if line.strip().startswith(method)]
        for name, shown in zip(MEASURES, line.split()[-3:], strict=True):
            values = [table["methods"][place][name] for table in found]
            assert float(shown) == pytest.approx(np.mean(values), abs=6e-4)


def test_json_is_one_object_for_one_table(call, tables):
    found = json.loads(call(tables[1], "--label", "bad", "--json", "--trials", "2", "--seed", "4"))
    assert found["source"].endswith("t1.csv")
    assert (found["rows"], found["columns"], found["outliers"], found["trials"]) == (60, 3, 3, 2)
    assert [row["method"] for row in found["methods"]] == [
        "MetaOD's pick", "isolation forest", "PyOD's ADEngine",
    ]  # fmt: skip
    assert all(0 <= row[name] <= 1 for row in found["methods"] for name in MEASURES)


def test_a_table_without_a_label_is_refused(call, tables):
    with pytest.raises(UserError) as caught:
        call(tables[0])
    assert caught.value.code == "no-label"
