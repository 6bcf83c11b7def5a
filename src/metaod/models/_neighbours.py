"""Detectors that compare a row with its nearest others, and the neighbour search as a landmarker.

One search per metric serves every kNN, LOF, COF and ABOD of a table.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator, grouped
from metaod.models._family import family
from metaod.models._parameters import Whole, hyperparameters
from metaod.models._search import Neighbours, nearest

PAPER_SIZES = (1, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)
"""Numbers of neighbours in the paper's grids of kNN and LOF."""


def more_rows_than_neighbours(default: int) -> Callable[[dict[str, Any], int, int], str | None]:
    """Return the rule that a table has more rows than ``n_neighbors``."""

    def rule(params: dict[str, Any], n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
        k = params.get("n_neighbors", default)
        if isinstance(k, int) and k >= n_rows:
            return f"n_neighbors={k} needs at least {k + 1} rows, the table has {n_rows}"
        return None

    return rule


class NeighbourEstimator(Estimator):
    """Scores a row by its ``n_neighbors`` nearest others."""

    legal = hyperparameters(n_neighbors=Whole(1))
    n_neighbors: int
    metric: str = "euclidean"

    @property
    def depth(self) -> int:
        """Number of neighbours to search for each training row."""
        return self.n_neighbors

    @property
    def distance(self) -> str:
        """The metric of the search."""
        return self.metric

    @classmethod
    @abstractmethod
    def from_neighbours(
        cls, X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models, from at least as many neighbours as they need."""

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models of any such family; one search serves a metric."""
        for metric, own in grouped(models, lambda model: model.distance).items():
            found = nearest(X, max(model.depth for model in own), metric)
            kinds: dict[Any, list[Self]] = grouped(own, type)
            for kind, alike in kinds.items():
                yield from kind.from_neighbours(X, found, alike)

    def _fit(self, X: Matrix) -> Scores:
        self._X = X
        self.__dict__.pop("_index", None)
        found = nearest(X, self.depth, self.distance)
        [(_, scores)] = self.from_neighbours(X, found, [self])
        self._keep(found)
        return scores

    def _keep(self, found: Neighbours) -> None:
        """Keep what is needed to score new rows."""

    def _nearest_known(self, X: Matrix) -> Neighbours:
        """Find the training rows nearest to each new row."""
        distances, indices = self._index.kneighbors(X, self.n_neighbors)
        return Neighbours(distances, indices.astype(np.int32))

    @cached_property
    def _index(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - slow to import

        return NearestNeighbors(metric=self.distance).fit(self._X)


# the neighbour search as a landmarker

DEPTH = 50  # neighbours searched for each row, unless the table has fewer other rows
MAX_NEIGHBOUR_ROWS = 2_000  # most rows that are searched
_MOST_WORK = 10**9  # rows x rows x columns: above 250 columns, fewer rows are searched
_FEWEST_ROWS = 500  # smallest sample of a wide table


@dataclass(frozen=True)
class NeighbourRun:
    """The nearest other rows of every row searched.

    Parameters
    ----------
    rows : ndarray of int, shape (n_searched,)
        Rows of the table that were searched, ascending.
    found : Neighbours
        Distances to the nearest others of these rows, and their positions in ``rows``.
    """

    rows: npt.NDArray[np.intp]
    found: Neighbours

    @property
    def distances(self) -> Matrix:
        """Distances to the nearest others of each row searched, in ascending order."""
        return self.found.distances

    @property
    def indices(self) -> npt.NDArray[np.int32]:
        """Positions of these others in ``rows``."""
        return self.found.indices

    def scores(self, name: str, k: int) -> Scores:
        """Return a family's scores of the rows, by k neighbours or by all that were found.

        Examples
        --------
        >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 0).scores("KNN", 5)
        array([5., 4., 5.])
        """
        kind: Any = family(name).load()
        model = kind(n_neighbors=min(k, self.indices.shape[1]))
        [(_, scores)] = kind.from_neighbours(np.empty((0, 0)), self.found, [model])
        return np.asarray(scores)


def run_neighbours(Z: Matrix, seed: int) -> NeighbourRun:
    """Search the 50 nearest others of every row, or of each row of a sample.

    The time grows with the square of the rows. A table of more than 2,000 rows, or of more than
    sqrt(10^9 / columns) but at least 500, is replaced by a sample without replacement.

    Examples
    --------
    >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 0).indices[:, 0]
    array([1, 0, 1], dtype=int32)
    """
    n_rows, n_columns = Z.shape
    most = min(MAX_NEIGHBOUR_ROWS, max(_FEWEST_ROWS, math.isqrt(_MOST_WORK // n_columns)))
    rows = np.arange(n_rows)
    if n_rows > most:
        random = np.random.default_rng(seed)
        rows = np.sort(random.choice(n_rows, most, replace=False, shuffle=False))
        Z = Z[rows]
    return NeighbourRun(rows, nearest(Z, min(DEPTH, len(Z) - 1), "euclidean"))
