"""Oblique isolation trees written out plainly, from the papers, with the kernel's random draws."""

import math
from itertools import pairwise

import numpy as np

MASK = 2**64 - 1


class SplitMix:
    """SplitMix64 in Python's integers."""

    def __init__(self, seed, kind, tree):
        mixed = self.mix(self.mix((seed + 0x9E3779B97F4A7C15) & MASK) ^ kind)
        self.state = self.mix((mixed + tree * 0x9E3779B97F4A7C15) & MASK)

    @staticmethod
    def mix(bits):
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
        return bits ^ (bits >> 31)

    def uniform(self, low=0.0, high=1.0):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return low + (self.mix(self.state) >> 11) * 2.0**-53 * (high - low)

    def below(self, bound):
        return int(self.uniform() * bound)

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())


def average_path_length(n):
    if n <= 1:
        return 0.0
    return 1.0 if n == 2 else 2 * (math.log(n - 1) + 0.5772156649015329) - 2 * (n - 1) / n


def draw_columns(draws, columns, n_constant, X, n_dims):
    """Columns that vary in the node; ``columns`` keeps those that do not in front."""
    chosen = []
    while len(chosen) < n_dims and n_constant + len(chosen) < len(columns):
        free = n_constant + len(chosen)
        place = free + draws.below(len(columns) - free)
        columns[free], columns[place] = columns[place], columns[free]
        if np.ptp(X[:, columns[free]]) > 0:
            chosen.append(columns[free])
        else:
            columns[free], columns[n_constant] = columns[n_constant], columns[free]
            n_constant += 1
            # the first of those chosen has gone to the end of their places
            chosen = [int(c) for c in columns[n_constant : n_constant + len(chosen)]]
    return chosen, n_constant


def gain(y, threshold):
    return (y.std() - (y[y < threshold].std() + y[y >= threshold].std()) / 2) / y.std()


def best_plane(draws, columns, n_constant, X, n_dims, n_trials):
    best, plane = -np.inf, None
    for _ in range(n_trials):
        chosen, n_constant = draw_columns(draws, columns, n_constant, X, n_dims)
        weights = [draws.uniform(-1, 1) / X[:, c].std() for c in chosen]
        y = sum((w * X[:, c] for w, c in zip(weights, chosen, strict=True)), np.zeros(len(X)))
        values = np.unique(y)
        for low, high in pairwise(values):
            threshold = (low + high) / 2
            # better by more than rounding: sums in another order must not decide
            if gain(y, threshold) > best + 1e-7:
                best = gain(y, threshold)
                plane = (chosen, weights, threshold, np.ptp(y))
    return plane, n_constant


def random_plane(draws, columns, n_constant, X, n_dims):
    chosen, n_constant = draw_columns(draws, columns, n_constant, X, n_dims)
    weights, threshold = [], 0.0
    for c in chosen:
        weights.append(draws.normal())
        threshold += weights[-1] * draws.uniform(X[:, c].min(), X[:, c].max())
    return ((chosen, weights, threshold, np.inf) if chosen else None), n_constant


def grow(draws, columns, n_constant, X, n_dims, n_trials, levels):
    """A tree as nested tuples: (plane, left, right), or the number of rows of a leaf."""
    plane = None
    if len(X) > (2 if n_trials else 1) and levels > 0:
        if n_trials:
            plane, n_constant = best_plane(draws, columns, n_constant, X, n_dims, n_trials)
        else:
            plane, n_constant = random_plane(draws, columns, n_constant, X, n_dims)
    if plane is None:
        return len(X)
    chosen, weights, threshold, _ = plane
    y = sum((w * X[:, c] for w, c in zip(weights, chosen, strict=True)), np.zeros(len(X)))
    sides = (X[y < threshold], X[y >= threshold])
    return plane, *(
        grow(draws, columns, n_constant, side, n_dims, n_trials, levels - 1) for side in sides
    )


def path_length(tree, row):
    if not isinstance(tree, tuple):
        return average_path_length(tree)
    (chosen, weights, threshold, reach), left, right = tree
    beyond = sum(w * row[c] for w, c in zip(weights, chosen, strict=True)) - threshold
    counts = -reach <= beyond < reach
    return counts + path_length(right if beyond >= 0 else left, row)


def path_lengths(X, rows, *, seed, trees, n_dims, n_trials, n_samples, depth):
    """Path lengths of ``rows``, summed over the trees that the seed grows on X."""
    sums = np.zeros(len(rows))
    for t in trees:
        draws = SplitMix(seed, (n_trials << 32) + n_dims, t)
        order = np.arange(len(X))
        if n_samples < len(X):
            for i in range(n_samples):
                j = i + draws.below(len(X) - i)
                order[i], order[j] = order[j], order[i]
        columns = np.arange(X.shape[1])
        sample = X[order[:n_samples]]
        tree = grow(draws, columns, 0, sample, n_dims, n_trials, depth)
        sums += [path_length(tree, row) for row in rows]
    return sums
