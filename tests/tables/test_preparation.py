"""The preparation: later rows, saving it, its limits and what it refuses."""

import copy
import datetime as dt
import json
import re

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.history import fingerprint
from metaod.tables import SURPRISAL_UNIT, Preparation, Table, prepare, read_table

N = 100


@pytest.fixture
def frame():
    rows = np.arange(N)
    return pd.DataFrame(
        {
            "id": rows,
            "size": np.where(rows % 10 == 0, np.nan, rows * 0.1),
            "good": rows % 3 == 0,
            "town": [["Oslo", "Rome", "Lima", "Rome"][row // 25] for row in rows],
            "street": [f"street {row // 9}" for row in rows],
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rows, unit="h"),
            "took": pd.to_timedelta(np.where(rows == 60, 5, rows), unit="s"),
            "constant": 1.0,
            "sometimes": np.where(rows % 4 == 0, np.nan, 1.0),
        }
    )


@pytest.fixture
def fitted(frame):
    return Preparation(time=["seen"]).fit(frame)


def test_single_rows_come_out_as_among_others(frame, fitted):
    whole = fitted.transform(frame).X
    for row in (0, 1, 57):
        part = fitted.transform(frame.iloc[[row]])
        assert part.X.tobytes() == whole[[row]].tobytes()
        assert part.index.tolist() == [row]


def test_an_unseen_category_counts_as_one_of_a_single_row(frame, fitted):
    later = frame.iloc[:3].assign(town="Perth", street="elsewhere")
    prepared = fitted.transform(later)
    picture = pd.DataFrame(prepared.X, columns=prepared.names)
    np.testing.assert_allclose(picture["town surprisal"], np.log(N) / SURPRISAL_UNIT)
    np.testing.assert_allclose(picture["street surprisal"], np.log(N) / SURPRISAL_UNIT)
    assert prepared.record.columns[3].n_unseen == 3


def test_new_gaps_get_the_fills_of_the_fitted_rows(frame, fitted):
    later = frame.iloc[:2].astype(object)
    later.loc[:, :] = None
    prepared = fitted.transform(later)
    assert prepared.names == fitted.names_
    picture = pd.Series(prepared.X[1], index=prepared.names)
    finite = frame["size"].dropna()
    assert picture["size"] == finite.median()
    assert picture["good"] == 0.0
    assert picture["took"] == 48.5
    # text was never missing: a gap counts as a value of a single row
    assert picture["town surprisal"] == pytest.approx(np.log(N) / SURPRISAL_UNIT)
    assert all(column.n_missing == 2 for column in prepared.record.columns)


def test_missing_columns_are_named_all(frame, fitted):
    told = r"'town', 'took'.*; .*'id', 'good', 'street', 'seen', 'constant'$"
    with pytest.raises(BadColumn, match=told) as caught:
        fitted.transform(frame.drop(columns=["size", "town", "sometimes", "took"]))
    assert caught.value.column == "size"


def test_errors_about_columns_name_the_file(frame, fitted, tmp_path):
    frame.drop(columns="size").to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(BadColumn, match=r"t\.csv.*'size'"):
        fitted.transform(table)
    frame.assign(size=["1", *["large"] * (N - 1)]).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", bad_values="error")
    with pytest.raises(BadColumn, match=r"t\.csv.*'size'.*'large'.*99.*row 2"):
        fitted.transform(table)
    with pytest.raises(BadColumn, match=r"t\.csv.*'street'.*'time'"):
        Preparation(time="street").fit(table)


def test_columns_not_known_are_ignored_with_a_message(frame, fitted):
    prepared = fitted.transform(frame.assign(b=1, a=[[]] * N))
    assert prepared.names == fitted.names_
    [message] = prepared.record.messages
    assert (message.code, message.values["columns"]) == ("unknown-columns", "'a', 'b'")


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
    ("name", "values", "wrong", "what"),
    [
        ("size", ["1", "large", None], {1: "large"}, "numbers"),
        (
            "size",
            pd.to_datetime(["2020-01-01"] * 3),
            dict.fromkeys(range(3), "2020-01-01"),
            "numbers",
        ),
        ("good", [0, 1, 2], {2: "2"}, "truth values"),
        ("good", ["true", "maybe", "false"], {1: "maybe"}, "truth values"),
        ("seen", [1.0, 2.0, 2020.0], {0: "1", 1: "2"}, "dates"),
        ("seen", ["2020-01-01", "soon", "1986"], {1: "soon", 2: "1986"}, "dates"),
        ("took", ["x" * 99, "00:10", dt.time(1)], {0: "x" * 99}, "durations"),
        ("constant", [1, "x", None], {1: "x"}, "numbers"),
    ],
    ids=str,
)
def test_later_cells_that_are_not_what_their_column_is_are_missing(
    frame, fitted, name, values, wrong, what
):
    later = frame.iloc[:3].set_axis(["r0", "r1", "r2"])
    later = later.drop(columns=name).assign(**{name: values})
    for preparation in (fitted, Preparation.from_dict(fitted.to_dict())):
        table = preparation.read(later)
        found = table.misfits[name]
        assert dict(zip(found.rows.tolist(), found.texts, strict=True)) == wrong
        assert found.what == what
        gaps = table.frame[name].isna()
        assert np.flatnonzero(gaps).tolist() == sorted({*wrong, *np.flatnonzero(pd.isna(values))})
        left_out = fitted.transform(later.assign(**{name: table.frame[name]}))
        prepared = preparation.transform(later)
        assert prepared.X.tobytes() == left_out.X.tobytes()
        assert [note.code for note in prepared.record.messages] == ["bad-values-finding"]
        assert preparation.transform(table).X.tobytes() == prepared.X.tobytes()
        typed = preparation.read(frame)
        assert typed.frame[name].dtype.kind == frame[name].dtype.kind
        assert not typed.misfits


