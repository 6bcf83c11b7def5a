"""Which models may be picked, and why the others may not."""

import math
import re

import numpy as np
import pytest
from made_costs import expected_cost
from made_selecting import MODELS

import metaod
from metaod.detection import MetaOD
from metaod.errors import BadParameter, UserError
from metaod.models import Cost, ModelSpec, model_space, register_family, unregister_family
from metaod.options import Picking
from metaod.selection._candidates import Candidates

SPECS = [ModelSpec.parse(name) for name in MODELS]
SHAPE = (80, 4)
OUTSIDE = "LODA(n_bins=10, n_random_cuts=5)"
"""The one of them that is not among the paper's."""
EXTENDED = {spec.id for spec in model_space("extended")}


def kept(shape=SHAPE, **options):
    found = Candidates.among(SPECS, shape, Picking(**options))
    assert set(found.costs) | set(found.passed_over) == set(SPECS)
    assert not set(found.costs) & set(found.passed_over)
    return {spec.id for spec in found.costs}, found


def test_without_options_everything_that_applies():
    names, found = kept()
    assert names == set(MODELS)
    for spec, cost in found.costs.items():
        assert cost == expected_cost(spec, *SHAPE)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("KNN", MODELS[3:5]),
        (MODELS[0], MODELS[:1]),
        (SPECS[0], MODELS[:1]),
        (["KNN", MODELS[0], SPECS[1]], [MODELS[0], MODELS[1], *MODELS[3:5]]),
        (("KNN(method=mean, n_neighbors=5)",), MODELS[4:5]),
        (["knn", "hbos(N_BINS=10, alpha=0.1)"], [MODELS[1], *MODELS[3:5]]),
        (["extended", "LODA"], [name for name in MODELS if name in EXTENDED or name == OUTSIDE]),
        ("all", [name for name in MODELS if name != OUTSIDE]),
        ("paper", [name for name in MODELS if name != OUTSIDE]),
        ("extended", [name for name in MODELS if name in EXTENDED]),
    ],
    ids=[
        "family",
        "id",
        "spec",
        "mixed",
        "spelt otherwise",
        "any case",
        "a space and a family",
        "all",
        "paper",
        "extended",
    ],
)
def test_space_and_exclude_are_complements(given, expected):
    names, found = kept(space=given)
    assert names == set(expected)
    assert set(found.passed_over.values()) == {"not in the space"}
    names, found = kept(exclude=given)
    assert names == set(MODELS) - set(expected)
    assert set(found.passed_over.values()) == {"excluded"}


def test_an_iterator_is_read_once():
    names, _ = kept(space=iter(["LOF"]), exclude=(name for name in MODELS[:7]))
    assert names == {MODELS[7]}


@pytest.mark.parametrize("parameter", ["space", "exclude"])
@pytest.mark.parametrize(
    "given", ["KNNN", ["KNN", "nearest"], "KNN(n_neighbors=7)", 5, [None], "", "KNN(", ["papers"]]
)
def test_unknown_names_are_refused(parameter, given):
    with pytest.raises(BadParameter) as caught:
        kept(**{parameter: given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("papr", "'paper'"), ("LODDA", "'LODA'"), ("KNN(n_neighbors=7)", "'KNN(n_neighbors=5"),
     ("isolation trees of mine", "")],
    ids=str,
)  # fmt: skip
def test_the_error_names_the_spaces_the_families_and_what_was_meant(given, meant):
    with pytest.raises(BadParameter) as caught:
        kept(space=given)
    text = str(caught.value)
    families = "ABOD, HBOS, IForest, KNN, LODA, LOF"
    assert f"a space (paper, extended, all), a family ({families}) or the id of a model" in text
    assert (f"Did you mean {meant}" in text) if meant else ("Did you mean" not in text)
    assert "'metaod models --all' lists all" in text


def test_what_does_not_apply_is_passed_over():
    names, found = kept(shape=(20, 4))
    assert names == set(MODELS) - {"LOF(n_neighbors=50, metric=euclidean)"}
    [reason] = found.passed_over.values()
    assert "needs at least 51 rows" in reason
    # the user's own wish is the reason that is told
    _, found = kept(shape=(20, 4), exclude="LOF")
    assert set(found.passed_over.values()) == {"excluded"}


def test_what_costs_too_much_is_passed_over():
    costs = {spec: expected_cost(spec, *SHAPE) for spec in SPECS}
    middle = sorted(cost.seconds for cost in costs.values())[4]
    names, found = kept(max_seconds=middle)
    assert names == {spec.id for spec, cost in costs.items() if cost.seconds <= middle}
    assert 0 < len(names) < len(MODELS)
    assert all("would take about" in reason for reason in found.passed_over.values())
    middle = max(cost.n_bytes for cost in costs.values()) / 2
    names, _ = kept(max_bytes=middle)
    assert names == {spec.id for spec, cost in costs.items() if cost.n_bytes <= middle}


@pytest.mark.parametrize(
    ("shape", "options", "words"),
    [
        (SHAPE, {"max_seconds": 1e-9}, r"8 × too costly \(the quickest would take about .* 1e-09"),
        (SHAPE, {"exclude": "LODA", "space": "LODA"}, "1 × excluded, 7 × not in the space"),
        (SHAPE, {"space": []}, "8 × not in the space"),
        ((3, 4), {"space": ["LOF"]}, "needs at least 51 rows, the table has 3"),
        ((3, 4), {"space": ["LOF", "HBOS"], "max_seconds": 1e-9}, "1 × too costly"),
    ],
    ids=["seconds", "excluded", "nothing", "rows", "several"],
)
def test_the_error_gives_reasons_if_no_model_is_left(shape, options, words):
    with pytest.raises(UserError, match="no model is left") as caught:
        kept(shape, **options)
    assert re.search(words, str(caught.value))
    assert f"{shape[0]} rows" in str(caught.value)
    assert caught.value.remedy


def test_a_family_of_unknown_cost_is_never_too_costly(monkeypatch):
    unknown = Cost(math.nan, math.nan)
    place = "metaod.selection._candidates.expected_costs"
    monkeypatch.setattr(place, lambda specs, *_, **__: [unknown] * len(specs))
    names, _ = kept(max_seconds=1e-9)
    assert names == set(MODELS)


def test_excluding_an_unknown_family_is_allowed():
    models = [ModelSpec("KNN"), ModelSpec("LOF")]
    found = Candidates.among(models, (100, 5), Picking(exclude=["ABOD", "LOF"]))
    assert list(found.costs) == [ModelSpec("KNN")]


def test_a_family_that_no_learner_knows_can_be_named():
    class Remote:
        def __init__(self, power=1):
            self.power = power

        def fit(self, X, y=None):
            self.decision_scores_ = (np.abs(X) ** self.power).sum(axis=1)
            return self

    register_family("Remote", Remote, {"power": (1, 2)})
    try:
        table = metaod.load_example()
        selection = metaod.select(table, space="Remote")
        assert list(selection.ranking["model"]) == ["Remote(power=1)", "Remote(power=2)"]
        assert any("Remote" in str(warning) for warning in selection.trust.warnings)
        assert selection.explain().usual is None
        assert selection.to_json()
        mixed = metaod.select(table, space=["Remote(power=2)", "KDE"])
        assert mixed.best.detector == "KDE"
        assert mixed.explain().usual is not None
        assert mixed.ranking["model"].iloc[-1] == "Remote(power=2)"
        assert MetaOD(space="Remote").fit(table).decision_scores_.shape == (600,)
    finally:
        unregister_family("Remote")
