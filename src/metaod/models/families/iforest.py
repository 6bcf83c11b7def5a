"""IForest: isolation forests.

One nested forest for each seed and number of columns serves every size: the first t trees of a
forest are the forest of t trees, as in scikit-learn with an integer seed.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models import _new_rows
from metaod.models._arrays import Matrix, Scores
from metaod.models._compiled import njit
from metaod.models._family import MANY_ROWS, Family, Settings, add_builtin
from metaod.models._isolation_trees import (
    MAX_SAMPLES,
    Trees,
    add_path_lengths,
    average_path_length,
    complete_tree,
    grow_trees,
)
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget, without_scores
from metaod.models._spec import ModelSpec

Floats = npt.NDArray[np.float32]

_N_TREES = 100  # PyOD's default
_DEEPEST = 12  # trees that are made complete
_CONTAMINATION = 0.1  # share of rows with positive scores in PyOD; ModelSpec.to_pyod's default

# approximate seconds per tree, and per tree and row
_COST = {Mode.FAST: (2e-5, 1e-8), Mode.EXACT: (2e-3, 2e-7)}


class IForestScorer:
    """Scores isolation forests of every ``n_estimators`` and ``max_features``."""

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether only the number of trees and the share or number of columns are set."""
        params = dict(spec.params)
        n_trees = params.pop("n_estimators", _N_TREES)
        share = params.pop("max_features", 1.0)
        if isinstance(share, bool) or not isinstance(share, int | float):
            return False
        if share <= 0 or (isinstance(share, float) and share > 1):
            return False
        return not params and type(n_trees) is int and n_trees >= 1

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, forest by forest and size by size."""
        n_rows, n_columns = X.shape
        wanted: dict[int, dict[int, list[ModelSpec]]] = defaultdict(lambda: defaultdict(list))
        a_tree, a_row = _COST[mode]
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            n_trees = params.get("n_estimators", _N_TREES)
            drawn = _columns_drawn(params.get("max_features", 1.0), n_columns)
            over = why_over_budget(
                budget,
                seconds=n_trees * (a_tree + a_row * n_rows),
                n_bytes=X.size * 4 + n_rows * 16 + n_trees * 4096,
            )
            if drawn > n_columns:
                # scikit-learn's message
                reason = "ValueError: max_features must be <= n_features"
                yield from without_scores([spec], trials, CellState.FAILED, reason)
            elif over is not None:
                yield from without_scores([spec], trials, CellState.OVER_BUDGET, over)
            else:
                wanted[drawn][n_trees].append(spec)
        start = perf_counter()
        with np.errstate(over="ignore"):
            narrow = np.ascontiguousarray(X, dtype=np.float32)
        shared = perf_counter() - start
        for seed in range(trials):
            for drawn, sizes in wanted.items():
                yield from _forest(narrow, seed, drawn, sizes, mode, shared)


def _columns_drawn(share: int | float, n_columns: int) -> int:
    return max(1, int(share * n_columns)) if isinstance(share, float) else share


def _forest(
    X: Floats, seed: int, drawn: int, sizes: dict[int, list[ModelSpec]], mode: Mode, seconds: float
) -> Iterator[Scored]:
    ordered = sorted(sizes)
    unit = average_path_length(min(MAX_SAMPLES, len(X)))
    sums_of = _sklearn_sums if mode == Mode.EXACT else _sums
    sums_by_size = sums_of(X, seed, drawn, ordered)
    for size in ordered:
        start = perf_counter()
        raw = -np.exp2(-next(sums_by_size) / (size * unit))
        # PyOD shifts the scores
        scores = np.percentile(raw, 100.0 * _CONTAMINATION) - raw
        seconds += perf_counter() - start
        for spec in sizes[size]:
            yield Scored(spec, seed, CellState.OK, scores, seconds)


def _sums(X: Floats, seed: int, drawn: int, sizes: Sequence[int]) -> Iterator[Scores]:
    """Yield the rows' path lengths summed over the first trees; one array, changed in place."""
    n_samples, depth = _size_of_trees(len(X))
    sums = np.zeros(len(X))
    grown = 0
    for size in sizes:
        trees = grow_trees(X, seed, grown, size, drawn, n_samples, depth)
        add_path_lengths(X, trees, depth, sums)
        grown = size
        yield sums


