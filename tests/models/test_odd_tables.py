"""What a user gets for a model of the extended space on tables that trip detectors.

A saved pick is fitted again from its spec, its seed and the table, so that a second fit has to give
the same scores to the last bit.
"""

import warnings

import numpy as np
import pytest

from metaod.errors import UserError
from metaod.models import ModelSpec, model_space

RNG = np.random.default_rng(0)
PLAIN = RNG.normal(size=(160, 4)) * [1, 50, 1e-3, 1] + [0, 1e4, 0, 7]

TABLES = {
    "one column": PLAIN[:, :1],
    "constant columns": np.column_stack([np.zeros(160), PLAIN, np.full(160, -7.0)]),
    "twenty rows": PLAIN[:20],
    "five of every row": np.repeat(PLAIN[:30], 5, axis=0),
    "two values": (RNG.random((160, 3)) < 0.1).astype(float),
    "mostly one row": np.vstack([np.tile(PLAIN[0], (150, 1)), PLAIN[:8]]),
    "columns that add up": np.column_stack([PLAIN, PLAIN.sum(axis=1), PLAIN[:, 0]]),
}

# one of each family and scaling
MODELS = list({(s.detector, s.scaling): s for s in reversed(model_space("extended"))}.values())


def fitted(spec, X):
    with warnings.catch_warnings():
        # scikit-learn's, of fewer distinct rows than clusters
        warnings.simplefilter("ignore")
        return spec.to_pyod(random_state=3).fit(X)


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize("spec", MODELS, ids=str)
def test_rows_old_and_new_have_finite_scores(spec, name):
    X = TABLES[name]
    reason = spec.why_not(*X.shape)
    if reason is not None:
        with pytest.raises(UserError) as error:
            spec.to_pyod().fit(X)
        assert reason in str(error.value)
        return
    detector = fitted(spec, X)
    assert np.isfinite(detector.decision_scores_).all()
    new = np.vstack([X[:2], X[:2] + 0.3, X[:1] + 1e6])
    scores = detector.decision_function(new)
    assert np.isfinite(scores).all()
    if spec.detector != "LODA":  # to whose outermost bin a row far away may well belong
        assert scores[-1] >= scores[0]
    again = fitted(ModelSpec.parse(spec.id), X)
    np.testing.assert_array_equal(again.decision_scores_, detector.decision_scores_)
    np.testing.assert_array_equal(again.decision_function(new), scores)
