"""Statistics against published tables, scipy and properties."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaod.errors import BadParameter, MissingExtra
from research.statistics import (
    average_ranks,
    best_first,
    bootstrap_intervals,
    compare_all,
    friedman_nemenyi,
    matching_model,
    origin_means,
    rank_intervals,
    ranks,
    resampled_means,
    wilcoxon_p,
)

# Demšar (2006), table 6: AUC of C4.5 without and with two kinds of tuning. The last two of the last
# row but one are both printed as 0.975, but ranked 2 and 3: he had more digits.
DEMSAR = pd.DataFrame(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.975, 0.9749),
        (0.957, 0.978, 0.946, 0.970),
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)
# Darwin's maize: heights of crossed less self-fertilised plants, in eighths of an inch
DARWIN = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
# Hollander & Wolfe (1973), table 3.1: Hamilton depression scale before and after a tranquilliser
HAMILTON = (
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)


# ranks


def test_ranks_are_demsars():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_ties_share_their_ranks_despite_rounding():
    table = pd.DataFrame({"a": [0.1 + 0.2], "b": [0.3], "c": [0.9]})
    assert ranks(table).iloc[0].tolist() == [2.5, 2.5, 1.0]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=8))
def test_ranks_of_a_dataset_always_sum_to_the_same(rows):
    found = ranks(pd.DataFrame(rows))
    assert np.allclose(found.sum(axis=1), 10)
    assert found.to_numpy().min() >= 1
    assert found.to_numpy().max() <= 4


# pairs


def test_wilcoxon_is_that_of_darwins_maize():
    assert wilcoxon_p(DARWIN, np.zeros(15)) == pytest.approx(0.04125976562)


def test_wilcoxon_is_that_of_hollander_and_wolfe():
    assert wilcoxon_p(*HAMILTON, "greater") == pytest.approx(0.01953125)
    assert wilcoxon_p(*HAMILTON) == pytest.approx(0.0390625)


def test_wilcoxon_leaves_zero_differences_out():
    some = [3.0, 1.0, 2.0, 5.0, 9.0]
    assert wilcoxon_p([*some, 7.0], [0, 0, 0, 0, 0, 7.0]) == wilcoxon_p(some, np.zeros(5)) == 0.0625


def test_ties_and_many_pairs_take_the_normal_distribution():
    tied = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, -21.0, -34.0, 55.0, 0.5])
    # by hand: ranks of sizes, tied ones shared, variance less the share of one pair of ties
    n, plus = 11, 66 - 9 - 10
    variance = n * (n + 1) * (2 * n + 1) / 24 - (2**3 - 2) / 48
    expected = 2 * stats.norm.sf((plus - n * (n + 1) / 4) / np.sqrt(variance))
    assert wilcoxon_p(tied, np.zeros(11)) == pytest.approx(expected)
    many = np.random.default_rng(0).normal(0.2, 1, 80)
    assert wilcoxon_p(many, np.zeros(80)) == pytest.approx(
        stats.wilcoxon(many, method="approx").pvalue
    )


def test_no_difference_at_all_is_p_one():
    assert wilcoxon_p([0.1 + 0.2, 0.5], [0.3, 0.5]) == 1.0
    assert wilcoxon_p([0.3, 0.5], [0.3, 0.5], "less") == 1.0


def test_the_better_side_is_that_of_ranks_not_of_means():
    # one huge loss drags the mean down, fourteen wins decide the ranks
    first = np.array([0.5] * 14 + [0.0])
    second = np.array([0.49 - 0.001 * place for place in range(14)] + [1.0])
    table = pd.DataFrame({"first": first, "second": second})
    [found] = compare_all(table.to_dict("list"), np.arange(15))
    assert found.delta < 0
    assert found.p < 0.05
    assert found.better == "first"
    assert (found.wins, found.losses, found.ties) == (14, 1, 0)


def test_a_reversed_comparison_is_symmetric():
    [there] = compare_all(DEMSAR[["C4.5", "C4.5+m"]].to_dict("list"), np.arange(14))
    [back] = compare_all(DEMSAR[["C4.5+m", "C4.5"]].to_dict("list"), np.arange(14))
    assert there.p == back.p
    assert there.better == back.better == "C4.5+m"
    assert (
        (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties) == (2, 10, 2)
    )
    assert (there.delta, there.low, there.high) == pytest.approx(
        (-back.delta, -back.high, -back.low)
    )


def test_all_pairs_are_compared_once_in_order():
    found = compare_all(DEMSAR.to_dict("list"), np.arange(14))
    assert [(pair.first, pair.second) for pair in found][:3] == [
        ("C4.5", "C4.5+m"),
        ("C4.5", "C4.5+cf"),
        ("C4.5", "C4.5+m+cf"),
    ]
    assert len(found) == 6
    assert all(pair.low <= pair.delta <= pair.high for pair in found)
    assert all(pair.n == 14 == pair.wins + pair.losses + pair.ties for pair in found)


# intervals over origins


def test_interval_is_scipys_where_every_origin_has_one_dataset():
    values = np.random.default_rng(3).normal(0.02, 0.05, 60)
    ours = bootstrap_intervals(values[:, None], np.arange(60), resamples=40_000)[0]
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], abs=5e-4)


def test_copies_of_datasets_do_not_narrow_the_interval():
    values = np.random.default_rng(0).normal(size=20)
    once = bootstrap_intervals(values[:, None], np.arange(20))
    copied = np.repeat(values, 4)[:, None]
    kept = bootstrap_intervals(copied, np.repeat(np.arange(20), 4))
    naive = bootstrap_intervals(copied, np.arange(80))
    assert kept == pytest.approx(once)
    assert np.diff(naive)[0, 0] < 0.7 * np.diff(once)[0, 0]


def test_large_origins_weigh_by_their_datasets():
    values = np.array([1.0] * 9 + [0.0])[:, None]
    ends = bootstrap_intervals(values, ["a"] * 9 + ["b"])
    # half of the draws hold both origins: nine tenths is the mean there
    assert ends.tolist() == [[0.0, 1.0]]
    ends = bootstrap_intervals(values, ["a"] * 9 + ["b"], level=0.4)
    assert ends == pytest.approx(np.array([[0.9, 0.9]]))


def test_intervals_are_the_same_on_every_run_and_seeds_differ():
    values = np.random.default_rng(0).normal(size=(30, 2))
    first = bootstrap_intervals(values, np.arange(30), seed=1)
    assert (first == bootstrap_intervals(values, np.arange(30), seed=1)).all()
    assert (first != bootstrap_intervals(values, np.arange(30), seed=2)).any()
    with pytest.raises(BadParameter, match="level"):
        bootstrap_intervals(values, np.arange(30), level=1.5)


# origins are the independent rows


def test_siblings_count_once_in_tests_and_wins():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 10, 5))
    origins = np.repeat(np.arange(10), 5)
    [found] = compare_all({"a": first.ravel(), "b": second.ravel()}, origins)
    one, other = first.mean(axis=1), second.mean(axis=1)
    assert found.n == 10 == found.wins + found.losses + found.ties
    assert found.p == pytest.approx(stats.wilcoxon(one, other, method="exact").pvalue)
    assert found.wins == (one > other).sum()
    assert found.delta == pytest.approx((one - other).mean())
    assert origin_means(first.reshape(-1, 1), origins)[:, 0] == pytest.approx(one)


# intervals over origins and seeds


def test_variance_of_resampled_means_is_that_of_its_components():
    rng = np.random.default_rng(0)
    groups, size, seeds = 25, 2, 6
    y = (
        rng.normal(0, 1.0, (groups, 1))
        + rng.normal(0, 0.3, seeds)
        + rng.normal(0, 0.5, (groups, seeds))
    )
    values = np.repeat(y, size, axis=0)
    fixed = np.repeat(rng.normal(size=groups), size)
    origins = np.repeat(np.arange(groups), size)
    drawn = resampled_means([values, fixed], origins, resamples=200_000)
    over_origins = y.var(axis=0).mean() / groups
    over_seeds = y.mean(axis=0).var()
    assert over_seeds > 0.3 * over_origins  # both count here
    assert drawn[:, 0].var() == pytest.approx(over_origins + over_seeds, rel=0.02)
    assert drawn[:, 0].mean() == pytest.approx(y.mean(), abs=0.003)
    assert drawn[:, 1].var() == pytest.approx(fixed.var() / groups, rel=0.02)
    # origins are the same for both methods, seeds are not
    together = (
        np.mean([np.cov(y[:, s], fixed[::size], ddof=0)[0, 1] for s in range(seeds)]) / groups
    )
    assert np.cov(drawn.T)[0, 1] == pytest.approx(together, abs=5e-4)


def test_interval_with_seeds_is_normal_with_that_variance():
    rng = np.random.default_rng(1)
    y = rng.normal(0, 1.0, (200, 1)) + rng.normal(0, 0.15, 200) + np.zeros((200, 200))
    low, high = bootstrap_intervals(y[:, None], np.arange(200), resamples=40_000)[0]
    sd = np.sqrt(y.var(axis=0).mean() / 200 + y.mean(axis=0).var())
    assert (high - low) / 2 == pytest.approx(1.96 * sd, rel=0.05)
    without = bootstrap_intervals(y.mean(axis=1, keepdims=True), np.arange(200))[0]
    assert np.diff(without)[0] < 0.6 * (high - low)


def test_one_seed_or_equal_seeds_change_nothing():
    values = np.random.default_rng(0).normal(size=20)
    alone = bootstrap_intervals(values[:, None], np.arange(20))
    repeated = np.repeat(values[:, None, None], 3, axis=2)
    assert bootstrap_intervals(repeated, np.arange(20)) == pytest.approx(alone)


def test_rank_intervals_contain_the_ranks_and_are_those_of_means():
    table = DEMSAR.to_numpy()
    ends = rank_intervals(list(table.T), np.arange(14), resamples=40_000)
    assert ends == pytest.approx(bootstrap_intervals(ranks(DEMSAR), np.arange(14)), abs=0.05)
    # a method that is the best with one seed and the worst with another
    swinging = np.column_stack([np.full(14, 2.0), np.full(14, -1.0)])
    ends = rank_intervals([swinging, *table.T], np.arange(14))
    assert ends[0] == pytest.approx([1, 5])


# all together


def test_critical_difference_is_demsars():
    found = friedman_nemenyi(DEMSAR)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert friedman_nemenyi(DEMSAR, level=0.10).critical_difference == pytest.approx(
        1.12, abs=0.005
    )
    assert found.n == 14
    assert list(found.average_ranks.index) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]


def test_friedman_is_demsars_but_for_ties():
    found = friedman_nemenyi(DEMSAR)
    n, k = DEMSAR.shape
    squared = (average_ranks(DEMSAR) ** 2).sum()
    # he does not correct for ties; scipy does, which makes the statistic larger
    assert 12 * n / (k * (k + 1)) * (squared - k * (k + 1) ** 2 / 4) == pytest.approx(
        9.28, abs=0.01
    )
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*DEMSAR.to_numpy().T).statistic)
    assert found.statistic > 9.28


def test_groups_are_those_within_the_critical_difference():
    everyone = friedman_nemenyi(DEMSAR)
    # 3.143 - 1.964 is below 1.25: Nemenyi's test finds nothing here, as Demšar says
    assert everyone.groups == [["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]]
    apart = pd.DataFrame(np.tile([0.9, 0.5, 0.1], (30, 1)), columns=["a", "b", "c"])
    assert friedman_nemenyi(apart).groups == []
    rng = np.random.default_rng(0)
    chain = pd.DataFrame(rng.normal(0, 1, (40, 6)) + np.arange(6) * 0.35)
    found = friedman_nemenyi(chain.rename(columns=str))
    for group in found.groups:
        width = found.average_ranks[group[-1]] - found.average_ranks[group[0]]
        assert width < found.critical_difference
    assert len(found.groups) > 1
    # no group lies inside another
    assert not any(set(a) < set(b) for a in found.groups for b in found.groups)


def test_methods_that_are_all_alike_do_not_differ():
    found = friedman_nemenyi(pd.DataFrame(np.full((5, 3), 0.4), columns=["a", "b", "c"]))
    assert (found.statistic, found.p) == (0.0, 1.0)
    assert found.groups == [["a", "b", "c"]]


def test_two_methods_are_too_few():
    with pytest.raises(BadParameter, match="three methods"):
        friedman_nemenyi(DEMSAR.iloc[:, :2])


def test_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(MissingExtra, match=r"\[research\]"):
        friedman_nemenyi(DEMSAR)


# the q-th best model


def test_best_first_keeps_missing_values_last():
    P = pd.DataFrame({"a": [0.1, 0.9], "b": [np.nan, 0.2], "c": [0.5, 0.3]})
    found = best_first(P)
    assert found.columns.tolist() == [1, 2, 3]
    assert found.iloc[0, :2].tolist() == [0.5, 0.1]
    assert np.isnan(found.iloc[0, 2])
    assert found.iloc[1].tolist() == [0.9, 0.3, 0.2]


def test_a_method_matches_the_model_that_it_is():
    rng = np.random.default_rng(0)
    ordered = best_first(pd.DataFrame(rng.random((40, 30))))
    assert matching_model(ordered[1], ordered).q == 1
    two = matching_model(ordered[20], ordered)
    one = matching_model(ordered[20], ordered, "less")
    # q-th bests lie so close together that the neighbours' order is certain: none but itself
    assert (two.q, two.p) == (20, 1.0)
    assert one.q == 20
    assert two.mean == pytest.approx(ordered[20].mean())


def test_the_smallest_q_is_found_and_one_sided_is_never_smaller():
    rng = np.random.default_rng(1)
    ordered = best_first(pd.DataFrame(rng.random((25, 40))))
    method = np.clip(ordered[12] + rng.normal(0, 0.2, 25), 0, 1)
    two, one = matching_model(method, ordered), matching_model(method, ordered, "less")
    assert two.q is not None
    assert one.q is not None
    assert two.q <= one.q
    assert all(wilcoxon_p(method, ordered[q]) < 0.05 for q in range(1, two.q))
    assert wilcoxon_p(method, ordered[two.q]) == two.p >= 0.05


def test_a_method_worse_than_every_model_matches_none():
    ordered = best_first(pd.DataFrame(np.random.default_rng(0).random((30, 5)) + 1))
    found = matching_model(np.zeros(30), ordered)
    assert found.q is None
    assert np.isnan(found.mean)
