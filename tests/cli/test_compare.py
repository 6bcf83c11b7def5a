"""``metaod compare``."""

import json

import numpy as np
import pandas as pd
import pytest
from made_selection import pick_with

MEASURES = ("ap", "roc_auc", "precision_at_n")
METHODS = ["MetaOD's pick", "isolation forest", "PyOD's ADEngine"]


@pytest.fixture
def compare(run, monkeypatch):
    pick_with(monkeypatch)
    return lambda *arguments, **rest: run("compare", *arguments, **rest)


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


def test_the_screen_has_a_line_a_method_and_the_means(compare, tables):
    found = json.loads(compare(*tables, "--label", "bad", "--json"))
    out = compare(*tables, "--label", "bad")
    assert "3 outliers (5.0%)" in out.splitlines()[0]
    first, means = out.partition("mean of 2 tables")[::2]
    assert "k nearest neighbours" in first
    for place, method in enumerate(METHODS):
        (line,) = [line for line in means.splitlines() if line.strip().startswith(method)]
        for name, shown in zip(MEASURES, line.split()[-3:], strict=True):
            values = [table["methods"][place][name] for table in found]
            assert float(shown) == pytest.approx(np.mean(values), abs=6e-4)


def test_json_is_one_object_for_one_table(compare, tables):
    trials = ("--trials", "2", "--seed", "4")
    found = json.loads(compare(tables[1], "--label", "bad", "--json", *trials))
    assert found["source"].endswith("t1.csv")
    assert (found["rows"], found["columns"], found["outliers"], found["trials"]) == (60, 3, 3, 2)
    assert [row["method"] for row in found["methods"]] == METHODS
    assert all(0 <= row[name] <= 1 for row in found["methods"] for name in MEASURES)


def test_a_table_without_a_label_is_refused(compare, tables):
    assert "--label" in compare(tables[0], code=2)
