"""Recipes: legal values, names, JSON, and the benchmark's numbering."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadParameter
from research.childsets.recipe import CLUSTEREDNESS, DIFFICULTIES, Recipe

recipes = st.builds(
    Recipe,
    difficulty=st.sampled_from(DIFFICULTIES),
    frequency=st.just("any") | st.floats(1e-6, 0.5),
    clusteredness=st.sampled_from(CLUSTEREDNESS),
    irrelevance=st.floats(1, 10),
)

# of the paper's ST table: number, columns of the motherset, columns and outlier percentage
TABLE = [
    ("abalone", 1231, 7, 15, 5.0352),
    ("comm.and.crime", 936, 101, 404, 1.0989),
    ("concrete", 1096, 8, 32, 1.0684),
    ("gas", 321, 128, 128, 0.1),
    ("imgseg", 1526, 18, 25, 10.0),
    ("landsat", 1761, 36, 36, 10.0),
    ("letter.rec", 1666, 16, 23, 10.0024),
    ("magic.gamma", 1411, 10, 22, 5.0),
    ("opt.digits", 1316, 62, 248, 5.0),
    ("particle", 1336, 50, 200, 5.0),
    ("skin", 1706, 3, 4, 10.0),
    ("spambase", 681, 57, 57, 0.5155),
    ("synthetic", 1786, 10, 14, 10.0304),
    ("wave", 661, 21, 21, 0.5291),
    ("wine", 611, 11, 24, 0.5108),
    ("yeast", 1221, 8, 8, 5.0756),
    ("fault", 246, 27, 38, None),
    ("pageb", 126, 10, 14, None),
    ("shuttle", 71, 9, 20, None),
    ("yearp", 231, 90, 202, None),
]


@pytest.mark.parametrize(
    ("number", "d", "columns", "percent"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_numbers_of_the_papers_table_are_decoded(number, d, columns, percent):
    recipe = Recipe.from_number(number)
    assert recipe.columns(d) == columns
    if percent is None:
        assert recipe.frequency == "any"
    else:
        # outliers are counted up to a whole one, so that the share is a little above
        assert 0.98 < percent / 100 / recipe.frequency < 1.12


def test_every_number_has_its_own_setting_and_replicate():
    numbers = range(1, 1801)
    assert [Recipe.from_number(n).number((n - 1) % 5 + 1) for n in numbers] == list(numbers)
    assert len({Recipe.from_number(n).name for n in numbers}) == 360


@settings(derandomize=True, deadline=None, max_examples=100)
@given(recipes)
def test_json_round_trip(recipe):
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@settings(derandomize=True, deadline=None, max_examples=100)
@given(recipes, st.integers(1, 500))
def test_columns_are_never_fewer(recipe, d):
    assert recipe.columns(d) >= d
    assert math.isclose(recipe.columns(d), d * recipe.irrelevance**2, abs_tol=1.0)


def test_columns_are_counted_in_decimals():
    # 25 · 1.2² is 36, and 35.99… in binary
    assert Recipe(irrelevance=1.2).columns(25) == 36


def test_a_whole_number_is_the_same_recipe():
    assert Recipe(irrelevance=2) == Recipe(irrelevance=2.0)
    assert Recipe(irrelevance=2).name == Recipe(irrelevance=2.0).name == "any-any-any-2"


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"difficulty": "tough"}, "'very hard'"),
        ({"clusteredness": "dense"}, "'clustered'"),
        ({"frequency": 0}, "(0, 0.5]"),
        ({"frequency": 0.6}, "(0, 0.5]"),
        ({"frequency": "often"}, "(0, 0.5]"),
        ({"frequency": float("nan")}, "(0, 0.5]"),
        ({"frequency": True}, "(0, 0.5]"),
        ({"irrelevance": 0.9}, "[1, 10]"),
        ({"irrelevance": None}, "[1, 10]"),
        ({"noise": 1}, "left out"),
    ],
    ids=str,
)
def test_illegal_values_are_named(values, word):
    with pytest.raises(BadParameter, match=next(iter(values))) as caught:
        Recipe.from_dict(values)
    assert word in str(caught.value)


def test_numbers_out_of_the_benchmark():
    for number in (0, 1801):
        with pytest.raises(BadParameter, match="1800"):
            Recipe.from_number(number)
    with pytest.raises(BadParameter, match="setting of the benchmark"):
        Recipe(frequency=0.02).number(1)
    with pytest.raises(BadParameter, match="from 1 to 5"):
        Recipe().number(6)
