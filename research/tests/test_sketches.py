"""Sketches and relatives: changed copies are found, and independent tables are not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from research.relatives import _at_least, compare_sketches, find_relatives, join_origins
from research.sketches import Sketch, sketch

SEEDS = st.integers(0, 2**32 - 1)


def gaussian(rng, n, d):
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def skewed_integers(rng, n, d):
    return np.rint(np.exp(rng.normal(size=(n, d)) * 1.5 + 3))


def two_decimals(rng, n, d):
    return np.round(rng.gamma(2.0, 20.0, size=(n, d)), 2)


def few_levels(rng, n, d):
    return rng.integers(0, 10, (n, d)).astype(float)


def integers(rng, n, d):
    return rng.integers(0, 100, (n, d)).astype(float)


def binary(rng, n, d):
    return rng.integers(0, 2, (n, d)).astype(float)


def one_hot(rng, n, d):
    return np.hstack([np.eye(d // 2)[rng.integers(0, d // 2, n)] for _ in range(2)])


def image(rng, n, d):
    return np.where(rng.random((n, d)) < 0.8, 0, rng.integers(1, 256, (n, d))).astype(float)


def with_index(rng, n, d):
    return np.column_stack([np.arange(n), rng.integers(0, 20, (n, d - 1))]).astype(float)


CONTINUOUS = [gaussian, two_decimals, skewed_integers]
ALL = [*CONTINUOUS, few_levels, integers, binary, one_hot, image, with_index]


def related(one, other):
    return compare_sketches(sketch(one), sketch(other)) is not None


def permuted(X, rng):
    return X[rng.permutation(len(X))][:, rng.permutation(X.shape[1])]


def rescaled(X, rng, *, turned):
    factors = rng.uniform(0.1, 10, X.shape[1])
    if turned:
        factors *= rng.choice([-1, 1], X.shape[1])
    return X * factors + rng.normal(size=X.shape[1]) * 5


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, make=st.sampled_from([*CONTINUOUS, few_levels, integers, image]))
def test_permuted_copies_are_found(seed, make):
    rng = np.random.default_rng(seed)
    X = make(rng, 500, 8)
    assert related(X, permuted(X, rng))


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, make=st.sampled_from([*CONTINUOUS, integers]), turned=st.booleans())
def test_rescaled_copies_are_found(seed, make, turned):
    rng = np.random.default_rng(seed)
    X = make(rng, 500, 8)
    assert related(X, rescaled(permuted(X, rng), rng, turned=turned))


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, make=st.sampled_from([*CONTINUOUS, few_levels, image]))
def test_half_of_the_rows_is_found(seed, make):
    rng = np.random.default_rng(seed)
    X = make(rng, 1000, 8)
    assert related(X, permuted(X, rng)[:500])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, make=st.sampled_from(CONTINUOUS))
def test_half_of_the_rows_without_two_columns_is_found(seed, make):
    rng = np.random.default_rng(seed)
    X = make(rng, 1000, 10)
    assert related(X, permuted(X, rng)[:500, :8])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, make=st.sampled_from(CONTINUOUS), scaling=st.sampled_from(["minmax", "z"]))
def test_scaled_rounded_copies_without_a_column_are_found(seed, make, scaling):
    rng = np.random.default_rng(seed)
    X = permuted(make(rng, 800, 10), rng)
    if scaling == "minmax":
        other = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    else:
        other = (X - X.mean(axis=0)) / X.std(axis=0)
    assert related(X, np.round(other, 4)[:, 1:])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_half_of_the_rows_rescaled_is_found_if_there_are_many_continuous_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 30))
    assert related(X, rescaled(permuted(X, rng)[:700], rng, turned=True))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, make=st.sampled_from(ALL), n=st.sampled_from([100, 800]), same=st.booleans())
def test_independent_tables_are_not_found(seed, make, n, same):
    rng = np.random.default_rng(seed)
    d = 10
    other = make if same else ALL[seed % len(ALL)]
    assert not related(make(rng, n, d), other(rng, 2 * n, d))


def test_a_shuffled_copy_shares_columns_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    found = compare_sketches(sketch(X), sketch(rng.permuted(X, axis=0) * 3 - 1))
    assert found is not None
    assert found.kind == "ends"
    assert found.share == 1.0


def test_types_names_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 500, (300, 5))
    frame = pd.DataFrame(X[::-1], columns=list("abcde")).astype({"a": "float32", "b": "str"})
    assert sketch(X).to_bytes() == sketch(frame).to_bytes()


def test_text_and_missing_values_are_compared():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "city": [f"city {number}" for number in rng.integers(0, 300, 600)],
            "size": rng.normal(size=600),
            "age": np.where(rng.random(600) < 0.2, np.nan, rng.normal(size=600)),
        }
    )
    assert related(frame, frame.sample(300, random_state=0))


@pytest.mark.parametrize("X", [np.zeros((5, 2)), [[1.0]], np.full((4, 3), np.nan), [["a"], ["b"]]])
def test_tables_without_information_are_related_to_nothing(X):
    assert not related(X, X)


def test_huge_values():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 4)) * 10 ** rng.uniform(-300, 308, (200, 4))
    assert related(X, X[::-1])


def test_bytes_come_back():
    made = sketch(np.random.default_rng(0).normal(size=(1000, 10)))
    data = made.to_bytes()
    assert len(data) <= 2048
    assert Sketch.from_bytes(data).to_bytes() == data
    for damaged in (b"", data[:-1], data + b"x", b"\xff" + data[1:]):
        with pytest.raises(ValueError, match="sketch"):
            Sketch.from_bytes(damaged)


@given(st.integers(1, 200), st.data(), st.floats(1e-4, 0.99))
def test_the_binomial_tail(trials, data, chance):
    count = data.draw(st.integers(0, trials))
    assert _at_least(count, trials, chance) == pytest.approx(
        binom.sf(count - 1, trials, chance), rel=1e-6, abs=1e-250
    )


def test_pairs_are_found_among_many_tables():
    rng = np.random.default_rng(0)
    tables = {f"t{number}": rng.normal(size=(300, 5)) for number in range(6)}
    tables["copy"] = tables["t2"][:200] * 1.0
    tables["part"] = tables["t4"][::2]
    sketches = {name: sketch(X) for name, X in tables.items()}
    found = {(item.one, item.other) for item in find_relatives(sketches)}
    assert found == {("t2", "copy"), ("t4", "part")}
    assert [item.other for item in find_relatives(sketches, only=["part"])] == ["part"]
    (relation,) = find_relatives(sketches, only=["t2"])
    assert relation.share_of_other > 0.99
    assert 0.5 < relation.share_of_one < 0.85


def test_joined_origins_have_the_name_of_the_most_tables():
    origins = {"a": "x", "b": "x", "c": "y", "d": "z", "e": "w"}
    assert join_origins(origins, [("c", "a"), ("d", "c")]) == {"y": "x", "z": "x"}
    assert join_origins(origins, [("d", "e")]) == {"z": "w"}
    assert join_origins(origins, [("a", "b")]) == {}
