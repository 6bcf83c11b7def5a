"""What the other cells of a row lead to expect: forests that predict each column from the others.

Every predictor has at most 64 bins, so a split is a set of bins in 64 bits, the same for numbers
and for categories. A tree learns from half of the reference rows, and predicts the others. What a
linear model of the other columns predicts is a predictor too.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.models import njit
from metaod.wrong_cells._columns import N_BINS, Codes, Column, Values

_FEWEST_FOR_THREADS = 2_000  # rows
_N_TREES = 24
_N_TREES_LARGE = 10  # of tables with more rows than reference rows
_LEAST_LEAF = 3
_MOST_DEPTH = 14
_MOST_PREDICTORS = 16
_MEASURED = 2_000  # rows on which predictors are chosen
_MOST_LINEAR = 400  # columns of a linear model
_MOST_INDICATORS = 8  # categories of a column in it
_CLIP = 4.0  # of targets on their scale

Bins = npt.NDArray[np.uint8]
Votes = npt.NDArray[np.float32]
Nodes = npt.NDArray[np.int32]

_PREDICTOR, _CHILD, _START, _STOP, _DEPTH = range(5)  # columns of a table of nodes


@dataclass(frozen=True, eq=False)
class Expected:
    """What is expected of a column's cells from the other cells of their rows.

    Parameters
    ----------
    place : ndarray of float or None
        The expected number, on the column's scale.
    spread : ndarray of float or None
        How far numbers of such rows are from it, on the scale.
    own : ndarray of float or None
        The probability of the row's own value.
    best : ndarray of float or None
        That of the most probable value.
    best_class : ndarray of int or None
        The class of that value.
    entropy : ndarray of float or None
        The expected surprisal.
    linear : ndarray of float or None
        The number that a linear model of the other columns expects, on the scale.
    """

    place: Values | None = None
    spread: Values | None = None
    own: Values | None = None
    best: Values | None = None
    best_class: Codes | None = None
    entropy: Values | None = None
    linear: Values | None = None


def expected_cells(
    columns: Sequence[Column],
    bins: Bins,
    weights: Values,
    reference: Codes,
    seed: int,
    n_jobs: int | None = None,
) -> list[Expected]:
    """Predict every column from the others; rows that a tree learned from are left out of it."""
    n_trees = _N_TREES if len(columns[0].codes) <= len(reference) else _N_TREES_LARGE
    is_ordered = np.array([column.is_number for column in columns])
    linear = linear_predictions(columns, reference)

    def of_column(place: int) -> Expected:
        chosen = np.argsort(-weights[place], kind="stable")[:_MOST_PREDICTORS]
        chosen = chosen[chosen != place]
        forest = _Forest(
            bins[chosen], is_ordered[chosen], weights[place][chosen], n_trees, seed + place
        )
        line = linear.get(place)
        if line is not None:
            forest = forest.with_predictor(_binned(line, reference))
        return replace(_expected(columns[place], forest, line, reference), linear=line)

    if len(columns[0].codes) < _FEWEST_FOR_THREADS:
        return list(map(of_column, range(len(columns))))
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as threads:
        return list(threads.map(of_column, range(len(columns))))


@dataclass(frozen=True, eq=False)
class _Forest:
    """What the forest of a column is grown from: bins of predictors, and settings."""

    bins: Bins
    is_ordered: npt.NDArray[np.bool_]
    weights: Values
    n_trees: int
    seed: int

    def with_predictor(self, own: Bins) -> "_Forest":
        """Add a predictor, which is tried most often."""
        bins = np.concatenate([self.bins, own[None]])
        weights = np.append(self.weights, self.weights.max(initial=0.05) * 2)
        return replace(
            self, bins=bins, is_ordered=np.append(self.is_ordered, True), weights=weights
        )

    def numbers(self, targets: Values, known: Codes) -> tuple[Values, Values]:
        """Return what is expected of each row's target, and the spread around it."""
        totals, _ = self._run(targets, np.zeros(0, dtype=np.int64), 0, known)
        n = np.maximum(totals[:, 3], 1)
        mean = totals[:, 0] / n
        variance = totals[:, 2] / n + np.maximum(totals[:, 1] / n - mean**2, 0)
        return mean, np.sqrt(variance + 1e-4)

    def votes(self, classes: Codes, n_classes: int, known: Codes) -> Votes:
        """Return the share of trees, in parts of leaves, that expect each class of a row."""
        return self._run(np.zeros(len(classes)), classes, n_classes, known)[1]

    def _run(
        self, targets: Values, classes: Codes, n_classes: int, known: Codes
    ) -> tuple[Values, Votes]:
        chances = np.cumsum(self.weights + 0.02)
        chances /= chances[-1]
        of_rows = np.ascontiguousarray(self.bins.T)  # the bins of a row lie together
        found: tuple[Values, Votes] = _fit_predict(
            of_rows, self.is_ordered, chances, targets, classes, n_classes, known,
            self.n_trees, 7919 * self.seed,
        )  # fmt: skip
        return found


