"""A table whose rows or columns come in another order gets the same scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.detection import MetaOD
from metaod.detection._sampling import reference_rows
from metaod.models import COMMITTEE, score_models
from metaod.tables import canonical_order

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {
    "numbers": lambda rng, n, d: rng.normal(size=(n, d)),
    "few values": lambda rng, n, d: rng.integers(0, 3, (n, d)).astype(float),
    "one of each": lambda rng, n, d: np.eye(n, d),
    "repeated": lambda rng, n, d: np.repeat(rng.normal(size=(n, 1)), d, axis=1).round(),
}


def permuted(X, rng):
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    return X[rows][:, columns], rows


@settings(max_examples=100)
@given(st.sampled_from(sorted(KINDS)), SEEDS, st.integers(1, 40), st.integers(1, 8))
def test_the_canonical_order_is_that_of_any_order(kind, seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, n_rows, n_columns)
    other, _ = permuted(X, rng)
    (rows, columns), (again, others) = canonical_order(X), canonical_order(other)
    np.testing.assert_array_equal(X[rows][:, columns], other[again][:, others])


@settings(max_examples=20)
@given(st.sampled_from(["numbers", "few values"]), SEEDS)
def test_models_learn_from_the_same_rows(kind, seed):
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, 300, 4)
    other = X[rng.permutation(len(X))]
    samples = [own[reference_rows(own, 50, seed=3)] for own in (X, other)]
    ordered = [own[np.lexsort(own.T)] for own in samples]
    np.testing.assert_array_equal(*ordered)


def test_every_model_gives_the_same_scores():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 3)), rng.integers(0, 4, 400)])
    other, rows = permuted(X, rng)
    of_other = {own.spec: own.scores for own in score_models(other, COMMITTEE, trials=1)}
    for own in score_models(X, COMMITTEE, trials=1):
        np.testing.assert_allclose(own.scores[rows], of_other[own.spec], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_table_with_text_and_gaps_gets_the_same_scores(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd")).round(3)
    frame["kind"] = rng.choice(["x", "y", "z"], 120, p=[0.6, 0.3, 0.1])
    frame.loc[::17, "b"] = None
    frame.loc[5, "c"] = 30.0
    rows = rng.permutation(len(frame))
    other = frame.iloc[rows, rng.permutation(frame.shape[1])].reset_index(drop=True)
    first, second = (MetaOD(pick="committee").fit(own) for own in (frame, other))
    np.testing.assert_allclose(
        first.decision_scores_[rows], second.decision_scores_, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(first.labels_[rows], second.labels_)
    new = frame.head(7) + frame.iloc[7:14].reset_index(drop=True)
    np.testing.assert_allclose(first.score_samples(new), second.score_samples(new), rtol=1e-9)
