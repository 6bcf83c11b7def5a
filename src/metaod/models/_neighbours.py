"""One neighbour search per metric serves every kNN, LOF, COF and ABOD.

The exact mode searches anew for every number of neighbours, as PyOD's detectors do, which resolves
ties and rounding errors as PyOD does.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models import _search as search
from metaod.models._arrays import Matrix, Scores
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget
from metaod.models._search import Neighbours, nearest, nearest_pyod
from metaod.models._spec import ModelSpec

PAPER_SIZES = (1, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)
"""Numbers of neighbours in the paper's grids of kNN and LOF."""

_METRICS = {"minkowski": "euclidean", "euclidean": "euclidean", "manhattan": "manhattan"}

_SLOWER_SEARCH = 4.0  # measured: time of scikit-learn's searches over ours


def more_rows_than_neighbours(default: int) -> Callable[[dict[str, Any], int, int], str | None]:
    """Return the rule that a table has more rows than ``n_neighbors``."""

    def rule(params: dict[str, Any], n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
        k = params.get("n_neighbors", default)
        if isinstance(k, int) and k >= n_rows:
            return f"n_neighbors={k} needs at least {k + 1} rows, the table has {n_rows}"
        return None

    return rule


@dataclass(frozen=True)
class Request:
    """The hyperparameters of a spec, with defaults filled in."""

    spec: ModelSpec
    k: int
    metric: str
    params: dict[str, Any]


@dataclass(frozen=True)
class NeighbourMethod:
    """How one family computes scores from a neighbour search.

    ``defaults`` has the hyperparameters that may be set, with PyOD's defaults. ``scores(X,
    neighbours, sizes)`` computes what all sizes share and returns a function from a request to its
    scores. ``seconds(n_rows, n_columns, k)`` is the expected time beyond the search.
    """

    defaults: dict[str, Any]
    scores: Callable[[Matrix, Neighbours, list[int]], Callable[[Request], Scores]]
    depth: Callable[[int], int] = int  # neighbours to search for n_neighbors=k
    seconds: Callable[[int, int, int], float] = lambda n_rows, n_columns, k: 0.0  # noqa: ARG005 - signature
    exact_search: Callable[[Matrix, int], Neighbours] | None = None  # if not scikit-learn's
    exact_seconds: float = 0.0  # of the exact search, per pair of rows


class NeighbourScorer:
    """Scores kNN, LOF, COF and ABOD models of any number of neighbours."""

    def __init__(self) -> None:
        self._methods: dict[str, NeighbourMethod] = {}

    def serving(self, family: str, method: NeighbourMethod) -> "NeighbourScorer":
        """Add a family and return this scorer."""
        self._methods[family] = method
        return self

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether only neighbours, metric and method are set."""
        return self._request(spec) is not None

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, one search after the other."""
        del trials  # no family here is random
        allowed = []
        for request in filter(None, map(self._request, specs)):
            over = self._why_over_budget(request, X, mode, budget)
            if over is None:
                allowed.append(request)
            else:
                yield Scored(request.spec, 0, CellState.OVER_BUDGET, reason=over)
        for find, served in self._searches(allowed, mode):
            start = perf_counter()
            neighbours = find(X)
            yield from self._from_neighbours(X, served, neighbours, perf_counter() - start)

    def _request(self, spec: ModelSpec) -> Request | None:
        """Return the spec's hyperparameters; None if it sets one that is not served."""
        defaults = self._methods[spec.detector].defaults
        params: dict[str, Any] = dict(spec.params)
        if not params.keys() <= defaults.keys():
            return None
        params = defaults | params
        k = params["n_neighbors"]
        metric = _METRICS.get(str(params.get("metric", "euclidean")))
        if type(k) is not int or k < 1 or metric is None or params.get("p", 2) != 2:
            return None
        if params.get("method", "largest") not in ("largest", "mean", "median"):
            return None
        return Request(spec, k, metric, params)

    def _depth(self, request: Request) -> int:
        return self._methods[request.spec.detector].depth(request.k)

    def _searches(
        self, requests: Sequence[Request], mode: Mode
    ) -> Iterator[tuple[Callable[[Matrix], Neighbours], list[Request]]]:
        """Yield each search to make and the requests that it serves."""
        groups: dict[tuple[Any, ...], list[Request]] = defaultdict(list)
        for request in requests:
            own_search = self._methods[request.spec.detector].exact_search
            if mode == Mode.FAST:
                groups[request.metric,].append(request)
            elif own_search is not None:
                groups[own_search,].append(request)
            else:
                groups[request.metric, request.k, self._depth(request)].append(request)
        for key, served in groups.items():
            depth = max(map(self._depth, served))
            if len(key) > 1:
                metric, k, _ = key
                yield partial(nearest_pyod, k=depth, metric=metric, n_neighbors=k), served
            elif mode == Mode.FAST:
                yield partial(nearest, k=depth, metric=key[0]), served
            else:
                yield partial(key[0], k=depth), served

    def _from_neighbours(
        self, X: Matrix, requests: Sequence[Request], neighbours: Neighbours, searched: float
    ) -> Iterator[Scored]:
        by_family: dict[str, list[Request]] = defaultdict(list)
        for request in requests:
            by_family[request.spec.detector].append(request)
        for family, own in by_family.items():
            start = perf_counter()
            sizes = sorted({request.k for request in own})
            scores_of = self._methods[family].scores(X, neighbours, sizes)
            before = searched + perf_counter() - start
            for request in own:
                start = perf_counter()
                scores = scores_of(request)
                yield Scored(request.spec, 0, CellState.OK, scores, before + perf_counter() - start)

    def _why_over_budget(
        self, request: Request, X: Matrix, mode: Mode, budget: Budget
    ) -> str | None:
        n_rows, n_columns = X.shape
        method = self._methods[request.spec.detector]
        depth = method.depth(request.k)
        seconds = search.expected_seconds(n_rows, n_columns, depth)
        if mode == Mode.EXACT:
            seconds = seconds * _SLOWER_SEARCH + n_rows**2 * method.exact_seconds
        seconds += method.seconds(n_rows, n_columns, request.k)
        n_bytes = search.expected_bytes(n_rows, depth)
        return why_over_budget(budget, seconds=seconds, n_bytes=n_bytes)


NEIGHBOURS = NeighbourScorer()


# the neighbour search as a landmarker

DEPTH = 50  # neighbours searched for each row, unless the table has fewer other rows
MAX_NEIGHBOUR_ROWS = 2_000  # default limit of the rows that are searched
_MOST_WORK = 10**9  # rows x rows x columns: above 250 columns, fewer rows are searched
_FEWEST_ROWS = 500  # smallest sample of a wide table


@dataclass(frozen=True)
class NeighbourScores:
    """Scores of the rows that were searched; higher is more outlying."""

    scores: Scores
    rows: npt.NDArray[np.intp]


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
    def depth(self) -> int:
        """Neighbours found for each row."""
        return int(self.found.indices.shape[1])


def run_neighbours(
    Z: Matrix, k: int = DEPTH, *, random_state: int = 0, max_rows: int = MAX_NEIGHBOUR_ROWS
) -> NeighbourRun:
    """Search the k nearest others of every row, or of each row of a sample.

    The time grows with the square of the rows. A table of more than ``max_rows`` rows, or of more
    than sqrt(10^9 / columns) but at least 500, is replaced by a sample without replacement.

    Parameters
    ----------
    Z : ndarray of float, shape (n_rows, n_columns)
    k : int
        Neighbours of each row; all others if there are fewer.
    random_state : int
        Seed of the sample.
    max_rows : int
        Largest number of rows searched.

    Examples
    --------
    >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 1).found.indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    n_rows, n_columns = Z.shape
    most = min(max_rows, max(_FEWEST_ROWS, math.isqrt(_MOST_WORK // n_columns)))
    rows = np.arange(n_rows)
    if n_rows > most:
        random = np.random.default_rng(random_state)
        rows = np.sort(random.choice(n_rows, most, replace=False, shuffle=False))
        Z = Z[rows]
    return NeighbourRun(rows, nearest(Z, min(k, len(Z) - 1), "euclidean"))
