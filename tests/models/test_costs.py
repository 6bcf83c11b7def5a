"""What a fit is expected to cost: known for the paper's models, sane far beyond what was timed."""

import json
import math
import re
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_costs import expected_cost

from metaod.errors import BadParameter
from metaod.models import (
    Cost,
    ModelSpec,
    average_of,
    candidate_averages,
    expected_costs,
    expected_scoring,
    model_space,
    registered_families,
)
from metaod.models import _costs as costs
from metaod.models._family import ALL_ROWS_UP_TO, FEW_ROWS, MANY_ROWS

ALL = model_space("all")
LAWS = json.loads(files("metaod.models").joinpath("costs.json").read_text("utf-8"))["families"]
PAPER = model_space("paper")
quickly = settings(derandomize=True, deadline=None, max_examples=30)


@quickly
@given(n_rows=st.integers(1, 10**7), n_columns=st.integers(1, 10**4))
def test_every_model_of_the_paper_has_a_positive_finite_cost(n_rows, n_columns):
    for cost in expected_costs(PAPER, n_rows, n_columns):
        assert cost.is_known
        assert 0 < cost.seconds < math.inf
        assert 0 <= cost.n_bytes < math.inf


@quickly
@given(
    n_rows=st.integers(2, 10**6),
    n_columns=st.integers(1, 10**3),
    more_rows=st.integers(1, 10**6),
    more_columns=st.integers(0, 10**3),
    is_sampled=st.booleans(),
)
def test_a_larger_table_never_costs_less(n_rows, n_columns, more_rows, more_columns, is_sampled):
    if is_sampled:  # a sample is smaller than the largest table that is learned whole
        n_rows += ALL_ROWS_UP_TO
    small = expected_costs(ALL, n_rows, n_columns, is_sampled=is_sampled)
    large = expected_costs(ALL, n_rows + more_rows, n_columns + more_columns, is_sampled=is_sampled)
    for one, other in zip(small, large, strict=True):
        assert 0 < one.seconds < other.seconds < math.inf
        assert 0 <= one.n_bytes <= other.n_bytes < math.inf


def test_rows_that_are_not_learned_from_are_scored_as_new_rows():
    n_rows = 10**8
    for spec in ALL:
        n_learned = spec.learned_rows(n_rows)
        learned, n_new = expected_cost(spec, n_learned, 10), n_rows - n_learned
        [scoring, more] = (
            expected_scoring([spec], n, 10, n_learned)[0] for n in (n_new, 10 * n_new)
        )
        [both] = expected_costs([spec], n_rows, 10, is_sampled=True)
        assert both.seconds == pytest.approx(learned.seconds + scoring)
        assert both.n_bytes == learned.n_bytes + 8 * n_new
        assert more == pytest.approx(10 * scoring, rel=0.01)


def test_averages_learn_from_as_few_rows_as_the_slowest_families():
    lof, ecod, kde = (ModelSpec(name) for name in ("LOF", "ECOD", "KDE"))
    numbers = [spec.learned_rows(10**6) for spec in (kde, lof, ecod, average_of(lof, ecod))]
    assert numbers == [FEW_ROWS, 4 * FEW_ROWS, MANY_ROWS, FEW_ROWS]
    for spec in (lof, ecod, kde):
        assert spec.learned_rows(ALL_ROWS_UP_TO) == ALL_ROWS_UP_TO
        assert spec.learned_rows(ALL_ROWS_UP_TO + 1) <= ALL_ROWS_UP_TO + 1


def test_a_new_row_without_a_law_costs_as_much_as_a_row_of_a_fit(monkeypatch):
    spec = ModelSpec("KNN")
    law = replace(costs._law_of("KNN"), scoring=None)
    monkeypatch.setattr(costs, "_law_of", lambda _: law)
    [scoring] = expected_scoring([spec], 2 * FEW_ROWS, 10)
    assert scoring == pytest.approx(2 * expected_cost(spec, FEW_ROWS, 10).seconds)


def test_no_family_holds_the_distances_of_all_pairs():
    for spec in PAPER:
        assert expected_cost(spec, 20_000, 10).n_bytes < 8 * 20_000**2 / 4
    small, large = (expected_cost(ModelSpec("OCSVM"), n_rows, 1).n_bytes for n_rows in (500, 5000))
    assert large > 20 * small  # of a part of the pairs


def test_more_neighbours_and_more_trees_cost_more():
    def seconds(text):
        return expected_cost(ModelSpec.parse(text), 2000, 10).seconds

    assert seconds("ABOD(n_neighbors=100)") > 3 * seconds("ABOD(n_neighbors=5)")
    assert seconds("COF(n_neighbors=50)") > seconds("COF(n_neighbors=3)")
    few = seconds("IForest(n_estimators=10, max_features=0.5)")
    assert seconds("IForest(n_estimators=200, max_features=0.5)") > 3 * few


def test_hyperparameters_outside_the_grid_follow_the_family():
    listed = expected_cost(ModelSpec("ABOD", {"n_neighbors": 100}), 2000, 10)
    beyond = expected_cost(ModelSpec("ABOD", {"n_neighbors": 150}), 2000, 10)
    assert listed.seconds / 3 < beyond.seconds < 10 * listed.seconds


def test_of_an_unknown_family_nothing_is_known_and_nothing_held_against_it():
    cost = expected_cost(ModelSpec("MyOwn", {"n_neighbors": 3}), 2000, 10)
    assert not cost.is_known
    assert math.isnan(cost.n_bytes)
    assert cost.why_over(max_seconds=1e-9, max_bytes=1) is None


def test_limits_are_stated_in_words():
    cost = Cost(seconds=90.0, n_bytes=3 * 2**20)
    assert cost.why_over() is None
    assert cost.why_over(90.0, 3 * 2**20) is None
    assert re.findall(r"\d+ \w+", cost.why_over(max_seconds=60)) == ["90 s", "60 s"]
    assert re.findall(r"\d+ \w+", cost.why_over(max_bytes=2**20)) == ["3 MiB", "1 MiB"]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (float("nan"), 3)], ids=str)
def test_an_empty_table_is_refused(shape):
    with pytest.raises(BadParameter, match="at least 1"):
        expected_costs(PAPER, *shape)


def test_every_family_was_measured():
    assert set(LAWS) == set(registered_families())
    for kind in (LAWS.values(), [law["scoring"] for law in LAWS.values()]):
        assert {model for law in kind for model in law["offsets"]} >= {spec.id for spec in ALL}


@pytest.mark.parametrize("name", sorted(LAWS))
@pytest.mark.parametrize("kind", ["fit", "scoring"])
def test_laws_are_true_within_a_factor_of_two_on_other_shapes(name, kind):
    law = LAWS[name] if kind == "fit" else LAWS[name]["scoring"]
    assert law["held_out"]["n"] >= 2
    assert 0.5 < law["held_out"]["median_ratio"] < 2
    assert law["held_out"]["median_absolute_log_error"] < math.log(2)


def test_averages_cost_what_their_members_do():
    for average in candidate_averages():
        members = expected_costs(average.members, 3000, 10)
        cost = expected_cost(average, 3000, 10)
        assert cost.seconds == pytest.approx(sum(member.seconds for member in members))
        assert cost.n_bytes == max(member.n_bytes for member in members)
