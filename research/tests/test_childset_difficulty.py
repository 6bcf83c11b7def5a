"""Point difficulty: P(normal | x) and its levels."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from research.childsets import labelling
from research.childsets.generator import ChildsetGenerator
from research.childsets.labelling import LEVELS, normal_probability, of_difficulty
from research.childsets.recipe import Recipe

ORDERED = ("easy", "medium", "hard", "very hard")


def test_levels_partition_the_probabilities():
    probability = np.linspace(0, 1, 1001)
    levels = np.array([of_difficulty(probability, level) for level in ORDERED])
    assert (levels.sum(axis=0) == 1).all()
    assert of_difficulty(probability, "any").all()
    assert LEVELS["hard"] == (0.3, 0.5)
    assert of_difficulty(np.array([0.5]), "very hard").all()


def test_probability_is_that_of_two_gaussians(quick_difficulty, overlapping):
    # of N(0, 1) and N(2, 1) the logarithm of the odds is known
    X, is_normal = overlapping.motherset.X, overlapping.is_normal
    truth = 1 / (1 + 1500 / 2000 * np.exp(2 * X[:, 0] - 2))
    assert np.abs(normal_probability(X, is_normal) - truth).mean() < 0.06


def test_rows_beyond_the_fitted_ones_are_predicted_in_chunks(monkeypatch, overlapping):
    X, is_normal = overlapping.motherset.X, overlapping.is_normal
    monkeypatch.setattr(labelling, "_LANDMARKS", 20)
    monkeypatch.setattr(labelling, "_FITTED_ROWS", 500)
    whole = normal_probability(X, is_normal)
    monkeypatch.setattr(labelling, "_CHUNK", 101)
    assert np.allclose(normal_probability(X, is_normal), whole)


def test_one_anomalous_row_is_enough(quick_difficulty):
    X = np.random.default_rng(0).normal(size=(60, 2))
    is_normal = np.ones(60, dtype=bool)
    is_normal[-1] = False
    assert np.isfinite(normal_probability(X, is_normal)).all()


def test_a_harder_level_is_harder_for_a_supervised_probe(quick_difficulty, overlapping):
    generator = ChildsetGenerator(overlapping.motherset)
    probe = RandomForestClassifier(50, min_samples_leaf=5, oob_score=True, random_state=0)
    found = []
    for level in ORDERED:
        childset = generator.make(Recipe(level, 0.05), 1)
        probe.fit(childset.X, childset.y)
        found.append(roc_auc_score(childset.y, probe.oob_decision_function_[:, 1]))
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[-1] < 0.8


@pytest.mark.parametrize("level", ORDERED)
def test_outliers_have_the_level_asked_for(quick_difficulty, overlapping, level):
    candidates = overlapping.candidates(Recipe(level))
    assert candidates.size
    assert not overlapping.is_normal[candidates].any()
    assert of_difficulty(overlapping.probability[candidates], level).all()