def _size_of_trees(n_rows: int) -> tuple[int, int]:
    """Return the rows that a tree is grown on, and its depth."""
    n_samples = min(MAX_SAMPLES, n_rows)
    return n_samples, math.ceil(math.log2(max(n_samples, 2)))


def _sklearn_sums(X: Floats, seed: int, drawn: int, sizes: Sequence[int]) -> Iterator[Scores]:
    """Do the same as :func:`_sums` with scikit-learn's trees, as PyOD does."""
    from sklearn.ensemble import IsolationForest  # noqa: PLC0415 - slow, for the exact mode only

    forest = IsolationForest(max_features=drawn, random_state=seed, warm_start=True)
    lengths_of = np.array([average_path_length(count) for count in range(MAX_SAMPLES + 1)])
    sums = np.zeros(X.shape[0])
    grown = 0
    for size in sizes:
        forest.set_params(n_estimators=size).fit(X)
        new = zip(forest.estimators_[grown:], forest.estimators_features_[grown:], strict=True)
        for tree, columns in new:
            leaves = tree.apply(X if drawn == X.shape[1] else X[:, columns], check_input=False)
            nodes = tree.tree_
            lengths = nodes.compute_node_depths() + lengths_of[nodes.n_node_samples] - 1.0
            sums += lengths[leaves]
        grown = size
        yield sums


@dataclass(frozen=True, eq=False)
class _NewRows:
    """Scores new rows as a fitted detector of PyOD does, with its trees in flat arrays."""

    trees: Trees
    depth: int
    unit: float  # divides the sums of path lengths
    offset: float

    @classmethod
    def of(cls, detector: Any) -> "_NewRows | None":
        """Take the trees of a fitted detector; None if it would not pay, or they are too deep."""
        if len(detector.decision_scores_) < _new_rows.LEAST_ROWS:
            return None
        forest = detector.detector_
        depth = max(1, *(tree.tree_.max_depth for tree in forest.estimators_))
        if depth > _DEEPEST:
            return None
        shape = len(forest.estimators_), 1 << depth
        trees = np.zeros(shape, np.uint32), np.empty(shape, np.float32), np.empty(shape)
        lengths_of = np.array([average_path_length(n) for n in range(forest.max_samples_ + 1)])
        both = zip(forest.estimators_, forest.estimators_features_, strict=True)
        for t, (tree, columns) in enumerate(both):
            nodes = tree.tree_
            lengths = nodes.compute_node_depths() + lengths_of[nodes.n_node_samples] - 1.0
            # a leaf has a negative feature; its column does not matter
            places = columns[np.maximum(nodes.feature, 0)].astype(np.uint32)
            children = nodes.children_left, nodes.children_right
            complete_tree(
                *children, places, nodes.threshold, lengths, depth, tuple(part[t] for part in trees)
            )
        unit = len(trees[0]) * average_path_length(forest.max_samples_)
        return cls(trees, depth, unit, float(forest.offset_))

    def __call__(self, X: Matrix) -> Scores:
        sums = np.zeros(len(X))
        with np.errstate(over="ignore"):
            narrow = np.ascontiguousarray(X, dtype=np.float32)
        add_path_lengths(narrow, self.trees, self.depth, sums)
        return np.asarray(np.exp2(-sums / self.unit) + self.offset)


