"""The same preparation, applied to later rows and saved in between."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, UserError
from metaod.tables import Preparation, Table

N = 100


@pytest.fixture
def frame():
    rows = np.arange(N)
    return pd.DataFrame(
        {
            "id": rows,
            "size": np.where(rows % 10 == 0, np.nan, rows * 0.1),
            "good": rows % 3 == 0,
            "town": [["Oslo", "Rome", "Lima"][row % 3] for row in rows],
            "street": [f"street {row % 37 % 30}" for row in rows],
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rows, unit="h"),
            "took": pd.to_timedelta(rows, unit="s"),
            "constant": 1.0,
            "sometimes": np.where(rows % 4 == 0, np.nan, 1.0),
        }
    )


@pytest.fixture
def fitted(frame):
    return Preparation().fit(frame)


def test_the_fitted_rows_come_out_as_they_did(frame):
    preparation = Preparation()
    first = preparation.fit_transform(frame)
    again = preparation.transform(frame)
    assert first.X.tobytes() == again.X.tobytes()
    assert first.record == again.record == preparation.record_
    assert first.names == again.names == preparation.names_


def test_columns_may_come_in_any_order(frame, fitted):
    expected = fitted.transform(frame)
    got = fitted.transform(frame[frame.columns[::-1]])
    assert got.X.tobytes() == expected.X.tobytes()
    assert got.record == expected.record


def test_single_rows_come_out_as_among_others(frame, fitted):
    whole = fitted.transform(frame).X
    for row in (0, 1, 57):
        part = fitted.transform(frame.iloc[[row]])
        assert part.X.tobytes() == whole[[row]].tobytes()
        assert part.index.tolist() == [row]


def test_unseen_categories_are_zero_throughout(frame, fitted):
    later = frame.iloc[:3].assign(town="Perth", street="elsewhere")
    prepared = fitted.transform(later)
    picture = pd.DataFrame(prepared.X, columns=prepared.names)
    assert not picture.filter(like="town=").to_numpy().any()
    assert not picture["street frequency"].any()
    town = prepared.record.columns[3]
    assert town.n_unseen == 3
    assert town.sentence().endswith("; 3 rows with a value not seen before.")


def test_new_gaps_get_the_fills_of_the_fitted_rows(frame, fitted):
    later = frame.iloc[:2].astype(object)
    later.loc[:, :] = None
    prepared = fitted.transform(later)
    assert prepared.names == fitted.names_
    picture = pd.Series(prepared.X[1], index=prepared.names)
    finite = frame["size"].dropna()
    assert picture["size"] == finite.median()
    assert picture["size=missing"] == 1.0
    assert picture["good"] == 0.0
    assert picture[["town=Lima", "town=Oslo", "town=Rome"]].tolist() == [0.0, 0.0, 0.0]
    assert picture["street frequency"] == 0.0
    assert picture["sometimes=missing"] == 1.0
    assert picture["took"] == 49.5
    assert all(column.n_missing == 2 for column in prepared.record.columns)
    assert prepared.record.columns[3].sentence() == (
        "'town' (category) was one-hot encoded in 3 columns; 2 missing values, 0 in all of them."
    )


def test_missing_columns_are_named_all(frame, fitted):
    with pytest.raises(BadColumn) as caught:
        fitted.transform(frame.drop(columns=["size", "town", "sometimes"]))
    assert str(caught.value).startswith(
        "column 'size': is not in the table, nor are 'town', 'sometimes'; "
    )


def test_columns_that_were_dropped_are_not_needed_nor_read(frame, fitted):
    expected = fitted.transform(frame).X
    assert (
        fitted.transform(frame.drop(columns=["id", "constant"])).X.tobytes() == expected.tobytes()
    )
    nonsense = frame.assign(id=[[1]] * N, constant="x")
    assert fitted.transform(nonsense).X.tobytes() == expected.tobytes()


def test_columns_not_known_are_ignored_with_a_message(frame, fitted):
    prepared = fitted.transform(frame.assign(b=1, a=[[]] * N))
    assert prepared.names == fitted.names_
    assert prepared.record.messages == (
        "Columns unknown to the preparation were ignored: 'a', 'b'.",
    )


def test_text_is_parsed_where_something_else_was(frame, fitted):
    later = frame.iloc[1:4]
    expected = fitted.transform(later)
    as_text = later.assign(
        size=later["size"].map(repr),
        good=later["good"].map(str),
        seen=later["seen"].map(lambda stamp: stamp.isoformat()),
    )
    assert fitted.transform(as_text).X.tobytes() == expected.X.tobytes()
    as_numbers = later.assign(good=later["good"].astype(float))
    assert fitted.transform(as_numbers).X.tobytes() == expected.X.tobytes()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("size", ["1", "large", None], r"held numbers .* row 1 \(index 'r1'\) holds 'large'"),
        ("size", pd.to_datetime(["2020-01-01"] * 3), "held numbers .* row 0"),
        ("good", [0, 1, 2], "held true and false .* row 2 .* holds '2'"),
        ("good", ["true", "maybe", "false"], "held true and false .* row 1 .* holds 'maybe'"),
        ("seen", [1.0, 2.0, 3.0], "held dates .* holds '1'"),
        ("seen", ["2020-01-01", "soon", "2020-01-02"], "held dates .* holds 'soon'"),
        ("took", [1.0, 2.0, 3.0], "held durations .* holds '1'"),
        ("took", ["x" * 99] * 3, r"held durations .* holds 'x+\.\.\."),
        ("town", [["Oslo"]] * 3, "row 0 .* holds a value of type list"),
    ],
)
def test_another_type_that_cannot_be_parsed_is_refused(frame, fitted, name, values, message):
    later = frame.iloc[:3].set_axis(["r0", "r1", "r2"])
    later = later.drop(columns=name).assign(**{name: values})
    with pytest.raises(BadColumn, match=f"column '{name}': {message}"):
        fitted.transform(later)


def test_categories_match_across_types():
    fitted = Preparation().fit(pd.DataFrame({"v": pd.Categorical([1, 2, 3, 1]), "w": [1, 2, 3, 4]}))
    expected = [[1, 0, 0], [0, 1, 0]]
    sparse = pd.arrays.SparseArray([1, 2])
    objects = pd.Series([1, 2.0], dtype=object)
    for values in (
        [1, 2],
        [1.0, 2.0],
        ["1", "2"],
        pd.array([1, 2], dtype="Int64"),
        sparse,
        objects,
    ):
        prepared = fitted.transform(pd.DataFrame({"v": values, "w": [0, 0]}))
        assert prepared.X[:, :3].tolist() == expected


def test_an_array_is_taken_in_the_fitted_order():
    values = np.random.default_rng(0).normal(size=(5, 2))
    fitted = Preparation().fit(pd.DataFrame(values, columns=["a", "b"]))
    assert fitted.transform(values).X.tobytes() == values.tobytes()
    with pytest.raises(UserError, match=r"the array has 3 columns, .* fitted with 2"):
        fitted.transform(np.zeros((5, 3)))


def test_later_rows_without_rows_are_refused(frame, fitted):
    with pytest.raises(UserError, match="no rows"):
        fitted.transform(Table(frame.iloc[:0]))


def test_rounded_integers_are_told_of_later_rows_too():
    fitted = Preparation().fit(pd.DataFrame({"v": [1, 2, 3]}))
    prepared = fitted.transform(pd.DataFrame({"v": [2**60 + 1]}))
    assert "rounded" in prepared.record.messages[0]


# saved and read back


def test_a_saved_preparation_does_the_same(frame, fitted):
    saved = json.loads(json.dumps(fitted.to_dict(), allow_nan=False))
    read = Preparation.from_dict(saved)
    assert read.record_ == fitted.record_
    assert read.columns_ == fitted.columns_
    assert repr(read) == repr(fitted)
    later = frame.iloc[::-3].assign(town="Perth", size=np.nan)
    assert read.transform(later).X.tobytes() == fitted.transform(later).X.tobytes()


def test_parameters_are_saved_even_if_numpy_gave_them():
    given = Preparation(max_columns=np.int64(7), indicator_share=np.float64(0.5)).fit(np.eye(3))
    read = Preparation.from_dict(json.loads(json.dumps(given.to_dict())))
    assert (read.max_columns, read.indicator_share) == (7, 0.5)


def test_an_unfitted_preparation_is_not_saved():
    with pytest.raises(UserError, match="not fitted"):
        Preparation().to_dict()


def _spoil(saved, path, value):
    spoilt = copy.deepcopy(saved)
    *parents, last = path
    place = spoilt
    for key in parents:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return spoilt


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["preparation"], 99),
        (["preparation"], None),
        (["parameters", "max_columns"], 0),
        (["parameters", "colour"], "red"),
        (["n_rows"], 0),
        (["n_rows"], 1.5),
        (["messages"], "text"),
        (["columns"], []),
        (["columns"], None),
        (["columns", 0], "text"),
        (["columns", 1, "record", "name"], 5),
        (["columns", 1, "record", "kind"], "poem"),
        (["columns", 1, "record", "n_missing"], -1),
        (["columns", 1, "record", "outputs"], ["size"]),
        (["columns", 1, "encoder", "encoder"], "os.system"),
        (["columns", 1, "encoder", "fill"], float("inf")),
        (["columns", 1, "encoder", "fill"], "1"),
        (["columns", 1, "encoder", "marks_missing"], 1),
        (["columns", 4, "encoder", "shares"], [0.5]),
        (["columns", 4, "encoder", "categories"], [1, 2]),
    ],
)
def test_what_was_not_saved_by_us_is_refused(fitted, path, value):
    saved = json.loads(json.dumps(fitted.to_dict()))
    with pytest.raises(UserError, match="not a saved preparation"):
        Preparation.from_dict(_spoil(saved, path, value))


@pytest.mark.parametrize("saved", [{}, [], "text"])
def test_other_things_are_no_saved_preparation(saved):
    with pytest.raises(UserError, match="not a saved preparation"):
        Preparation.from_dict(saved)
