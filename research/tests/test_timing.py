"""Times of selection and training: which are taken, and kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_testbed import Spy, make_testbed, register

from metaod.errors import BadFile, UserError
from metaod.metafeatures import schema
from metaod.models.families.knn import KNN
from research import timing
from research.evaluation import evaluate_testbed
from research.methods import METHODS
from research.timing import add_times, measure_times


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A testbed with files, but of the last motherset's datasets."""
    folder = tmp_path_factory.mktemp("files")
    made = make_testbed(mothersets=3, models=3)
    rng = np.random.default_rng(0)
    files = {}
    for place, name in enumerate(made.P.index[:10]):
        files[name] = folder / f"{place}.npz"
        X, y = rng.normal(size=(40, 3)), np.arange(40) < 4
        np.savez(files[name], X=X + 5 * y[:, None], y=y.astype(int))
    features = schema("paper").learned
    M = pd.DataFrame(
        rng.normal(size=(len(made.P), len(features))), index=made.P.index, columns=features
    )
    return replace(made, files=files, metafeatures={"paper": M})


@pytest.fixture
def fitted(monkeypatch):
    """Names of the datasets that were measured."""
    register(monkeypatch)
    monkeypatch.setattr(timing, "_warm_up", lambda: None)
    measured = []
    measure = timing._measure

    def note(data, name, *rest):
        measured.append(name)
        return measure(data, name, *rest)

    monkeypatch.setattr(timing, "_measure", note)
    monkeypatch.setattr(Spy, "predict", lambda self, M: super(Spy, self).predict(M))
    return measured


def measure(data, **options):
    return measure_times(data, "folds", learner="spy", **options)


def test_only_datasets_with_files_are_timed(data, fitted):
    told = []
    found = measure(data, progress=lambda *steps: told.append(steps))
    assert set(found.index) == set(data.files)
    assert (found[["select_seconds", "train_seconds"]] > 0).all(axis=None)
    assert told == [(k, 10) for k in range(1, 11)]
    assert sorted(fitted) == sorted(data.files)
    # a learner that has not seen the dataset, nor any other of its fold
    assert len(Spy.fits) == 5
    for rows, *_ in Spy.fits:
        assert len(rows) == 12


def test_the_pick_is_the_protocols(data, fitted):
    found = measure(data)
    for name, row in found.iterrows():
        train = data.P[data.datasets["fold"] != data.datasets.loc[name, "fold"]]
        ranked = train.mean().sort_values(ascending=False).index
        usable = [model for model in ranked if not np.isnan(data.P.loc[name, model])]
        assert row["pick"] == usable[0]


def test_a_stopped_run_continues(data, fitted, tmp_path):
    journal = tmp_path / "times.jsonl"

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(data, journal=journal, progress=stop)
    journal.write_bytes(journal.read_bytes()[:-5])
    found = measure(data, journal=journal)
    # three, of which the last was cut short, then eight
    assert len(fitted) == 3 + 8
    again = measure(data, journal=journal)
    assert len(fitted) == 11
    pd.testing.assert_frame_equal(found, again)


def test_other_learners_and_data_are_measured_again(data, fitted, tmp_path):
    journal = tmp_path / "times.jsonl"
    measure(data, journal=journal)
    P = data.P.copy()
    P.iloc[0, 2] += 1e-9
    found = measure(replace(data, P=P), journal=journal)
    assert len(fitted) == 20
    assert len(found) == 10


def test_no_warm_up_if_everything_is_done(data, fitted, tmp_path, monkeypatch):
    journal = tmp_path / "times.jsonl"
    measure(data, journal=journal)
    monkeypatch.setattr(timing, "_warm_up", lambda: pytest.fail("warmed up for nothing"))
    measure(data, journal=journal)


def test_not_a_journal(data, fitted, tmp_path):
    journal = tmp_path / "times.jsonl"
    journal.write_text('{"dataset": "a"}\n')
    with pytest.raises(BadFile, match="is not a journal"):
        measure(data, journal=journal)


def test_a_model_that_cannot_be_fitted_is_passed_over(data, fitted, monkeypatch):
    fit = KNN.fit

    def fails(self, X, y=None):
        if self.n_neighbors != 2:
            raise RuntimeError("foreign code raises anything")
        return fit(self, X)

    monkeypatch.setattr(KNN, "fit", fails)
    # the one model that fits has no value on one of the datasets
    name = data.P.index[3]
    assert np.isnan(data.P.loc[name, "KNN(n_neighbors=2)"])
    fitting = replace(data, files={k: v for k, v in data.files.items() if k != name})
    assert set(measure(fitting)["pick"]) == {"KNN(n_neighbors=2)"}
    with pytest.raises(UserError, match="no model can be fitted"):
        measure(replace(data, files={name: data.files[name]}))


def test_no_files_no_times(data, fitted):
    found = measure(replace(data, files={}))
    assert found.empty
    assert {"select_seconds", "train_seconds"} <= set(found.columns)


def test_times_are_added_to_the_first_seed(data, fitted):
    methods = [item for item in METHODS if item.key in ("isac", "global_best")]
    results = evaluate_testbed(data, "folds", methods=methods, seeds=2)
    found = measure(data)
    frame = add_times(results, found, "isac").frame
    timed = frame[frame["select_seconds"].notna()]
    assert set(timed["method"]) == {"isac"}
    assert set(timed["seed"]) == {0}
    assert timed.set_index("dataset")["train_seconds"].to_dict() == found["train_seconds"].to_dict()
