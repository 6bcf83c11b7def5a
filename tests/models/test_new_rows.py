"""New rows are scored against the training table, whatever rows come with them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyod.models import cof as pyod_cof
from scipy.stats import spearmanr

from metaod.models import ModelSpec, registered_families, specs_of
from metaod.models.families.cof import COF

RNG = np.random.default_rng(0)
TRAIN = np.vstack([RNG.normal(size=(120, 3)), RNG.normal(5, 1, size=(6, 3))]) * [1, 50, 1e-2]
NEW = np.vstack([RNG.normal(size=(9, 3)), [[8.0, -7, 6], [0, 0, 0], [40, 40, 40]]]) * [1, 50, 1e-2]


def _few_neighbours(specs):
    # PyOD's ABOD and COF take long with many
    quick = [spec for spec in specs if dict(spec.params).get("n_neighbors", 0) <= 20]
    return quick[0], quick[-1]


def ends_of_grids():
    return [
        spec
        for family in registered_families().values()
        if family.builtin
        for spec in _few_neighbours(specs_of(family))
    ]


def fitted(spec):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spec.to_pyod(random_state=3).fit(TRAIN)


@pytest.mark.parametrize("spec", ends_of_grids(), ids=str)
def test_a_row_scores_alike_alone_and_in_any_batch(spec):
    detector = fitted(spec)
    together = detector.decision_function(NEW)
    assert together.shape == (len(NEW),)
    alone = np.concatenate([detector.decision_function(row[None]) for row in NEW])
    np.testing.assert_allclose(alone, together, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        detector.decision_function(NEW[::-1]), together[::-1], rtol=1e-7, atol=1e-9
    )
    with_training = detector.decision_function(np.vstack([TRAIN, NEW]))[len(TRAIN) :]
    np.testing.assert_allclose(with_training, together, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("spec", ends_of_grids(), ids=str)
def test_training_rows_score_as_in_training_where_the_detector_has_it_so(spec):
    detector = fitted(spec)
    again = detector.decision_function(TRAIN)
    trained = detector.decision_scores_
    if spec.detector in {"KNN", "LOF", "COF", "KDE"}:
        # the row is its own nearest neighbour, of one or of many
        assert np.isfinite(again).all()
        if dict(spec.params).get("n_neighbors", 20) >= 20:
            assert spearmanr(again, trained).statistic > 0.9
        if spec.detector in {"KNN", "KDE"}:
            assert (again <= trained + 1e-9).all()
    else:
        np.testing.assert_allclose(again, trained, rtol=1e-7, atol=1e-9)


def test_cof_of_a_far_row_is_that_of_the_table_with_it():
    # a far row is nobody's neighbour, so that it changes no other chaining distance
    k, far = 7, np.array([[60.0, -60.0, 60.0]])
    X = TRAIN / [1, 50, 1e-2]
    joined = pyod_cof.COF(n_neighbors=k).fit(np.vstack([X, far])).decision_scores_[-1]
    assert COF(k).fit(X).decision_function(far)[0] == pytest.approx(joined, rel=1e-9)


def test_cof_takes_batches_of_any_size():
    detector = ModelSpec("COF", {"n_neighbors": 20}).to_pyod().fit(TRAIN)
    assert detector.decision_function(NEW[:1])[0] == detector.decision_function(NEW)[0]
    assert detector.predict(NEW[-1:]).tolist() == [1]


def test_cof_of_duplicates_is_finite():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    scores = COF(5).fit(X).decision_function(np.array([[0.0, 0.0], [0.5, 0.5]]))
    assert scores[0] == 0.0
    assert np.isfinite(scores).all()
    assert scores[1] > 1e100


@pytest.mark.parametrize("n_bins", [5, 30, "auto"])
def test_loda_of_rows_on_the_edge_of_a_bin(n_bins):
    # whole numbers in several columns: many rows have the lowest projection, up to rounding
    X = RNG.integers(0, 3, size=(150, 20)) / 10
    detector = ModelSpec("LODA", {"n_bins": n_bins, "n_random_cuts": 50}).to_pyod(random_state=0)
    detector.fit(X)
    together = detector.decision_function(X)
    for size in (1, 3, 7):
        parts = [detector.decision_function(X[i : i + size]) for i in range(0, len(X), size)]
        np.testing.assert_array_equal(np.concatenate(parts), together)


def test_loda_is_pyods():
    detector = ModelSpec("LODA", {"n_bins": 20, "n_random_cuts": 50}).to_pyod(random_state=0)
    detector.fit(TRAIN)
    own = detector.detector_.fitted_.decision_function(detector.scaling_.transform(NEW))
    np.testing.assert_allclose(detector.decision_function(NEW), own)


def test_refitting_forgets_the_former_table():
    detector = ModelSpec("COF", {"n_neighbors": 5}).to_pyod().fit(TRAIN)
    detector.decision_function(NEW)
    other = ModelSpec("COF", {"n_neighbors": 5}).to_pyod().fit(TRAIN[:60])
    detector.fit(TRAIN[:60])
    np.testing.assert_array_equal(detector.decision_function(NEW), other.decision_function(NEW))


@given(seed=st.integers(0, 10**6), k=st.integers(2, 12), d=st.integers(1, 5))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_cof_by_hand(seed, k, d):
    rng = np.random.default_rng(seed)
    X, row = rng.normal(size=(30, d)), rng.normal(size=d)

    def chaining(start, path):
        chain, total = [start], 0.0
        for t, point in enumerate(path):
            total += 2 * (k - t) / (k * (k + 1)) * min(np.linalg.norm(point - p) for p in chain)
            chain.append(point)
        return total

    def nearest(x, skip):
        order = np.argsort(np.linalg.norm(X - x, axis=1))
        return [i for i in order if i != skip][:k]

    neighbours = nearest(row, None)
    theirs = [chaining(X[i], X[nearest(X[i], i)]) for i in neighbours]
    expected = chaining(row, X[neighbours]) / np.mean(theirs)
    assert COF(k).fit(X).decision_function(row[None])[0] == pytest.approx(expected)
