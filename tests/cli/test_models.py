"""``metaod models`` and ``metaod info``."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaod.artifacts import Artifact, Calibration, History
from metaod.history import find_artifact
from metaod.learners import make_learner
from metaod.models import model_space


@pytest.fixture
def paper(run):
    return lambda *arguments: json.loads(run("models", "--space", "paper", "--json", *arguments))


def test_by_default_it_lists_what_is_picked_from(run):
    picked = find_artifact("default").learner.models_
    n_averages = sum(name.startswith("ZAverage") for name in picked)
    out = run("models")
    assert f"{len(picked) - n_averages} models and {n_averages} averages of them" in out
    assert "the mean of 2, 3 or 7 of 14 models" in out
    listed = json.loads(run("models", "--json"))
    assert sorted(item["id"] for item in listed) == sorted(picked)


def test_the_models_of_another_learner(run):
    listed = json.loads(run("models", "--learner", "metaod", "--json"))
    assert {item["id"] for item in listed} == {spec.id for spec in model_space("paper")}


def test_filters(paper):
    assert {item["id"]: item["equivalence"] for item in paper()}[
        "LOF(n_neighbors=5, metric=minkowski)"
    ] == "LOF(n_neighbors=5, metric=euclidean)"
    assert len(paper("--family", "cof", "--family", "ABOD")) == 19  # in any spelling
    randoms = paper("--random")
    assert {item["detector"] for item in randoms} == {"IForest", "LODA"}
    assert len(randoms) + len(paper("--deterministic")) == 302
    assert len(paper("--limit", "3")) == 3


def test_applicability_is_shown_with_its_reason(run, paper):
    data = paper("--family", "COF", "--rows", "12")
    assert [item["why_not"] is None for item in data] == [True, True, True] + [False] * 4
    out = run("models", "--space", "paper", "--family", "COF", "--rows", "12")
    assert "does not apply: n_neighbors=50 needs at least 51 rows" in out


def test_listings(run):
    out = run("models", "--space", "paper", "--family", "LOF", "--limit", "6")
    assert "LOF(n_neighbors=1, metric=manhattan)" in out
    assert "6 of 36 models" in out
    assert len(run("models", "--space", "paper", "--all").splitlines()) > 302
    out = run("models", "--space", "extended")
    assert "gamma_scale: 0.3, 1.0" in out
    assert "scaling: zscore, robust, signedlog, whitened" in out
    assert "manhattan" not in out  # which only the paper's space has
    assert "scaling" not in run("models", "--space", "paper")  # it has one


@pytest.mark.parametrize("arguments", [(), ("--all", "--rows", "30"), ("--space", "paper")])
def test_a_listing_keeps_to_the_width_of_the_screen(run, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run("models", *arguments).splitlines())) <= 80


# the learner


@pytest.fixture
def artifact(tmp_path):
    learner = make_learner("made_best").fit([[0.1, 0.5], [0.3, 0.2]], [[3.0], [4.0]])
    made = Artifact(learner, measure="ap", datasets=("fp1:a", "fp1:b"), n_origins=2)
    edges, ends = np.empty(0), np.zeros((2, 1))
    figures = {"interval_coverage": 0.42125}
    calibration = Calibration(np.zeros(4), edges, ends, ends, np.ones(1), figures)
    P = pd.DataFrame({"model 0": [0.1, 0.3], "model 1": [0.5, 0.2]})
    datasets = pd.DataFrame({"name": ["a", "b"], "origin": ["a", "b"], "n_rows": 9, "n_columns": 2})
    M = pd.DataFrame({"feature 0": [3.0, 4.0]})
    history = History.from_frames(P, M, datasets, pd.Series([0.1, 0.2]))
    made = replace(made, history=history, calibration=calibration)
    made.save(tmp_path / "mine.metaod")
    return tmp_path / "mine.metaod"


def test_info_shows_the_training_and_the_figures(run, artifact):
    lines = [" ".join(line.split()) for line in run("info", "--learner", artifact).splitlines()]
    assert "trained on 2 labelled datasets of 2 origins" in lines
    assert "picks from 2 models" in lines
    assert "measure ap" in lines
    assert "measured coverage of the interval 0.4213" in lines
    assert any(line.startswith("pyod ") and len(line.split()) == 3 for line in lines)
    data = json.loads(run("info", "--learner", artifact, "--json"))
    assert data["learner"]["name"] == "made_best"
    assert data["learner"]["figures"]["interval_coverage"] == 0.42125
    assert data["versions"]["metaod"]
    assert "'nobody'" in run("info", "--learner", "nobody", code=2)
    assert "'--learner'" in run("info", "pick.mod", "--learner", artifact, code=2)
