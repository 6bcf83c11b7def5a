"""Scores from fits without the dataset's origin."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_history import history

from metaod.errors import BadParameter
from metaod.history._training import out_of_fold_scores
from metaod.learners import Learner, make_learner, origin_folds


@dataclass
class Remembering(Learner):
    """Scores are the share of training datasets whose first feature is that of the dataset."""

    name: ClassVar[str] = "remembering"
    title: ClassVar[str] = "Remembering"
    summary: ClassVar[str] = "for tests"

    def _fit(self, training, progress):
        self.seen_ = training.M[:, 0]
        self.n_groups_ = training.groups.max() + 1

    def _predict(self, M):
        seen = np.isin(M[:, :1], self.seen_).astype(float)
        return np.tile(seen, (1, len(self.models_))) + 10 * self.n_groups_


@settings(derandomize=True, deadline=None, max_examples=60)
@given(groups=st.lists(st.integers(0, 9), min_size=2, max_size=40), data=st.data())
def test_an_origin_is_in_one_fold(groups, data):
    count = len(set(groups))
    if count < 2:
        with pytest.raises(BadParameter, match="number of origins"):
            origin_folds(groups, 2)
        return
    n_folds = data.draw(st.integers(2, count))
    folds = origin_folds(groups, n_folds, seed=data.draw(st.integers(0, 3)))
    assert folds.shape == (len(groups),)
    fold_of = dict(zip(groups, folds.tolist(), strict=True))
    assert [fold_of[group] for group in groups] == folds.tolist()
    sizes = Counter(fold_of.values())
    assert set(sizes) == set(range(n_folds))
    assert max(sizes.values()) - min(sizes.values()) <= 1


@pytest.mark.parametrize("n_folds", [0, 1, 13, -2])
def test_bad_numbers_of_folds_are_refused(n_folds):
    P, M, origins = history()
    with pytest.raises(BadParameter, match="n_folds"):
        out_of_fold_scores(make_learner("made_best"), P, M, origins, n_folds=n_folds)


def test_no_score_comes_from_a_fit_with_the_origin():
    P, M, origins = history()
    M["n_rows"] = origins.str.split().str[1].astype(float)
    steps = []
    scores = out_of_fold_scores(
        Remembering(), P, M, origins, n_folds=4, progress=lambda *step: steps.append(step)
    )
    # 9 of the 12 origins are in every fit, never that of the dataset
    np.testing.assert_array_equal(scores, 90.0)
    assert (scores.index == P.index).all()
    assert (scores.columns == P.columns).all()
    assert steps == [("calibrating", fold, 4) for fold in (1, 2, 3, 4)]


def test_scores_are_those_of_a_fit_to_the_other_folds():
    P, M, origins = history()
    folds = origin_folds(origins, 3)
    scores = out_of_fold_scores(make_learner("made_nearest"), P, M, origins, n_folds=3)
    for fold in range(3):
        out = folds == fold
        fresh = make_learner("made_nearest").fit(P[~out], M[~out], origins[~out])
        np.testing.assert_array_equal(scores[out], fresh.predict(M[out])[P.columns])


@pytest.mark.parametrize("name", ["made_best", "metaod"])
def test_the_given_learner_is_not_changed(name):
    P, M, origins = history()
    learner = make_learner(name).fit(P, M, origins)
    before = learner.predict(M)
    out_of_fold_scores(learner, P, M, origins, n_folds=2)
    np.testing.assert_array_equal(learner.predict(M), before)
    unfitted = make_learner(name)
    out_of_fold_scores(unfitted, P, M, origins, n_folds=2)
    assert not hasattr(unfitted, "models_")
