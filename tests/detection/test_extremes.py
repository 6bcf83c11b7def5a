"""A value far beyond all others of its column is among the first ten rows, whatever was picked."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_selection import MadeSelection

import metaod
from metaod.detection import MetaOD, detect
from metaod.detection._extremes import Extremes
from metaod.detection._fitted import fit_selection
from metaod.tables import prepare, stream_table

KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(5, 6, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "counts": lambda rng, n: rng.poisson(0.3, n).astype(float),
    "sparse": lambda rng, n: np.where(rng.random(n) < 0.02, rng.uniform(10, 20, n), 0.0),
    "constant but for three": lambda rng, n: 2013.0 + (rng.permutation(n) < 3),
    "huge": lambda rng, n: 1e150 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-150 * rng.normal(size=n),
}
SINGLE = (
    "IForest(n_estimators=50, max_features=1.0)",
    "HBOS(n_bins=10, alpha=0.1)",
    "ECOD()",
    "COPOD()",
    "KNN(n_neighbors=5, method=largest)",
)


def made(n_rows, seed, kinds=("normal", "uniform", "lognormal", "counts")):
    rng = np.random.default_rng(seed)
    return np.column_stack([KINDS[kind](rng, n_rows) for kind in kinds])


def planted(X, row, column, sign=1, times=100):
    """Move one value beyond all others of its column."""
    moved = X.copy()
    values = X[:, column]
    edge = values.max() if sign > 0 else values.min()
    moved[row, column] = edge + sign * times * values.std()
    return moved


def place_of(scores, row):
    return int((scores > scores[row]).sum()) + 1


@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([1_000, 3_333, 200_000]),
    st.sampled_from([-1, 1]),
    st.integers(0, 10**6),
)
@settings(max_examples=40)
def test_a_row_with_an_extreme_cell_comes_first_whatever_its_score(kind, n_rows, sign, seed):
    X = planted(made(n_rows, seed, ("normal", kind)), seed % n_rows, 1, sign)
    scores = np.random.default_rng(seed).normal(size=n_rows)
    extremes = Extremes.of(X)
    gaps = extremes.gaps(X)
    found = extremes.beside(scores, gaps).lifted(scores, gaps)
    assert place_of(found, seed % n_rows) <= 10
    ordinary = gaps == 0
    assert ordinary.mean() > 0.99
    np.testing.assert_array_equal(found[ordinary], scores[ordinary])


@given(st.sampled_from(sorted(KINDS)), st.integers(2, 400), st.integers(0, 10**6))
def test_gaps_are_those_of_the_column_whatever_order_unit_or_company(kind, n_rows, seed):
    rng = np.random.default_rng(seed)
    X = made(n_rows, seed, ("normal", kind))
    X = planted(planted(X, 0, 1, 1, 50), n_rows - 1, 1, -1, 10**4) if seed % 2 else X
    gaps = Extremes.of(X).gaps(X)
    order = rng.permutation(n_rows)
    np.testing.assert_allclose(Extremes.of(X[order]).gaps(X[order]), gaps[order], rtol=1e-6)
    np.testing.assert_allclose(Extremes.of(X / -8).gaps(X / -8), gaps, rtol=1e-6)
    assert (Extremes.of(X).gaps(X[:1]) == gaps[:1]).all()
    wider = np.column_stack([X, rng.uniform(size=n_rows)])
    np.testing.assert_array_equal(Extremes.of(wider).gaps(wider), gaps)


def test_new_values_demand_more_the_farther_out_they_are():
    extremes = Extremes.of(planted(made(1_000, 0), 7, 0, times=1_000))
    new = np.full((50, 4), 1.0)
    new[:, 0] = np.linspace(0, 10**5, 50)
    gaps = extremes.gaps(new)
    assert (np.diff(gaps) >= 0).all()
    assert gaps[0] == 0 < gaps[-1]


def test_columns_in_fixed_units_and_rounding_errors_have_no_extremes():
    X = planted(made(1_000, 0), 7, 0, times=1_000)
    X[:, 1] = 0.3
    X[9, 1] = 0.1 + 0.2
    fixed = np.array([True, False, False, False])
    assert Extremes.of(X, fixed).gaps(X)[[7, 9]].tolist() == [0, 0]


def test_many_extreme_rows_are_how_the_table_is():
    """Each of 400 columns has a single value that is not 0, in another row."""
    X = np.zeros((2_000, 401))
    X[np.arange(400), np.arange(400)] = np.linspace(1, 2, 400)
    X[:, 400] = np.random.default_rng(0).normal(size=2_000)
    scores = X[:, 400].copy()
    extremes = Extremes.of(X)
    gaps = extremes.gaps(X)
    found = extremes.beside(scores, gaps).lifted(scores, gaps)
    upper = scores > 0.1
    assert (gaps > 0).sum() == 400
    np.testing.assert_array_equal(found[upper], scores[upper])
    assert found[~upper].max() < 0.1


@pytest.mark.parametrize("model", SINGLE)
@pytest.mark.parametrize("n_rows", [1_000, 20_500])
def test_every_family_ranks_an_extreme_value_first(model, n_rows):
    clean = made(n_rows, 3, ("normal", "uniform", "counts"))
    X = planted(planted(clean, 77, 0), 500, 1, -1)
    fitted = fit_selection(MadeSelection(prepare(X), (model,)))
    assert max(place_of(fitted.scores, row) for row in (77, 500)) <= 10
    highest = np.delete(fitted.scores, [77, 500]).max()
    assert (fitted.score_as_new(X[[77, 500]]) > highest).all()
    assert fitted.score(planted(clean, 5, 2)[[5]])[0] > highest


@pytest.mark.parametrize("n_rows", [1_000, 30_000, 200_000])
def test_the_default_ranks_an_extreme_value_first_at_any_size(n_rows):
    X = planted(made(n_rows, n_rows), n_rows // 3, 2)
    X = planted(X, n_rows // 2, 0, -1)
    model = MetaOD(rows_only=True).fit(X)
    for row in (n_rows // 3, n_rows // 2):
        assert place_of(model.decision_scores_, row) <= 10
        assert model.labels_[row] == 1
    assert model.explain_rows([n_rows // 3])[0].main_reasons()[0].column == "x3"


def test_an_extreme_value_comes_first_in_a_file_that_is_read_in_chunks(tmp_path):
    X = planted(made(9_000, 1), 8_990, 3)
    path = tmp_path / "t.parquet"
    pd.DataFrame(X, columns=list("abcd")).to_parquet(path, row_group_size=500)
    found = detect(stream_table(path), sample_rows=1_000, rows_only=True)
    assert len(found.model.decision_scores_) == 1_000
    assert place_of(found.scores, 8_990) <= 10


def test_a_saved_pick_keeps_the_extremes_of_its_table(tmp_path):
    X = planted(made(1_000, 2), 3, 0)
    model = MetaOD(space="HBOS", pick="learned-single", rows_only=True).fit(X)
    model.save(tmp_path / "pick")
    again = metaod.load(tmp_path / "pick")
    new = planted(made(1_000, 2), 4, 1, times=10**4)[:6]
    np.testing.assert_allclose(again.score_samples(new), model.score_samples(new))
    np.testing.assert_allclose(again.decision_scores_, model.decision_scores_)


@pytest.mark.parametrize("place", [slice(3, 5), slice(None)], ids=["two", "all"])
@pytest.mark.parametrize("largest", [1.7e308, 1e200, 5e-324])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_largest_and_smallest_doubles_give_no_warnings(place, largest):
    X = np.random.default_rng(0).uniform(-1, 1, (200, 5))
    X[place, 2] *= largest
    X[place, 1] = X[place, 2] / 10  # an exact relation
    model = MetaOD(pick="committee").fit(pd.DataFrame(X, columns=list("abcde")))
    assert np.isfinite(model.decision_scores_).all()
    assert all(np.isfinite(reason.share) for row in model.explain_rows() for reason in row.reasons)
