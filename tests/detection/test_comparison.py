"""The pick beside isolation forest and ADEngine on labelled tables."""

import sys

import numpy as np
import pytest
from made_selecting import artifact, table
from pyod.models.iforest import IForest
from sklearn.metrics import average_precision_score, roc_auc_score

from metaod.detection import MetaOD, compare, detect
from metaod.detection import _comparison as comparison
from metaod.detection._comparison import compare_forest, run_adengine
from metaod.errors import BadParameter, UserError
from metaod.history import Measures
from metaod.tables import Table, prepare, read_table

LEARNER = artifact("made_best")


def labelled(n_rows=80, seed=0):
    X = table(n_rows, seed=seed)
    found = read_table(X)
    y = np.zeros(n_rows, dtype=np.int8)
    y[: n_rows // 20] = 1
    return Table(found.frame, y, "made", typed=True)


def test_each_method_is_measured_on_its_own_scores():
    made = labelled()
    pick, forest, engine = compare(made, learner=LEARNER, random_state=3)
    model = MetaOD(LEARNER, random_state=3).fit(made)
    X = prepare(made).X
    own = {
        pick: model.decision_scores_,
        forest: IForest(random_state=3).fit(X).decision_scores_,
        engine: run_adengine(X, random_state=3)[1],
    }
    for row, scores in own.items():
        assert row.measures.ap == pytest.approx(average_precision_score(made.label, scores))
        assert row.measures.roc_auc == pytest.approx(roc_auc_score(made.label, scores))
    assert engine.model == run_adengine(X)[0]
    assert [row.method for row in (pick, forest, engine)] == [
        "MetaOD's pick", "isolation forest", "PyOD's ADEngine",
    ]  # fmt: skip


def test_the_label_decides_nothing():
    made = labelled()
    other = Table(made.frame, made.label[::-1].copy(), made.source, typed=True)
    pick, *_ = compare(made, learner=LEARNER)
    opposite, *_ = compare(other, learner=LEARNER)
    assert pick.model == opposite.model
    assert pick.measures != opposite.measures


def test_trials_are_averaged():
    made = labelled()
    seeds = [compare_forest(prepare(made).X, made.label, random_state=k).measures for k in (5, 6)]
    _, forest, _ = compare(made, learner=LEARNER, trials=2, random_state=5)
    assert forest.measures == pytest.approx(np.mean(seeds, axis=0))
    assert isinstance(forest.measures, Measures)


def test_new_rows_are_scored_by_a_forest_of_the_first_table():
    first, new = labelled(), labelled(seed=1)
    X, later = prepare(first).X, prepare(new).X
    found = compare_forest(X, new.label, new=later).measures
    assert found != compare_forest(later, new.label).measures


def test_a_result_is_measured_beside_a_forest():
    made = labelled()
    found = detect(made, learner=LEARNER, random_state=3)
    expected, reference, _ = compare(made, learner=LEARNER, random_state=3)
    assert [row.measures for row in found.compared] == [expected.measures, reference.measures]


def test_an_older_pyod_is_named_in_the_row(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyod.utils.ad_engine", None)
    pick, forest, engine = compare(labelled(), learner=LEARNER)
    assert pick.measures is not None
    assert forest.measures is not None
    assert engine.measures is None
    assert engine.note.endswith("has no ADEngine")
    assert engine.to_dict()["ap"] is None


def test_a_failure_of_the_engine_is_named_in_the_row(monkeypatch):
    def fails(X, *, random_state):
        raise ValueError("too wide")

    monkeypatch.setattr(comparison, "run_adengine", fails)
    *_, engine = compare(labelled(), learner=LEARNER, trials=2)
    assert engine.note == "failed: ValueError: too wide"


def test_a_table_without_outliers_or_without_a_label_is_refused():
    made = labelled()
    labels = (None, np.zeros(80, np.int8), np.ones(80, np.int8))
    for label in labels:
        with pytest.raises(UserError, match="label"):
            compare(Table(made.frame, label, "made"), learner=LEARNER)
        with pytest.raises(UserError, match="label"):
            Table(made.frame, label, "made").checked_label()
    for name, value in (("trials", 0), ("trials", 1.5), ("random_state", "dice")):
        with pytest.raises(BadParameter) as caught:
            compare(made, **{name: value})
        assert caught.value.name == name
