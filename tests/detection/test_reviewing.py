"""Reviews of tables, marks in ``fit``, and saved picks that have learned marks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import metaod
from metaod.artifacts import read_container, write_container
from metaod.detection import MetaOD, Review, load
from metaod.errors import BadFile, BadParameter

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": np.r_[RNG.normal(size=80) + np.tile([0, 3], 40), RNG.normal(8, 0.1, 10)],
        "weight": np.r_[RNG.normal(size=80), RNG.normal(-8, 0.1, 10)],
        "kind": ["a", "b"] * 40 + ["a", None] * 5,
    }
)
MARKS = {85: True, 86: True, 0: False, 1: False, 2: None}


pytestmark = pytest.mark.usefixtures("quick_pick")


@pytest.fixture
def model():
    return MetaOD(contamination=0.1).fit(FRAME)


def test_without_marks_a_review_is_the_pick(model):
    for review in (Review(FRAME, contamination=0.1), model.review()):
        np.testing.assert_array_equal(review.scores, model.decision_scores_)
        np.testing.assert_array_equal(review.flags, model.labels_ == 1)
        np.testing.assert_array_equal(review.detector().labels_, model.labels_)


@pytest.mark.parametrize("kind", ["array", "path", "table"])
def test_a_review_takes_what_metaod_takes(tmp_path, kind):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    table = {
        "array": FRAME[["size", "weight"]].to_numpy(),
        "path": path,
        "table": metaod.read_table(path),
    }[kind]
    review = Review(table)
    review.tell(review.ask(), True)
    assert review.found == 1


def test_marks_in_fit_are_those_of_a_review(model):
    review = model.review()
    review.tell_many(MARKS)
    fitted = MetaOD(contamination=0.1).fit(FRAME, marks=MARKS)
    np.testing.assert_array_equal(fitted.decision_scores_, review.scores)
    np.testing.assert_array_equal(fitted.decision_scores_, review.detector().decision_scores_)
    assert fitted.review().marks == MARKS
    assert not np.array_equal(fitted.decision_scores_, model.decision_scores_)


def test_marks_by_a_pipeline_and_a_clone():
    pipeline = make_pipeline(MetaOD(contamination=0.2))
    pipeline.fit(FRAME, metaod__marks=MARKS)
    direct = clone(pipeline[-1]).fit_predict(FRAME, marks=MARKS)
    np.testing.assert_array_equal(pipeline.predict(FRAME), direct)
    assert (direct[[85, 86]] == -1).all()
    assert (direct[[0, 1]] == 1).all()


def test_a_detector_keeps_what_it_has_learned(model):
    review = model.review()
    review.tell_many(MARKS)
    detector = review.detector()
    before = detector.decision_scores_.copy()
    review.tell(50, True)
    np.testing.assert_array_equal(detector.score_samples(FRAME), -before)
    assert model.decision_scores_ is not detector.decision_scores_


def test_a_detector_scores_new_rows_by_the_marks():
    review = Review(FRAME)
    review.tell_many(MARKS)
    new = pd.DataFrame({"size": [8.05, 0.1], "weight": [-8.05, 0.0], "kind": ["a", "b"]})
    outlier, other = review.detector().decision_function(new)
    assert outlier < other


def test_a_saved_detector_scores_as_before(tmp_path):
    review = Review(FRAME, random_state=3)
    review.tell_many(MARKS)
    detector = review.detector()
    detector.save(tmp_path / "reviewed.mod")
    again = load(tmp_path / "reviewed.mod")
    new = FRAME.assign(size=FRAME["size"] * 1.01).iloc[70:]
    np.testing.assert_array_equal(again.score_samples(new), detector.score_samples(new))
    np.testing.assert_array_equal(again.labels_, detector.labels_)
    assert again.review().marks == detector.review().marks == MARKS


def test_a_saved_pick_with_marks_of_rows_that_do_not_exist_is_refused(tmp_path):
    path = tmp_path / "reviewed.mod"
    MetaOD().fit(FRAME, marks=MARKS).save(path)
    content = read_container(path, "pick")
    content["marked_rows"] = [row + 60 for row in content["marked_rows"]]
    write_container(path, "pick", content)
    with pytest.raises(BadFile, match="rows that do not exist"):
        load(path)


def test_marks_may_be_in_a_file(tmp_path):
    (tmp_path / "t.marks.csv").write_text("row,answer\n86,yes\n87,yes\n1,no\n2,no\n3,unsure\n")
    model = MetaOD().fit(FRAME, marks=tmp_path / "t.marks.csv")
    assert model.marks_.answers == MARKS
    expected = MetaOD().fit(FRAME, marks=MARKS)
    np.testing.assert_array_equal(model.decision_scores_, expected.decision_scores_)


@pytest.mark.parametrize("marks", [{90: True}, {0: "yes"}, [True, False], {-1: False}])
def test_wrong_marks_are_refused(marks):
    with pytest.raises(BadParameter):
        MetaOD().fit(FRAME, marks=marks)


def test_a_given_share_is_flagged(model):
    review = model.review()
    review.tell_many(MARKS)
    assert review.flags.sum() == 9


def test_of_equal_rows_the_marked_one_is_scored():
    twice = pd.concat([FRAME, FRAME.iloc[[85, 3]]], ignore_index=True)
    model = MetaOD().fit(twice, marks={90: True, 91: False, 0: False})
    found = model.predict(twice.iloc[[85, 90, 3, 91]])
    assert found.tolist() == [-1, -1, 1, 1]


def test_a_review_goes_on_with_the_ranker_of_its_file(tmp_path):
    detector = MetaOD().fit(FRAME, marks=MARKS)
    ranker = detector.fitted_.marked.ranker
    detector.fitted_.marked.ranker = replace(
        ranker, rows=replace(ranker.rows, values=ranker.rows.values + 1.0)
    )
    detector.fitted_.marked.mark({})  # computes its scores again
    other = replace(detector.fitted_, scores=detector.fitted_.marked.scores)
    detector._set_scores(other).save(tmp_path / "a.mod")
    again = load(tmp_path / "a.mod")
    np.testing.assert_array_equal(again.review().scores, other.scores)


def test_options_of_a_fitted_estimator_are_refused(model):
    with pytest.raises(BadParameter, match="fitted already"):
        Review(model, contamination=0.25)


def test_earlier_marks_need_not_be_askable():
    askable = np.ones(len(FRAME), dtype=bool)
    askable[85] = False
    review = MetaOD().fit(FRAME, marks={85: True}).review(askable)
    assert review.marks == {85: True}


# wrong cells and unusual rows


WRONG, UNUSUAL = range(12), range(12, 24)


@pytest.fixture(scope="module")
def two_kinds():
    """Twelve rows with a shifted decimal point, and twelve that are far from all others."""
    generator = np.random.default_rng(4)
    net = np.round(generator.lognormal(5, 0.4, 600), 2)
    net[UNUSUAL] = generator.uniform(700, 900, 12)
    weight = np.round(net / 20 + generator.normal(0, 0.3, 600), 2)
    frame = pd.DataFrame({"net": net, "gross": np.round(net * 1.19, 2), "weight": weight})
    frame.loc[WRONG, "gross"] *= 10
    return frame.round(2)


@pytest.mark.parametrize(("meant", "others"), [(WRONG, UNUSUAL), (UNUSUAL, WRONG)])
def test_a_few_answers_tell_whether_wrong_cells_or_unusual_rows_are_meant(two_kinds, meant, others):
    detector = MetaOD(pick="committee").fit(two_kinds)
    assert detector.error_scores_[WRONG].min() > 0.5 > detector.error_scores_[UNUSUAL].max()
    review = detector.review()
    review.tell_many(dict.fromkeys(meant[:2], True) | dict.fromkeys(others[:2], False))
    assert np.median(review.scores[meant[2:]]) > np.median(review.scores[others[2:]])


@pytest.mark.parametrize(("most", "rule"), [(599, "before"), (600, "answers")])
def test_answers_do_not_tell_how_many_rows_of_a_large_table_are_flagged(
    two_kinds, monkeypatch, most, rule
):
    monkeypatch.setattr("metaod.review._marked_table.MOST_COUNTED", most)
    table = metaod.read_table(two_kinds)
    found = metaod.detection.detect(table, marks=dict.fromkeys(range(590, 593), True))
    assert found.rule == rule
    if rule == "before":
        without = metaod.detection.detect(table)
        n_flagged = int((without.scores > without.threshold).sum())
        assert int((found.scores > found.threshold).sum()) == max(n_flagged, 3)


def test_new_rows_are_scored_with_their_wrong_cells(tmp_path, two_kinds):
    marks = dict.fromkeys(WRONG[:3], True) | dict.fromkeys(UNUSUAL[:3], False)
    detector = MetaOD(pick="committee").fit(two_kinds, marks=marks)
    new = two_kinds.iloc[30:60].assign(net=lambda own: own["net"] + 0.5).round(2)
    new["gross"] = (new["net"] * 1.19).round(2)
    new.loc[30, "gross"] *= 10
    scores = detector.score_samples(new)
    assert scores.argmin() == 0
    [explained] = detector.explain_rows(new.head(1))
    assert explained.score == -scores[0]
    detector.save(tmp_path / "a.mod")
    np.testing.assert_allclose(load(tmp_path / "a.mod").score_samples(new), scores)
