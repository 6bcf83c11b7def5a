"""Calibration: intervals contain the truth on origins that were not used to make them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_artifact import forged
from scipy.stats import rankdata

from metaod._state import decode, encode
from metaod.artifacts import Artifact, BadArtifact, Calibration, History
from metaod.artifacts import _history as module
from metaod.artifacts._history import LEVEL
from metaod.errors import BadParameter
from metaod.history import TrainingData, train
from metaod.history._training import calibration_of
from metaod.learners import make_learner
from metaod.metafeatures import schema

MODELS = [f"m{place:02}" for place in range(10)]
SLOPES = np.random.default_rng(99).normal(size=(3, len(MODELS)))


class World:
    """Origins of one to three datasets each, and a learner's scores of their models.

    Datasets of an origin are alike in features and performance, as they are in truth.
    """

    def __init__(self, n_origins, *, seed=0, noise=0.3, missing=0.05):
        rng = np.random.default_rng(seed)
        self.origin = np.repeat(np.arange(n_origins), rng.integers(1, 4, n_origins))
        n = len(self.origin)
        kind = rng.normal(size=(n_origins, 3))[self.origin]
        self.M = kind + 0.3 * rng.normal(size=(n, 3))
        bent = kind @ SLOPES + 0.5 * rng.normal(size=(n, len(MODELS)))
        self.P = 1 / (1 + np.exp(-bent))
        self.scores = self.P + noise * rng.normal(size=self.P.shape)
        self.P[rng.random(self.P.shape) < missing] = np.nan
        self.reference = rng.random(n)

    def history(self, rows=slice(None), **changes):
        P = pd.DataFrame(self.P[rows], columns=MODELS)
        datasets = pd.DataFrame(
            {
                "name": [f"d{place}" for place in range(len(P))],
                "origin": [f"o{number}" for number in self.origin[rows]],
                "n_rows": 100,
                "n_columns": 3,
            }
        )
        M, reference = pd.DataFrame(self.M[rows]), pd.Series(self.reference[rows])
        return replace(History.from_frames(P, M, datasets, reference), **changes)

    def calibrate(self, rows=slice(None), **changes):
        scores = pd.DataFrame(self.scores[rows], columns=MODELS)
        return Calibration.fit(scores, self.history(rows, **changes))


def asked(world, rows):
    """Predicted, ends, truth and pick for some datasets, calibrated on the others."""
    found, calibration = world.history(~rows), world.calibrate(~rows)
    for place in np.flatnonzero(rows):
        [truth] = module._normalised(world.P[[place]])
        scores = world.scores[place]
        pick = int(np.where(np.isnan(truth), -np.inf, scores).argmax())
        estimate = found.estimate(found.distances(world.M[place]))
        yield *calibration.predict(scores, estimate, pick=pick), truth, pick


def held(world, rows):
    """Share of intervals that contain the truth on other datasets: of picks, of all models."""
    of_picks, of_all = [], []
    for _, low, high, truth, pick in asked(world, rows):
        inside = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
        of_picks.append(inside[pick])
        of_all.append(inside[~np.isnan(truth)].mean())
    return np.mean(of_picks), np.mean(of_all)


# coverage


@pytest.mark.parametrize("n_origins", [15, 25, 60, 150])
@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_intervals_hold_on_origins_not_used(n_origins, noise):
    worlds = [World(n_origins + 40, seed=seed, noise=noise) for seed in range(6)]
    shares = [held(world, world.origin >= n_origins) for world in worlds]
    # about 480 datasets are asked; with few origins, or where many picks are the very best and
    # the upper end cannot be missed, intervals hold more than they promise
    assert (np.mean(shares, axis=0) > LEVEL - 0.06).all()
    assert (np.mean(shares, axis=0) < LEVEL + 0.16).all()


def test_the_reported_coverage_is_the_measured_coverage():
    worlds = [World(90, seed=seed) for seed in range(8)]
    told = [world.calibrate(world.origin < 50).figures["interval_coverage"] for world in worlds]
    met = [held(world, world.origin >= 50)[0] for world in worlds]
    assert np.mean(told) == pytest.approx(np.mean(met), abs=0.05)


@pytest.mark.parametrize("noise", [0.02, 0.3, 50.0])
def test_predictions_for_picks_are_unbiased(noise):
    predicted, reached = [], []
    for seed in range(4):
        world = World(120, seed=seed, noise=noise)
        for found, _, _, truth, pick in asked(world, world.origin >= 80):
            predicted.append(found[pick])
            reached.append(truth[pick])
    assert np.mean(predicted) == pytest.approx(np.mean(reached), abs=0.06)


def test_a_good_learner_has_narrow_intervals():
    good, useless = (World(80, noise=noise).calibrate().figures for noise in (0.01, 50.0))
    assert good["interval_width"] < 0.7 * useless["interval_width"]
    assert useless["interval_width"] > 0.5


@pytest.mark.parametrize("n_origins", [2, 3, 8])
def test_too_few_origins_give_the_whole_range(n_origins):
    world = World(n_origins, seed=3)
    calibration = world.calibrate()
    found = world.history()
    predicted, low, high = calibration.predict(
        world.scores[0], found.estimate(found.distances(world.M[0])), pick=0
    )
    assert (low == 0).all()
    assert (high == 1).all()
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert calibration.figures["interval_coverage"] == 1.0
    assert "regret_far" not in calibration.figures


def test_only_origins_count_not_models():
    # 60 datasets of 4 origins are not independent
    world = World(60)
    world.origin = world.origin % 4
    low, high = world.calibrate().low, world.calibrate().high
    assert (low == -1).all()
    assert (high == 1).all()


def test_one_origin_is_refused():
    world = World(1)
    with pytest.raises(BadParameter, match="at least 2 origins"):
        world.calibrate()


# the fit


def test_a_dataset_is_predicted_without_its_origin():
    world = World(30, missing=0.0)
    own = world.origin == 4
    before = module._record(world.scores, world.history())
    world.P[own] = np.random.default_rng(1).random((own.sum(), len(MODELS)))
    after = module._record(world.scores, world.history())
    np.testing.assert_array_equal(before.level[own], after.level[own])
    assert (before.level[~own] != after.level[~own]).any()
    # and what is left out of a fit is without effect on it
    everything = ~own
    for one, other in zip(
        module._fit_intervals(replace(after, level=before.level), everything),
        module._fit_intervals(before, everything),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_the_pick_is_the_first_model_with_a_value():
    world = World(12, missing=0.0)
    first, second = np.argsort(-world.scores[5])[:2]
    assert module._record(world.scores, world.history()).pick[5] == first
    world.P[5, first] = np.nan
    assert module._record(world.scores, world.history()).pick[5] == second


@settings(derandomize=True, deadline=None, max_examples=50)
@given(scores=arrays(np.float64, (2, 6), elements=st.integers(-2, 2).map(float)))
def test_ranks_equal_scipys(scores):
    np.testing.assert_allclose(module._ranks(scores), (rankdata(scores, axis=1) - 1) / 5)
    np.testing.assert_allclose(module._ranks(scores[0]), (rankdata(scores[0]) - 1) / 5)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    scores=arrays(np.float64, len(MODELS), elements=st.floats(-1e6, 1e6)),
    estimate=arrays(np.float64, len(MODELS), elements=st.floats(0, 1)),
    pick=st.integers(0, len(MODELS) - 1),
)
def test_an_interval_contains_its_prediction(scores, estimate, pick):
    predicted, low, high = CALIBRATION.predict(scores, estimate, pick=pick)
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= predicted).all()
    assert (predicted <= high).all()


CALIBRATION = World(60).calibrate()


def test_only_the_pick_has_the_interval_of_picks():
    made = replace(
        CALIBRATION,
        coefficients=np.array([0.5, 0.0, 0.0, 0.0]),
        low=np.repeat([[-0.1], [-0.3]], 5, axis=1),
        high=np.repeat([[0.2], [0.4]], 5, axis=1),
    )
    predicted, low, high = made.predict(np.arange(10.0), np.full(10, 0.5), pick=3)
    np.testing.assert_allclose(predicted, 0.5)
    np.testing.assert_allclose(low, [0.4 if place == 3 else 0.2 for place in range(10)])
    np.testing.assert_allclose(high, [0.7 if place == 3 else 0.9 for place in range(10)])


# figures


def test_against_the_reference():
    world = World(30, missing=0.0)
    picks = module._record(world.scores, world.history()).pick
    reached = world.P[np.arange(len(picks)), picks]
    gap = np.tile([0.1, -0.1, -0.01, 0.001, np.nan], len(picks))[: len(picks)]
    world.reference = reached - gap
    figures = world.calibrate().figures
    known = gap[~np.isnan(gap)]
    assert figures["beats_reference"] == pytest.approx(np.mean(known == 0.1))
    assert figures["loses_to_reference"] == pytest.approx(np.mean(known < -0.005))
    assert figures["loses_much"] == pytest.approx(np.mean(known == -0.1))
    assert figures["mean_difference"] == pytest.approx(known.mean(), abs=1e-6)
    assert figures["n_datasets"] == len(known)
    assert figures["n_origins"] == len(set(world.origin[~np.isnan(gap)]))


def test_regret_far_from_the_others():
    # unlike datasets, on which the learner errs
    world = World(120, noise=0.02, missing=0.0)
    far = world.origin >= 100
    world.M[far] = np.random.default_rng(0).normal(0, 30, size=(far.sum(), 3))
    world.scores[far] = -world.P[far]
    figures = world.calibrate().figures
    assert figures["regret_far"] > figures["regret_near"] + 0.1
    assert figures["regret_distance_correlation"] > 0
    assert figures["regret_distance_p"] < 0.05


def test_rows_where_all_models_do_the_same(tmp_path):
    world = World(40, missing=0.0)
    world.P[:] = 0.25
    calibration = world.calibrate()
    assert all(np.isfinite(value) for value in calibration.figures.values())
    assert "regret_far" not in calibration.figures
    assert calibration.figures["interval_coverage"] == 1.0
    predicted, low, high = calibration.predict(world.scores[0], np.ones(len(MODELS)), pick=0)
    np.testing.assert_allclose([predicted, low, high], 1.0, atol=1e-6)


def test_unlikeness_is_a_share_of_the_datasets():
    world = World(60)
    found, calibration = world.history(), world.calibrate()
    near = np.median(world.M, axis=0)
    shares = [calibration.unlikeness(found.distances(near + step)) for step in (0, 2, 4, 1000)]
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == 1.0
    own = [calibration.unlikeness(found.own_distances(place)) for place in range(len(world.P))]
    np.testing.assert_allclose(np.sort(own), np.arange(len(own)) / len(own), atol=0.05)


# files


@pytest.mark.parametrize(
    "change",
    [
        {"coefficients": np.zeros(3)},
        {"coefficients": np.full(4, np.nan)},
        {"edges": np.zeros(3)},
        {"edges": np.array([0.1, 0.4, 0.3, 0.5])},
        {"low": np.zeros((2, 4))},
        {"high": np.zeros((1, 5))},
        {"distances": np.zeros(0)},
        {"figures": {"interval_level": "most"}},
        {"figures": {"interval_level": float("nan")}},
        {"figures": [0.8]},
    ],
    ids=str,
)
def test_a_damaged_calibration_is_refused(change):
    with pytest.raises(ValueError, match=r"state|edges|distances"):
        decode(Calibration, encode(CALIBRATION) | change)


# inside an artifact


def training_data(world):
    index = pd.Index([f"fp1:{place:032x}" for place in range(len(world.P))])
    names = schema("paper").names
    M = pd.DataFrame(
        np.random.default_rng(0).normal(size=(len(index), len(names))), index, list(names)
    )
    M.iloc[:, :3] = world.M
    datasets = pd.DataFrame(
        {
            "name": "same name",
            "origin": [f"o{number}" for number in world.origin],
            "n_rows": 100,
            "n_columns": 3,
        },
        index=index,
    )
    return TrainingData.from_frames(
        pd.DataFrame(world.P, index, MODELS),
        {"paper": M},
        datasets,
        reference=pd.Series(world.reference, index),
    )


@pytest.fixture(scope="module")
def data():
    return training_data(World(20))


@pytest.fixture(scope="module")
def trained(data):
    return train(data, make_learner("made_nearest"), calibrate=5)


def test_training_calibrates(data, trained):
    steps = []
    learner = make_learner("made_nearest")
    again = train(data, learner, calibrate=5, progress=lambda *step: steps.append(step))
    assert ("calibrating", 5, 5) in steps
    assert again.learner is learner
    assert again.calibration.figures == trained.calibration.figures
    alone = calibration_of(data, make_learner("made_nearest"), n_folds=5)
    assert alone.figures == trained.calibration.figures
    assert again.history.models == tuple(MODELS)
    np.testing.assert_allclose(again.history.reference, data.reference, rtol=1e-6)


@pytest.mark.parametrize("calibrate", [1, -1])
def test_one_fit_is_no_calibration(data, calibrate):
    with pytest.raises(BadParameter, match="0 for none, or 2 or more"):
        train(data, make_learner("made_best"), calibrate=calibrate)


@pytest.mark.parametrize("calibrate", [0, 21])
def test_training_without_calibration_keeps_the_history(data, calibrate):
    artifact = train(data, make_learner("made_best"), calibrate=calibrate)
    assert artifact.calibration is None
    assert len(artifact.history.names) == len(data.P)


def test_one_dataset_and_two_origins(data, tmp_path):
    single = replace(
        data, P=data.P[:1], M=data.M[:1], datasets=data.datasets[:1], reference=data.reference[:1]
    )
    artifact = train(single, make_learner("made_best"), calibrate=10)
    artifact.save(tmp_path / "a.metaod")
    back = Artifact.load(tmp_path / "a.metaod")
    assert back.calibration is None
    assert len(back.history.names) == 1
    two = data.without(sorted(set(data.origins))[2:])
    artifact = train(two, make_learner("made_best"), calibrate=2)
    artifact.save(tmp_path / "a.metaod")
    assert Artifact.load(tmp_path / "a.metaod").calibration.figures == artifact.calibration.figures


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(history=None),
        lambda content: content["history"].update(models=list("abcdefghij")),
        lambda content: content["history"].update(features=content["history"]["features"][::-1]),
        lambda content: content["calibration"].update(edges=np.array([4.0, 3, 2, 1])),
    ],
    ids=["no history", "other models", "other features", "edges"],
)
def test_an_artifact_whose_parts_do_not_fit(trained, tmp_path, change):
    trained.save(tmp_path / "a.metaod")
    forged(tmp_path / "a.metaod", tmp_path / "b.metaod", change)
    with pytest.raises(BadArtifact) as caught:
        Artifact.load(tmp_path / "b.metaod")
    assert caught.value.code == "damaged"
    assert "\n" not in str(caught.value)