def test_objects_that_no_column_can_hold_are_refused(frame, fitted):
    with pytest.raises(BadColumn, match=r"'town'.*row 0"):
        fitted.transform(frame.assign(town=[["Oslo"]] * N))


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        (["1,25", "1.234,5", "7", None], r"numbers with a decimal ',' .*separated by '\.'"),
        (["1,25", "0,75", "1,234", None], "numbers with a decimal ','"),
        (["$1.25", "$2", "(3)", None], r"numbers with the currency '\$'"),
    ],
)
def test_numbers_are_read_in_the_notation_of_the_later_rows(text, notation):
    fitted = Preparation().fit(pd.DataFrame({"v": [1.5, 2.5, 4.0], "w": [1.0, 3.0, 2.0]}))
    later = pd.DataFrame({"v": text, "w": 1.0})
    prepared = fitted.transform(later)
    np.testing.assert_array_equal(prepared.X[:, 0], fitted.transform(read_table(later)).X[:, 0])
    [message] = prepared.record.messages
    assert re.match(rf"Column 'v': read as {notation}", str(message))


@pytest.mark.parametrize("text", [["1,234", "2,345"], ["5 %", "6 %"], ["large", "1,234"]])
def test_doubtful_numbers_and_other_quantities_do_not_fit(text):
    fitted = Preparation().fit(pd.DataFrame({"v": [1.5, 2.5, 4.0]}))
    assert fitted.read(pd.DataFrame({"v": text})).misfits["v"].texts == text
    assert fitted.read(pd.DataFrame({"v": ["1,25", "large"]})).misfits["v"].texts == ["large"]


def test_categories_match_across_types():
    frame = pd.DataFrame({"v": pd.Categorical([1, 2, 3, 1]), "w": [1, 2, 3, 4]})
    fitted = Preparation(only=["v", "w"]).fit(frame)
    expected = np.log([2, 4]) / SURPRISAL_UNIT
    sparse = pd.arrays.SparseArray([1, 2])
    objects = pd.Series([1, 2.0], dtype=object)
    nullable = pd.array([1, 2], dtype="Int64")
    for values in ([1, 2], [1.0, 2.0], ["1", "2"], nullable, sparse, objects):
        prepared = fitted.transform(pd.DataFrame({"v": values, "w": [0, 0]}))
        np.testing.assert_allclose(prepared.X[:, 0], expected)
        assert prepared.record.columns[0].n_unseen == 0


def test_an_array_is_taken_in_the_fitted_order():
    values = np.random.default_rng(0).normal(size=(5, 2))
    fitted = Preparation().fit(pd.DataFrame(values, columns=["a", "b"]))
    assert fitted.transform(values).X.tobytes() == values.tobytes()
    with pytest.raises(UserError, match="3 columns"):
        fitted.transform(np.zeros((5, 3)))


