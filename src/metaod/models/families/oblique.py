"""SCiForest and ExtendedIForest: isolation forests whose splits are hyperplanes.

One nested forest for each seed and kind of split serves every size: the first t trees of a forest
are the forest of t trees. The detectors grow the same trees, so both modes are exact.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, Settings, add_builtin
from metaod.models._isolation_trees import average_path_length
from metaod.models._oblique_trees import ObliqueTrees, add_path_lengths, grow_trees, n_bytes
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget, without_scores
from metaod.models._spec import ModelSpec

_BATCH = 2**24  # bytes of the trees that are grown, used and dropped at a time


class Trees(NamedTuple):
    """The last arguments of :func:`grow_trees`."""

    n_dims: int
    n_trials: int
    n_samples: int
    depth: int

    def grow(self, X: Matrix, seed: int, first: int, last: int) -> ObliqueTrees:
        """Grow trees ``first`` ... ``last - 1`` on the table."""
        trees: ObliqueTrees = grow_trees(X, seed, first, last, *self)
        return trees

    def scores(self, sums: Scores, n_trees: int) -> Scores:
        """Convert summed path lengths to scores in (0, 1]; a row of average depth has 0.5."""
        scores: Scores = np.exp2(-sums / (n_trees * average_path_length(self.n_samples)))
        return scores


class _ObliqueForest(Estimator):
    n_estimators: int
    max_samples: int
    random_state: Any

    @abstractmethod
    def trees_on(self, n_rows: int, n_columns: int) -> Trees:
        """Return the parameters of the trees on a table of that size; refuse illegal ones."""

    def _check(self, name: str, smallest: int) -> int:
        value = getattr(self, name)
        # numpy's integers are integers too
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
            legal = f"an int in the range [{smallest}, inf)"
            raise BadParameter(type(self).__name__, name, legal, value)
        return int(value)

    def n_trees(self) -> int:
        """Return the number of trees; refuse an illegal one."""
        return self._check("n_estimators", 1)

    def _seed(self) -> int:
        seed = self.random_state
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
            return int(seed) % 2**63
        from sklearn.utils import check_random_state  # noqa: PLC0415 - slow to import

        return int(check_random_state(seed).randint(2**31 - 1))

    def _fit(self, X: Matrix) -> Scores:
        n_trees = self.n_trees()
        self._trees = self.trees_on(*X.shape)
        self.trees_ = self._trees.grow(X, self._seed(), 0, n_trees)
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        sums = np.zeros(len(X))
        add_path_lengths(X, self.trees_, sums)
        return self._trees.scores(sums, len(self.trees_.children))


class SCiForest(_ObliqueForest):
    """Isolation forest with oblique splits that are chosen by their gain.

    Every node tries ``n_trials`` random hyperplanes of ``n_dims`` columns (tau and q in the paper)
    and takes the one, and the split point on it, that reduce the standard deviation of the
    projected rows most (Liu, Ting and Zhou, "On detecting clustered anomalies using SCiForest",
    2010). A step beyond the range of a node's training rows does not count in the path length, so
    rows far outside have higher scores. The trees are about ten times as deep as those of an
    isolation forest. A ``max_depth`` saves time but distinguishes the inner rows less well.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_samples: int = 256,
        n_dims: int = 2,
        n_trials: int = 10,
        max_depth: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_dims = n_dims
        self.n_trials = n_trials
        self.max_depth = max_depth
        self.random_state = random_state

    def trees_on(self, n_rows: int, n_columns: int) -> Trees:
        """Return the parameters of the trees on a table of that size; refuse illegal ones."""
        n_dims, n_trials = self._check("n_dims", 1), self._check("n_trials", 1)
        n_samples = min(self._check("max_samples", 2), n_rows)
        # no path through n rows is longer than n
        depth = n_samples if self.max_depth is None else self._check("max_depth", 1)
        return Trees(min(n_dims, n_columns), n_trials, n_samples, min(depth, n_samples))


