"""Kinds, gaps and levels of mixed tables, counted from the frame with pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.metafeatures import extract, schema
from metaod.tables import Preparation, prepare

KINDS = [feature.name for feature in schema("paper").groups["kinds"]]
N = 200


def kinds(table):
    return extract(table).to_series()[KINDS]


def kinds_of_all(frame, **roles):
    """Return the features of a frame whose unrelated text is used too."""
    return kinds(prepare(frame, only=list(frame), **roles))


def mixed(seed=0):
    rng = np.random.default_rng(seed)
    number = rng.normal(size=N)
    number[:20] = np.nan
    number[20] = np.inf
    return pd.DataFrame(
        {
            "number": number,
            "flag": rng.random(N) < 0.5,
            "colour": rng.choice(
                ["red", "green", "blue", "grey"], size=N, p=[0.5, 0.3, 0.18, 0.02]
            ),
            "city": [f"city {int(value)}" for value in 30 * rng.random(N) ** 2],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "took": pd.to_timedelta(rng.integers(0, 900, N), "s"),
            "always": 3.0,
        }
    )


def test_a_mixed_table():
    frame = mixed()
    colours, cities = frame["colour"].value_counts(), frame["city"].value_counts()
    rare = frame["colour"].isin(colours.index[colours < 0.05 * N])
    rare |= frame["city"].isin(cities.index[cities < 0.05 * N])
    levels = np.log([len(colours), len(cities)])
    expected = [3 / 6, 1 / 6, 1 / 6, 1 / 6, 21 / (7 * N), 1 / 7, 21 / N,
                levels.mean(), levels.max(), rare.mean()]  # fmt: skip
    np.testing.assert_allclose(kinds_of_all(frame, time="day"), expected, rtol=1e-12)
    assert 0 < rare.mean() < 1


@pytest.mark.parametrize("column", ["colour", "city"])
def test_a_gap_is_a_level(column):
    frame = mixed()[["flag", column]]
    frame.loc[:3, column] = None
    levels = frame[column].value_counts(dropna=False)
    found = kinds_of_all(frame)
    assert found["log_levels_max"] == pytest.approx(np.log(len(levels)))
    rare = frame[column].map(levels).fillna(4) < 0.05 * N
    assert found["rare_level_row_share"] == pytest.approx(rare.mean())
    assert found["gap_share_max"] == 4 / N


def test_a_numeric_table_has_the_values_of_a_matrix():
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(kinds(pd.DataFrame(X)), kinds(X))
    np.testing.assert_array_equal(kinds(X), [1] + [0] * 9)
    np.testing.assert_array_equal(kinds(np.ones((5, 2))), [1] + [0] * 9)


def test_later_rows_with_unseen_levels_are_described():
    preparation = Preparation(only=list(mixed())).fit(mixed())
    later = mixed(1).assign(colour="violet", city="nowhere")
    assert np.isfinite(kinds(preparation.transform(later))).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("aabbbcdefg"), min_size=20, max_size=60), st.randoms())
def test_levels_do_not_depend_on_the_order_of_rows(values, random):
    frame = pd.DataFrame({"number": range(len(values)), "level": values})
    frame["number"] = frame["number"] ** 2 % 7
    if frame["level"].nunique() < 2:
        return
    order = random.sample(range(len(values)), len(values))
    found = kinds_of_all(frame)
    np.testing.assert_array_equal(found, kinds_of_all(frame.iloc[order]))
    assert found["log_levels_max"] == pytest.approx(np.log(len(set(values))))
    assert found["gap_share"] == 0
