"""What a fit of the extended space's models is expected to cost."""

import json
import math
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.models import (
    ModelSpec,
    candidate_averages,
    expected_costs,
    members_of,
    model_space,
    registered_families,
    why_too_costly,
)
from metaod.models._costs import expected_cost

SPACE = model_space("extended")
LAWS = json.loads(files("metaod.models").joinpath("costs.json").read_text("utf-8"))["families"]


def test_every_family_was_measured():
    assert set(registered_families()) == set(LAWS)
    listed = {model for law in LAWS.values() for model in law["offsets"]}
    assert listed >= {spec.id for spec in model_space("paper")}


@pytest.mark.parametrize("spec", SPACE, ids=str)
def test_a_fit_on_a_table_of_ordinary_size_takes_moments(spec):
    cost = expected_cost(spec, 3000, 10)
    assert cost.is_known
    assert 1e-3 < cost.seconds < 1
    assert 3000 < cost.n_bytes < 100 * 2**20


@pytest.mark.parametrize("scaling", ["zscore", "robust", "signedlog", "whitened"])
@pytest.mark.parametrize("name", ["KNN", "LOF"])
def test_more_neighbours_cost_more(name, scaling):
    models = [
        spec
        for spec in sorted(SPACE, key=lambda spec: dict(spec.params).get("n_neighbors", 0))
        if (spec.detector, spec.scaling) == (name, scaling)
    ]
    costs = expected_costs(models, 3000, 10)
    for less, more in pairwise(costs):
        assert less.seconds < more.seconds
        assert less.n_bytes < more.n_bytes


def test_averages_cost_what_their_members_do():
    for average in candidate_averages():
        members = expected_costs(members_of(average), 3000, 10)
        cost = expected_cost(average, 3000, 10)
        assert cost.seconds == pytest.approx(sum(member.seconds for member in members))
        assert cost.n_bytes == max(member.n_bytes for member in members)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    n_rows=st.integers(2, 10**6),
    n_columns=st.integers(1, 10**3),
    more_rows=st.integers(1, 10**6),
    more_columns=st.integers(0, 10**3),
)
def test_costs_are_known_positive_and_grow_with_the_table(
    n_rows, n_columns, more_rows, more_columns
):
    small = expected_costs(SPACE, n_rows, n_columns)
    large = expected_costs(SPACE, n_rows + more_rows, n_columns + more_columns)
    for one, other in zip(small, large, strict=True):
        assert 0 < one.seconds < other.seconds < math.inf
        assert 0 <= one.n_bytes <= other.n_bytes < math.inf


@pytest.mark.parametrize("spec", [s for s in SPACE if s.detector == "KDE"], ids=str)
def test_a_density_takes_the_square_of_the_rows_up_to_its_most_centres(spec):
    def cost(n_rows):
        return expected_cost(spec, n_rows, 10)

    assert 2.5 < cost(20_000).seconds / cost(10_000).seconds < 4.5
    # 10,000 centres from there on: no square of a large table, neither in time nor in memory
    assert cost(250_000).seconds / cost(25_000).seconds == pytest.approx(10, rel=0.01)
    assert cost(250_000).n_bytes < 250_000 * 10 * 8 * 20
    assert why_too_costly(cost(250_000), max_seconds=5) is not None


@pytest.mark.parametrize("spec", [s for s in SPACE if s.scaling != "zscore"], ids=str)
def test_another_scaling_costs_about_the_same(spec):
    plain = expected_cost(ModelSpec(spec.detector, spec.params), 3000, 10).seconds
    assert plain / 3 < expected_cost(spec, 3000, 10).seconds < 3 * plain


def test_more_trees_cost_more():
    few = expected_cost(ModelSpec("SCiForest", {"n_estimators": 20}), 3000, 10)
    many = expected_cost(ModelSpec("SCiForest", {"n_estimators": 200}), 3000, 10)
    assert 5 * few.seconds < many.seconds < 20 * few.seconds
