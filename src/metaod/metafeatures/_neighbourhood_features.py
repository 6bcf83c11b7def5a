"""Features of neighbourhoods: intrinsic dimension, hubness, density and connectedness.

In formulas, d_rj is the distance of row r to its j-th nearest other row, or to the farthest if
there are fewer. Distances below a millionth of the root mean square distance between rows count as
zero where a feature leaves equal rows out, and as that much in logarithms.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from metaod.metafeatures._landmarkers import FeatureInputs
from metaod.metafeatures._schema import computes, declared
from metaod.metafeatures._score_features import (
    compare,
    gini,
    rank_landmarkers,
    rank_scores,
    top_count,
)
from metaod.models import Matrix, Scores, family

_NEGLIGIBLE = 1e-6


@computes(*declared("intrinsic_dimension"), uses_landmarkers=True)
def _intrinsic_dimension(inputs: FeatureInputs) -> Scores:
    # rows need two neighbours at different distances above zero
    Z, found = _searched(inputs)
    zero = _NEGLIGIBLE * _typical_distance(Z)
    distances = found.distances[:, :20]
    dimensions = _local_dimensions(distances, zero)
    defined = np.isfinite(dimensions)
    values = np.full(5, np.nan)
    if defined.any():
        low, median, high = np.quantile(dimensions[defined], (0.25, 0.5, 0.75))
        values[:3] = median, median / Z.shape[1], (high - low) / median
        values[4] = _correlation(dimensions[defined], _nearest(found, 5)[defined])
    if distances.shape[1] > 1:
        apart = distances[:, 0] > zero
        logs = np.log(distances[apart, 1] / distances[apart, 0])
        if logs.sum() > _NEGLIGIBLE:
            values[3] = 1 / logs.mean()
    return values


# for the number N10 of rows that have a row among their 10 nearest
@computes(*declared("hubness"), uses_landmarkers=True)
def _hubness(inputs: FeatureInputs) -> list[float]:
    _, found = _searched(inputs)
    n_rows = len(found.indices)
    counts = np.bincount(found.indices[:, :10].ravel(), minlength=n_rows).astype(np.float64)
    centred = counts - counts.mean()
    spread = counts.std()
    return [
        np.mean(centred**3) / spread**3 if spread > 0 else np.nan,
        gini(np.sort(counts)),
        float(np.mean(counts == 0)),
        _correlation(counts, _nearest(found, 5)),
    ]


@computes(*declared("neighbourhoods"), uses_landmarkers=True)
def _neighbourhoods(inputs: FeatureInputs) -> list[float]:
    Z, found = _searched(inputs)
    typical = _typical_distance(Z)
    zero = _NEGLIGIBLE * typical
    nearest, outermost = found.distances[:, 0], _nearest(found, 50)
    apart = outermost > zero
    logs = np.log10(np.maximum(_nearest(found, 20), zero))
    q10, q90 = np.quantile(logs, (0.1, 0.9))
    sizes = _component_sizes(found.indices[:, :5])
    return [
        np.median(_nearest(found, 5)) / typical,
        float(np.median(nearest[apart] / outermost[apart])) if apart.any() else np.nan,
        float(np.mean(nearest <= zero)),
        q90 - q10,
        _pearson(logs, logs[found.indices[:, :20]].mean(axis=1)),
        sizes.max() / len(Z),
        sizes[sizes <= top_count(len(Z))].sum() / len(Z),
    ]


@computes(*declared("neighbourhood_size"), uses_landmarkers=True)
def _neighbourhood_size(inputs: FeatureInputs) -> list[float]:
    _, found = _searched(inputs)
    knn, lof = (
        [rank_scores(found.scores(family(name).load(), k)) for k in (5, 50)]
        for name in ("KNN", "LOF")
    )
    return [*compare(*knn), *compare(*lof)]


NEIGHBOURHOOD_FEATURES = (_intrinsic_dimension, _hubness, _neighbourhoods, _neighbourhood_size)


def _searched(inputs: FeatureInputs) -> tuple[Matrix, Any]:
    rankings = inputs.shared(rank_landmarkers)
    return rankings.Z, rankings.found


def _typical_distance(Z: Matrix) -> float:
    """Root mean square distance between two rows drawn with replacement."""
    return float(np.sqrt(2 * Z.var(axis=0).sum()))


def _nearest(found: Any, k: int) -> Scores:
    """Distance to the k-th nearest other of each row, or to the farthest one found."""
    return np.asarray(found.distances[:, min(k, found.distances.shape[1]) - 1])


def _correlation(one: Scores, other: Scores) -> float:
    return compare(rank_scores(one), rank_scores(other))[0]


def _pearson(one: Scores, other: Scores) -> float:
    # logarithms of distances: a spread this small is rounding
    if min(one.std(), other.std()) < 1e-9:
        return np.nan
    covariance = np.mean((one - one.mean()) * (other - other.mean()))
    return float(np.clip(covariance / (one.std() * other.std()), -1, 1))


def _local_dimensions(distances: Matrix, zero: float) -> Scores:
    """Dimension at each row by maximum likelihood; NaN where no distances differ."""
    nearer, outermost = distances[:, :-1], distances[:, -1:]
    is_used = nearer > zero
    total = -np.log(np.where(is_used, nearer / outermost, 1.0)).sum(axis=1)
    return np.asarray(np.where(total > 1e-9, is_used.sum(axis=1) / total, np.nan))


def _component_sizes(indices: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Sizes of the connected components of the graph that joins each row to its neighbours."""
    n_rows, k = indices.shape
    starts = np.arange(0, n_rows * k + 1, k)
    joined = np.ones(n_rows * k, bool)
    graph = scipy.sparse.csr_array((joined, indices.ravel(), starts), (n_rows, n_rows))
    return np.bincount(scipy.sparse.csgraph.connected_components(graph, directed=False)[1])
