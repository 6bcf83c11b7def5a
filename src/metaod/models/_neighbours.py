"""One neighbour search a metric serves every kNN, LOF, COF and ABOD.

In the exact mode every number of neighbours has the search of its own that PyOD's detector makes:
tied distances, and rounding where a row has near copies, then fall as they do there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from metaod.models import _search as search
from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._budget import why_over_budget
from metaod.models._search import Neighbours, nearest, nearest_pyod
from metaod.models._spec import ModelSpec
from metaod.models.families import abod, cof
from metaod.models.families.knn import METHODS, knn_scores
from metaod.models.families.lof import lof_scores

__all__ = ["NeighbourKernel"]

# what PyOD's detectors take where a spec does not say
_DEFAULTS: dict[str, dict[str, Any]] = {
    "KNN": {"n_neighbors": 5, "method": "largest"},
    "LOF": {"n_neighbors": 20, "metric": "minkowski", "p": 2},
    "COF": {"n_neighbors": 20},
    "ABOD": {"n_neighbors": 5},
}
_METRICS = {"minkowski": "euclidean", "euclidean": "euclidean", "manhattan": "manhattan"}

# scikit-learn's searches against ours, and PyOD's sort of all distances of a row
_SLOWER_SEARCH = 4.0
_SECONDS_A_SORTED_DISTANCE = 1e-7


@dataclass(frozen=True)
class _Request:
    """What a spec asks for, defaults filled in."""

    spec: ModelSpec
    family: str
    k: int
    metric: str = "euclidean"
    method: str = "largest"

    @property
    def depth(self) -> int:
        """Neighbours to be searched; ABOD counts the row itself as one."""
        return max(self.k - 1, 1) if self.family == "ABOD" else self.k

    @classmethod
    def read(cls, spec: ModelSpec) -> "_Request | None":
        """What the spec asks for; None where it sets anything that is not served."""
        defaults = _DEFAULTS[spec.detector]
        params = dict(spec.params)
        if not params.keys() <= defaults.keys():
            return None
        params = defaults | params
        k = params["n_neighbors"]
        metric = _METRICS.get(str(params.get("metric", "euclidean")))
        method = str(params.get("method", "largest"))
        if type(k) is not int or k < 1 or metric is None or method not in METHODS:
            return None
        if params.get("p", 2) != 2:
            return None
        return cls(spec, spec.detector, k, metric, method)


class NeighbourKernel:
    """kNN, LOF, COF and ABOD of any number of neighbours.

    Memory beyond the table: 12 bytes a row and neighbour, and the scores of one family.
    """

    families = frozenset(_DEFAULTS)

    def serves(self, spec: ModelSpec) -> bool:
        """Whether only what the paper varies is set: neighbours, metric and method."""
        return _Request.read(spec) is not None

    def score(
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,  # noqa: ARG002 - none of the four is random
        mode: Mode,
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score the specs, one search after the other."""
        allowed = []
        for request in filter(None, map(_Request.read, specs)):
            if request.k >= len(X):
                reason = f"n_neighbors={request.k} needs at least {request.k + 1} rows, "
                reason += f"the table has {len(X)}"
                yield Scored(request.spec, 0, CellState.NOT_APPLICABLE, reason=reason)
                continue
            over = _why_over_budget(request, X, mode, budget)
            if over is not None:
                yield Scored(request.spec, 0, CellState.OVER_BUDGET, reason=over)
                continue
            allowed.append(request)
        for find, served in _searches(allowed, mode):
            start = perf_counter()
            neighbours = find(X)
            yield from _from_neighbours(X, served, neighbours, perf_counter() - start)


def _searches(
    requests: Sequence[_Request], mode: Mode
) -> Iterator[tuple[Callable[[Matrix], Neighbours], list[_Request]]]:
    """The searches to be made, and which requests each serves."""
    groups: dict[tuple[Any, ...], list[_Request]] = defaultdict(list)
    for request in requests:
        if mode == Mode.FAST:
            groups[request.metric,].append(request)
        elif request.family == "COF":
            groups["COF",].append(request)
        else:
            groups[request.metric, request.k, request.depth].append(request)
    for key, served in groups.items():
        depth = max(request.depth for request in served)
        if mode == Mode.FAST:
            yield partial(nearest, k=depth, metric=key[0]), served
        elif key == ("COF",):
            yield partial(cof.neighbours_pyod, k=depth), served
        else:
            metric, k, _ = key
            yield partial(nearest_pyod, k=depth, metric=metric, n_neighbors=k), served


def _from_neighbours(
    X: Matrix, requests: Sequence[_Request], neighbours: Neighbours, searched: float
) -> Iterator[Scored]:
    by_family: dict[str, list[_Request]] = defaultdict(list)
    for request in requests:
        by_family[request.family].append(request)
    for family, alike in by_family.items():
        start = perf_counter()
        sizes = sorted({request.k for request in alike})
        shared: Matrix | None = None
        if family == "COF":
            shared = cof.chaining_distances(X, neighbours, sizes)
        elif family == "ABOD":
            shared = abod.abod_scores(X, neighbours, sizes)
        before = searched + perf_counter() - start
        for request in alike:
            start = perf_counter()
            scores: Scores
            if shared is None and family == "KNN":
                scores = knn_scores(neighbours, request.k, request.method)
            elif shared is None:
                scores = lof_scores(neighbours, request.k)
            else:
                scores = shared[sizes.index(request.k)]
                if family == "COF":
                    scores = cof.cof_scores(scores, neighbours, request.k)
            yield Scored(request.spec, 0, CellState.OK, scores, before + perf_counter() - start)


def _why_over_budget(request: _Request, X: Matrix, mode: Mode, budget: Budget) -> str | None:
    n_rows, n_columns = X.shape
    seconds = search.foreseen_seconds(n_rows, n_columns, request.depth)
    if mode == Mode.EXACT:
        seconds *= _SLOWER_SEARCH
        if request.family == "COF":
            seconds += n_rows**2 * _SECONDS_A_SORTED_DISTANCE
    if request.family in {"COF", "ABOD"}:
        own = cof.foreseen_seconds if request.family == "COF" else abod.foreseen_seconds
        seconds += own(n_rows, n_columns, request.k)
    n_bytes = search.foreseen_bytes(n_rows, request.depth)
    return why_over_budget(budget, seconds=seconds, n_bytes=n_bytes)
