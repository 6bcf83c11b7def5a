"""Flat forests: scikit-learn's predictions to the bit, and no index outside their arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

from metaod._state import decode, encode
from metaod.errors import BadParameter
from metaod.learners import FlatForest

LARGEST = float(np.finfo(np.float32).max)


def drawn(n=60, d=4, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.c_[X[:, 0] > 0, X[:, 1] * X[:, 2], rng.normal(size=n)][:, :outputs].astype(float)


def sklearn_answer(forest, X):
    answer = forest.predict(X)
    return answer[:, None] if answer.ndim == 1 else answer


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params", [{}, {"max_depth": 2}, {"min_samples_leaf": 5, "max_features": 0.5}], ids=str
)
def test_predictions_are_those_of_scikit_learn(outputs, weighted, params):
    X, Y = drawn(outputs=outputs)
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    settings_ = {"n_estimators": 12, "random_state": 3, **params}
    theirs = RandomForestRegressor(**settings_).fit(X, Y[:, 0] if outputs == 1 else Y, weight)
    ours = FlatForest.fit(X, Y, sample_weight=weight, **settings_)
    assert ours.n_outputs == outputs
    assert ours.n_features == X.shape[1]
    new = np.concatenate([X, drawn(500, seed=9)[0] * 3])
    np.testing.assert_array_equal(ours.predict(new), sklearn_answer(theirs, new))


ODD = st.one_of(
    st.floats(-LARGEST, LARGEST, width=64),
    st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2), 1e-45, 1e-300, LARGEST, -LARGEST]),
    st.integers(-3, 3).map(float),
)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # scikit-learn sums what is huge
@settings(derandomize=True, deadline=None, max_examples=60)
@given(data=st.data())
def test_odd_values_and_ties_at_thresholds(data):
    rows = data.draw(st.lists(st.tuples(ODD, ODD), min_size=2, max_size=12))
    X = np.array(rows)
    Y = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=len(X), max_size=len(X))))
    # scikit-learn prunes subtrees of equal targets, so these decide how deep the trees go
    theirs = RandomForestRegressor(n_estimators=4, random_state=0).fit(X, Y)
    ours = FlatForest.fit(X, Y[:, None], n_estimators=4)
    thresholds = ours.threshold[ours.feature >= 0]
    near = [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)]
    exact = np.clip(np.concatenate([*near, X.ravel()]), -LARGEST, LARGEST)
    new = np.c_[exact, exact[::-1]]
    np.testing.assert_array_equal(ours.predict(new), sklearn_answer(theirs, new))


def test_one_row_makes_one_leaf():
    ours = FlatForest.fit(np.ones((1, 2)), np.array([[5.0, 7.0]]), n_estimators=3)
    assert ours.predict(np.zeros((2, 2))).tolist() == [[5.0, 7.0]] * 2
    assert ours.predict(np.zeros((0, 2))).shape == (0, 2)


def test_a_matrix_of_another_width_is_refused():
    X, Y = drawn()
    ours = FlatForest.fit(X, Y, n_estimators=2)
    for shape in ((3, 3), (3, 5), (4,)):
        with pytest.raises(BadParameter, match="4 columns"):
            ours.predict(np.zeros(shape))


def restored(state):
    return decode(FlatForest, state)


def test_the_state_is_restored():
    X, Y = drawn()
    ours = FlatForest.fit(X, Y, n_estimators=3, max_depth=3)
    back = restored(encode(ours))
    np.testing.assert_array_equal(back.predict(X), ours.predict(X))
    wide = {
        name: value.astype(np.int64) if getattr(value, "dtype", None) == np.int32 else value
        for name, value in encode(ours).items()
    }
    np.testing.assert_array_equal(restored(wide).predict(X), ours.predict(X))


def first(state, leaf):
    return int(np.argmax((state["feature"] < 0) == leaf))


@pytest.mark.parametrize(
    ("name", "leaf", "value"),
    [
        ("feature", False, 4), ("left", False, 0), ("right", False, 0), ("left", False, 10**6),
        ("right", False, 10**6), ("right", False, -1), ("left", True, -1), ("left", True, 10**6),
        ("left", False, 2**31), ("left", False, -(2**31)), ("threshold", False, np.nan),
        ("threshold", False, np.inf), ("feature", True, -(2**31)), ("feature", True, -2),
    ],
    ids=str,
)  # fmt: skip
def test_a_forest_that_points_outside_itself_is_refused(name, leaf, value):
    X, Y = drawn()
    state = {
        key: value.astype(np.int64) if getattr(value, "dtype", None) == np.int32 else value
        for key, value in encode(FlatForest.fit(X, Y, n_estimators=2, max_depth=3)).items()
    }
    changed = state[name].copy()
    changed[first(state, leaf)] = value
    with pytest.raises(ValueError, match=r"state|forest"):
        restored({**state, name: changed})


@pytest.mark.parametrize(
    "change",
    [
        {"roots": np.array([], dtype=np.int32)}, {"roots": np.array([-1])},
        {"roots": np.array([10**6])}, {"roots": np.array([0.0])}, {"roots": None},
        {"values": np.zeros((0, 3))}, {"values": np.zeros(3)}, {"left": np.array([1])},
        {"n_features": 0}, {"n_features": True}, {"n_features": "4"},
        {"feature": np.array([], dtype=np.int32)},
    ],
    ids=str,
)  # fmt: skip
def test_other_damage_is_refused(change):
    X, Y = drawn()
    state = encode(FlatForest.fit(X, Y, n_estimators=2, max_depth=3))
    with pytest.raises(ValueError, match=r"state|forest"):
        restored({**state, **change})
    for name in change:
        with pytest.raises(ValueError, match="missing"):
            restored({key: value for key, value in state.items() if key != name})


@settings(derandomize=True, deadline=None, max_examples=60)
@given(data=st.data())
def test_random_arrays_are_refused_or_predict_finite_values(data):
    n = data.draw(st.integers(1, 6))
    places = st.lists(st.integers(-2, 7), min_size=n, max_size=n)
    state = {
        "roots": np.array(data.draw(st.lists(st.integers(-1, 6), max_size=3)), dtype=np.int64),
        "feature": np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))),
        "threshold": np.zeros(n),
        "left": np.array(data.draw(places)),
        "right": np.array(data.draw(places)),
        "values": np.ones((data.draw(st.integers(0, 4)), 2)),
        "n_features": 2,
    }
    try:
        forest = restored(state)
    except ValueError:
        return
    assert forest.predict(np.array([[1.0, -1.0], [0.0, 0.0]])).tolist() == [[1.0, 1.0]] * 2