class ExtendedIForest(_ObliqueForest):
    """Isolation forest with random oblique splits.

    A node's hyperplane has a random direction and passes through a random point of the box around
    the node's rows (Hariri, Carrasco Kind and Brunner, "Extended isolation forest", 2019). It has
    ``n_dims`` columns, the extension level plus one, or all that vary.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_samples: int = 256,
        n_dims: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_dims = n_dims
        self.random_state = random_state

    def trees_on(self, n_rows: int, n_columns: int) -> Trees:
        """Return the parameters of the trees on a table of that size; refuse illegal ones."""
        n_dims = n_columns if self.n_dims is None else self._check("n_dims", 1)
        n_samples = min(self._check("max_samples", 2), n_rows)
        # isolates a row on average
        depth = max(1, (n_samples - 1).bit_length())
        return Trees(min(n_dims, n_columns), 0, n_samples, depth)


class ObliqueScorer:
    """Scores SCiForest and ExtendedIForest models of every hyperparameter."""

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether every hyperparameter is one of the family's, with a legal value."""
        try:
            spec.family.check_params(dict(spec.params))
            forest = _forest(spec)
            forest.n_trees()
            forest.trees_on(2, 1)
        except BadParameter:
            return False
        return True

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, forest by forest and size by size."""
        del mode  # always exact
        wanted: dict[Trees, dict[int, list[ModelSpec]]] = defaultdict(lambda: defaultdict(list))
        for spec in specs:
            forest = _forest(spec)
            n_trees, trees = forest.n_trees(), forest.trees_on(*X.shape)
            over = _why_over_budget(budget, trees, n_trees, len(X))
            if over is None:
                wanted[trees][n_trees].append(spec)
            else:
                yield from without_scores([spec], trials, CellState.OVER_BUDGET, over)
        for seed in range(trials):
            for trees, by_size in wanted.items():
                yield from _sizes(X, seed, trees, by_size)


def _forest(spec: ModelSpec) -> _ObliqueForest:
    forest: _ObliqueForest = spec.family.load()(**dict(spec.params))
    return forest


def _why_over_budget(budget: Budget, trees: Trees, n_trees: int, n_rows: int) -> str | None:
    n_dims, n_trials, n_samples, depth = trees
    # SCiForest's trees without a limit are about a third as deep as possible
    steps = min(depth, n_samples / 3 + 1)
    a_tree = n_samples * steps * (n_trials * (1.5e-8 + 2e-9 * n_dims) + 6e-9 * n_dims)
    a_row = steps * (2e-9 + 1.2e-9 * n_dims)
    return why_over_budget(
        budget,
        seconds=n_trees * (a_tree + a_row * n_rows),
        n_bytes=8 * n_rows + max(_BATCH, n_bytes(1, n_dims, n_samples)),
    )


def _sizes(
    X: Matrix, seed: int, trees: Trees, by_size: dict[int, list[ModelSpec]]
) -> Iterator[Scored]:
    batch = max(1, _BATCH // n_bytes(1, trees.n_dims, trees.n_samples))
    sums = np.zeros(len(X))
    seconds = 0.0
    grown = 0
    for size in sorted(by_size):
        start = perf_counter()
        while grown < size:
            last = min(grown + batch, size)
            add_path_lengths(X, trees.grow(X, seed, grown, last), sums)
            grown = last
        scores = trees.scores(sums, size)
        seconds += perf_counter() - start
        for spec in by_size[size]:
            yield Scored(spec, seed, CellState.OK, scores, seconds)


_SCORER = ObliqueScorer()
# as good as ten hyperplanes a node and no limit, in half the time
_SCIFOREST = {"n_estimators": (100,), "n_trials": (3,), "max_depth": (32,)}

add_builtin(
    Family(
        "SCiForest",
        SCiForest,
        {"n_dims": (2, 5), **_SCIFOREST},
        random=True,
        extended=(
            Settings({"n_dims": (5,), **_SCIFOREST}, ("robust", "signedlog")),
            Settings({"n_dims": (2,), **_SCIFOREST}, ("signedlog",)),
        ),
        shared_scorer=_SCORER,
        learned_rows=MANY_ROWS,
    )
)
add_builtin(
    Family(
        "ExtendedIForest",
        ExtendedIForest,
        {"n_estimators": (200,), "n_dims": (2,)},
        random=True,
        extended=(Settings({"n_dims": (2,), "n_estimators": (200,)}, ("signedlog",)),),
        shared_scorer=_SCORER,
        learned_rows=MANY_ROWS,
    )
)
