"""Reasons of rows: in the user's columns and units, by the scores of the pick itself."""

import json

import numpy as np
import pandas as pd
import pytest

import metaod
from metaod.detection import MetaOD, Reason, RowReasons
from metaod.errors import UserError

PLAIN = "KNN(n_neighbors=100, method=largest)"
AVERAGE = [PLAIN, "COPOD()"]
ONE, TWO, COMBINED, GAP, NEW, TWICE = 10, 20, 30, 40, 50, (60, 61)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n_rows = 300
    country = rng.choice(["DE", "FR", "IT"], n_rows)
    length = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "Order No": [f"A-{n}" for n in rng.permutation(n_rows)],
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), "D"),
            "length (cm)": 100 + 10 * length,
            "width (cm)": 50 + 5 * length + 0.5 * rng.normal(size=n_rows),
            "price": pd.Series(country).map({"DE": 0.0, "FR": 40.0, "IT": 80.0})
            + rng.normal(size=n_rows),
            "country": country,
            "due": pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 60, n_rows), "D"),
            "same": 1,
            "secret": rng.normal(size=n_rows),
        }
    )
    frame.loc[ONE, "length (cm)"] = 400.0
    frame.loc[TWO, ["length (cm)", "width (cm)"]] = [113.0, 44.0]
    frame.loc[COMBINED, ["country", "price"]] = ["DE", 79.0]
    frame.loc[GAP, "width (cm)"] = np.nan
    frame.loc[NEW, "country"] = "XX"
    frame.loc[list(TWICE), frame.columns[1:]] = frame.loc[70, frame.columns[1:]].to_numpy()
    frame.loc[list(TWICE), "due"] = pd.Timestamp("2031-01-01")
    frame.loc[ONE, "secret"] = 1e6
    return frame


def fit(frame, **options):
    return MetaOD(time="due", ignore="secret", contamination=0.03, **options).fit(frame)


@pytest.fixture(scope="module")
def model(frame):
    return fit(frame)


def first(model, row):
    return model.explain_rows(row)[0].reasons[0]


def test_a_number_is_named_with_its_value_and_its_usual_range(model, frame):
    reason = first(model, ONE)
    assert (reason.column, reason.value) == ("length (cm)", 400.0)
    low, high = frame["length (cm)"].quantile([0.05, 0.95])
    assert reason.usual == f"usually {round(low, 1):g} to {round(high, 1):g}"
    assert str(reason) == f"length (cm) 400 ({reason.usual})"


def test_two_numbers_that_contradict_each_other_are_both_named(model):
    reasons = model.explain_rows(TWO)[0].reasons[:2]
    assert {reason.column for reason in reasons} == {"length (cm)", "width (cm)"}
    by_name = {reason.column: reason for reason in reasons}
    assert by_name["length (cm)"].together == ("width (cm) 44",)
    assert by_name["width (cm)"].together == ("length (cm) 113",)


@pytest.mark.parametrize("size", [8, 50, 1e5])
@pytest.mark.parametrize("names", [["b", "f"], ["a", "b", "f"]])
def test_odd_values_of_several_columns_are_all_named(names, size):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(500, 8)) @ rng.normal(size=(8, 8)), columns=[*"abcdefgh"])
    table.loc[5, names] = size * table[names].std()
    model = MetaOD(pick="committee", exclude=["SCiForest", "MCD"]).fit(table)
    [explained] = model.explain_rows([5])
    assert {reason.column for reason in explained.main_reasons()} == set(names)
    assert all(reason.share > 0.3 for reason in explained.main_reasons())


def test_extreme_values_that_belong_together_do_not_hide_each_other():
    rng = np.random.default_rng(4)
    net = np.exp(rng.normal(5, 1, 600))
    others = {"stock": rng.normal(40, 6, 600), "weight": rng.normal(size=600)}
    table = pd.DataFrame({"net": net, "gross": 1.19 * net, **others})
    model = MetaOD(rows_only=True, pick="committee", exclude=["SCiForest", "MCD"]).fit(table)
    for explained in model.explain_rows(np.argsort(-net)[:4]):
        assert {reason.column for reason in explained.main_reasons()} == {"net", "gross"}


