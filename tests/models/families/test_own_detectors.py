"""Classes that stand in for PyOD's: the same training scores, without what is wrong with them."""

import numpy as np
import pyod.models.cblof
import pyod.models.copod
import pyod.models.ecod
import pyod.models.pca
import pytest

from metaod.errors import BadParameter
from metaod.models import fit_scaling
from metaod.models.families.cblof import CBLOF
from metaod.models.families.copod import COPOD
from metaod.models.families.ecod import ECOD
from metaod.models.families.pca import PCA
from metaod.testing.detectors import tables

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(200, 4)), RNG.normal(0, 5, size=(10, 4))])
TABLES = {name: fit_scaling("zscore", table).transform(table) for name, table in tables().items()}
ALL = {
    "ECOD": ECOD,
    "COPOD": COPOD,
    "CBLOF": lambda: CBLOF(random_state=0),
    "PCA": PCA,
    "PCA without weights": lambda: PCA(weighted=False),
}


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize(
    ("ours", "pyods"),
    [(ECOD, pyod.models.ecod.ECOD), (COPOD, pyod.models.copod.COPOD)],
    ids=["ECOD", "COPOD"],
)
def test_tails_score_the_training_table_as_pyod(ours, pyods, name):
    table = TABLES[name]
    expected = pyods().fit(table).decision_scores_
    np.testing.assert_allclose(ours().fit(table).decision_scores_, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [True, False])
def test_components_score_the_training_table_as_pyod(weighted):
    expected = pyod.models.pca.PCA(weighted=weighted, standardization=False).fit(X)
    ours = PCA(weighted=weighted).fit(X)
    np.testing.assert_allclose(ours.decision_scores_, expected.decision_scores_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), ours.decision_scores_, rtol=1e-9)


def test_columns_that_add_up_are_no_obstacle_to_components():
    table = np.column_stack([X, X[:, 0] + X[:, 1]])
    scores = PCA().fit(table).decision_scores_
    assert np.isfinite(scores).all()
    assert scores[200:].mean() > scores[:200].mean()


def test_clusters_score_the_training_table_as_pyod():
    expected = pyod.models.cblof.CBLOF(n_clusters=8, random_state=0).fit(X).decision_scores_
    np.testing.assert_array_equal(CBLOF(random_state=0).fit(X).decision_scores_, expected)


def test_clusters_that_are_all_large_are_no_error():
    blobs = np.repeat(np.eye(4) * 50, 25, axis=0) + RNG.normal(size=(100, 4))
    with pytest.raises(ValueError, match="valid cluster separation"):
        pyod.models.cblof.CBLOF(n_clusters=4, random_state=0).fit(blobs)
    detector = CBLOF(n_clusters=4, random_state=0).fit(blobs)
    assert np.isfinite(detector.decision_scores_).all()
    assert detector.decision_function([[0.0] * 4])[0] > detector.decision_scores_.max()


@pytest.mark.parametrize("detector", ALL.values(), ids=list(ALL))
def test_rows_that_come_together_do_not_matter(detector):
    fitted = detector().fit(X)
    together = fitted.decision_function(X)
    np.testing.assert_allclose(together, fitted.decision_scores_, rtol=1e-9)
    alone = np.concatenate([fitted.decision_function(row[None]) for row in X[::10]])
    np.testing.assert_allclose(alone, together[::10], rtol=1e-9)


@pytest.mark.parametrize("tails", [ECOD, COPOD])
def test_what_lies_beyond_the_table_is_as_rare_as_its_outermost_rows(tails):
    detector = tails().fit(X)
    far, farther = detector.decision_function([[1e3] * 4, [1e9] * 4])
    assert far == farther
    assert np.isfinite(far)
    with pytest.raises(BadParameter, match="4 columns"):
        detector.decision_function(X[:, :2])


@pytest.mark.parametrize("detector", ALL.values(), ids=list(ALL))
def test_outliers_score_higher(detector):
    scores = detector().fit(X).decision_scores_
    assert np.median(scores[200:]) > np.median(scores[:200])
