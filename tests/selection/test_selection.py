"""Selections: every learner, constraints, odd tables, the result's attributes."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_learners import NAMES
from made_selecting import MODELS, artifact, table, training_data
from made_summary import Page

from metaod.errors import BadParameter, UserError
from metaod.history import train
from metaod.learners import make_learner
from metaod.metafeatures import extract
from metaod.models import ModelSpec
from metaod.selection import Selection, select

X = table(seed=70)
RNG = np.random.default_rng(1)
COLUMNS = ["model", "predicted", "low", "high", "seconds", "score"]


def learner(name="made_nearest"):
    return artifact(name)


# every kind of learner


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_picks(name):
    made = learner(name)
    selection = select(X, learner=made)
    ranking = selection.ranking
    assert isinstance(selection, Selection)
    assert list(ranking.columns) == COLUMNS
    assert set(ranking["model"]) == set(MODELS)
    assert selection.best.id == ranking["model"][0]
    assert ranking["score"].is_monotonic_decreasing
    # the scores are the learner's own for these meta-features
    scores = made.learner.predict(made.vector(extract(X, "paper")))
    np.testing.assert_array_equal(scores[ranking["model"]], ranking["score"])
    assert selection.best.id == made.learner.choose(made.vector(extract(X, "paper")))
    assert (ranking["low"] <= ranking["predicted"]).all()
    assert (ranking["predicted"] <= ranking["high"]).all()
    assert ranking["seconds"].gt(0).all()
    assert selection.trust.is_calibrated
    assert selection.trust.predicted == ranking["predicted"][0]
    assert (selection.trust.low, selection.trust.high) == (ranking["low"][0], ranking["high"][0])
    # the same again gives the same
    again = select(X, learner=made)
    pd.testing.assert_frame_equal(again.ranking, ranking)
    assert again.to_json() == selection.to_json()
    json.loads(selection.to_json(), parse_constant=pytest.fail)


def test_predictions_are_those_of_the_calibration():
    made = learner()
    selection = select(X, learner=made)
    m = made.vector(selection.features)
    scores = made.learner.predict(m)[list(made.history.models)].to_numpy()
    estimate = made.history.estimate(made.history.distances(m))
    place = made.history.models.index(selection.best.id)
    expected = made.calibration.predict(scores, estimate, pick=place)
    by_model = selection.ranking.set_index("model")
    for name, values in zip(("predicted", "low", "high"), expected, strict=True):
        np.testing.assert_array_equal(by_model.loc[list(made.history.models), name], values)


def test_equal_scores_are_ranked_by_id():
    data = training_data()
    P = data.P.copy()
    P[:] = 0.5
    made = train(replace(data, P=P[P.columns[::-1]]), make_learner("made_best"))
    selection = select(X, learner=made)
    assert selection.ranking["model"].tolist() == sorted(MODELS)
    assert selection.best.id == min(MODELS)


# constraints


@pytest.mark.parametrize("name", ["made_nearest", "made_best"])
def test_the_best_of_what_is_allowed_is_picked(name):
    made = learner(name)
    free = select(X, learner=made)
    without = select(X, learner=made, exclude=free.best)
    expected = free.ranking[free.ranking["model"] != free.best.id]
    assert without.ranking["model"].tolist() == expected["model"].tolist()
    assert without.best.id == without.ranking["model"][0]
    assert without.passed_over == {free.best: "excluded"}
    only = select(X, learner=made, space=["KNN", "LOF"], exclude=MODELS[3])
    assert set(only.ranking["model"]) == {MODELS[4], *MODELS[6:]}
    assert only.best.id == only.ranking["model"][0]
    assert json.loads(only.to_json())["passed_over"] == 5


def test_time_that_is_too_short():
    made = learner()
    with pytest.raises(UserError, match=r"no model is left.*would take about.*1e-07 s"):
        select(X, learner=made, max_seconds=1e-7)
    assert len(select(X, learner=made, max_seconds=np.float32(1e6)).ranking) == len(MODELS)


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("max_seconds", value) for value in (0, -1, float("nan"), "5", [1], 1j)),
     *(("random_state", value) for value in (-1, 1.5, "a", None, True, 2**32)),
     *(("pick", value) for value in ("both", "ensemble", "", 1, True, ["learned"]))],
    ids=str,
)  # fmt: skip
def test_illegal_options_are_refused(name, value):
    with pytest.raises(BadParameter, match=f"'{name}' parameter of select"):
        select(X, learner=learner(), **{name: value})


@pytest.mark.parametrize("seed", [2**32 // 3 - 1, 2**32 // 3, 2**31 - 2, np.int64(2**32 - 1)])
def test_the_largest_seeds(seed):
    assert select(X, learner=learner(), random_state=seed).random_state == seed


# tables


def mixed(n=80):
    frame = pd.DataFrame(table(n, 3), columns=list("abc"))
    frame["kind"] = RNG.choice(["x", "y", "<b>"], n)
    frame["day"] = pd.date_range("2020-01-01", periods=n)
    frame.loc[::7, "a"] = np.nan
    return frame


@pytest.mark.parametrize(
    "given",
    [
        table(3),
        table(2),
        table(60, 1),
        np.column_stack([table(60, 2), np.ones(60)]),
        mixed(),
        mixed().mask(np.random.default_rng(0).random((80, 5)) < 0.5),
        np.repeat(table(10), 8, axis=0),
        table() * 1e300,
        table() * 1e-300,
        np.where(RNG.random((80, 4)) < 0.2, np.inf, table()),
        table(50, 80),
    ],
    ids=["3 rows", "2 rows", "1 column", "constant", "text", "gaps", "repeated", "huge", "tiny",
         "infinite", "wide"],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_odd_tables_get_a_pick(given):
    for name in ("made_nearest", "gain_forest"):
        selection = select(given, learner=learner(name))
        assert selection.best.applies(*selection.prepared.X.shape)
        numbers = selection.ranking[["predicted", "low", "high", "score"]]
        assert np.isfinite(numbers.to_numpy()).all()
        json.loads(selection.to_json(), parse_constant=pytest.fail)
        assert str(selection.explain())
        assert selection._repr_html_()


@pytest.mark.parametrize(
    "given",
    [np.ones((20, 3)), table(1), np.empty((0, 2)), [], "no-such-file.csv", {"a": []}, None],
    ids=["constant", "1 row", "no rows", "empty", "no file", "no values", "nothing"],
)
def test_what_is_no_table_is_refused(given):
    with pytest.raises(UserError) as caught:
        select(given, learner=learner())
    assert "\n" not in str(caught.value)


# a learner without calibration


@pytest.mark.parametrize("with_history", [True, False])
def test_without_calibration_nothing_is_predicted(with_history):
    made = replace(learner(), calibration=None)
    if not with_history:
        made = replace(made, history=None)
    selection = select(X, learner=made)
    assert selection.ranking[["predicted", "low", "high"]].isna().all().all()
    assert selection.best.id == select(X, learner=learner()).best.id
    assert not selection.trust.is_calibrated
    assert "not calibrated" in str(selection.trust)
    plain = json.loads(selection.to_json(), parse_constant=pytest.fail)
    assert plain["ranking"][0]["predicted"] is None
    assert plain["trust"]["coverage"] is None
    assert len(plain["why"]["nearest"]) == (5 if with_history else 0)
    assert "not calibrated" in selection._repr_html_()


# the result


def test_plain_data():
    selection = select(mixed(), learner=learner(), random_state=3)
    plain = json.loads(selection.to_json())
    assert plain["pick"] == {selection.best.id: 1.0}
    assert ModelSpec.parse(plain["best"]["id"]) == selection.best
    assert plain["learner"] == "made_nearest"
    assert plain["table"]["n_rows"] == 80
    assert plain["table"]["n_columns"] == selection.prepared.X.shape[1]
    assert plain["random_state"] == 3
    assert [row["model"] for row in plain["ranking"]] == selection.ranking["model"].tolist()
    assert [spec.id for spec in selection.specs()] == selection.ranking["model"].tolist()
    assert len(json.loads(selection.to_json(top=2))["ranking"]) == 2
    assert json.loads(selection.to_json(top=0))["ranking"] == []
    assert repr(selection) == (
        f"Selection({selection.best.id} for 80 rows × {selection.prepared.X.shape[1]} columns)"
    )


def test_a_notebook_shows_text_as_text():
    selection = select(X, learner=learner())
    bad = "<script>alert('&')</script>"
    hostile = replace(
        selection,
        ranking=selection.ranking.assign(model=[bad * 3] * len(MODELS)),
        trust=replace(selection.trust, warnings=(bad,)),
    )
    page = Page(hostile._repr_html_())
    assert {tag for tag, _ in page.elements} == {
        "div",
        "p",
        "b",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    # whole, however long
    assert "".join(page.texts).count(bad) == 4 + 3 * len(MODELS)
    shown = "".join(Page(selection._repr_html_()).texts)
    assert all(name in shown for name in MODELS)


def test_the_detector_is_the_pick():
    selection = select(X, learner=learner(), space="KNN")
    detector = selection.detector(contamination=0.2).fit(selection.prepared.X)
    expected = selection.best.to_pyod(random_state=0, contamination=0.2).fit(X)
    np.testing.assert_allclose(detector.decision_scores_, expected.decision_scores_)
    assert detector.contamination == 0.2
