"""``metaod models``."""

import json

import pytest

from metaod.cli import main as command
from metaod.history import find_artifact
from metaod.models import ModelSpec, model_space


def output(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        command.main(["models", *arguments])
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_by_default_it_lists_what_is_picked_from(capsys):
    picked = find_artifact("default").learner.models_
    n_averages = sum(name.startswith("ZAverage") for name in picked)
    out = output(capsys)
    assert f"{len(picked) - n_averages} models and {n_averages} averages of them" in out
    assert "the mean of 2, 3 or 7 of 14 models" in out
    listed = json.loads(output(capsys, "--json"))
    assert sorted(item["id"] for item in listed) == sorted(picked)


def test_the_models_of_another_learner(capsys):
    listed = json.loads(output(capsys, "--learner", "metaod", "--json"))
    assert {item["id"] for item in listed} == {spec.id for spec in model_space("paper")}


def test_summary_has_a_line_a_family_and_the_total(capsys):
    out = output(capsys, "--space", "paper")
    assert "302 models" in out
    for name in ("LOF", "KNN", "OCSVM", "COF", "ABOD", "IForest", "HBOS", "LODA"):
        assert name in out


def test_json_holds_the_whole_space(capsys):
    data = json.loads(output(capsys, "--json", "--space", "paper"))
    assert [ModelSpec.parse(item["id"]) for item in data] == list(model_space("paper"))
    assert {item["id"]: item["equivalence"] for item in data}[
        "LOF(n_neighbors=5, metric=minkowski)"
    ] == "LOF(n_neighbors=5, metric=euclidean)"


def paper(capsys, *arguments):
    return output(capsys, "--space", "paper", *arguments)


def test_filters(capsys):
    assert len(json.loads(paper(capsys, "--json", "--family", "COF", "--family", "ABOD"))) == 19
    randoms = json.loads(paper(capsys, "--json", "--random"))
    assert {item["detector"] for item in randoms} == {"IForest", "LODA"}
    assert len(randoms) + len(json.loads(paper(capsys, "--json", "--deterministic"))) == 302
    assert len(json.loads(paper(capsys, "--json", "--limit", "3"))) == 3


@pytest.mark.parametrize("arguments", [(), ("--all", "--rows", "30"), ("--space", "paper")])
def test_a_listing_keeps_to_the_width_of_the_screen(capsys, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, output(capsys, *arguments).splitlines())) <= 80


def test_family_names_are_taken_in_any_case(capsys):
    assert len(json.loads(paper(capsys, "--json", "--family", "cof"))) == 7


def test_applicability_is_shown_with_its_reason(capsys):
    data = json.loads(paper(capsys, "--json", "--family", "COF", "--rows", "12"))
    assert [item["why_not"] is None for item in data] == [True, True, True] + [False] * 4
    out = paper(capsys, "--family", "COF", "--rows", "12")
    assert "does not apply: n_neighbors=50 needs at least 51 rows" in out


def test_listing_shows_ids_and_counts(capsys):
    out = paper(capsys, "--family", "LOF", "--limit", "6")
    assert "LOF(n_neighbors=1, metric=manhattan)" in out
    assert "6 of 36 models" in out
    assert len(paper(capsys, "--all").splitlines()) > 302


def test_the_extended_space_shows_its_own_settings_and_scalings(capsys):
    out = output(capsys, "--space", "extended")
    assert f"{len(model_space('extended'))} models" in out
    assert "gamma_scale: 0.3, 1.0" in out
    assert "scaling: zscore, robust, signedlog, whitened" in out
    # the paper's values that this space does not have
    assert "manhattan" not in out
    data = json.loads(output(capsys, "--space", "extended", "--json"))
    assert [ModelSpec.parse(item["id"]) for item in data] == list(model_space("extended"))


def test_the_papers_space_does_not_show_its_only_scaling(capsys):
    assert "scaling" not in paper(capsys)
