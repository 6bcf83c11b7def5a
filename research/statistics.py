"""Statistics of methods across datasets: ranks, paired tests, intervals over origins and seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from metaod.errors import BadParameter, MissingExtra
from metaod.history._metrics import _checked, _measure
from metaod.models import Scores

Alternative = Literal["two-sided", "less", "greater"]

LEVEL = 0.05
"""Significance level, as in the paper."""

# performances are rounded: methods that picked the same model tie in any order of summation
_DECIMALS = 12


def average_precision(y: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Compute the average precision of finite scores, without rounding."""
    labels, values = _checked(y, scores)
    ap, _, _ = _measure(labels, np.argsort(-values), values)
    return float(ap)


def ranks(performance: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods on every dataset: 1 is the best; ties share the mean rank."""
    rounded = np.round(performance.to_numpy(dtype=np.float64), _DECIMALS)
    found = stats.rankdata(-rounded, method="average", axis=1)
    return pd.DataFrame(found, index=performance.index, columns=performance.columns)


def rank_intervals(
    runs: Sequence[npt.ArrayLike],
    origins: npt.ArrayLike,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> Scores:
    """Return 95 % intervals of average ranks; origins and seeds as in :func:`resampled_means`."""
    tables = [_as_runs(run) for run in runs]
    rng = np.random.default_rng(seed)
    found, group_of = np.unique(np.asarray(origins).astype(str), return_inverse=True)
    draws = rng.multinomial(len(found), np.full(len(found), 1 / len(found)), resamples)
    weights = draws[:, group_of] / draws[:, group_of].sum(axis=1, keepdims=True)
    # the ranks of one training of each method; resamples × datasets × methods
    values = np.stack([table.T[rng.integers(table.shape[1], size=resamples)] for table in tables],
                      axis=2)  # fmt: skip
    ranked = stats.rankdata(-np.round(values, _DECIMALS), method="average", axis=2)
    return _ends(np.einsum("rd,rdm->rm", weights, ranked))


def average_ranks(performance: pd.DataFrame) -> pd.Series:
    """Return each method's mean rank over the datasets; 1 is the best."""
    return ranks(performance).mean()


def _differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Scores:
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.round(difference, _DECIMALS)


def wilcoxon_p(
    first: npt.ArrayLike, second: npt.ArrayLike, alternative: Alternative = "two-sided"
) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of paired values, 1 if all are equal."""
    # zero differences are left out, as by scipy's zero_method="wilcox"
    difference = _differences(first, second)
    difference = difference[difference != 0]
    if not difference.size:
        return 1.0
    # exact up to 50 differences without ties; scipy's own choice differs between versions
    tied = len(np.unique(np.abs(difference))) < len(difference)
    # every supported version of scipy accepts "approx"; the type stubs know only its new name
    method: Any = "approx" if tied or len(difference) > 50 else "exact"
    return float(stats.wilcoxon(difference, alternative=alternative, method=method).pvalue)


def _favours_first(difference: Scores) -> bool:
    """Whether the positive differences have the larger sum of ranks, as in the test."""
    kept = difference[difference != 0]
    return bool(np.sign(kept) @ stats.rankdata(np.abs(kept)) > 0)


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same datasets.

    ``p``, wins, losses and ties are over means of origins, because datasets of one origin are not
    independent, and over means of seeds; ``n`` counts the origins.
    """

    first: str
    second: str
    n: int
    p: float  # two-sided, of the signed-rank test
    better: str  # by the sum of ranks, if p < 0.05; '' if neither is; its mean may be the smaller
    delta: float  # mean of the first minus mean of the second, over datasets
    low: float  # of the 95 % interval of delta, by bootstrap over origins and seeds
    high: float
    wins: int
    losses: int
    ties: int


def compare(
    first: npt.ArrayLike, second: npt.ArrayLike, origins: npt.ArrayLike
) -> tuple[float, Scores]:
    """Return the p-value of the signed-rank test over origins, and the origins' differences.

    The values are means over seeds, one per dataset.
    """
    pair = origin_means(np.column_stack([first, second]), origins)
    return wilcoxon_p(pair[:, 0], pair[:, 1]), _differences(pair[:, 0], pair[:, 1])


def compare_all(
    runs: Mapping[str, npt.ArrayLike],
    origins: npt.ArrayLike,
    *,
    seed: int = 0,
    resamples: int = 10_000,
) -> list[Comparison]:
    """Compare every pair of methods; all pairs share the bootstrap draws.

    `runs` holds the average precision of each method, datasets × seeds.
    """
    values = {name: _as_runs(run) for name, run in runs.items()}
    drawn = resampled_means(list(values.values()), origins, seed=seed, resamples=resamples)
    resampled = dict(zip(values, drawn.T, strict=True))
    found = []
    for first, second in combinations(values, 2):
        one, other = values[first].mean(axis=1), values[second].mean(axis=1)
        p, difference = compare(one, other, origins)
        low, high = _ends(resampled[first] - resampled[second])
        better = ""
        if p < LEVEL:
            better = first if _favours_first(difference) else second
        found.append(
            Comparison(
                first,
                second,
                len(difference),
                p,
                better,
                float((one - other).mean()),
                float(low),
                float(high),
                int((difference > 0).sum()),
                int((difference < 0).sum()),
                int((difference == 0).sum()),
            )
        )
    return found


def origin_means(values: npt.ArrayLike, origins: npt.ArrayLike) -> Scores:
    """Return the means of rows with the same origin, origins in sorted order."""
    sums, sizes = _sums(np.asarray(values, dtype=np.float64), origins)
    means: Scores = sums / sizes[:, None]
    return means


def _sums(table: Scores, origins: npt.ArrayLike) -> tuple[Scores, Scores]:
    found, group_of = np.unique(np.asarray(origins).astype(str), return_inverse=True)
    member = np.zeros((len(found), len(table)))
    member[group_of, np.arange(len(table))] = 1.0
    return member @ table, member.sum(axis=1)


def _as_runs(values: npt.ArrayLike) -> Scores:
    found: Scores = np.asarray(values, dtype=np.float64)
    return found[:, None] if found.ndim == 1 else found


def resampled_means(
    runs: Sequence[npt.ArrayLike],
    origins: npt.ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Scores:
    """Return the mean of each method in every bootstrap sample, of shape (resamples, methods).

    A sample draws whole origins with replacement, the same for all methods, and one seed of each
    method: it is what one training of each method would give on other origins. If y[o, s] is the
    mean of origin o with seed s, its variance is, for origins of one size, E_s[Var_o(y)] / G +
    Var_s(E_o[y]), where G is the number of origins. Seed 3 of one method has nothing in common
    with seed 3 of another, so each method's seed is drawn separately.

    Parameters
    ----------
    runs : sequence of array-like of shape (n_datasets, n_seeds)
        Values of each method; methods may differ in their number of seeds.
    origins : array-like of shape (n_datasets,)
        Origins of the datasets.
    resamples, seed : int
        Number of samples, and the seed of the draws.
    """
    tables = [_as_runs(run) for run in runs]
    sums, sizes = _sums(np.column_stack(tables), origins)
    groups = len(sizes)
    rng = np.random.default_rng(seed)
    # a bootstrap sample of origins is given by how often each origin is drawn
    draws = rng.multinomial(groups, np.full(groups, 1 / groups), resamples)
    means = (draws @ sums) / (draws @ sizes)[:, None]
    first = np.cumsum([0, *(table.shape[1] for table in tables[:-1])])
    chosen = [start + rng.integers(table.shape[1], size=resamples) for start, table in
              zip(first, tables, strict=True)]  # fmt: skip
    found: Scores = np.take_along_axis(means, np.column_stack(chosen), axis=1)
    return found


def bootstrap_intervals(
    values: npt.ArrayLike,
    origins: npt.ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Scores:
    """Return percentile intervals of column means, by drawing whole origins with replacement.

    Datasets of one origin are not independent, so an origin is drawn with all of its datasets.

    Parameters
    ----------
    values : array-like of shape (n_datasets, n_columns) or (n_datasets, n_columns, n_seeds)
        With seeds, one seed of each column is drawn in every sample (:func:`resampled_means`):
        the interval is of the mean that one training reaches.
    origins : array-like of shape (n_datasets,)
        Origins of the datasets.
    level : float, default=0.95
        Coverage.
    resamples, seed : int
        Number of samples, and the seed of the draws.

    Returns
    -------
    ndarray of shape (n_columns, 2)
        Lower and upper ends.
    """
    if not 0 < level < 1:
        raise BadParameter("bootstrap_intervals", "level", "a float in the range (0, 1)", level)
    table = np.asarray(values, dtype=np.float64)
    columns = [table[:, place] for place in range(table.shape[1])]
    return _ends(resampled_means(columns, origins, resamples=resamples, seed=seed), level)


def _ends(resampled: Scores, level: float = 0.95) -> Scores:
    tail = (1 - level) / 2
    ends: Scores = np.quantile(resampled, [tail, 1 - tail], axis=0).T
    return ends


@dataclass(frozen=True)
class Friedman:
    """Friedman's test, and Nemenyi's comparison after it."""

    statistic: float  # Friedman's chi-squared, corrected for ties
    p: float
    average_ranks: pd.Series  # by method, the best first
    nemenyi: pd.DataFrame  # p-values of all pairs, methods in the same order
    critical_difference: float  # average ranks further apart than this differ significantly
    groups: list[list[str]]  # longest runs, along the average ranks, in which no pair differs
    n: int


def friedman_nemenyi(performance: pd.DataFrame, *, level: float = LEVEL) -> Friedman:
    """Compare three or more methods at once (Demšar 2006, section 3.2.2)."""
    try:
        import scikit_posthocs  # noqa: PLC0415 - an extra, needed here only
    except ImportError as error:
        purpose = "the critical difference"
        raise MissingExtra("scikit-posthocs", extra="research", needed_for=purpose) from error
    n, k = performance.shape
    if k < 3 or n < 2:
        legal = "of three methods and two datasets at least"
        raise BadParameter("friedman_nemenyi", "performance", legal, performance.shape)
    averages = average_ranks(performance).sort_values(kind="stable")
    rounded = performance[averages.index].round(_DECIMALS)
    if rounded.eq(rounded.iloc[:, 0], axis=0).all(axis=None):
        statistic, p = 0.0, 1.0  # all methods are equal: scipy would divide by zero
    else:
        test = stats.friedmanchisquare(*(rounded[name] for name in rounded))
        statistic, p = float(test.statistic), float(test.pvalue)
    found = scikit_posthocs.posthoc_nemenyi_friedman(rounded.to_numpy())
    nemenyi = pd.DataFrame(found.to_numpy(), index=averages.index, columns=averages.index)
    quantile = float(stats.studentized_range.isf(level, k, np.inf)) / np.sqrt(2)
    distance = float(quantile * np.sqrt(k * (k + 1) / (6 * n)))
    groups = _groups(list(map(str, averages.index)), nemenyi.to_numpy() >= level)
    return Friedman(statistic, p, averages, nemenyi, distance, groups, n)


def _groups(names: Sequence[str], alike: npt.NDArray[np.bool_]) -> list[list[str]]:
    found: list[list[str]] = []
    reached = 0
    for start in range(len(names)):
        end = int(np.flatnonzero(alike[start]).max()) + 1
        if end > max(reached, start + 1):
            found.append(list(names[start:end]))
            reached = end
    return found


@dataclass(frozen=True)
class MatchingModel:
    """The q-th best model of each dataset that a method does not significantly differ from."""

    q: int | None  # 1 is the best model of each dataset; None if the method differs from all
    p: float
    mean: float  # performance of the q-th best models


def best_first(P: pd.DataFrame) -> pd.DataFrame:
    """Sort every dataset's performances: column q holds the q-th best, from 1."""
    values = P.to_numpy(dtype=np.float64)
    ordered = -np.sort(-values, axis=1)  # NaN stays last
    return pd.DataFrame(ordered, index=P.index, columns=range(1, values.shape[1] + 1))


def matching_model(
    performance: npt.ArrayLike, ordered: pd.DataFrame, alternative: Alternative = "two-sided"
) -> MatchingModel:
    """Find the smallest q whose q-th best models do not differ significantly from a method.

    The paper's test is "two-sided"; "less" tests only whether the method is worse.
    """
    method = np.asarray(performance, dtype=np.float64)
    for q in ordered.columns:
        model = ordered[q].to_numpy(dtype=np.float64)
        known = ~np.isnan(model)  # the others have fewer than q models
        if not known.any():
            break
        p = wilcoxon_p(method[known], model[known], alternative)
        if p >= LEVEL:
            return MatchingModel(int(q), p, float(model[known].mean()))
    return MatchingModel(None, float("nan"), float("nan"))