def test_rounded_integers_are_reported_for_later_rows_too():
    fitted = Preparation().fit(pd.DataFrame({"v": [1, 2, 3]}))
    prepared = fitted.transform(pd.DataFrame({"v": [2**60 + 1]}))
    assert "rounded" in prepared.record.messages[0].values["note"]


# saved and read back


def test_parameters_are_saved_even_if_numpy_gave_them():
    given = Preparation(max_bytes=np.int64(700), distinct_share=np.float64(0.5)).fit(np.eye(3))
    read = Preparation.from_dict(json.loads(json.dumps(given.to_dict())))
    assert (read.max_bytes, read.distinct_share) == (700, 0.5)


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
        (["parameters", "max_bytes"], 0),
        (["parameters", "colour"], "red"),
        (["n_rows"], 0),
        (["messages"], "text"),
        (["columns"], []),
        (["columns", 1, "record", "name"], 5),
        (["columns", 1, "record", "kind"], "poem"),
        (["columns", 1, "record", "outputs"], ["size", "more"]),
        (["columns", 1, "tag"], "os.system"),
        (["columns", 1, "fill"], float("inf")),
        (["columns", 1, "record", "n_levels"], -1),
        (["columns", 4, "counts"], [9]),
        (["columns", 4, "counts"], [9] * 12),
        (["columns", 4, "counts"], [0] * 12),
        (["columns", 4, "categories"], [1, 2]),
        (["evidence"], None),
        (["evidence"], []),
        (["evidence"], ["gaps", "combinations", "more"]),
        (["pairs"], None),
        (["pairs"], []),
        (["pairs", 0], "pair"),
        (["pairs", 0, "category"], "size"),
        (["pairs", 0, "category"], "nobody"),
        (["pairs", 0, "number"], "town"),
        (["pairs", 0, "number"], "constant"),
        (["pairs", 0, "levels"], []),
        (["pairs", 0, "levels"], ["Lima"]),
        (["pairs", 0, "middles", 0], "1"),
        (["pairs", 0, "spreads", 0], 0.0),
        (["pairs", 0, "spreads", 0], True),
        (["pairs", 0, "middle"], None),
        (["pairs", 0, "spread"], -1.0),
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


# bounds


def test_max_bytes_is_checked_before_the_matrix_exists():
    values = np.random.default_rng(0).normal(size=(50, 4))
    preparation = Preparation(max_bytes=50 * 4 * 8).fit(values)
    assert preparation.transform(values).X.shape == (50, 4)
    # rows that all share the memory of one
    many = np.broadcast_to(np.zeros((1, 4)), (10**10, 4))
    with pytest.raises(UserError, match=r"298\.02 GiB"):
        Preparation().fit(values).transform(many)
    with pytest.raises(UserError, match="max_bytes"):
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


def test_later_rows_without_rows_are_refused(frame, fitted):
    with pytest.raises(UserError, match="no rows"):
        fitted.transform(Table(frame.iloc[:0]))


def test_when_nothing_is_left_the_error_gives_the_reasons():
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
    with pytest.raises(BadColumn, match="more than once"):
        prepare(frame)


def test_names_of_several_levels_are_joined():
    columns = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    assert prepare(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)).names == ("a/b", "a/c")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        *((own, "read_table") for own in ([[1.0], [2.0]], pd.Series([1.0, 2.0]), None, "t.csv")),
        (np.zeros(2, dtype=[("a", int)]), "read_table"),
        *((np.zeros(shape), "rows × columns") for shape in (3, (2, 2, 2))),
    ],
)
def test_other_things_than_tables_are_refused(table, told):
    with pytest.raises(BadParameter, match=told):
        prepare(table)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_bytes", 0),
        ("max_bytes", True),
        ("max_bytes", "1 GiB"),
        ("distinct_share", 1.5),
        ("distinct_share", None),
        ("distinct_share", -0.1),
        ("distinct_share", float("nan")),
    ],
)
def test_parameters_are_checked_by_fit_and_not_before(name, value):
    preparation = Preparation(**{name: value})
    with pytest.raises(BadParameter, match=f"'{name}' parameter of Preparation"):
        preparation.fit(np.eye(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: fingerprint([[1, 2], [3]]),
        lambda: fingerprint([[1, 2], [3, 4]], [[1], [2, 3]]),
        lambda: prepare(np.eye(3), bogus=1),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(call):
    with pytest.raises(BadParameter):
        call()