def _binned(values: Values, reference: Codes) -> Bins:
    ends = np.unique(np.quantile(values[reference], np.linspace(0, 1, N_BINS)[1:-1]))
    return np.searchsorted(ends, values).astype(np.uint8)


def linear_predictions(columns: Sequence[Column], reference: Codes) -> dict[int, Values]:
    """Predict numbers by linear models of all other columns: all from one inverse.

    Of a normal distribution with the inverse covariance W, a column's expectation given the others
    is minus their sum with weights W[i, j] / W[i, i].
    """
    parts: list[Values] = []
    owners: list[int] = []
    for place, column in enumerate(columns):
        as_numbers = _as_numbers(column)
        parts += as_numbers
        owners += [place] * len(as_numbers)
    owner = np.array(owners)
    if len(parts) < 2 or len(parts) > min(_MOST_LINEAR, len(reference) / 4):
        return {}
    X = np.stack(parts)
    known = X[:, reference]
    X = X - known.mean(axis=1, keepdims=True)
    X /= np.maximum(known.std(axis=1, keepdims=True), 1e-9)
    covariance = X[:, reference] @ X[:, reference].T / len(reference)
    ridge = 1e-3 + 0.1 * len(parts) / len(reference)
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(parts)))
    predictions = {}
    for place, column in enumerate(columns):
        if column.kind not in ("number", "date"):
            continue
        i, others = int(np.argmax(owner == place)), np.flatnonzero(owner != place)
        weights = -inverse[i, others] / inverse[i, i]
        scale = max(float(known[i].std()), 1e-9)
        predictions[place] = weights @ X[others] * scale + float(known[i].mean())
    return predictions


def _as_numbers(column: Column) -> list[Values]:
    """Return a column as numbers for a linear model: few categories are indicators."""
    if column.is_number:
        mapped = np.nan_to_num(column.scale.map(column.values))
        return [np.clip(mapped, -_CLIP, _CLIP)]
    classes, n_classes = column.classes
    if n_classes > _MOST_INDICATORS:
        return []
    by_row = column.spread(classes, -1)
    return [(by_row == own).astype(np.float64) for own in range(n_classes - 1)]


