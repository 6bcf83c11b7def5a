"""Surprisal of text, in the fitted rows and in later ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import SURPRISAL_UNIT, ColumnRecord
from metaod.tables._column_values import Cells, Place
from metaod.tables._columns import CategoryColumn, UnusedColumn

RECORD = ColumnRecord("v", "category", "surprisal")


def column(categories, counts, n_rows):
    return CategoryColumn(RECORD, "", None, tuple(categories), counts, n_rows)


FITTED = column(("a", "b", "none"), (5, 2, 1), 10)


def encoded(values, fitted=FITTED, missing=frozenset()):
    series = pd.Series(values, dtype=object)
    out = np.full((len(series), 1), np.nan)
    return out[:, 0], fitted.encode(Cells(series, missing, Place(series.index)), out)


def test_the_surprisal_is_minus_the_logarithm_of_the_share():
    out, found = encoded(["a", "b", None, "none"])
    np.testing.assert_allclose(out * SURPRISAL_UNIT, -np.log([0.5, 0.2, 0.2, 0.1]))
    assert found.gaps.tolist() == [False, False, True, False]
    assert (found.n_infinite, found.n_unseen) == (0, 0)


def test_an_unseen_value_counts_as_one_row():
    out, found = encoded(["z", "z", "a"])
    np.testing.assert_allclose(out * SURPRISAL_UNIT, -np.log([0.1, 0.1, 0.5]))
    assert found.n_unseen == 2


def test_a_gap_where_there_was_none_counts_as_one_row():
    whole = column(("a", "b"), (6, 4), 10)
    out, found = encoded([None, "a"], whole)
    np.testing.assert_allclose(out * SURPRISAL_UNIT, -np.log([0.1, 0.6]))
    assert (found.gaps.tolist(), found.n_unseen) == ([True, False], 0)


def test_words_for_missing_are_gaps_unless_they_are_categories():
    out, found = encoded(["none", "NA", "a"], missing=frozenset({"none", "NA"}))
    np.testing.assert_allclose(out * SURPRISAL_UNIT, -np.log([0.1, 0.2, 0.5]))
    assert found.gaps.tolist() == [False, True, False]


def test_rows_of_gaps_alone_are_encoded():
    out, found = encoded([None, None])
    np.testing.assert_allclose(out * SURPRISAL_UNIT, -np.log([0.2, 0.2]))
    assert found.gaps.all()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["x", "y", "z", None]), min_size=2, max_size=30).filter(any))
def test_rows_of_one_value_have_its_share(values):
    texts = sorted({value for value in values if value is not None})
    counts = tuple(values.count(text) for text in texts)
    out, _ = encoded(values, column(texts, counts, len(values)))
    expected = [-np.log(values.count(value) / len(values)) for value in values]
    np.testing.assert_allclose(out * SURPRISAL_UNIT, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "n_missing", "n_infinite"),
    [
        ([1.0, np.nan, np.inf], 1, 1),
        (["a", None, "NA"], 2, 0),
        (["inf", "1", "NA"], 1, 1),
        ([[1], None, {}], 1, 0),
        (pd.Categorical(["NA", None, "a"]), 1, 0),
        (pd.array([1, None, 3], dtype="Int64"), 1, 0),
        (pd.to_datetime(["2020-01-01", None, "2020-01-02"]), 1, 0),
    ],
    ids=str,
)
def test_gaps_of_unused_columns_are_counted_as_in_a_read_table(values, n_missing, n_infinite):
    series = pd.Series(values)
    cells = Cells(series, frozenset({"NA"}), Place(series.index))
    found = UnusedColumn(RECORD, "", None, True, ()).encode(cells, np.empty((3, 0)))
    assert int(found.gaps.sum()) - found.n_infinite == n_missing
    assert found.n_infinite == n_infinite
