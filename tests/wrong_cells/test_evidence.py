"""The evidence on cells, against slow references and by its properties."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from metaod.tables import read_table
from metaod.wrong_cells._columns import Scale, canonical_order, columns_of, in_order
from metaod.wrong_cells._dependencies import find_contradictions, rows_alike
from metaod.wrong_cells._expectation import association, expected_cells, linear_predictions
from metaod.wrong_cells._formulas import broken_orders, find_formulas, find_series
from metaod.wrong_cells._numbers import Residuals, _isolation, extremes, leads
from metaod.wrong_cells._texts import is_one_edit, near_frequent, spellings

WORDS = st.text(alphabet="abc", max_size=5)


def columns_in(frame):
    return columns_of(read_table(frame))


def measured(columns):
    everything = np.arange(len(columns[0].codes))
    bins = np.stack([column.bins(everything) for column in columns])
    return everything, bins, association(columns, bins, everything)


@pytest.fixture(scope="module")
def related():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1500, 2))
    noise = rng.normal(size=(1500, 4)) * 0.2
    frame = pd.DataFrame(hidden @ rng.normal(size=(2, 4)) + noise, columns=list("abcd"))
    frame["group"] = np.where(frame["a"] > 0, "high", "low")
    frame["noise"] = rng.normal(size=1500)
    return frame


# scale and columns


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30, unique=True))
def test_a_scale_maps_in_order_and_back(values):
    distinct = np.sort(values)
    scale = Scale.of(distinct, np.ones(len(distinct)))
    mapped = scale.map(distinct)
    assert (np.diff(mapped) >= 0).all()
    wide = abs(scale.middle) + scale.spread
    np.testing.assert_allclose(scale.back(mapped), distinct, rtol=1e-6, atol=1e-6 * wide + 1e-9)


def test_the_order_of_rows_depends_on_their_cells_alone(related):
    columns = columns_in(related)
    order = canonical_order(columns)
    shuffled = np.random.default_rng(1).permutation(len(related))
    again = columns_in(related.iloc[shuffled].reset_index(drop=True))
    np.testing.assert_array_equal(shuffled[canonical_order(again)], order)


def test_bins_keep_the_order_of_numbers_and_their_gaps(related):
    frame = related.assign(a=related["a"].where(related["b"] > -2))
    column = columns_in(frame)[0]
    bins = column.bins(np.arange(len(frame)))
    present = column.present
    assert (bins[~present] == 0).all()
    order = np.argsort(column.values[present])
    assert (np.diff(bins[present][order].astype(int)) >= 0).all()
    assert 1 <= bins[present].min() <= bins[present].max() < 64


@pytest.mark.parametrize(
    ("levels", "n_codes"), [([False, True], 0), ([0, 1], 0), ([1, 99], 0), ([1, 2, 99], 1)], ids=str
)
def test_one_of_two_levels_is_no_code(levels, n_codes):
    [column] = columns_in(pd.DataFrame({"a": levels + [1] * 97}).astype(type(levels[0])))
    assert (extremes(column)["code"] > 0).sum() == n_codes


# expectation


def test_forests_expect_what_the_other_columns_tell(related):
    columns = columns_in(related)
    everything, bins, weights = measured(columns)
    expected = expected_cells(columns, bins, weights, everything, seed=0)
    for place in range(4):
        mapped = columns[place].scale.map(columns[place].values)
        assert np.var(mapped - expected[place].place) < 0.3 * np.var(mapped)
    noise = columns[5].scale.map(columns[5].values)
    assert np.var(noise - expected[5].place) > 0.8 * np.var(noise)
    assert expected[4].own.mean() > 0.85


def test_a_cell_does_not_take_part_in_its_own_expectation(related):
    changed = related.copy()
    changed.loc[7, "a"] = 1e9
    found = []
    for frame in (related, changed):
        columns = columns_in(frame)
        everything, bins, weights = measured(columns)
        found.append(expected_cells(columns, bins, weights, everything, seed=0)[0].place[7])
    assert abs(found[0] - found[1]) < 0.4


@given(st.lists(st.none() | st.floats(-100, 100), min_size=3, max_size=30), st.floats(-3, 3))
def test_residuals_are_differences_in_usual_sizes(values, expected):
    column = columns_in(pd.DataFrame({"x": [*values, 1.5, 2.5], "y": "a"}))[0]
    found = Residuals.of(column, np.full(len(column.codes), expected), np.arange(3))
    mapped = column.scale.map(column.values)
    slow = [0.0 if np.isnan(own) else own - expected for own in mapped]
    np.testing.assert_allclose(found.sizes * found.unit, np.abs(slow), rtol=1e-5, atol=1e-6)
    known = [
        abs(own) for own, number in zip(slow[:3], mapped[:3], strict=True) if not np.isnan(number)
    ]
    if known:
        assert found.unit >= 1.4 * np.median(known) - 1e-6


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(0, 5))
def test_a_lead_is_over_what_twice_as_many_cells_and_two_reach(sizes, n_missing):
    everything = np.array([*sizes, *[50.0] * n_missing])
    present = np.arange(len(everything)) < len(sizes)
    n_beyond, found = leads(everything, present, 1.5)
    ordered = sorted(sizes, reverse=True)
    for place, size in enumerate(sizes):
        rank = sum(other >= size for other in sizes)
        other = ordered[min(2 * rank + 2, len(sizes)) - 1]
        assert n_beyond[place] == rank
        assert found[place] == pytest.approx(np.log((size + 1.5) / (other + 1.5)))
    assert (found[len(sizes) :] == 0).all()


def test_linear_predictions_are_those_of_least_squares(related):
    columns = columns_in(related[list("abcd")])
    everything = np.arange(len(related))
    found = linear_predictions(columns, everything)
    X = np.column_stack([np.clip(column.scale.map(column.values), -4, 4) for column in columns])
    for place in range(4):
        others = np.delete(X, place, axis=1)
        model = LinearRegression().fit(others, X[:, place])
        difference = found[place] - model.predict(others)
        assert np.abs(difference).max() < 0.1 * X[:, place].std()


def test_association_is_the_explained_share_of_variance(related):
    columns = columns_in(related)
    _, bins, weights = measured(columns)
    target = columns[0].scale.map(columns[0].values)
    means = pd.Series(target).groupby(bins[1]).transform("mean")
    share = np.var(means) / np.var(target)
    assert weights[0, 1] == pytest.approx(share, abs=0.06)
    assert weights[0, 5] < 0.05
    assert (np.diag(weights) == 0).all()


# numbers


@given(st.lists(st.integers(-50, 50), min_size=5, max_size=40))
def test_isolation_compares_with_the_value_of_twice_as_many_rows_and_two(values):
    ordered = np.sort(np.array(values, dtype=float))
    distinct, counts = np.unique(ordered, return_counts=True)
    middle = float(np.median(ordered))
    below, above = np.cumsum(counts), len(ordered) - np.cumsum(counts) + counts
    found = _isolation(distinct, counts.astype(float), below, above, middle)
    distances = np.sort(np.abs(ordered - middle))
    floor = max(distances[-(-len(ordered) // 2) - 1], 1e-12 * distances[-1], 1e-300)
    for place, value in enumerate(distinct):
        side = ordered if value < middle else ordered[::-1]
        rank = int(below[place] if value < middle else above[place])
        other = side[min(2 * rank + 2, len(ordered)) - 1]
        own = abs(value - middle)
        slow = np.log((own + floor) / (min(own, abs(other - middle)) + floor))
        assert found[place] == pytest.approx(slow)


def test_extremes_of_a_nearly_constant_column_are_far_from_its_mode():
    frame = pd.DataFrame({"year": [2013] * 300 + [1631, 2246], "x": np.arange(302.0)})
    column = columns_in(frame)[0]
    own = extremes(column)
    assert own["from mode"][0] > 1
    assert own["outside"][0] > np.log1p(5)
    assert own["from mode"][np.searchsorted(column.distinct, 2013)] == 0


# texts


def edits(first, second):
    """Return the restricted Damerau-Levenshtein distance, by its definition."""
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    table[:, 0], table[0] = range(len(first) + 1), range(len(second) + 1)
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            cost = first[i - 1] != second[j - 1]
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
            if i > 1 and j > 1 and first[i - 2 : i] == second[j - 2 : j][::-1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[-1, -1]


@given(WORDS, WORDS)
def test_one_edit_is_a_distance_of_one(first, second):
    assert is_one_edit(first, second) == (edits(first, second) == 1)


@given(st.dictionaries(WORDS.filter(len), st.integers(1, 9), min_size=1, max_size=12))
def test_the_near_frequent_text_is_that_of_all_pairs(uses):
    texts, counts = list(uses), np.array(list(uses.values()), dtype=float)
    found = near_frequent(texts, counts, range(len(texts)))
    for place, text in enumerate(texts):
        near = [
            other
            for other in range(len(texts))
            if edits(text, texts[other]) == 1 and counts[other] > max(counts[place], 1)
        ]
        best = max(near, key=lambda other: (counts[other], texts[other]), default=None)
        assert found.get(place, [None])[0] == best
        similar = {own for own in near if counts[own] > 0.5 * counts[best]}
        assert set(found.get(place, [])) == similar


@pytest.mark.parametrize(
    ("text", "meant"),
    [("Shop 1O", "Shop 10"), ("Shop l2", "Shop 12"), ("Shop O5", "Shop 05"), ("Shop 1X", ""),
     ("Shap 15", "Shop 15")],
)  # fmt: skip
def test_a_text_that_looks_alike_is_meant_and_none_of_several(text, meant):
    shops = [f"Shop {n:02d}" for n in range(1, 21)]
    [column] = columns_in(pd.DataFrame({"a": np.repeat([*shops, text], [30] * 20 + [1])}))
    _, better = spellings(column)
    assert better == {20: meant}


def test_all_misspelt_words_of_a_text_are_corrected():
    texts = [f"surgical infection prevention {n}" for n in range(40)] + ["Surgxcal infectxon 7"]
    frame = pd.DataFrame({"condition": texts, "x": np.arange(41)})
    column = columns_in(frame)[0]
    _, better = spellings(column)
    assert better == {column.distinct.tolist().index(texts[-1]): "Surgical infection 7"}


def test_numbered_names_are_no_misspellings_of_each_other():
    texts = ["clerk 4", "clerk 43", "clerk 5", "clark 4"]
    counts = np.array([50.0, 1.0, 3.0, 1.0])
    assert near_frequent(texts, counts, [1, 2, 3]) == {3: [0]}


def test_spellings_find_typos_case_patterns_and_rare_letters():
    texts = ["Lebensmittel"] * 50 + ["Miete"] * 30 + ["Lebnsmittel", "MIETE", "Miete ", "12-X"]
    frame = pd.DataFrame({"category": texts, "x": np.arange(len(texts))})
    column = columns_in(frame)[0]
    evidence, better = spellings(column)
    place = {text: i for i, text in enumerate(column.distinct)}
    assert better[place["Lebnsmittel"]] == "Lebensmittel"
    assert better[place["MIETE"]] == better[place["Miete "]] == "Miete"
    assert evidence["near frequent"][place["Lebnsmittel"]] == pytest.approx(np.log(50))
    assert evidence["coarse pattern"][place["12-X"]] == evidence["coarse pattern"].max() > 4
    assert evidence["letters"][place["12-X"]] == 0 < evidence["letters"][place["Lebensmittel"]]
    assert evidence["blanks"].sum() == 1


# rules


@settings(max_examples=40)
@given(st.integers(0, 2**20))
def test_contradictions_are_those_of_the_groups(seed):
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 12, 240)
    effect = cause % 5
    wrong = rng.permutation(240)[:4]
    effect[wrong] = (effect[wrong] + 1) % 5
    frame = pd.DataFrame({"zip": [f"z{v}" for v in cause], "city": [f"c{v}" for v in effect]})
    columns = columns_in(frame)
    found = find_contradictions(columns, np.arange(240))[1]
    groups = {name: Counter(own["city"]) for name, own in frame.groupby("zip")}
    for row, (cause, effect) in enumerate(zip(frame["zip"], frame["city"], strict=True)):
        counts = groups[cause]
        most = max(counts.values())
        contradicts = counts[effect] < most
        assert (found.strength[row] > 0) == contradicts
        if contradicts:
            assert found.ahead[row] == pytest.approx(np.log(most / counts[effect]))
            assert counts[columns[1].distinct[found.usual[row]]] == most


def test_rows_alike_are_the_later_ones():
    frame = pd.DataFrame({"invoice": [f"i{n}" for n in range(60)]})
    for name in "abcd":
        frame[name] = np.random.default_rng(ord(name)).normal(size=60).round(3)
    frame = pd.concat([frame, frame.iloc[[4]], frame.iloc[[9]]], ignore_index=True)
    frame.loc[61, "invoice"] = "new"
    columns = columns_in(frame)
    order = canonical_order(columns)
    alike, first = rows_alike(in_order(columns, order), order)
    assert order[alike["repeated"]].tolist() == [60]
    assert order[alike["nearly repeated"]].tolist() == [61]
    assert sorted(first[alike["repeated"] | alike["nearly repeated"]].tolist()) == [4, 9]


@pytest.mark.parametrize(
    "rule",
    [
        lambda a, b: a + b,
        lambda a, b: a - 2 * b + 7,
        lambda a, b: a * 1.19,
        lambda a, b: a * b,
        lambda a, b: a / b,
    ],
    ids=["sum", "difference", "tax", "product", "ratio"],
)
def test_formulas_are_found_and_their_broken_rows(rule):
    rng = np.random.default_rng(3)
    a, b = rng.gamma(3, 40, 500).round(2), rng.gamma(4, 5, 500).round(2) + 0.5
    result = np.round(rule(a, b), 2)
    broken = [5, 80, 300]
    correct = result[broken].copy()
    result[broken] *= 1.5
    frame = pd.DataFrame({"a": a, "other": rng.normal(size=500), "b": b, "result": result})
    columns = columns_in(frame)
    everything, _, weights = measured(columns)
    formula = find_formulas(columns, weights, everything, seed=0)[3]
    assert np.flatnonzero(formula.deviation > 1).tolist() == broken
    np.testing.assert_allclose(formula.value[broken], correct, atol=0.02)


def test_unrelated_columns_have_no_formula(related):
    columns = columns_in(related)
    everything, _, weights = measured(columns)
    assert find_formulas(columns, weights, everything, seed=0) == {}


def test_an_end_before_its_start_breaks_an_order():
    rng = np.random.default_rng(4)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 400), unit="D")
    end = start + pd.to_timedelta(rng.integers(0, 30, 400), unit="D")
    frame = pd.DataFrame({"start": start, "end": end})
    frame.loc[17, "end"] = frame.loc[17, "start"] - pd.Timedelta(days=40)
    columns = columns_in(frame)
    everything, _, weights = measured(columns)
    for own in broken_orders(columns, weights, everything):
        assert np.flatnonzero(own).tolist() == [17]


def test_a_jump_out_of_a_series_is_seen_whatever_the_order_of_the_rows():
    days = pd.date_range("2024-01-01", periods=300, freq="D")
    values = 100 + 10 * np.sin(np.arange(300) / 20)
    values[150] += 4
    frame = pd.DataFrame({"day": days, "value": values})
    shuffled = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    for own in (frame, shuffled):
        jumps = find_series(columns_in(own))[0][1]
        assert own["day"][jumps.argmax()] == days[150]
        largest = np.sort(jumps)[::-1]
        assert all(one >= other for one, other in pairwise(largest))
        assert largest[0] > 1.5 * largest[3]
