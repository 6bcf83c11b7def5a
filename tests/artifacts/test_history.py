"""Historical datasets: distances, estimates, saving and restoring."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_history import history

from metaod._state import decode, encode
from metaod.artifacts import History

CELLS = st.one_of(st.just(np.nan), st.floats(0, 1, width=32))


def made(n=24, *, seed=0, missing=0.1, names=None):
    P, M, origins = history(n, seed=seed, missing=missing)
    rng = np.random.default_rng(seed + 1)
    datasets = pd.DataFrame(
        {
            "name": names or [f"d{place}" for place in range(n)],
            "origin": origins,
            "n_rows": rng.integers(20, 500, n),
            "n_columns": 4,
        },
        index=P.index,
    )
    reference = pd.Series(np.where(rng.random(n) < 0.2, np.nan, rng.random(n)), P.index)
    return History.from_frames(P, M, datasets, reference)


def slow_normalised(row):
    known = [value for value in row if not np.isnan(value)]
    if not known:
        return [np.nan] * len(row)
    low, high = min(known), max(known)
    return [
        np.nan if np.isnan(value) else (value - low) / (high - low) if high > low else 1.0
        for value in row
    ]


def slow_estimate(found, distances):
    """A literal implementation of the docstring."""
    truth = [slow_normalised(row) for row in found.P.astype(float).tolist()]
    usable = [place for place, distance in enumerate(distances) if np.isfinite(distance)]
    nearest = sorted(usable, key=lambda place: distances[place])[:20]
    width = distances[nearest[-1]]
    estimates = []
    for model in range(len(found.models)):
        known = [truth[place][model] for place in usable if not np.isnan(truth[place][model])]
        mean = sum(known) / len(known) if known else 0.0
        top, bottom = 5 * mean, 5.0
        for place in nearest:
            if not np.isnan(truth[place][model]):
                weight = np.exp(-((distances[place] / width) ** 2) / 2)
                top += weight * truth[place][model]
                bottom += weight
        estimates.append(top / bottom)
    return estimates


# performance from the worst to the best


@settings(derandomize=True, deadline=None, max_examples=60)
@given(P=arrays(np.float32, (3, 4), elements=CELLS))
def test_normalised_equals_a_slow_version(P):
    expected = list(map(slow_normalised, P.astype(float).tolist()))
    parts = {name: getattr(HISTORY, name)[:3] for name in OF_DATASETS}
    found = replace(HISTORY, P=P, models=HISTORY.models[:4], **parts)
    np.testing.assert_allclose(found.normalised, expected, rtol=1e-12)


# distances


def test_distances_are_symmetric_and_zero_to_oneself():
    found = made()
    _, M, origins = history()
    raw = M.to_numpy(dtype=float)
    D = np.array([found.distances(row) for row in raw])
    np.testing.assert_allclose(D, D.T, atol=1e-5)
    np.testing.assert_allclose(np.diag(D), 0, atol=1e-5)
    assert (D[~np.eye(len(D), dtype=bool)] > 0).all()
    own = np.array([found.own_distances(place) for place in range(len(raw))])
    same = origins.to_numpy()[:, None] == origins.to_numpy()[None, :]
    assert np.isinf(own[same]).all()
    np.testing.assert_allclose(own[~same], D[~same], atol=1e-5)


def test_distances_are_over_all_clean_features():
    found = made()
    _, M, _ = history(1, seed=9)
    clean = found.cleaning.transform(M.to_numpy(dtype=float))[0]
    expected = [np.sqrt(np.mean((row - clean) ** 2)) for row in found.M]
    np.testing.assert_allclose(found.distances(M.to_numpy(dtype=float)[0]), expected, rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_odd_features_have_finite_distances(value):
    assert np.isfinite(made().distances(np.full(5, value))).all()


# estimates


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("n", [2, 19, 20, 21, 60])
def test_an_estimate_equals_a_slow_version(n, missing):
    found = made(n, missing=missing, seed=n)
    _, M, _ = history(3, seed=n + 1)
    for row in M.to_numpy(dtype=float):
        distances = found.distances(row)
        np.testing.assert_allclose(
            found.estimate(distances), slow_estimate(found, distances), rtol=1e-9
        )
    distances = found.own_distances(0)
    if np.isfinite(distances).any():
        np.testing.assert_allclose(
            found.estimate(distances), slow_estimate(found, distances), rtol=1e-9
        )


def test_an_estimate_ignores_the_datasets_origin():
    P, M, origins = history(30, missing=0.0)
    datasets = pd.DataFrame(
        {"name": P.index, "origin": origins, "n_rows": 9, "n_columns": 2}, index=P.index
    )
    reference = pd.Series(0.5, P.index)
    before = History.from_frames(P, M, datasets, reference)
    own = (origins == "origin 3").to_numpy()
    P.loc[own] = np.random.default_rng(1).random((own.sum(), P.shape[1]))
    after = History.from_frames(P, M, datasets, reference)
    for place in range(30):
        a, b = (found.estimate(found.own_distances(place)) for found in (before, after))
        assert np.array_equal(a, b) == own[place]


def test_estimates_without_other_origins():
    found = made(2)  # of one origin
    assert (found.estimate(found.own_distances(0)) == 0).all()
    assert np.isfinite(found.estimate(np.zeros(2))).all()
    single = made(1, missing=0.0)
    np.testing.assert_allclose(single.estimate(np.zeros(1)), single.normalised[0], rtol=1e-12)


# files


def test_a_history_is_restored():
    # datasets of two sources may share a name
    found = made(names=["same", "same", *(f"d{place}" for place in range(22))])
    assert np.isnan(found.P).any()
    assert np.isnan(found.reference).any()
    back = decode(History, encode(found))
    for item in fields(History):
        if item.name != "cleaning":
            np.testing.assert_array_equal(getattr(back, item.name), getattr(found, item.name))
    distances = found.own_distances(3)
    np.testing.assert_array_equal(back.own_distances(3), distances)
    np.testing.assert_array_equal(back.estimate(distances), found.estimate(distances))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("P"),
        lambda state: state.update(P=state["P"][1:]),
        lambda state: state.update(P=state["P"][:, 1:]),
        lambda state: state.update(P=state["P"] + np.inf),
        lambda state: state.update(M=state["M"][:, 1:]),
        lambda state: state.update(M=state["M"].astype(int)),
        lambda state: state.update(M=state["M"] + np.nan),
        lambda state: state.update(origins=state["origins"][1:]),
        lambda state: state.update(origins=[1] * 24),
        lambda state: state.update(names=[]),
        lambda state: state.update(models=state["models"][1:]),
        lambda state: state.update(shapes=state["shapes"].astype(float)),
        lambda state: state["cleaning"].update(kept=state["cleaning"]["kept"] + 5),
        lambda state: state["cleaning"].update(kept=state["cleaning"]["kept"] - 5),
    ],
)
def test_a_damaged_history_is_refused(change):
    state = encode(made())
    change(state)
    with pytest.raises(ValueError, match=r"state|history|cleaning"):
        decode(History, state)


HISTORY = made()
OF_DATASETS = ("names", "origins", "M", "reference", "shapes")
