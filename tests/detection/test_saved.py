"""Saving and loading a fitted pick."""

import numpy as np
import pandas as pd
import pytest
from made_selection import MODELS, pick_with

from metaod.artifacts import read_container, write_container
from metaod.detection import MetaOD, detect_file, load
from metaod.errors import BadFile, BadParameter, UserError
from metaod.models import ModelSpec, SpecDetector, average_of
from metaod.tables import read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": np.r_[RNG.normal(size=60) + np.tile([0, 3, 0], 20), 9.0],  # by kind
        "weight": np.r_[RNG.normal(size=60), -9.0],
        "kind": ["a", "b", None] * 20 + ["z"],
    }
)
NEW = pd.DataFrame({"size": [0.1, None, 20.0], "weight": [0.0, 1, -20], "kind": ["a", "?", None]})


pytestmark = pytest.mark.usefixtures("quick_pick")


AVERAGE = average_of(*map(ModelSpec.parse, MODELS[:2])).id


@pytest.mark.parametrize("name", [*MODELS, "COF(n_neighbors=5)", AVERAGE])
def test_a_loaded_pick_scores_as_before(tmp_path, monkeypatch, name):
    pick_with(monkeypatch, name)
    model = MetaOD(random_state=5, contamination=0.1).fit(FRAME)
    model.save(tmp_path / "pick.mod")
    again = load(tmp_path / "pick.mod")
    np.testing.assert_array_equal(again.score_samples(NEW), model.score_samples(NEW))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(again.decision_scores_, model.decision_scores_)
    assert (again.threshold_, again.fitted_.weights) == (model.threshold_, model.fitted_.weights)
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert again.selection_ is None


def test_a_loaded_one_can_be_saved_and_fitted(tmp_path):
    model = MetaOD(exclude=("LOF",)).fit(FRAME)
    model.save(tmp_path / "a.mod")
    load(tmp_path / "a.mod").save(tmp_path / "b.mod")
    assert (tmp_path / "a.mod").read_bytes() == (tmp_path / "b.mod").read_bytes()
    again = load(tmp_path / "b.mod").fit(FRAME)
    assert again.selection_.picking.exclude == ["LOF"]
    assert not hasattr(again, "reading_")


def test_arrays_have_no_names(tmp_path):
    MetaOD().fit(FRAME[["size", "weight"]].to_numpy()).save(tmp_path / "pick.mod")
    again = load(tmp_path / "pick.mod")
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == 2


def test_a_file_of_later_rows_is_read_as_the_first_one(tmp_path):
    reading = {"na": ["99"]}
    FRAME.assign(code=[99, 1, 2, 3, 4] * 12 + [99]).to_csv(tmp_path / "t.csv", index=False)
    model = MetaOD().fit(read_table(tmp_path / "t.csv", **reading))
    model.save(tmp_path / "pick.mod", reading=reading)
    again = load(tmp_path / "pick.mod")
    np.testing.assert_array_equal(again.score_samples(tmp_path / "t.csv"), -model.decision_scores_)
    found = detect_file(tmp_path / "t.csv", model=again)
    np.testing.assert_array_equal(found.scores, model.decision_scores_)


def test_it_names_the_models_and_versions(tmp_path):
    MetaOD().fit(FRAME).save(tmp_path / "pick.mod")
    content = read_container(tmp_path / "pick.mod", "pick")
    assert content["models"] == [MODELS[0]]
    assert content["versions"]["pyod"]


