"""Relations of text to other columns, by scipy's tests, and odd combinations, by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, f_oneway, rankdata

from metaod.tables import Preparation, prepare
from metaod.tables import _relations as relating
from metaod.tables._objects import Labels
from metaod.tables._relations import Pair, combinations, related_columns

PAIR = Pair("zone", "price", ("a", "b"), (0.0, 100.0), (1.0, 10.0), middle=50.0, spread=40.0)


def labels(texts):
    codes, found = pd.factorize(np.array(texts, dtype=object))
    return Labels(codes.astype(np.intp), list(found))


def related(text, **numbers):
    return "text" in related_columns({"text": labels(text)}, numbers)[0]


# the tests of relations

LEVELS = st.lists(st.integers(0, 4), min_size=12, max_size=60).filter(lambda x: len(set(x)) > 1)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(LEVELS, st.integers(0, 99), st.booleans())
def test_the_relation_to_a_number_is_an_analysis_of_variance_of_ranks(levels, seed, tied):
    values = np.random.default_rng(seed).normal(size=len(levels))
    values = values.round() if tied else values
    _, codes = np.unique(levels, return_inverse=True)
    found = relating._chance_by_rank(codes, relating._ranks(values))
    groups = [rankdata(values)[codes == code] for code in range(codes.max() + 1)]
    expected = f_oneway(*groups).pvalue if np.ptp(values) > 0 else 1.0
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(LEVELS, st.randoms(use_true_random=False))
def test_the_relation_of_two_texts_is_a_chi_square_test(levels, random):
    others = random.sample(levels, len(levels))
    _, codes = np.unique(levels, return_inverse=True)
    _, other_codes = np.unique(others, return_inverse=True)
    expected = chi2_contingency(pd.crosstab(codes, other_codes), correction=False).pvalue
    assert relating._chance_by_table(codes, other_codes) == pytest.approx(expected, rel=1e-9)


def test_a_column_that_determines_a_number_is_related():
    codes = np.repeat([0, 1], 20)
    assert relating._chance_by_rank(codes, relating._ranks(codes * 1.0)) < 1e-9
    assert relating._chance_by_rank(codes, np.zeros(40)) == 1.0
    assert relating._chance_by_table(codes, np.zeros(40, np.intp)) == 1.0


def test_rare_levels_are_compared_as_one_and_a_gap_is_a_level():
    texts = ["a"] * 9 + [None] * 8 + ["b"] * 7 + ["c"] + ["d"] * 10
    merged = relating._merged(labels(texts), 8)
    sets = {frozenset(np.array(texts, object)[merged == code]) for code in range(merged.max() + 1)}
    assert sets == {frozenset("a"), frozenset({None}), frozenset("bc"), frozenset("d")}
    many = relating._merged(labels([f"t{row % 40}" for row in range(400)]), 8)
    assert len(set(many)) == 20


def test_unrelated_text_is_hardly_ever_called_related():
    rng = np.random.default_rng(0)
    n_related = 0
    for _ in range(400):
        n_levels = int(rng.integers(2, 40))
        shares = rng.dirichlet(np.ones(n_levels))
        numbers = {name: rng.lognormal(size=200) for name in "abc"}
        texts = {
            name: labels(rng.choice([f"t{level}" for level in range(n_levels)], 200, p=shares))
            for name in ("text", "other")
        }
        n_related += "text" in related_columns(texts, numbers)[0]
    assert n_related <= 12  # 4 are expected


@pytest.mark.parametrize("seed", range(5))
def test_related_text_is_kept(seed):
    rng = np.random.default_rng(seed)
    zone = rng.choice(["a", "b", "c"], 300)
    noise = {name: rng.normal(size=300) for name in "xyz"}
    assert not related(zone, **noise)
    assert related(zone, **noise, price=rng.normal(size=300) + (zone == "a"))
    kind = labels(np.where(rng.random(300) < 0.8, zone, "d"))
    found = related_columns({"zone": labels(zone), "kind": kind}, noise)
    assert found == ({"zone", "kind"}, [])


def test_relations_are_measured_on_a_sample_of_the_rows(monkeypatch):
    sizes = []

    def related(texts, numbers):
        sizes.append({len(values) for values in numbers.values()})
        sizes.append({len(text.codes) for text in texts.values()})
        return set(), []

    monkeypatch.setattr(relating, "related_columns", related)
    rng = np.random.default_rng(0)
    for n_rows in (20_000, 20_001, 70_000):
        prepare(pd.DataFrame({"t": rng.choice(["a", "b"], n_rows), "x": rng.normal(size=n_rows)}))
    assert sizes == [{20_000}] * 6


def test_a_sampled_relation_reads_text_in_its_notation(monkeypatch):
    monkeypatch.setattr(relating, "MOST_ROWS", 100)
    rng = np.random.default_rng(0)
    zone = rng.choice(["a", "b"], 300)
    price = [f"${value:,.2f}" for value in rng.normal(2000, 1, 300) + 500 * (zone == "a")]
    prepared = prepare(pd.DataFrame({"zone": zone, "price": price}))
    assert "zone surprisal" in prepared.names


def test_too_many_columns_to_compare_are_all_kept(monkeypatch):
    monkeypatch.setattr(relating, "_MOST_COMPARISONS", 100)
    texts = {f"t{place}": labels(["a", "b"] * 20) for place in range(30)}
    assert related_columns(texts, {}) == (set(texts), [])


@pytest.mark.parametrize("n_rows", [500, 20_000])
def test_unrelated_text_of_rare_levels_is_seldom_called_related(n_rows):
    rng = np.random.default_rng(n_rows)
    shares = 0.6 ** np.arange(20)
    texts = {
        f"t{place}": labels(
            [f"v{level}" for level in rng.choice(20, n_rows, p=shares / shares.sum())]
        )
        for place in range(20)
    }
    assert len(related_columns(texts, {})[0]) <= 2


def test_alternating_rows_are_not_mistaken_for_one_level():
    frame = pd.DataFrame({"machine": ["A", "B"] * 20_000, "v": [0.0, 100.0] * 20_000})
    frame["v"] += np.random.default_rng(0).normal(size=len(frame))
    assert "machine surprisal" in prepare(frame).names


@pytest.mark.parametrize("first", [0, 1])
def test_odd_combinations_are_found_wherever_they_are(first):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 30_000)
    frame = pd.DataFrame(
        {"kind": np.array(["a", "b"])[kind], "v": rng.normal(size=30_000) + 50 * kind}
    )
    odd = np.arange(first, 30_000, 6_000)
    frame.loc[odd, "v"] = 50.0 - frame.loc[odd, "v"]
    prepared = prepare(frame)
    found = prepared.X[:, prepared.names.index("combinations")]
    assert (found[odd] > 5).all()
    assert (np.delete(found, odd) == 0).all()


def test_a_gap_is_no_odd_combination():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 1_000)
    frame = pd.DataFrame(
        {"kind": np.array(["a", "b"])[kind], "v": rng.normal(size=1_000) + 50 * kind}
    )
    frame.loc[:4, "v"] = np.nan
    frame.loc[9, "v"] = 50 - frame.loc[9, "v"]
    prepared = prepare(frame)
    assert np.flatnonzero(prepared.X[:, prepared.names.index("combinations")]).tolist() == [9]


def test_pairs_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 2_000)
    frame = pd.DataFrame({f"n{j}": rng.normal(size=2_000) + 20 * kind for j in range(12)})
    for j in range(10):
        frame[f"c{j}"] = [f"v{value}" for value in (kind + j) % 4]
    frame.iloc[3, :12] = 500.0
    there, back = (Preparation().fit(part) for part in (frame, frame[frame.columns[::-1]]))
    assert set(there.pairs_) == set(back.pairs_)


# odd combinations


def test_the_excess_of_a_pair_by_hand():
    zone = labels(["a", "a", "b", "b", "c", None])
    price = np.array([100.0, 1.0, 100.0, 20.0, 1e6, 1e6])
    # 100 for a: 100 spreads of its zone, 1.25 of the table; 20 for b: 8 and 0.75
    expected = [100 - 1.25 - 3, 0, 0, 8 - 0.75 - 3, 0, 0]
    assert PAIR.excess(PAIR.places(zone), price).tolist() == expected


def test_the_oddest_combination_of_a_row_counts():
    other = Pair("zone", "weight", ("a",), (0.0,), (1.0,), middle=0.0, spread=1e9)
    zone = {"zone": labels(["a", "a", "b"])}
    numbers = {"price": np.array([100.0, 0.0, 100.0]), "weight": np.array([10.0, 1003.0, 1003.0])}
    found = combinations((PAIR, other), zone, numbers)
    np.testing.assert_allclose(found, [np.log1p(95.75) / 0.4, np.log1p(1000) / 0.4, 0], rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_the_excess_of_huge_values_is_finite():
    pair = Pair("zone", "price", ("a",), (-1.7e308,), (1e-300,), middle=1.7e308, spread=1e300)
    price = {"price": np.array([1.7e308, -1.7e308, 0.0, 1.0])}
    found = combinations([pair], {"zone": labels(["a", "a", "b", None])}, price)
    assert np.isfinite(found).all()


def test_categories_that_are_all_missing_have_no_odd_combinations():
    places = PAIR.places(labels([None, None]))
    assert PAIR.excess(places, np.array([1e9, 0.0])).tolist() == [0.0, 0.0]


def zones(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    zone = rng.choice(["a", "b", "c"], n_rows, p=[0.5, 0.4, 0.1])
    price = rng.normal(size=n_rows) + 20 * (zone == "b")
    return pd.DataFrame({"zone": zone, "price": price, "other": rng.normal(size=n_rows)})


def test_a_number_of_another_category_is_odd():
    frame = zones()
    frame.loc[7, ["zone", "price"]] = ["a", 20.0]
    preparation = Preparation()
    prepared = preparation.fit_transform(frame)
    assert prepared.names == ("zone surprisal", "price", "other", "combinations")
    odd = prepared.X[:, -1]
    assert odd.argmax() == 7
    assert np.count_nonzero(odd) <= 3
    [pair] = preparation.pairs_
    assert (pair.category, pair.number, set(pair.levels)) == ("zone", "price", {"a", "b", "c"})
    later = preparation.transform(zones(seed=1).assign(zone=lambda t: t["zone"].replace("b", "a")))
    assert (later.X[:, -1] > 0).mean() > 0.3
    gone = preparation.transform(frame.assign(zone=None))
    assert (gone.X[:, -1] == 0).all()


def test_without_odd_rows_there_is_no_column():
    frame = zones()
    frame["price"] = frame["price"].clip(-2, 22)
    prepared = prepare(frame)
    assert prepared.names == ("zone surprisal", "price", "other")


def test_numbers_of_few_values_and_small_categories_have_no_pairs():
    frame = zones()
    frame["price"] = frame["price"].round(-1)
    assert Preparation().fit(frame).pairs_ == ()
    assert Preparation().fit(zones(48)).pairs_ == ()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e300, 8e306])
def test_spreads_do_not_depend_on_the_unit(scale):
    values = np.random.default_rng(0).normal(size=5000)
    assert relating._spread(values * scale) == pytest.approx(relating._spread(values) * scale)
    assert relating._spread(np.append(values, 1e300)) == pytest.approx(1, abs=0.05)
    assert relating._median(values * scale) == pytest.approx(np.median(values) * scale)