def two_clusters(n_columns):
    """A wide table with rows that are half in each cluster, odd cells, categories and gaps."""
    rng = np.random.default_rng(3)
    cluster = rng.integers(2, size=300)[:, None] * 8.0
    values = cluster + rng.normal(size=(300, n_columns))
    values[7, : n_columns // 2] = 0.0
    values[7, n_columns // 2 :] = 8.0
    values[[7, 11], 1] = [60.0, -50.0]
    values[11, 2] = 70.0
    table = pd.DataFrame(values, columns=[f"c{i}" for i in range(n_columns)])
    table["kind"] = np.where(cluster[:, 0] > 0, "a", "b")
    table.loc[[7, 20], "kind"] = ["rare", "b"]
    table["id"] = [f"R{i}" for i in range(300)]
    table.loc[[11, 30], "id"] = None
    table.loc[[12, 13], "c3"] = np.nan
    return table


@pytest.mark.parametrize("n_columns", [2, 4, 30])
def test_the_reasons_of_a_row_do_not_depend_on_other_rows(n_columns):
    table = two_clusters(max(n_columns, 4)).drop(columns=["c2", "c3"][: 4 - n_columns])
    model = MetaOD(exclude=["SCiForest", "MCD", "IForest"]).fit(table)
    rows = [7, 11, 12, 13, 20, 30, 40]
    together = model.explain_rows(rows)
    assert together == [model.explain_rows([row])[0] for row in rows]
    assert {reason.column for reason in together[0].reasons} & {"c1", "kind"}


def test_a_number_that_is_rare_in_its_category_is_compared_with_the_category(model):
    reasons = {reason.column: reason for reason in model.explain_rows(COMBINED)[0].reasons[:2]}
    assert set(reasons) == {"country", "price"}
    assert str(reasons["country"]) == "country DE (rare with price 79)"
    assert str(reasons["price"]).endswith(" with country DE)")
    low, _, high = reasons["price"].usual.removeprefix("usually ").split(" ")
    assert -6 < float(low) < float(high) < 6


def test_a_usual_range_has_only_values_that_occur():
    rng = np.random.default_rng(1)
    kind = rng.choice(["a", "b", "c"], 300)
    paid = pd.Series(kind).map({"a": 0.0, "b": 40.0, "c": 80.0}) + rng.exponential(size=300)
    frame = pd.DataFrame({"kind": kind, "paid": paid, "other": rng.normal(size=300)})
    frame.loc[0, ["kind", "paid"]] = ["a", 79.0]
    explained = MetaOD(contamination=0.03).fit(frame).explain_rows(0)[0]
    reason = next(reason for reason in explained.reasons if reason.column == "paid")
    low, _, high = reason.usual.removeprefix("usually ").split(" ")
    assert reason.together
    assert 0 < float(low) < 1 < float(high) < 10


def test_a_gap_is_missing(model):
    reason = first(model, GAP)
    assert (reason.column, reason.value) == ("width (cm)", None)
    assert str(reason).startswith("width (cm) missing (")


def test_a_category_is_named_by_its_text(model):
    reason = first(model, NEW)
    assert (reason.column, reason.value, reason.usual) == ("country", "XX", "in no other row")


def test_dates_are_dates_and_duplicates_do_not_hide_each_other(model):
    for row in TWICE:
        reason = first(model, row)
        assert (reason.column, reason.value) == ("due", pd.Timestamp("2031-01-01"))
        assert str(reason).startswith("due 2031-01-01 (usually 2024-05-")


def test_columns_that_are_not_used_are_never_named(model, frame):
    for explained in model.explain_rows(range(100), top=20):
        named = {reason.column for reason in explained.reasons}
        assert not named & {"Order No", "sold", "same", "secret"}
        assert named <= set(frame.columns)


@pytest.mark.parametrize("space", [[PLAIN], AVERAGE])
def test_other_picks_are_explained_by_their_own_scores(frame, space):
    model = fit(frame, space=space)
    assert first(model, ONE).column == "length (cm)"
    assert first(model, TWICE[0]).column == "due"


def test_shares_are_the_fall_of_the_score_of_the_pick(frame):
    numbers = frame[["length (cm)", "width (cm)", "price"]].fillna(50.0)
    model = MetaOD(space=[PLAIN], contamination=0.03).fit(numbers)
    explained = model.explain_rows(pd.DataFrame([[400.0, 50.0, 40.0]], columns=numbers.columns))[0]
    before = model.fitted_.score(np.array([[400.0, 50.0, 40.0]]))[0]
    assert explained.score == before
    usual = np.median(model.decision_scores_)
    changed = np.array([[value, 50.0, 40.0] for value in np.linspace(90, 110, 41)])
    most = (before - model.fitted_.score(changed).min()) / (before - usual)
    assert explained.reasons[0].column == "length (cm)"
    assert 0.9 < explained.reasons[0].share <= max(1.0, most)


def test_by_default_the_flagged_rows_are_explained_the_most_outlying_first(model):
    explained = model.explain_rows()
    flagged = np.flatnonzero(model.labels_)
    assert sorted(item.row for item in explained) == flagged.tolist()
    scores = [item.score for item in explained]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_array_equal(scores, model.decision_scores_[[item.row for item in explained]])


def test_a_training_row_and_the_same_row_as_a_new_one_have_the_same_reasons(model, frame):
    rows = [ONE, COMBINED, GAP, NEW]
    known, new = model.explain_rows(rows), model.explain_rows(frame.iloc[rows])
    texts = [[[str(own) for own in item.reasons] for item in items] for items in (known, new)]
    assert texts[0] == [[text.replace("training", "other") for text in own] for own in texts[1]]
    assert [item.row for item in new] == [0, 1, 2, 3]


def test_more_rows_than_a_block_are_explained_alike(model):
    explained = model.explain_rows(range(130))
    assert explained[120] == model.explain_rows(120)[0]


def test_a_reviewed_ranking_is_explained_marks_do_not_move_reasons_away(frame):
    marked = MetaOD(time="due", ignore="secret", contamination=0.03)
    marked.fit(frame, marks={ONE: True, TWO: True, 5: False, 6: False})
    explained = marked.explain_rows([ONE, TWO, NEW])
    assert explained[0].reasons[0].column == "length (cm)"
    assert {r.column for r in explained[1].reasons[:2]} == {"length (cm)", "width (cm)"}
    assert explained[0].score == marked.decision_scores_[ONE]


def test_a_saved_pick_explains_new_rows_and_refuses_training_rows(model, frame, tmp_path):
    model.save(tmp_path / "pick")
    saved = metaod.load(tmp_path / "pick")
    rows = frame.iloc[[ONE, COMBINED, GAP, NEW]]
    for again, known in zip(saved.explain_rows(rows), model.explain_rows(rows), strict=True):
        assert str(again) == str(known)
        assert [reason.share for reason in again.reasons] == pytest.approx(
            [reason.share for reason in known.reasons]
        )
    with pytest.raises(UserError, match="does not hold the rows"):
        saved.explain_rows(3)


def test_a_new_row_may_have_the_first_gap_of_a_column(model, frame):
    row = frame.iloc[[70]].assign(price=np.nan)
    reason = model.explain_rows(row)[0].reasons[0]
    assert (reason.column, reason.usual) == ("price", "in no training row")


def test_columns_of_an_array_are_called_by_their_numbers():
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[7, 1] = 30.0
    model = MetaOD(space=[PLAIN]).fit(X)
    assert first(model, 7).column == "x2"
    assert model.explain_rows(X[7:8])[0].reasons[0].column == "x2"


def test_of_a_wide_table_the_odd_columns_are_found():
    X = np.random.default_rng(0).normal(size=(200, 120))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    X[7, 110] = 30.0
    model = MetaOD(space=[PLAIN]).fit(X)
    assert first(model, 7).column == "x111"


@pytest.mark.parametrize("rows", [-1, 300, [0, 300]])
def test_rows_that_do_not_exist_are_refused(model, rows):
    with pytest.raises(UserError, match="299"):
        model.explain_rows(rows)


@pytest.mark.parametrize("top", [0, 1.5, True])
def test_illegal_numbers_of_reasons_are_refused(model, top):
    with pytest.raises(UserError, match="'top'"):
        model.explain_rows(ONE, top=top)


def test_a_table_that_changed_after_the_fit_is_refused():
    X = np.random.default_rng(0).normal(size=(150, 3))
    model = MetaOD(space=[PLAIN]).fit(X)
    model._table.frame.iloc[3, 0] = 99.0
    with pytest.raises(UserError, match="changed after"):
        model.explain_rows(3)


def test_reasons_are_plain_data(model):

    found = [item.to_dict() for item in model.explain_rows([ONE, GAP, NEW, TWICE[0]])]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found[3]["reasons"][0]["value"] == "2031-01-01"


def test_main_reasons_are_unusual_values_that_explain_a_tenth_of_the_score():
    common = Reason("a", 1.0, 0.5, "usually 0 to 2", is_odd=False)
    odd, small = Reason("b", 9.0, 0.3, "usually 0 to 2"), Reason("c", 9.0, 0.05, "")
    assert RowReasons(0, 1.0, (common, odd, small)).main_reasons() == (odd,)
    assert RowReasons(0, 1.0, (common, small)).main_reasons() == (common,)