def association(columns: Sequence[Column], bins: Bins, reference: Codes) -> Values:
    """Return how much of each column's variance the bins of each other column explain."""
    rows = reference[:: max(1, len(reference) // _MEASURED)]
    targets, owners = [], []
    for place, column in enumerate(columns):
        own = _targets(column, rows)
        targets += own
        owners += [place] * len(own)
    explained = _explained(np.ascontiguousarray(bins[:, rows]), np.stack(targets))
    weights = np.zeros((len(columns), len(columns)))
    np.maximum.at(weights, np.array(owners), explained.T)
    np.fill_diagonal(weights, 0.0)
    return weights


def _targets(column: Column, rows: Codes) -> list[Values]:
    """Return one or two standardised targets of a column; missing values are at their middle."""
    if column.is_few:
        classes, n_classes = column.classes
        codes = column.spread(classes, -1)[rows]
        draws = _normals(n_classes, 2)
        raw = [np.append(draw, 0.0)[codes] for draw in draws]
    else:
        raw = [np.clip(np.nan_to_num(column.scale.map(column.values[rows])), -_CLIP, _CLIP)]
    return [(own - own.mean()) / (own.std() or 1.0) for own in raw]


def _normals(number: int, draws: int) -> Values:
    return np.random.default_rng(0).standard_normal((draws, number))


def _expected(column: Column, forest: _Forest, line: Values | None, reference: Codes) -> Expected:
    known = reference[column.present[reference]]
    is_alone = not len(forest.bins) or len(column.distinct) < 2
    if is_alone or len(known) < 4 * _LEAST_LEAF:
        return _unconditional(column)
    if column.is_few:
        classes, n_classes = column.classes
        by_row = column.spread(classes, -1)
        return _of_classes(column, forest.votes(by_row, n_classes, known), by_row)
    targets = np.clip(np.nan_to_num(column.scale.map(column.values)), -_CLIP, _CLIP)
    place, spread = forest.numbers(targets, known)
    if line is not None:  # what the line leaves may be easier to predict
        rest, own_spread = forest.numbers(targets - line, known)
        left = np.abs(targets - line - rest)[known]
        if np.median(left) < np.median(np.abs(targets - place)[known]):
            return Expected(line + rest, own_spread)
    return Expected(place, spread)


def _of_classes(column: Column, votes: npt.NDArray[np.float32], by_row: Codes) -> Expected:
    """Take the probabilities of classes; a class is never quite excluded."""
    prior = np.bincount(by_row[by_row >= 0], minlength=votes.shape[1]) / max(1, (by_row >= 0).sum())
    shares = (votes + 0.5 * prior) / (votes.sum(axis=1, keepdims=True) + 0.5)
    own = np.where(by_row >= 0, shares[np.arange(len(by_row)), by_row], 1.0)
    entropy = -(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1)
    best = shares.argmax(axis=1)
    found = {
        "own": own,
        "best": shares[np.arange(len(by_row)), best],
        "best_class": best,
        "entropy": entropy,
    }
    if not column.is_number:
        return Expected(**found)
    classes, n_classes = column.classes
    places = np.zeros(n_classes)
    places[classes] = np.clip(column.scale.map(column.distinct.astype(np.float64)), -_CLIP, _CLIP)
    mean = shares @ places
    variance = np.maximum(shares @ places**2 - mean**2, 0)
    return Expected(mean, np.sqrt(variance + 1e-4), **found)


def _unconditional(column: Column) -> Expected:
    """Expect the column's own middle or frequencies."""
    n_rows = len(column.codes)
    place = spread = None
    if column.is_number:
        place, spread = np.zeros(n_rows), np.ones(n_rows)
    if not column.is_few:
        return Expected(place, spread)
    classes, n_classes = column.classes
    counts = np.bincount(classes, weights=column.counts, minlength=n_classes)
    shares = (counts + 0.5) / (counts.sum() + 0.5 * max(n_classes, 1))
    own = column.spread(shares[classes] if n_classes else np.zeros(0), 1.0)
    entropy = float(-(shares * np.log(shares)).sum()) if n_classes else 0.0
    best = float(shares.max(initial=0.0))
    best_class = int(shares.argmax()) if n_classes else 0
    fill = np.full(n_rows, 1.0)
    return Expected(place, spread, own, best * fill, np.full(n_rows, best_class), entropy * fill)


# compiled


@njit(cache=True, nogil=True)
def _explained(bins: Bins, targets: Values) -> Values:  # pragma: no cover - compiled
    """Return the share of each target's variance that each row of bins explains, less chance."""
    n_predictors, n_rows = bins.shape
    found = np.zeros((n_predictors, len(targets)))
    counts = np.zeros(N_BINS)
    sums = np.zeros((N_BINS, len(targets)))
    for predictor in range(n_predictors):
        counts[:] = 0
        sums[:] = 0
        for row in range(n_rows):
            own = bins[predictor, row]
            counts[own] += 1
            for target in range(len(targets)):
                sums[own, target] += targets[target, row]
        n_used = 0
        for own in range(N_BINS):
            if counts[own] > 0:
                n_used += 1
                for target in range(len(targets)):
                    found[predictor, target] += sums[own, target] ** 2 / counts[own]
        for target in range(len(targets)):
            share = found[predictor, target] / n_rows
            chance = (n_used - 1) / max(n_rows - 1, 1)
            found[predictor, target] = max(share - chance, 0.0) / max(1 - chance, 1e-9)
    return found


@njit(cache=True, nogil=True)
def _next(state: npt.NDArray[np.uint64]) -> float:  # pragma: no cover - compiled
    """Return a random number in [0, 1) by SplitMix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float((z >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@njit(cache=True, nogil=True)
def _fit_predict(
    bins: Bins,
    is_ordered: npt.NDArray[np.bool_],
    chances: Values,
    targets: Values,
    classes: Codes,
    n_classes: int,
    known: Codes,
    n_trees: int,
    seed: int,
) -> tuple[Values, Votes]:  # pragma: no cover - compiled
    """Grow the trees of one column and add up what they predict for rows they did not learn from.

    Returns sums over the trees of leaf means, their squares, leaf variances and a count for
    numbers (n, 4), or of the shares of classes (n, classes).
    """
    n_rows, n_known = len(bins), len(known)
    n_own = n_known // 2
    state = np.array([seed], dtype=np.uint64)
    totals = np.zeros((n_rows if n_classes == 0 else 1, 4))
    votes = np.zeros((n_rows if n_classes > 0 else 1, max(n_classes, 1)), dtype=np.float32)
    nodes = np.zeros((2 * n_own + 3, 5), dtype=np.int32)
    masks = np.zeros(2 * n_own + 3, dtype=np.uint64)
    learned = np.zeros(n_rows, dtype=np.bool_)
    y = targets.copy()
    rows = known.copy()
    code = np.zeros(n_classes)
    for _ in range(n_trees):
        for i in range(n_own):  # draw half of the rows
            j = i + int(_next(state) * (n_known - i))
            rows[i], rows[j] = rows[j], rows[i]
        own = rows[:n_own]
        learned[:] = False
        learned[own] = True
        if n_classes > 0:  # a random number for each class stands for it
            for k in range(n_classes):
                code[k] = _next(state) + _next(state) + _next(state)
            for row in own:
                y[row] = code[classes[row]]
        n_nodes = _grow(bins, is_ordered, chances, y, own, state, nodes, masks)
        if n_classes > 0:
            shares = np.zeros((n_nodes, n_classes), dtype=np.float32)
            _count_classes(nodes, n_nodes, own, classes, shares)
            for row in range(n_rows):
                if not learned[row]:
                    votes[row] += shares[_leaf_of(bins[row], nodes, masks)]
            continue
        leaves = np.zeros((n_nodes, 4))
        _measure_leaves(nodes, n_nodes, own, y, leaves)
        for row in range(n_rows):
            if not learned[row]:
                totals[row] += leaves[_leaf_of(bins[row], nodes, masks)]
    return totals, votes


@njit(cache=True, nogil=True)
def _leaf_of(
    own: Bins, nodes: Nodes, masks: npt.NDArray[np.uint64]
) -> int:  # pragma: no cover - compiled
    """Return the leaf that a row with these bins reaches."""
    node = 0
    while nodes[node, _PREDICTOR] >= 0:
        bit = (masks[node] >> np.uint64(own[nodes[node, _PREDICTOR]])) & np.uint64(1)
        node = nodes[node, _CHILD] + (0 if bit else 1)
    return node


@njit(cache=True, nogil=True)
def _count_classes(
    nodes: Nodes, n_nodes: int, own: Codes, classes: Codes, shares: Votes
) -> None:  # pragma: no cover - compiled
    """Write the shares of the classes in each leaf."""
    for node in range(n_nodes):
        if nodes[node, _PREDICTOR] < 0:
            start, stop = nodes[node, _START], nodes[node, _STOP]
            for row in own[start:stop]:
                shares[node, classes[row]] += 1
            shares[node] /= stop - start


@njit(cache=True, nogil=True)
def _measure_leaves(
    nodes: Nodes, n_nodes: int, own: Codes, y: Values, leaves: Values
) -> None:  # pragma: no cover - compiled
    """Write mean, its square, variance and 1 for each leaf.

    A leaf of five values or more is measured without its smallest and largest one.
    """
    for node in range(n_nodes):
        if nodes[node, _PREDICTOR] >= 0:
            continue
        values = np.sort(y[own[nodes[node, _START] : nodes[node, _STOP]]])
        if len(values) >= 5:
            values = values[1:-1]
        mean = values.mean()
        leaves[node, 0], leaves[node, 1] = mean, mean * mean
        leaves[node, 2], leaves[node, 3] = ((values - mean) ** 2).mean(), 1.0


@njit(cache=True, nogil=True)
def _grow(
    bins: Bins,
    is_ordered: npt.NDArray[np.bool_],
    chances: Values,
    y: Values,
    own: Codes,
    state: npt.NDArray[np.uint64],
    nodes: Nodes,
    masks: npt.NDArray[np.uint64],
) -> int:  # pragma: no cover - compiled
    """Grow one tree over the rows `own`, which are put in the order of its leaves."""
    counts, sums = np.zeros(N_BINS), np.zeros(N_BINS)
    used = np.zeros(N_BINS, dtype=np.int64)
    n_tried = max(2, (len(chances) + 1) // 3 + 1)
    nodes[0, _START], nodes[0, _STOP], nodes[0, _DEPTH] = 0, len(own), 0
    n_nodes = 1
    node = 0
    while node < n_nodes:
        start, stop, depth = nodes[node, _START], nodes[node, _STOP], nodes[node, _DEPTH]
        inside = own[start:stop]
        values = y[inside]
        total, n_inside = values.sum(), stop - start
        best, mask, predictor = total * total / n_inside + 1e-7 * n_inside, np.uint64(0), -1
        is_split = n_inside >= 2 * _LEAST_LEAF and depth < _MOST_DEPTH
        if is_split and values.max() > values.min():
            for _ in range(n_tried):
                drawn = min(np.searchsorted(chances, _next(state)), len(chances) - 1)
                n_used = _count(bins, drawn, inside, values, counts, sums, used)
                _put_in_order(used, n_used, is_ordered[drawn], counts, sums)
                gain, bits = _best_split(used, n_used, counts, sums, total, n_inside)
                if gain > best:
                    best, mask, predictor = gain, bits, drawn
                counts[used[:n_used]] = 0
                sums[used[:n_used]] = 0
        nodes[node, _PREDICTOR] = predictor
        if predictor >= 0:
            masks[node], nodes[node, _CHILD] = mask, n_nodes
            middle = start + _divide(inside, bins, predictor, mask)
            nodes[n_nodes, _START], nodes[n_nodes, _STOP] = start, middle
            nodes[n_nodes + 1, _START], nodes[n_nodes + 1, _STOP] = middle, stop
            nodes[n_nodes, _DEPTH] = nodes[n_nodes + 1, _DEPTH] = depth + 1
            n_nodes += 2
        node += 1
    return n_nodes


@njit(cache=True, nogil=True)
def _count(
    bins: Bins,
    predictor: int,
    inside: Codes,
    values: Values,
    counts: Values,
    sums: Values,
    used: Codes,
) -> int:  # pragma: no cover - compiled
    """Add up a node's targets by the bins of a predictor; return how many bins it uses."""
    n_used = 0
    for i in range(len(inside)):
        own = bins[inside[i], predictor]
        if counts[own] == 0:
            used[n_used] = own
            n_used += 1
        counts[own] += 1
        sums[own] += values[i]
    return n_used


@njit(cache=True, nogil=True)
def _put_in_order(
    used: Codes, n_used: int, is_ordered: bool, counts: Values, sums: Values
) -> None:  # pragma: no cover - compiled
    """Order bins of numbers by their place, those of categories by their mean target."""
    for a in range(1, n_used):
        moved = used[a]
        key = float(moved) if is_ordered else sums[moved] / counts[moved]
        b = a - 1
        while b >= 0:
            other = used[b]
            rank = float(other) if is_ordered else sums[other] / counts[other]
            if rank < key or (rank == key and other < moved):
                break
            used[b + 1] = other
            b -= 1
        used[b + 1] = moved


@njit(cache=True, nogil=True)
def _best_split(
    used: Codes, n_used: int, counts: Values, sums: Values, total: float, n_inside: int
) -> tuple[float, np.uint64]:  # pragma: no cover - compiled
    """Return the best gain over all cuts of the ordered bins, and the bins on its left."""
    n_left, left, best = 0.0, 0.0, -1.0
    bits, best_bits = np.uint64(0), np.uint64(0)
    for a in range(n_used - 1):
        n_left += counts[used[a]]
        left += sums[used[a]]
        bits |= np.uint64(1) << np.uint64(used[a])
        n_right = n_inside - n_left
        if n_left >= _LEAST_LEAF and n_right >= _LEAST_LEAF:
            gain = left**2 / n_left + (total - left) ** 2 / n_right
            if gain > best:
                best, best_bits = gain, bits
    return best, best_bits


@njit(cache=True, nogil=True)
def _divide(
    inside: Codes, bins: Bins, predictor: int, mask: np.uint64
) -> int:  # pragma: no cover - compiled
    """Put a node's rows that go left before the others; return how many they are."""
    i, j = 0, len(inside) - 1
    while i <= j:
        if (mask >> np.uint64(bins[inside[i], predictor])) & np.uint64(1):
            i += 1
        else:
            inside[i], inside[j] = inside[j], inside[i]
            j -= 1
    return i
