"""Compiled trees over bins: grown on numbers or classes, used on rows they did not learn from."""

import numpy as np
import numpy.typing as npt

from metaod.models import njit, uniform
from metaod.wrong_cells._columns import N_BINS, Codes, Values

LEAST_LEAF = 3
_MOST_DEPTH = 14

Bins = npt.NDArray[np.uint8]
Votes = npt.NDArray[np.float32]
Nodes = npt.NDArray[np.int32]

_PREDICTOR, _CHILD, _START, _STOP, _DEPTH = range(5)  # columns of a table of nodes


@njit(cache=True, nogil=True)
def explained(bins: Bins, targets: Values) -> Values:
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
def fit_predict(
    bins: Bins,
    is_ordered: npt.NDArray[np.bool_],
    chances: Values,
    targets: Values,
    classes: Codes,
    n_classes: int,
    known: Codes,
    n_trees: int,
    seed: int,
) -> tuple[Values, Votes]:
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
            j = i + int(uniform(state, 0.0, 1.0) * (n_known - i))
            rows[i], rows[j] = rows[j], rows[i]
        own = rows[:n_own]
        learned[:] = False
        learned[own] = True
        if n_classes > 0:  # a random number for each class stands for it
            for k in range(n_classes):
                code[k] = (
                    uniform(state, 0.0, 1.0) + uniform(state, 0.0, 1.0) + uniform(state, 0.0, 1.0)
                )
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
def _leaf_of(own: Bins, nodes: Nodes, masks: npt.NDArray[np.uint64]) -> int:
    """Return the leaf that a row with these bins reaches."""
    node = 0
    while nodes[node, _PREDICTOR] >= 0:
        bit = (masks[node] >> np.uint64(own[nodes[node, _PREDICTOR]])) & np.uint64(1)
        node = nodes[node, _CHILD] + (0 if bit else 1)
    return node


@njit(cache=True, nogil=True)
def _count_classes(nodes: Nodes, n_nodes: int, own: Codes, classes: Codes, shares: Votes) -> None:
    """Write the shares of the classes in each leaf."""
    for node in range(n_nodes):
        if nodes[node, _PREDICTOR] < 0:
            start, stop = nodes[node, _START], nodes[node, _STOP]
            for row in own[start:stop]:
                shares[node, classes[row]] += 1
            shares[node] /= stop - start


@njit(cache=True, nogil=True)
def _measure_leaves(nodes: Nodes, n_nodes: int, own: Codes, y: Values, leaves: Values) -> None:
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
) -> int:
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
        is_split = n_inside >= 2 * LEAST_LEAF and depth < _MOST_DEPTH
        if is_split and values.max() > values.min():
            for _ in range(n_tried):
                drawn = min(np.searchsorted(chances, uniform(state, 0.0, 1.0)), len(chances) - 1)
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
) -> int:
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
def _put_in_order(used: Codes, n_used: int, is_ordered: bool, counts: Values, sums: Values) -> None:
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
) -> tuple[float, np.uint64]:
    """Return the best gain over all cuts of the ordered bins, and the bins on its left."""
    n_left, left, best = 0.0, 0.0, -1.0
    bits, best_bits = np.uint64(0), np.uint64(0)
    for a in range(n_used - 1):
        n_left += counts[used[a]]
        left += sums[used[a]]
        bits |= np.uint64(1) << np.uint64(used[a])
        n_right = n_inside - n_left
        if n_left >= LEAST_LEAF and n_right >= LEAST_LEAF:
            gain = left**2 / n_left + (total - left) ** 2 / n_right
            if gain > best:
                best, best_bits = gain, bits
    return best, best_bits


@njit(cache=True, nogil=True)
def _divide(inside: Codes, bins: Bins, predictor: int, mask: np.uint64) -> int:
    """Put a node's rows that go left before the others; return how many they are."""
    i, j = 0, len(inside) - 1
    while i <= j:
        if (mask >> np.uint64(bins[inside[i], predictor])) & np.uint64(1):
            i += 1
        else:
            inside[i], inside[j] = inside[j], inside[i]
            j -= 1
    return i
