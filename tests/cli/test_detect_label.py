"""``metaod detect --label``: how well the pick ranks the labelled outliers."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score


@pytest.fixture
def call(call_detect):
    return lambda *arguments: call_detect(*arguments).out


def write(path, seed=0, *, outliers=(3, 8, 20)):
    frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(60, 3)), columns=list("abc"))
    frame.loc[[3, 8, 20], ["a", "b"]] += 2.5
    frame["bad"] = np.isin(np.arange(60), outliers).astype(int)
    frame.to_csv(path, index=False)
    return path


def test_the_screen_and_the_json_have_both_methods(call, tmp_path):
    path, scored = write(tmp_path / "t.csv"), tmp_path / "scored.csv"
    out = call(path, "--label", "bad", "-o", scored)
    frame = pd.read_csv(scored)
    ap = average_precision_score(frame["bad"], frame["score"])
    lines = [line.split() for line in out.splitlines()]
    (pick,) = [words for words in lines if words[:2] == ["MetaOD's", "pick"]]
    assert float(pick[2]) == pytest.approx(ap, abs=6e-4)
    assert any(words[:2] == ["isolation", "forest"] for words in lines)
    measured = json.loads(call(path, "--label", "bad", "--json"))["measured"]
    assert [row["method"] for row in measured] == ["MetaOD's pick", "isolation forest"]
    assert measured[0]["ap"] == pytest.approx(ap)


def test_new_rows_are_measured_too(call, tmp_path):
    call(write(tmp_path / "t.csv"), "--label", "bad", "--save", tmp_path / "pick.mod")
    new = write(tmp_path / "new.csv", seed=1)
    found = call(new, "--label", "bad", "--apply", tmp_path / "pick.mod", "--json")
    assert all(0 <= row["ap"] <= 1 for row in json.loads(found)["measured"])


def test_without_a_label_or_without_outliers_nothing_is_measured(call, tmp_path):
    path = write(tmp_path / "t.csv", outliers=())
    assert "isolation forest" not in call(path)
    assert json.loads(call(path, "--json"))["measured"] is None
    out = call(path, "--label", "bad")
    assert "note: Not measured: the label marks every row as an inlier." in out
