"""Every feature of the `scores` schema, compared with a slow, obvious implementation."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from metaod.metafeatures import LandmarkerRuns, extract, schema
from metaod.models.families.knn import KNN
from metaod.models.families.lof import LOF

SCORE_LANDMARKERS = ("iforest", "hbos", "loda", "pca", "ecod", "knn", "lof")
NAMES = list(schema("scores").names)
GLOBAL = ["iforest", "hbos", "loda", "pca", "ecod"]
LOCAL = ["knn", "lof"]


def tables():
    random = np.random.default_rng(0)
    cloud = random.standard_normal((140, 4))
    cloud[:6] += 6
    yield "cloud and clump", cloud
    yield "one column", random.standard_t(2, size=(80, 1))
    yield (
        "two densities",
        np.vstack([random.standard_normal((60, 3)), 8 + 0.1 * random.standard_normal((50, 3))]),
    )
    yield "wide", random.standard_normal((18, 40))
    yield "integers", random.poisson(1.5, size=(90, 3)).astype(float)
    yield "repeated rows", np.repeat(random.exponential(size=(30, 3)), 3, axis=0)
    yield "few rows", random.standard_normal((4, 2))


TABLES = dict(tables())


def assert_plain(runs):
    expected = slow_features(runs)
    assert list(expected) == NAMES
    values = extract(runs.X, "scores", runs=runs).to_dict()
    assert values == pytest.approx(expected, rel=1e-6, abs=1e-7, nan_ok=True)


@pytest.mark.parametrize("name", TABLES)
def test_features_equal_the_plain_implementation(name):
    assert_plain(LandmarkerRuns(TABLES[name]))


def test_sampled_neighbours(monkeypatch):
    monkeypatch.setattr("metaod.models._neighbours.MAX_NEIGHBOUR_ROWS", 100)
    runs = LandmarkerRuns(TABLES["cloud and clump"])
    assert len(runs.neighbours.rows) == 100
    assert_plain(runs)


def slow_features(runs):
    """All features by name, in the order of the schema."""
    seeded = {
        name.lower(): [run.decision_scores_ for run in runs.of_seeds(name)]
        for name in ("IForest", "LODA")
    }
    scores = {
        "iforest": np.mean(seeded["iforest"], axis=0),
        "hbos": runs.run("HBOS").decision_scores_,
        "loda": np.mean(seeded["loda"], axis=0),
        "pca": runs.pca.decision_scores_,
        "ecod": runs.run("ECOD").decision_scores_,
        "knn": runs.neighbours.scores(KNN, 5),
        "lof": runs.neighbours.scores(LOF, 20),
    }
    rows, found = runs.neighbours.rows, runs.neighbours
    searched = {name: scores[name] if name in LOCAL else scores[name][rows] for name in scores}
    Z = runs.Z[rows]
    features = {}
    for name in SCORE_LANDMARKERS:
        features |= {f"{name}_score_{key}": value for key, value in shape(scores[name]).items()}
    rhos, shares = {}, {}
    for a, b in combinations(SCORE_LANDMARKERS, 2):
        both = scores if a in GLOBAL and b in GLOBAL else searched
        rhos[a, b] = spearman(both[a], both[b])
        shares[a, b] = top_overlap(both[a], both[b])
    features |= {f"spearman_{a}_{b}": value for (a, b), value in rhos.items()}
    features |= {f"overlap_{a}_{b}": value for (a, b), value in shares.items()}
    for kind, pairs in (("spearman", rhos), ("overlap", shares)):
        features[f"{kind}_mean"] = mean(list(pairs.values()))
        features[f"{kind}_global"] = mean(
            [value for (a, b), value in pairs.items() if a in GLOBAL and b in GLOBAL]
        )
        features[f"{kind}_global_local"] = mean(
            [value for (a, b), value in pairs.items() if a in GLOBAL and b in LOCAL]
        )
    tops = [membership(s) for s in searched.values()]
    tops = np.array([w for w in tops if w is not None])
    m = -(-len(Z) // 20)
    features["top_union"] = tops.max(axis=0).sum() / tops.sum() if len(tops) else np.nan
    features["top_core"] = tops.min(axis=0).sum() / m if len(tops) else np.nan
    for name in SCORE_LANDMARKERS:
        features |= {f"{name}_{key}": v for key, v in top(searched[name], Z, found).items()}
    features |= dimension(Z, found) | hubs(found) | neighbourhoods(Z, found)
    few, many = min(5, found.indices.shape[1]), min(50, found.indices.shape[1])
    for name, one, other in (
        ("knn", found.distances[:, few - 1], found.distances[:, many - 1]),
        ("lof", found.scores(LOF, few), found.scores(LOF, many)),
    ):
        features[f"{name}_scale_spearman"] = spearman(one, other)
        features[f"{name}_scale_overlap"] = top_overlap(one, other)
    for name in ("iforest", "loda"):
        pairs = list(combinations(seeded[name], 2))
        average = np.mean(seeded[name], axis=0)
        noise = [np.var([s[r] for s in seeded[name]], ddof=1) for r in range(len(average))]
        features[f"{name}_seed_spearman"] = np.mean([spearman(*pair) for pair in pairs])
        features[f"{name}_seed_overlap"] = np.mean([top_overlap(*pair) for pair in pairs])
        features[f"{name}_seed_noise"] = (
            np.nan if scaled(average) is None else np.sqrt(np.mean(noise)) / np.std(average)
        )
    return features


def scaled(scores):
    """Scores scaled to 0 ... 1 and rounded; None if all are equal."""
    spread = np.ptp(scores)
    if spread <= 1e-9 * np.abs(scores).max() + 1e-12:
        return None
    return np.round((scores - scores.min()) / spread, 9)


def mean(values):
    known = [value for value in values if not np.isnan(value)]
    return np.mean(known) if known else np.nan


def spearman(one, other):
    one, other = scaled(one), scaled(other)
    return np.nan if one is None or other is None else stats.spearmanr(one, other).statistic


def membership(scores):
    """Chance of each row to be among the top 5 % if ties are broken at random."""
    s = scaled(scores)
    if s is None:
        return None
    m = -(-len(s) // 20)
    return np.array([np.clip((m - (s > x).sum()) / (s == x).sum(), 0, 1) for x in s])


def top_overlap(one, other):
    one, other = membership(one), membership(other)
    return np.nan if one is None or other is None else np.minimum(one, other).sum() / one.sum()


def slow_gini(values):
    values = np.asarray(values)
    differences = np.abs(values[:, np.newaxis] - values).mean()
    return differences / (2 * values.mean()) if values.sum() > 0 else np.nan


@cache
def triples(n):
    return np.array(list(combinations(range(n), 3)))


def l_skewness(ascending):
    if len(ascending) < 3:
        return np.nan
    low, middle, high = ascending[triples(len(ascending))].T
    pairs = [b - a for a, b in combinations(ascending, 2)]
    return np.mean((high - 2 * middle + low) / 3) / (np.mean(pairs) / 2)


def shape(scores):
    s = scaled(scores)
    if s is None:
        names = ("l_skewness", "gini", "tail_gini", "tail_ratio", "extreme_ratio")
        return dict.fromkeys((*names, "gap", "split", "split_share"), np.nan)
    s = np.sort(s)
    n = len(s)
    q50, q90, q99 = np.quantile(s, [0.5, 0.9, 0.99])
    tail = [x - q90 for x in s if x > q90 + 1e-9]
    cuts = {}
    for i in range(1, n):
        if s[i] > s[i - 1]:
            low, high = s[:i], s[i:]
            between = i / n * (1 - i / n) * (high.mean() - low.mean()) ** 2
            cuts[1 - i / n] = between / s.var()
    best = max(cuts.values())
    return {
        "l_skewness": l_skewness(s),
        "gini": slow_gini(s),
        "tail_gini": slow_gini(tail) if tail else np.nan,
        "tail_ratio": (q90 - q50) / (q99 - q50) if q99 > q50 else np.nan,
        "extreme_ratio": (q99 - q50) / (1 - q50) if q50 < 1 else np.nan,
        "gap": max(s[i] - s[i - 1] for i in range((n + 1) // 2, n)),
        "split": best,
        "split_share": min(share for share, value in cuts.items() if value > best - 1e-9),
    }


def top(scores, Z, found):
    w = membership(scores)
    if w is None:
        return dict.fromkeys(("top_remoteness", "top_one_sided", "top_clumped"), np.nan)
    squares = [sum(z**2) for z in Z]
    far = np.average(squares, weights=w)
    centre = np.average(Z, axis=0, weights=w)
    near = [np.mean([w[q] for q in nearest[:10]]) for nearest in found.indices]
    return {
        "top_remoteness": far / np.mean(squares),
        "top_one_sided": sum(centre**2) / far if far > 0 else np.nan,
        "top_clumped": np.average(near, weights=w),
    }


def typical_distance(Z):
    """Root mean square over all pairs of rows, each with itself too."""
    return np.sqrt(np.mean([sum((a - b) ** 2) for a in Z for b in Z]))


def dimension(Z, found):
    zero = 1e-6 * typical_distance(Z)
    k = min(20, found.distances.shape[1])
    lids = []
    for d in found.distances[:, :k]:
        logs = [np.log(x / d[-1]) for x in d[:-1] if x > zero]
        lids.append(-1 / np.mean(logs) if sum(logs) < -1e-9 else np.nan)
    known = ~np.isnan(lids)
    lids = np.array(lids)[known]
    d5 = found.distances[:, min(5, found.distances.shape[1]) - 1]
    ratios = [np.log(d[1] / d[0]) for d in found.distances if len(d) > 1 and d[0] > zero]
    median = np.median(lids) if len(lids) else np.nan
    return {
        "lid_median": median,
        "lid_share": median / Z.shape[1],
        "lid_spread": stats.iqr(lids) / median if len(lids) else np.nan,
        "lid_two_nearest": 1 / np.mean(ratios) if sum(ratios) > 1e-6 else np.nan,
        "lid_knn": spearman(lids, d5[known]) if len(lids) else np.nan,
    }


def hubs(found):
    n = len(found.indices)
    counts = np.array([sum(r in nearest[:10] for nearest in found.indices) for r in range(n)])
    d5 = found.distances[:, min(5, found.distances.shape[1]) - 1]
    return {
        "hub_skewness": stats.skew(counts) if np.ptp(counts) > 0 else np.nan,
        "hub_gini": slow_gini(counts),
        "antihub_share": sum(counts == 0) / n,
        "hub_knn": spearman(counts.astype(float), d5),
    }


def neighbourhoods(Z, found):
    n, k = found.indices.shape
    typical = typical_distance(Z)
    d1, d5, d20, d50 = (found.distances[:, min(j, k) - 1] for j in (1, 5, 20, 50))
    logs = np.log10(np.maximum(d20, 1e-6 * typical))
    around = [np.mean(logs[nearest[:20]]) for nearest in found.indices]
    apart = d50 > 1e-6 * typical
    joined = found.indices[:, :5]
    ends = (np.repeat(np.arange(n), joined.shape[1]), joined.ravel())
    graph = coo_matrix((np.ones(joined.size), ends), shape=(n, n))
    sizes = np.bincount(connected_components(graph, directed=False)[1])
    varied = np.std(logs) > 1e-9 and np.std(around) > 1e-9
    return {
        "neighbour_nearness": np.median(d5) / typical,
        "neighbour_flatness": np.median(d1[apart] / d50[apart]),
        "equal_rows": np.mean(d1 <= 1e-6 * typical),
        "density_spread": np.quantile(logs, 0.9) - np.quantile(logs, 0.1),
        "density_smoothness": stats.pearsonr(logs, around).statistic if varied else np.nan,
        "largest_component": max(sizes) / n,
        "island_share": sum(size for size in sizes if size <= -(-n // 20)) / n,
    }
