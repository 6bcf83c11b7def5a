"""One nested forest a seed and number of columns serves every size of isolation forest.

The first t trees of a forest are the forest of t trees, in scikit-learn with an integer seed as
here, so that all sizes come from the path lengths of one forest, summed up tree by tree. On a
narrow table several shares of the columns mean the same number of them, and share a forest.

Memory beyond the table: its copy in float32, one sum a row and 4 KiB a tree.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._budget import why_over_budget
from metaod.models._isolation_trees import (
    MAX_SAMPLES,
    add_path_lengths,
    average_path_length,
    grow_trees,
)
from metaod.models._spec import ModelSpec

__all__ = ["ForestKernel"]

# PyOD shifts the scores so that this share of the rows lies above zero; ModelSpec.to_pyod's default
_CONTAMINATION = 0.1

# seconds a tree, and a tree and row, about
_COST = {Mode.FAST: (2e-5, 1e-8), Mode.EXACT: (2e-3, 2e-7)}


class ForestKernel:
    """Isolation forests: every ``n_estimators`` and ``max_features``."""

    families = frozenset({"IForest"})

    def serves(self, spec: ModelSpec) -> bool:
        """Whether only the number of trees and the share or number of columns are set."""
        params = dict(spec.params)
        n_trees = params.pop("n_estimators", 100)
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
        start = perf_counter()
        n_rows, n_columns = X.shape
        wanted: dict[int, dict[int, list[ModelSpec]]] = defaultdict(lambda: defaultdict(list))
        refused: list[tuple[ModelSpec, CellState, str]] = []
        a_tree, a_row = _COST[mode]
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            n_trees = params.get("n_estimators", 100)
            drawn = _columns_drawn(params.get("max_features", 1.0), n_columns)
            over = why_over_budget(
                budget,
                seconds=n_trees * (a_tree + a_row * n_rows),
                n_bytes=X.size * 4 + n_rows * 16 + n_trees * 4096,
            )
            if drawn > n_columns:
                # scikit-learn's words
                reason = "ValueError: max_features must be <= n_features"
                refused.append((spec, CellState.FAILED, reason))
            elif over is not None:
                refused.append((spec, CellState.OVER_BUDGET, over))
            else:
                wanted[drawn][n_trees].append(spec)
        for spec, state, reason in refused:
            for seed in range(trials):
                yield Scored(spec, seed, state, reason=reason)
        with np.errstate(over="ignore"):
            narrow = np.ascontiguousarray(X, dtype=np.float32)
        shared = perf_counter() - start
        for seed in range(trials):
            for drawn, sizes in wanted.items():
                yield from _forest(narrow, seed, drawn, sizes, mode=mode, seconds=shared)


def _columns_drawn(share: int | float, n_columns: int) -> int:
    return max(1, int(share * n_columns)) if isinstance(share, float) else share


def _forest(
    X: npt.NDArray[np.float32],
    seed: int,
    drawn: int,
    sizes: dict[int, list[ModelSpec]],
    *,
    mode: Mode,
    seconds: float,
) -> Iterator[Scored]:
    ordered = sorted(sizes)
    n_samples = min(MAX_SAMPLES, X.shape[0])
    source = _sums_as_scikit_learn if mode == Mode.EXACT else _sums
    sums_by_size = source(X, seed, drawn, ordered)
    for size in ordered:
        start = perf_counter()
        sums = next(sums_by_size)
        scores = _pyod_scores(sums, size * average_path_length(n_samples))
        seconds += perf_counter() - start
        for spec in sizes[size]:
            yield Scored(spec, seed, CellState.OK, scores, seconds)


def _pyod_scores(sums: Scores, denominator: float) -> Scores:
    """Turn summed path lengths into the shifted scores that PyOD gives."""
    raw = -np.exp2(-sums / denominator)
    scores: Scores = np.percentile(raw, 100.0 * _CONTAMINATION) - raw
    return scores


def _sums(
    X: npt.NDArray[np.float32], seed: int, drawn: int, sizes: Sequence[int]
) -> Iterator[Scores]:
    """Path lengths of the rows, summed over the first trees; one array added to in place."""
    n_rows = X.shape[0]
    n_samples = min(MAX_SAMPLES, n_rows)
    depth = math.ceil(math.log2(max(n_samples, 2)))
    sums = np.zeros(n_rows)
    grown = 0
    for size in sizes:
        trees = grow_trees(X, seed, grown, size, drawn, n_samples, depth)
        add_path_lengths(X, trees, depth, sums)
        grown = size
        yield sums


def _sums_as_scikit_learn(
    X: npt.NDArray[np.float32], seed: int, drawn: int, sizes: Sequence[int]
) -> Iterator[Scores]:
    """Do the same as :func:`_sums`, with scikit-learn's own trees, which PyOD's forest has."""
    # late: the default mode does without scikit-learn's ensembles, which are slow to import
    from sklearn.ensemble import IsolationForest  # noqa: PLC0415

    forest = IsolationForest(max_features=drawn, random_state=seed, warm_start=True)
    lengths_of = np.array([average_path_length(count) for count in range(MAX_SAMPLES + 1)])
    sums = np.zeros(X.shape[0])
    grown = 0
    for size in sizes:
        forest.set_params(n_estimators=size).fit(X)
        for tree, columns in zip(
            forest.estimators_[grown:], forest.estimators_features_[grown:], strict=True
        ):
            leaves = tree.apply(X if drawn == X.shape[1] else X[:, columns], check_input=False)
            nodes = tree.tree_
            lengths = nodes.compute_node_depths() + lengths_of[nodes.n_node_samples] - 1.0
            sums += lengths[leaves]
        grown = size
        yield sums
