"""What a fit is expected to cost: known for the paper's models, sane far beyond what was timed."""

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadParameter
from metaod.models import Cost, ModelSpec, expected_costs, model_space, why_too_costly
from metaod.models._costs import expected_cost

PAPER = model_space("paper")
FAMILIES = sorted({spec.detector for spec in PAPER})
quickly = settings(derandomize=True, deadline=None, max_examples=30)


def of_family(name):
    return [spec for spec in PAPER if spec.detector == name]


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
)
def test_a_larger_table_never_costs_less(n_rows, n_columns, more_rows, more_columns):
    small = expected_costs(PAPER, n_rows, n_columns)
    large = expected_costs(PAPER, n_rows + more_rows, n_columns + more_columns)
    for one, other in zip(small, large, strict=True):
        assert one.seconds < other.seconds
        assert one.n_bytes <= other.n_bytes


@pytest.mark.parametrize("name", FAMILIES)
def test_time_grows_at_least_as_fast_as_a_large_table(name):
    for spec in of_family(name):
        ratio = expected_cost(spec, 10**8, 10).seconds / expected_cost(spec, 10**7, 10).seconds
        assert 9 < ratio < 1000


@pytest.mark.parametrize(
    ("name", "n_rows"), [("COF", 6_000), ("COF", 100_000)], ids=["few-rows", "many-rows"]
)
def test_cof_holds_the_distances_of_all_pairs(name, n_rows):
    for spec in of_family(name):
        assert expected_cost(spec, n_rows, 10).n_bytes >= 8 * n_rows**2


def test_other_families_hold_no_distances_of_all_pairs():
    for spec in PAPER:
        if spec.detector != "COF":
            assert expected_cost(spec, 10**6, 10).n_bytes < 8e12 / 100


def test_more_neighbours_and_more_trees_cost_more():
    def seconds(text):
        return expected_cost(ModelSpec.parse(text), 2000, 10).seconds

    assert seconds("ABOD(n_neighbors=100)") > 100 * seconds("ABOD(n_neighbors=5)")
    assert seconds("COF(n_neighbors=50)") > seconds("COF(n_neighbors=3)")
    few = seconds("IForest(n_estimators=10, max_features=0.5)")
    assert seconds("IForest(n_estimators=200, max_features=0.5)") > 5 * few


def test_hyperparameters_outside_the_grid_follow_the_family():
    listed = expected_cost(ModelSpec("ABOD", {"n_neighbors": 100}), 2000, 10)
    beyond = expected_cost(ModelSpec("ABOD", {"n_neighbors": 150}), 2000, 10)
    assert listed.seconds < beyond.seconds < 10 * listed.seconds
    defaults = expected_cost(ModelSpec("HBOS", {"n_bins": "auto"}), 2000, 10)
    assert defaults == expected_cost(ModelSpec("HBOS"), 2000, 10)
    assert defaults.is_known


def test_of_an_unknown_family_nothing_is_known_and_nothing_held_against_it():
    cost = expected_cost(ModelSpec("MyOwn", {"n_neighbors": 3}), 2000, 10)
    assert not cost.is_known
    assert math.isnan(cost.n_bytes)
    assert why_too_costly(cost, max_seconds=1e-9, max_bytes=1) is None


def test_many_models_cost_what_each_does():
    one_by_one = [expected_cost(spec, 700, 15) for spec in PAPER]
    assert expected_costs(iter(PAPER), 700, 15) == one_by_one


def test_limits_are_stated_in_words():
    cost = Cost(seconds=90.0, n_bytes=3 * 2**20)
    assert why_too_costly(cost) is None
    assert why_too_costly(cost, 90.0, 3 * 2**20) is None
    assert why_too_costly(cost, max_seconds=60) == "would take about 90 s, the limit is 60 s"
    memory = why_too_costly(cost, max_bytes=2**20)
    assert memory == "would take about 3 MiB, the limit is 1 MiB"


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (float("nan"), 3)], ids=str)
def test_an_empty_table_is_refused(shape):
    with pytest.raises(BadParameter, match="at least 1"):
        expected_costs(PAPER, *shape)


def test_costs_are_known_without_heavy_imports():
    code = (
        "import sys; from metaod.models._costs import expected_cost;"
        "from metaod.models import ModelSpec; expected_cost(ModelSpec('KNN'), 10, 2);"
        "print(sorted({'sklearn', 'pyod'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
