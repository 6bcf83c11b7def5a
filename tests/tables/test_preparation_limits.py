"""How far preparation goes, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables import Preparation, Table, prepare

# bounds


def test_the_widest_one_hot_columns_give_way_beyond_max_columns():
    rows = range(60)
    frame = pd.DataFrame(
        {
            "narrow": [f"n{row % 7 % 3}" for row in rows],
            "wide": [f"w{row % 13 % 8}" for row in rows],
            "x": np.arange(60.0),
        }
    )
    assert prepare(frame).X.shape[1] == 3 + 8 + 1
    prepared = prepare(frame, max_columns=6)
    assert prepared.names == ("narrow=n0", "narrow=n1", "narrow=n2", "wide frequency", "x")
    (message,) = prepared.record.messages
    assert message == (
        "One-hot encoding would have led to more than 6 columns (max_columns); "
        "encoded by frequency instead: 'wide'."
    )
    assert prepare(frame, max_columns=1).X.shape[1] == 3


def test_numbers_are_never_left_out_for_max_columns():
    values = np.random.default_rng(0).normal(size=(5, 8))
    prepared = prepare(values, max_columns=2)
    assert prepared.X.shape == (5, 8)
    assert prepared.record.messages == ()


def test_max_bytes_is_checked_before_the_matrix_exists():
    values = np.random.default_rng(0).normal(size=(50, 4))
    preparation = Preparation(max_bytes=50 * 4 * 8).fit(values)
    assert preparation.transform(values).X.shape == (50, 4)
    # rows that all share the memory of one
    many = np.broadcast_to(np.zeros((1, 4)), (10**10, 4))
    with pytest.raises(UserError, match=r"10,000,000,000 rows × 4 columns takes 298.02 GiB"):
        Preparation().fit(values).transform(many)
    with pytest.raises(UserError, match="raise max_bytes"):
        preparation.transform(np.zeros((51, 4)))
    assert Preparation(max_bytes=None).fit_transform(values).X.shape == (50, 4)


# what cannot be prepared


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
        (np.zeros((0, 3)), "no rows"),
        (np.zeros((3, 0)), "no columns"),
    ],
)
def test_tables_without_cells_are_refused(table, message):
    with pytest.raises(UserError, match=message):
        prepare(table)


def test_when_nothing_is_left_the_reasons_are_told():
    frame = pd.DataFrame({"id": [1, 2, 3], "c": [5, 5, 5], "t": ["a", "b", "c"], "e": [None] * 3})
    preparation = Preparation()
    with pytest.raises(UserError, match="nothing is left to score") as caught:
        preparation.fit(Table(frame, source="orders.csv"))
    message = str(caught.value)
    assert message.startswith("orders.csv: ")
    for part in ("'id' (identifier)", "'c' (constant)", "'t' (identifier)", "'e' (empty)"):
        assert part in message
    with pytest.raises(UserError, match="not fitted"):
        preparation.transform(frame)


def test_one_row_is_too_few():
    with pytest.raises(UserError, match="only one row"):
        prepare(pd.DataFrame({"a": [1.0], "b": ["x"]}))


@pytest.mark.parametrize(
    "columns", [["a", "a"], [1, "1"], pd.MultiIndex.from_tuples([("a", "b"), ("a", "b")])]
)
def test_columns_of_one_name_are_refused(columns):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)
    with pytest.raises(BadColumn, match="two columns"):
        prepare(frame)


def test_names_of_several_levels_are_joined():
    columns = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    assert prepare(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)).names == ("a/b", "a/c")


@pytest.mark.parametrize("table", [[[1.0], [2.0]], pd.Series([1.0, 2.0]), None, "table.csv"])
def test_other_things_than_tables_are_refused(table):
    with pytest.raises(BadParameter, match="read_table"):
        prepare(table)


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2))])
def test_arrays_that_are_not_rows_by_columns_are_refused(array):
    with pytest.raises(BadParameter, match="rows × columns"):
        prepare(array)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_categories", -1),
        ("max_categories", 2.5),
        ("max_columns", 0),
        ("max_columns", True),
        ("max_bytes", 0),
        ("max_bytes", "1 GiB"),
        ("indicator_share", 1.5),
        ("indicator_share", None),
        ("distinct_share", -0.1),
        ("distinct_share", float("nan")),
    ],
)
def test_parameters_are_checked_by_fit_and_not_before(name, value):
    preparation = Preparation(**{name: value})
    with pytest.raises(BadParameter, match=f"'{name}' parameter of Preparation"):
        preparation.fit(np.eye(3))
