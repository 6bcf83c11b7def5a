"""The shipped learners, end to end."""

import subprocess
import sys

import numpy as np
import pytest

import metaod
from metaod.history import RECIPES, find_artifact
from metaod.models import candidate_averages, member_ids, model_space

PAPER = {spec.id for spec in model_space("paper")}
EXTENDED = {spec.id for spec in model_space("extended")}
MODELS = {"default": EXTENDED | {spec.id for spec in candidate_averages()}, "metaod": PAPER}


def clusters():
    rng = np.random.default_rng(0)
    parts = [rng.normal(centre, 0.3, size=(150, 2)) for centre in (0, 3, 6, 9)]
    return np.vstack([*parts, rng.uniform(-3, 14, size=(12, 2))])


def heavy_tails():
    return np.random.default_rng(1).standard_t(2, size=(500, 20))


def mostly_zero():
    rng = np.random.default_rng(2)
    return rng.random((250, 30)) * (rng.random((250, 30)) < 0.05)


@pytest.mark.parametrize("name", RECIPES)
def test_a_shipped_learner_describes_itself(name):
    artifact = find_artifact(name)
    assert artifact.learner.name == RECIPES[name].learner
    assert tuple(artifact.schemas) == RECIPES[name].schemas
    assert len(artifact.datasets) == 1065
    assert artifact.n_origins == 958
    assert artifact.measure == "ap"
    assert set(artifact.learner.models_) == MODELS[name]
    assert len(artifact.history.names) == 1065
    assert len(set(artifact.history.origins)) == 958


@pytest.mark.parametrize("name", RECIPES)
def test_the_example_gets_a_pick(name):
    selection = metaod.select(metaod.load_example(), learner=name)
    assert selection.best.id == selection.ranking["model"][0]
    assert selection.best.id in MODELS[name]
    assert selection.trust.is_calibrated
    assert 0 <= selection.trust.low <= selection.trust.predicted <= selection.trust.high <= 1
    assert len(selection.explain().nearest) == 5
    detector = selection.detector().fit(selection.prepared.X)
    assert np.isfinite(detector.decision_scores_).all()


def test_picking_imports_neither_scikit_learn_nor_pyod():
    program = (
        "import sys, numpy as np, metaod\n"
        "from metaod.history import find_artifact\n"
        "for name in ('default', 'metaod'):\n"
        "    artifact = find_artifact(name)\n"
        "    artifact.learner.predict(np.ones(len(artifact.learner.features_)))\n"
        "    metaod.select(np.random.default_rng(0).normal(size=(60, 3)), learner=name)\n"
        "    assert 'sklearn' not in sys.modules, name\n"
        "    assert 'pyod' not in sys.modules, name\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


GOLDEN = {
    "default": {
        "clusters": "KDE(gamma_scale=0.3, scaling=whitened) + "
        "KNN(n_neighbors=300, method=largest, scaling=whitened) + MCD(core=0.75, scaling=robust)",
        "heavy_tails": "KNN(n_neighbors=300, method=largest, scaling=robust) + "
        "MCD(core=0.75, scaling=robust) + SCiForest(n_dims=5, n_estimators=100, n_trials=3, "
        "max_depth=32, scaling=signedlog)",
        "mostly_zero": "IForest(n_estimators=200, max_features=1.0, scaling=signedlog) + "
        "PCA(weighted=false, scaling=signedlog) + SCiForest(n_dims=5, n_estimators=100, "
        "n_trials=3, max_depth=32, scaling=signedlog)",
    },
    "metaod": {
        "clusters": "IForest(n_estimators=200, max_features=0.7)",
        "heavy_tails": "IForest(n_estimators=200, max_features=0.7)",
        "mostly_zero": "IForest(n_estimators=200, max_features=0.7)",
    },
}
"""Another pick for a seeded table means another learner, whether it was meant or not."""


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(
    "made", [clusters, heavy_tails, mostly_zero], ids=lambda made: made.__name__
)
def test_golden_selections(name, made):
    best = metaod.select(made(), learner=name).best
    assert " + ".join(member_ids(best.id)) == GOLDEN[name][made.__name__]


def test_warning_if_the_learner_knows_part_of_the_space():
    found = metaod.select(clusters(), space="paper")
    assert any("of the 302 models of the space 'paper'" in text for text in found.trust.warnings)
    assert metaod.select(clusters(), space="extended").trust.warnings == (
        metaod.select(clusters()).trust.warnings
    )