def test_changed_scores_give_a_warning_and_a_new_threshold(tmp_path, monkeypatch):
    model = MetaOD(contamination=0.1).fit(FRAME)
    model.save(tmp_path / "pick.mod")
    content = read_container(tmp_path / "pick.mod", "pick")
    content["versions"]["pyod"] = "3.0.0"
    content["scores"] = np.sqrt(content["scores"])
    content["threshold"] = float(np.sqrt(content["threshold"]))
    write_container(tmp_path / "pick.mod", "pick", content)
    with pytest.warns(UserWarning, match=r"differ from the saved ones \(pyod 3.0.0 is now") as told:
        again = load(tmp_path / "pick.mod")
    assert [item.filename for item in told] == [__file__]
    assert again.labels_.tolist() == model.labels_.tolist()
    assert "there is a new threshold" in again.notes_[0]
    np.testing.assert_array_equal(again.score_samples(FRAME), model.score_samples(FRAME))


def damage(path, **changes):
    write_container(path, "pick", read_container(path, "pick") | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"models": ["IForest"]},
        {"models": ["NoSuch()"]},
        {"models": 3},
        {"models": []},
        {"weights": [-1.0]},
        {"weights": [0.5, 0.5]},
        {"seed": "x"},
        {"threshold": None},
        {"parameters": {}},
        {"preparation": {"preparation": 1}},
        {"X": np.zeros((3, 3))},
        {"X": np.full((61, 5), np.nan)},
        {"scores": np.zeros(3)},
        {"n_reference": 0},
        {"n_reference": 62},
        {"feature_names": ["size", "weight", "other"]},
        {"feature_names": ["size"]},
        {"versions": 3, "scores": np.arange(61.0)},
    ],
    ids=lambda changes: "-".join(f"{key}={type(value).__name__}" for key, value in changes.items()),
)
def test_an_inconsistent_file_gives_a_one_line_error(tmp_path, changes):
    path = tmp_path / "pick.mod"
    MetaOD().fit(FRAME).save(path)
    damage(path, **changes)
    with pytest.raises(UserError, match=r"pick\.mod") as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "IForest(n_estimators=100000000, max_features=0.5)",
        "HBOS(n_bins=1000000000, alpha=0.1)",
        "LODA(n_bins=100000, n_random_cuts=100000)",
    ],
)
def test_a_too_costly_pick_is_not_fitted(tmp_path, monkeypatch, name):
    path = tmp_path / "pick.mod"
    MetaOD().fit(FRAME).save(path)
    damage(path, models=[name])
    monkeypatch.setattr("metaod.detection._saved.fit_models", None)
    with pytest.raises(BadFile, match=r"would take about|more than 10,000,000 parts"):
        load(path)


def test_how_long_a_pick_may_take_is_the_operators_choice(tmp_path, monkeypatch):
    path = tmp_path / "pick.mod"
    MetaOD(pick="committee").fit(FRAME).save(path)
    with pytest.raises(BadFile) as error:
        load(path, max_seconds=1e-9)
    assert error.value.code == "costly"
    with pytest.raises(BadParameter, match="max_seconds"):
        load(path, max_seconds="long")
    damage(path, models=["IForest(n_estimators=300000, max_features=0.5)"], weights=[1.0])
    with pytest.raises(BadFile) as error:  # ten times the committee, and over a minute
        load(path)
    assert error.value.code == "costly"
    monkeypatch.setattr("metaod.detection._saved.fit_models", None)
    with pytest.raises(BadFile, match="inconsistent"):  # as fitting is replaced
        load(path, max_seconds=1e9)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadFile, match=r"t\.csv: is not a saved pick; 'metaod") as caught:
        load(tmp_path / "t.csv")
    assert "learner" not in str(caught.value)
    with pytest.raises(BadFile, match="no such file"):
        load(tmp_path / "absent.mod")


def test_the_seed_is_kept(tmp_path, monkeypatch):
    pick_with(monkeypatch, MODELS[1])
    model = MetaOD(random_state=None).fit(FRAME)
    model.save(tmp_path / "pick.mod")
    again = load(tmp_path / "pick.mod")
    own = SpecDetector(MODELS[1], random_state=model.fitted_.seed).fit(model.fitted_.X)
    np.testing.assert_array_equal(again.decision_scores_, own.decision_scores_)
