"""Columns that carry nothing."""

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import roc_auc_score

from research.childsets.generator import ChildsetGenerator
from research.childsets.recipe import Recipe
from research.childsets.sampling import append_irrelevant


def test_each_column_is_copied_once_before_one_is_copied_twice():
    X = np.random.default_rng(0).normal(size=(50, 4))
    wide = append_irrelevant(X, 10, np.random.default_rng(1))
    assert (wide[:, :4] == X).all()
    originals = [
        next(j for j in range(4) if (np.sort(X[:, j]) == np.sort(column)).all())
        for column in wide[:, 4:].T
    ]
    counts = np.bincount(originals, minlength=4)
    assert sorted(counts) == [1, 1, 2, 2]
    assert len({column.tobytes() for column in wide.T}) == 10


def test_irrelevance_one_appends_no_column():
    X = np.eye(3)
    assert append_irrelevant(X, 3, np.random.default_rng(0)) is X


def test_appended_columns_carry_no_information(overlapping):
    childset = ChildsetGenerator(overlapping.motherset).make(Recipe("any", 0.3, "any", 2), 1)
    own, appended = childset.X[:, :4], childset.X[:, 4:]
    assert appended.shape[1] == 12
    # nor about the label …
    information = mutual_info_classif(childset.X, childset.y, random_state=0)
    assert information[0] > 0.1
    assert information[4:].max() < 0.03
    probe = RandomForestClassifier(50, min_samples_leaf=20, oob_score=True, random_state=0)
    scores = [
        roc_auc_score(childset.y, probe.fit(X, childset.y).oob_decision_function_[:, 1])
        for X in (own, appended)
    ]
    assert scores[0] > 0.85
    assert 0.44 < scores[1] < 0.56
    # … nor about the other columns
    correlation = spearmanr(childset.X).statistic[:4, 4:]
    assert np.abs(correlation).max() < 0.1
