"""SCiForest and ExtendedIForest: isolation forests whose splits are hyperplanes."""

from dataclasses import dataclass
from typing import Any

from metaod._legal import Whole, parameters
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import seed_of
from metaod.models._family import MANY_ROWS, Family, Settings
from metaod.models._isolation_forests import Forest, TreeKind
from metaod.models._oblique_trees import ObliqueTrees, add_path_lengths, grow_trees


@dataclass(frozen=True)
class _ObliqueTrees(TreeKind):
    """Trees whose splits are hyperplanes."""

    n_dims: int
    n_trials: int
    depth: int

    def grow(self, table: Matrix, first: int, last: int) -> ObliqueTrees:
        return grow_trees(
            table, self.seed, first, last, self.n_dims, self.n_trials, self.n_samples, self.depth
        )

    def add_path_lengths(self, table: Matrix, trees: ObliqueTrees, sums: Scores) -> None:
        add_path_lengths(table, trees, sums)


@dataclass(eq=False)
class SCiForest(Forest):
    """Isolation forest with oblique splits that are chosen by their gain.

    Every node tries ``n_trials`` random hyperplanes of ``n_dims`` columns (tau and q in the paper)
    and takes the one, and the split point on it, that reduce the standard deviation of the
    projected rows most (Liu, Ting and Zhou, "On detecting clustered anomalies using SCiForest",
    2010). A step beyond the range of a node's training rows does not count in the path length, so
    rows far outside have higher scores. The trees are about ten times as deep as those of an
    isolation forest. A ``max_depth`` saves time but distinguishes the inner rows less well.
    """

    legal = parameters(
        n_estimators=Whole(1),
        max_samples=Whole(2),
        n_dims=Whole(1),
        n_trials=Whole(1),
        max_depth=Whole(1, optional=True),
    )

    n_estimators: int = 100
    max_samples: int = 256
    n_dims: int = 2
    n_trials: int = 10
    max_depth: int | None = None
    random_state: Any = None

    def tree_kind(self, n_rows: int, n_columns: int) -> _ObliqueTrees:
        """Return the kind of trees on a table of that size."""
        n_samples, n_dims = min(self.max_samples, n_rows), min(self.n_dims, n_columns)
        # no path through n rows is longer than n
        depth = min(self.max_depth or n_samples, n_samples)
        seed = seed_of(self.random_state)
        return _ObliqueTrees(seed, n_samples, n_dims, self.n_trials, depth)


@dataclass(eq=False)
class ExtendedIForest(Forest):
    """Isolation forest with random oblique splits.

    A node's hyperplane has a random direction and passes through a random point of the box around
    the node's rows (Hariri, Carrasco Kind and Brunner, "Extended isolation forest", 2019). It has
    ``n_dims`` columns, the extension level plus one, or all that vary.
    """

    legal = parameters(n_estimators=Whole(1), max_samples=Whole(2), n_dims=Whole(1, optional=True))

    n_estimators: int = 100
    max_samples: int = 256
    n_dims: int | None = None
    random_state: Any = None

    def tree_kind(self, n_rows: int, n_columns: int) -> _ObliqueTrees:
        """Return the kind of trees on a table of that size."""
        n_samples, n_dims = min(self.max_samples, n_rows), min(self.n_dims or n_columns, n_columns)
        # isolates a row on average
        depth = max(1, (n_samples - 1).bit_length())
        return _ObliqueTrees(seed_of(self.random_state), n_samples, n_dims, 0, depth)


# as good as ten hyperplanes a node and no limit, in half the time
_SCIFOREST = {"n_estimators": (100,), "n_trials": (3,), "max_depth": (32,)}

SCIFOREST_FAMILY = Family(
    "SCiForest",
    SCiForest,
    {"n_dims": (2, 5), **_SCIFOREST},
    random=True,
    extended=(
        Settings({"n_dims": (5,), **_SCIFOREST}, ("robust", "signedlog")),
        Settings({"n_dims": (2,), **_SCIFOREST}, ("signedlog",)),
    ),
    learned_rows=MANY_ROWS,
)
EXTENDEDIFOREST_FAMILY = Family(
    "ExtendedIForest",
    ExtendedIForest,
    {"n_estimators": (200,), "n_dims": (2,)},
    title="Extended isolation forest",
    random=True,
    extended=(Settings({"n_dims": (2,), "n_estimators": (200,)}, ("signedlog",)),),
    learned_rows=MANY_ROWS,
)