add_builtin(
    Family(
        "IForest",
        "pyod.models.iforest:IForest",
        {
            "n_estimators": (10, 20, 30, 40, 50, 75, 100, 150, 200),
            "max_features": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        },
        random=True,
        extended=(
            # PyOD's default, the baseline of every comparison
            Settings({"n_estimators": (100,), "max_features": (1.0,)}),
            Settings({"n_estimators": (200,), "max_features": (0.5,)}),
            Settings({"n_estimators": (200,), "max_features": (1.0,)}, ("zscore", "signedlog")),
        ),
        shared_scorer=IForestScorer(),
        separable=("max_features",),
        learned_rows=MANY_ROWS,
        new_rows=_NewRows.of,
    )
)


@dataclass(frozen=True)
class IForestRun:
    """A run of the isolation forest.

    Parameters
    ----------
    scores : ndarray of float
        2^(-E(h) / c), as in the forest's paper; PyOD subtracts a constant.
    depths, leaves : ndarray of float
        Splits to the deepest leaf, and the number of leaves; of each tree.
    horizontal, vertical : ndarray of float
        Imbalance of each tree: the mean over its splits of the difference of the two sides' leaves
        over their sum, and of the difference of the two sides' heights over the larger (0 for two
        leaves). NaN for a tree without a split, as are the following.
    importance_mean, importance_max : ndarray of float
        Mean and largest importance of a column in each tree: the share of the tree's splits on the
        column, which is the expected value of scikit-learn's importance.
    """

    scores: Scores
    depths: Scores
    leaves: Scores
    horizontal: Scores
    vertical: Scores
    importance_mean: Scores
    importance_max: Scores


def run_iforest(Z: Matrix, seed: int) -> IForestRun:
    """Grow 100 trees, the same as those of the shared scorer.

    Examples
    --------
    >>> run_iforest(np.array([[0.0], [0.1], [9.0]]), seed=0).scores.argmax()
    np.int64(2)
    """
    n_rows, n_columns = Z.shape
    X = np.ascontiguousarray(Z, dtype=np.float32)
    n_samples, depth = _size_of_trees(n_rows)
    trees = grow_trees(X, seed, 0, _N_TREES, n_columns, n_samples, depth)
    sums = np.zeros(n_rows)
    add_path_lengths(X, trees, depth, sums)
    scores = np.exp2(-sums / (_N_TREES * average_path_length(n_samples)))
    return IForestRun(scores, *_describe(trees[0], trees[1], depth, n_columns))


@njit(cache=True)
def _describe(features: Any, thresholds: Any, depth: int, n_columns: int) -> Any:
    """Return six numbers of every tree, in the order of the run's attributes.

    A node with an infinite threshold is a leaf; nodes below it are not part of the tree.
    """
    n_trees = features.shape[0]
    result = np.full((6, n_trees), np.nan)
    n_inner = 1 << depth
    exists = np.empty(2 * n_inner, np.bool_)
    leaves = np.empty(2 * n_inner)
    heights = np.empty(2 * n_inner)
    used = np.empty(n_columns)
    for t in range(n_trees):
        exists[:] = False
        exists[1] = True
        used[:] = 0.0
        n_splits = 0
        for node in range(1, n_inner):
            if exists[node] and thresholds[t, node] < np.inf:
                exists[2 * node] = True
                exists[2 * node + 1] = True
                used[features[t, node]] += 1.0
                n_splits += 1
        horizontal, vertical = 0.0, 0.0
        for node in range(2 * n_inner - 1, 0, -1):
            leaves[node], heights[node] = 1.0, 0.0
            if node < n_inner and exists[2 * node] and exists[node]:
                left, right = leaves[2 * node], leaves[2 * node + 1]
                horizontal += abs(left - right) / (left + right)
                leaves[node] = left + right
                left, right = heights[2 * node], heights[2 * node + 1]
                vertical += abs(left - right) / max(left, right, 1.0)
                heights[node] = 1.0 + max(left, right)
        result[0, t], result[1, t] = heights[1], leaves[1]
        if n_splits > 0:
            result[2, t], result[3, t] = horizontal / n_splits, vertical / n_splits
            result[4, t] = 1.0 / n_columns
            most = 0.0
            for count in used:
                most = max(most, count)
            result[5, t] = most / n_splits
    return result
