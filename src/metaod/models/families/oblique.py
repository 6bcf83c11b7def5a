"""One nested forest a seed and kind of split serves every size of oblique isolation forest.

The first t trees of a forest are the forest of t trees, so that all sizes come from the path
lengths of one forest, summed up tree by tree. The detectors that a user gets grow the same trees,
so that both modes are exact.

Memory beyond the table: one sum a row, a copy of 1,024 rows, and 16 MiB or one tree, whichever is
more.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._budget import why_over_budget
from metaod.models._isolation_trees import average_path_length
from metaod.models._oblique_trees import ObliqueTrees, add_path_lengths, grow_trees, n_bytes
from metaod.models._spec import ModelSpec

__all__ = ["Forest", "Grove", "ObliqueKernel", "isolation_scores"]

# trees of a wide hyperplane are grown, used and dropped in batches of this many bytes
_BATCH = 2**24

_SMALLEST = {"n_estimators": 1, "max_samples": 2, "n_dims": 1, "n_trials": 1, "max_depth": 1}
"""Hyperparameters, all of them integers, and the smallest value of each."""

# None stands for all columns, and for no limit
_MAY_BE_NONE = {"SCiForest": "max_depth", "ExtendedIForest": "n_dims"}
_ONLY_SCIFOREST = frozenset({"n_trials", "max_depth"})


class Forest(NamedTuple):
    """What the trees of a forest depend on, beside the table and the seed.

    Parameters
    ----------
    n_dims : int or None
        Columns of a hyperplane, fewer where the table has fewer; None for all.
    n_trials : int
        Hyperplanes tried at a node by SCiForest; 0 for the extended isolation forest.
    max_samples : int
        Rows that a tree is grown on, fewer where the table has fewer.
    max_depth : int or None
        Splits from the root to a leaf, at most; None for no limit in SCiForest's trees and for the
        depth that isolates a row on average in the extended isolation forest's.

    Examples
    --------
    >>> Forest.of("SCiForest", {"n_dims": 3}).on(n_rows=100, n_columns=2)
    Grove(n_dims=2, n_trials=10, n_samples=100, depth=100)
    """

    n_dims: int | None = 2
    n_trials: int = 10
    max_samples: int = 256
    max_depth: int | None = None

    @classmethod
    def of(cls, family: str, params: dict[str, Any]) -> "Forest":
        """The forest of a family's hyperparameters, of which those not given have defaults."""
        given = {name: params[name] for name in cls._fields if name in params}
        if family == "ExtendedIForest":
            given = {"n_dims": None, "n_trials": 0} | given
        return cls(**given)

    def on(self, n_rows: int, n_columns: int) -> "Grove":
        """The same forest with the numbers that a table of that size gives it."""
        n_dims = n_columns if self.n_dims is None else min(self.n_dims, n_columns)
        n_samples = min(self.max_samples, n_rows)
        # no path through n rows is longer than n, and none through a balanced tree than its log
        limit = n_samples if self.n_trials > 0 else max(1, (n_samples - 1).bit_length())
        depth = limit if self.max_depth is None else min(self.max_depth, limit)
        return Grove(n_dims, self.n_trials, n_samples, depth)


class Grove(NamedTuple):
    """A forest with the numbers that a table gives it, as :func:`grow_trees` takes them."""

    n_dims: int
    n_trials: int
    n_samples: int
    depth: int

    def grow(self, X: Matrix, seed: int, first: int, last: int) -> ObliqueTrees:
        """Grow trees ``first`` ... ``last - 1`` on the table."""
        trees: ObliqueTrees = grow_trees(
            X, seed, first, last, self.n_dims, self.n_trials, self.n_samples, self.depth
        )
        return trees


def isolation_scores(sums: Scores, n_trees: int, n_samples: int) -> Scores:
    """Turn summed path lengths into scores in (0, 1]; a row of average depth has 0.5.

    Examples
    --------
    >>> isolation_scores(np.array([0.0, 30.0]), 30, 2)
    array([1. , 0.5])
    """
    scores: Scores = np.exp2(-sums / (n_trees * average_path_length(n_samples)))
    return scores


class ObliqueKernel:
    """SCiForest and the extended isolation forest: every hyperparameter."""

    families = frozenset({"SCiForest", "ExtendedIForest"})

    def serves(self, spec: ModelSpec) -> bool:
        """Whether every hyperparameter is one of the family's, with a value that it can have."""
        for name, value in spec.params:
            if spec.detector == "ExtendedIForest" and name in _ONLY_SCIFOREST:
                return False
            if value is None and name == _MAY_BE_NONE[spec.detector]:
                continue
            if name not in _SMALLEST or type(value) is not int or value < _SMALLEST[name]:
                return False
        return True

    def score(
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,
        mode: Mode,  # noqa: ARG002 - the detectors grow the same trees, so that both are one
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score the specs, forest by forest and size by size."""
        wanted: dict[Grove, dict[int, list[ModelSpec]]] = defaultdict(lambda: defaultdict(list))
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            n_trees = params.get("n_estimators", 100)
            grove = Forest.of(spec.detector, params).on(*X.shape)
            over = _why_over_budget(budget, grove, n_trees, len(X))
            if over is None:
                wanted[grove][n_trees].append(spec)
            else:
                for seed in range(trials):
                    yield Scored(spec, seed, CellState.OVER_BUDGET, reason=over)
        for seed in range(trials):
            for grove, sizes in wanted.items():
                yield from _sizes(X, seed, grove, sizes)


def _why_over_budget(budget: Budget, grove: Grove, n_trees: int, n_rows: int) -> str | None:
    n_dims, n_trials, n_samples, depth = grove
    # gain-guided trees without a limit are a third as deep as they could be, about
    steps = min(depth, n_samples / 3 + 1)
    a_tree = n_samples * steps * (n_trials * (1.5e-8 + 2e-9 * n_dims) + 6e-9 * n_dims)
    a_row = steps * (2e-9 + 1.2e-9 * n_dims)
    return why_over_budget(
        budget,
        seconds=n_trees * (a_tree + a_row * n_rows),
        n_bytes=8 * n_rows + max(_BATCH, n_bytes(1, n_dims, n_samples)),
    )


def _sizes(
    X: Matrix, seed: int, grove: Grove, sizes: dict[int, list[ModelSpec]]
) -> Iterator[Scored]:
    batch = max(1, _BATCH // n_bytes(1, grove.n_dims, grove.n_samples))
    sums = np.zeros(len(X))
    seconds = 0.0
    grown = 0
    for size in sorted(sizes):
        start = perf_counter()
        while grown < size:
            last = min(grown + batch, size)
            add_path_lengths(X, grove.grow(X, seed, grown, last), sums)
            grown = last
        scores = isolation_scores(sums, size, grove.n_samples)
        seconds += perf_counter() - start
        for spec in sizes[size]:
            yield Scored(spec, seed, CellState.OK, scores, seconds)
