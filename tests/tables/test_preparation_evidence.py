"""The column of gaps, names of evidence, and tables of text alone."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import UserError
from metaod.tables import SURPRISAL_UNIT, Preparation, prepare

N = 100


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.normal(size=N)})


def gaps_of(prepared, name="gaps"):
    return prepared.X[:, prepared.names.index(name)]


def test_gaps_are_the_sum_of_their_surprisals(frame):
    frame.loc[:9, "a"] = np.nan
    frame.loc[5, "b"] = np.inf
    prepared = prepare(frame)
    assert prepared.names == ("a", "b", "c", "gaps")
    assert prepared.fixed.tolist() == [False, False, False, True]
    expected = np.zeros(N)
    expected[:10] = np.log(10)
    expected[5] += np.log(100)
    np.testing.assert_allclose(gaps_of(prepared), expected)


def test_a_table_without_gaps_has_no_column_of_gaps(frame):
    preparation = Preparation()
    prepared = preparation.fit_transform(frame)
    assert prepared.names == ("a", "b", "c")
    assert prepared.fixed is None
    later = preparation.transform(frame.assign(a=np.nan))
    assert later.names == prepared.names


def test_a_gap_in_a_column_that_had_none_counts_as_one_row(frame):
    frame.loc[:9, "a"] = np.nan
    preparation = Preparation().fit(frame)
    later = frame.iloc[[50, 51, 52]].copy()
    later.loc[51, "b"] = np.nan
    later.loc[52, ["a", "b", "c"]] = np.nan
    expected = [0, np.log(100), 2 * np.log(100) + np.log(10)]
    np.testing.assert_allclose(gaps_of(preparation.transform(later)), expected)


@pytest.mark.parametrize("role", ["id", "ignore"])
def test_gaps_of_ids_and_ignored_columns_do_not_count(frame, role):
    frame.loc[:9, "a"] = np.nan
    assert prepare(frame, **{role: "a"}).names == ("b", "c")
    frame.loc[20, "b"] = np.nan
    assert np.count_nonzero(gaps_of(prepare(frame, **{role: "a"}))) == 1


def test_gaps_of_unrelated_text_do_not_count(frame):
    text = np.random.default_rng(1).choice(np.array(["x", "y", None], object), N)
    prepared = prepare(frame.assign(text=text))
    assert prepared.names == ("a", "b", "c")
    named = prepare(frame.assign(text=text), only=[*frame, "text"])
    assert named.names == ("a", "b", "c", "text surprisal", "gaps")


@pytest.mark.parametrize(
    "values",
    [
        ["x"] * N,
        [1.0] * N,
        [f"note {row}" for row in range(N)],
        pd.date_range("2020-01-01", periods=N),
    ],
    ids=["constant text", "constant", "identifier", "dates"],
)
def test_gaps_of_other_unused_columns_count(frame, values):
    unused = pd.Series(values).where(np.arange(N) != 3)
    prepared = prepare(frame.assign(unused=unused))
    assert prepared.names == ("a", "b", "c", "gaps")
    assert gaps_of(prepared)[3] == pytest.approx(np.log(N))
    assert np.count_nonzero(gaps_of(prepared)) == 1


def test_an_empty_column_is_no_evidence(frame):
    prepared = prepare(frame.assign(empty=None, infinite=np.inf))
    assert prepared.names == ("a", "b", "c")
    frame.loc[3, "a"] = np.nan
    assert np.count_nonzero(gaps_of(prepare(frame.assign(empty=None)))) == 1


def test_names_of_evidence_stay_apart_from_columns(frame):
    zone = np.repeat(["x", "y"], N // 2)
    frame["gaps"] = frame["a"] + 30 * (zone == "y")
    frame["combinations"] = zone
    frame.loc[0, "gaps"] = 30.0
    frame.loc[9, "c"] = np.nan
    preparation = Preparation()
    prepared = preparation.fit_transform(frame)
    assert prepared.names == (
        "a", "b", "c", "gaps", "combinations surprisal", "gaps (2)", "combinations (2)",
    )  # fmt: skip
    assert prepared.record.evidence == ("gaps (2)", "combinations (2)")
    assert prepared.fixed.tolist() == [False] * 4 + [True] * 3
    assert gaps_of(prepared, "gaps (2)").argmax() == 9
    assert gaps_of(prepared, "combinations (2)").argmax() == 0
    read = Preparation.from_dict(preparation.to_dict())
    assert read.names_ == prepared.names
    assert read.transform(frame).X.tobytes() == prepared.X.tobytes()


# tables of text alone


def test_one_text_column_alone_is_used():
    values = ["a"] * 60 + ["b"] * 39 + ["c"]
    prepared = prepare(pd.DataFrame({"t": values}))
    assert prepared.names == ("t surprisal",)
    assert prepared.X.argmax() == 99
    assert prepared.X[99, 0] == pytest.approx(np.log(N) / SURPRISAL_UNIT)
    gapped = prepare(pd.DataFrame({"t": [*values, None]}))
    assert gapped.names == ("t surprisal", "gaps")


def test_of_texts_alone_the_related_ones_are_used_or_all():
    rng = np.random.default_rng(0)
    one, other = rng.choice(["a", "b"], 200, p=[0.7, 0.3]), rng.choice(["u", "v"], 200)
    frame = pd.DataFrame({"one": one, "other": other})
    assert prepare(frame).names == ("one surprisal", "other surprisal")
    with_copy = frame.assign(copy=np.where(rng.random(200) < 0.9, one, "c"))
    assert prepare(with_copy).names == ("one surprisal", "copy surprisal")


def test_columns_of_gaps_alone_are_a_clear_error():
    with pytest.raises(UserError, match=r"left to score: 'a' .*no finite value in any row"):
        prepare(pd.DataFrame({"a": [None] * 5, "b": [np.nan] * 5}))
    with pytest.raises(UserError, match="nothing is left to score"):
        prepare(pd.DataFrame({"a": ["x", None, "x", None]}))


@pytest.mark.parametrize(
    ("values", "n_missing", "n_infinite"),
    [
        ([1.0, np.nan, np.inf], 1, 1),
        (["inf", "1", "NA"], 1, 1),
        ([[1], None, {}], 1, 0),
        (pd.Categorical(["NA", None, "1"]), 2, 0),
        (pd.to_datetime(["2020-01-01", None, "2020-01-02"]), 3, 0),
    ],
    ids=str,
)
def test_gaps_of_later_rows_are_counted_in_unused_columns(values, n_missing, n_infinite):
    fitted = Preparation().fit(pd.DataFrame({"v": [1, 1, 1], "w": [1.0, 2.0, 4.0]}))
    record = fitted.transform(pd.DataFrame({"v": values, "w": 1.0})).record.columns[0]
    assert (record.n_missing, record.n_infinite) == (n_missing, n_infinite)
