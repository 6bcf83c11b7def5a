"""``metaod info``."""

import json
from dataclasses import replace

import pytest
import typer

from metaod.artifacts import Artifact
from metaod.cli.info import info
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
    learner = make_learner("global_best").fit([[0.1, 0.5], [0.3, 0.2]], [[3.0], [4.0]])
    made = Artifact.of(learner, measure="ap", datasets=("fp1:a", "fp1:b"), n_origins=2)
    figures = {"mean_ap": 0.42125, "protocol": "leave one origin out"}
    made = replace(made, manifest=replace(made.manifest, figures=figures, made="2025-02-03"))
    made.save(tmp_path / "mine.metaod")
    return tmp_path / "mine.metaod"


def test_trained_on_what_when_how_with_which_figures(call, artifact):
    lines = [" ".join(line.split()) for line in call("--learner", artifact).splitlines()]
    assert "on 2 labelled datasets of 2 origins" in lines
    assert "models 2" in lines
    assert "measure ap" in lines
    assert "when 2025-02-03" in lines
    assert "mean ap 0.4213" in lines
    assert "protocol leave one origin out" in lines
    assert any(line.startswith("pyod ") and len(line.split()) == 3 for line in lines)


def test_json(call, artifact):
    data = json.loads(call("--learner", artifact, "--json"))
    assert data["learner"]["name"] == "global_best"
    assert data["learner"]["figures"]["mean_ap"] == 0.42125
    assert data["versions"]["metaod"]


def test_no_such_learner(call):
    with pytest.raises(UserError, match="'--learner' parameter of metaod info"):
        call("--learner", "nobody")
