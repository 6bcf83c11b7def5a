"""A fitted estimator can be pickled, with the pick of the shipped learner."""

import pickle

import numpy as np

from metaod.detection import MetaOD


def test_a_fitted_estimator_is_pickled_without_the_history_of_its_learner():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MetaOD(rows_only=True).fit(X)
    text = pickle.dumps(model)
    again = pickle.loads(text)
    np.testing.assert_array_equal(again.score_samples(X[::-1]), model.score_samples(X[::-1]))
    assert again.selection_.to_dict() == model.selection_.to_dict()
    assert len(text) < 5_000_000
