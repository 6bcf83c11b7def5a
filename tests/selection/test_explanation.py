"""Explanations of picks."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from made_selecting import MODELS, artifact, table, training_data

from metaod.history import train
from metaod.learners import Learner
from metaod.selection import select
from metaod.selection._explanation import explain_pick

COLUMNS = [
    "name", "origin", "n_rows", "n_columns", "distance", "performance", "normalised", "reference",
]  # fmt: skip


@dataclass
class Linear(Learner):
    """Two models have scores: the first of the number of rows and columns, the second of none."""

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "Linear"
    summary: ClassVar[str] = "for tests"

    def _fit(self, training, progress):
        self.places_ = [training.features.index(name) for name in ("n_rows", "n_columns")]

    def _predict(self, M):
        n_rows, n_columns = M[:, self.places_].T
        scores = np.zeros((len(M), len(self.models_)))
        scores[:, 0] = 3 * (n_rows - 100) + 5 * (n_columns - 4)
        scores[:, 1] = 1.0
        return scores

    def _state(self):
        return {}

    def _restore(self, reader):
        pass


@pytest.fixture(scope="module")
def linear():
    return train(training_data(), Linear())


def explained(made, m, **kwargs):
    scores = made.learner.predict(m)
    return explain_pick(made, m, scores, made.learner.choose(m), **kwargs), scores


def ordinary(made):
    m = np.zeros(len(made.history.features))
    m[made.history.cleaning.kept] = made.history.cleaning.median
    return m


# the nearest datasets


def test_the_nearest_are_the_nearest():
    made = artifact("made_nearest")
    selection = select(table(seed=50), learner=made)
    why = selection.explain(top=7)
    m = made.vector(selection.features)
    distances = np.sqrt(
        np.mean((made.history.M - made.history.cleaning.transform(m[None])) ** 2, 1)
    )
    data = training_data()
    expected = np.argsort(distances, kind="stable")[:7]
    assert list(why.nearest.columns) == COLUMNS
    assert why.nearest["name"].tolist() == data.datasets["name"].iloc[expected].tolist()
    np.testing.assert_allclose(why.nearest["distance"], distances[expected], rtol=1e-5)
    assert why.nearest["distance"].is_monotonic_increasing
    P, column = data.P.to_numpy(), MODELS.index(selection.best.id)
    np.testing.assert_allclose(why.nearest["performance"], P[expected, column], rtol=1e-6)
    np.testing.assert_allclose(
        why.nearest["normalised"], made.history.normalised[expected, column], rtol=1e-5
    )
    np.testing.assert_allclose(why.nearest["reference"], data.reference.iloc[expected], rtol=1e-6)
    assert len(selection.explain().nearest) == 5
    assert len(selection.explain(top=100).nearest) == len(data.P)


def test_performance_is_named_by_its_measure():
    made = artifact("made_nearest")
    why = select(table(seed=50), learner=made).explain()
    assert (why.measure, why.to_dict()["measure"]) == ("ap", "ap")
    assert "with average precision of the pick" in str(why)
    other = replace(made, measure="roc_auc")
    why = select(table(seed=50), learner=other).explain()
    assert "with ROC AUC of the pick" in str(why)
    assert "AP" not in str(why)


# the features that mattered


def test_the_effect_of_features_is_the_lead_that_goes_away(linear):
    m = ordinary(linear)
    features = list(linear.learner.features_)
    rows, columns = features.index("n_rows"), features.index("n_columns")
    usual_rows, usual_columns = m[rows], m[columns]
    m[rows], m[columns] = 150.0, 9.0
    why, scores = explained(linear, m)
    assert why.pick == MODELS[0]
    assert scores[MODELS[0]] == 3 * 50 + 5 * 5
    usual = 3 * (usual_rows - 100) + 5 * (usual_columns - 4)
    assert why.usual == (MODELS[0] if usual > 1 else MODELS[1])
    lead = 175 - 1
    expected = {
        "n_rows": 3 * (150 - usual_rows) / lead,
        "n_columns": 5 * (9 - usual_columns) / lead,
    }
    expected = dict(sorted(expected.items(), key=lambda item: -item[1]))
    assert why.features["feature"].tolist() == list(expected)
    np.testing.assert_allclose(why.features["effect"], list(expected.values()))
    by_name = why.features.set_index("feature")
    assert by_name.loc["n_rows", "value"] == 150
    assert by_name.loc["n_rows", "ordinary"] == usual_rows
    assert len(explained(linear, m, top=1)[0].features) == 1
    assert "n_rows: 150" in str(why)


def test_features_against_the_pick_are_not_shown(linear):
    m = ordinary(linear)
    features = list(linear.learner.features_)
    m[features.index("n_rows")], m[features.index("n_columns")] = 180.0, 1.0
    why, _ = explained(linear, m)
    assert why.features["feature"].tolist() == ["n_rows"]


def test_an_ordinary_table_gets_the_usual_pick(linear):
    why, _ = explained(linear, ordinary(linear))
    assert why.pick == why.usual
    assert why.features.empty
    assert "also the pick for a typical table" in str(why)


def test_a_learner_without_meta_features_gives_no_features():
    why = select(table(seed=50), learner=artifact("made_best")).explain()
    assert why.features.empty
    assert why.pick == why.usual
    assert "favour" not in str(why)


def test_the_usual_pick_is_one_that_is_allowed():
    made = artifact("made_nearest")
    unbound = select(table(seed=50), learner=made).explain().usual
    why = select(table(seed=50), learner=made, exclude=unbound).explain()
    assert unbound not in (why.usual, why.pick)


def test_one_model_alone_has_no_rival():
    why = select(table(seed=50), learner=artifact("made_nearest"), space=MODELS[2]).explain()
    assert why.pick == why.usual == MODELS[2]
    assert why.features.empty


# without history or values


def test_without_history_nothing_is_claimed():
    made = replace(artifact("made_nearest"), history=None, calibration=None)
    why = select(table(), learner=made).explain()
    assert why.usual is None
    assert why.nearest.empty
    assert str(why).startswith("No explanation")
    assert json.loads(json.dumps(why.to_dict(), allow_nan=False))["usual"] is None


def test_undefined_features_and_missing_cells_are_plain_data(linear):
    m = ordinary(linear)
    features = list(linear.learner.features_)
    m[features.index("n_rows")] = 170.0
    m[features.index("n_columns")] = 8.0
    data = training_data()
    P = data.P.copy()
    P[MODELS[0]] = np.nan
    P.iloc[0, 0] = 0.5
    reference = pd.Series(np.nan, data.P.index)
    bare = train(replace(data, P=P, reference=reference), Linear())
    why, _ = explained(bare, m)
    text = json.dumps(why.to_dict(), allow_nan=False)
    assert json.loads(text)["nearest"][0]["reference"] is None
    assert "nan" not in str(why)
    assert "unknown (unknown)" in str(why)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_infinite_and_undefined_values_are_plain_data(value):
    made = artifact("gain_forest")
    m = ordinary(made)
    m[made.history.cleaning.kept] = value
    why, _ = explained(made, m)
    frame = pd.DataFrame(
        {"feature": ["a"], "value": [value], "ordinary": [1.0], "effect": [np.inf]}
    )
    shown = replace(why, features=frame)
    [row] = json.loads(json.dumps(shown.to_dict(), allow_nan=False))["features"]
    assert row == {"feature": "a", "value": None, "ordinary": 1.0, "effect": None}
    assert "a: unknown; 1" in str(shown)
