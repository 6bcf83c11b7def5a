"""``metaod info``."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import typer

from metaod.artifacts import Artifact, Calibration, History
from metaod.cli.models import info
from metaod.errors import UserError
from metaod.learners import make_learner


@pytest.fixture
def call(capsys):
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(info)

    def run(*arguments):
        app(args=list(map(str, arguments)), standalone_mode=False)
        return capsys.readouterr().out

    return run


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


def test_it_shows_the_training_and_the_figures(call, artifact):
    lines = [" ".join(line.split()) for line in call("--learner", artifact).splitlines()]
    assert "on 2 labelled datasets of 2 origins" in lines
    assert "models 2" in lines
    assert "measure ap" in lines
    assert "measured coverage of the interval 0.4213" in lines
    assert any(line.startswith("pyod ") and len(line.split()) == 3 for line in lines)


def test_json(call, artifact):
    data = json.loads(call("--learner", artifact, "--json"))
    assert data["learner"]["name"] == "made_best"
    assert data["learner"]["figures"]["interval_coverage"] == 0.42125
    assert data["versions"]["metaod"]


def test_no_such_learner(call):
    with pytest.raises(UserError, match="'nobody'"):
        call("--learner", "nobody")
