"""Statistics of the scores of many models on one table, of single models and of pairs of them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import stats

from metaod.models import Matrix

Mask = npt.NDArray[np.bool_]

N_FEATURES = 19
"""Features of a pair of models."""

_LIMIT = 1e6  # larger scores are cut
_TOP = 0.1  # share of the rows that count as top-ranked
_BINS = 10


@dataclass(frozen=True)
class ScorePairs:
    """Scores (m, n) of models on one table, from 0 to 1, and statistics of their pairs.

    A model without scores is all NaN when given; it is 0 here and not in ``present``.
    """

    scores: Matrix  # (m, n) each model's scores from 0 to 1
    present: Mask  # (m,) whether the model has scores
    families: npt.NDArray[np.str_]  # (m,)
    order: npt.NDArray[np.int32]  # (m, n) rows by score, the highest first
    top: Mask  # (m, n) the top-ranked rows
    correlation: Matrix  # (m, m) of the scores
    overlap: Matrix  # (m, m) Jaccard index of the top-ranked rows
    shape: Matrix  # (m, 5) spread, entropy, correlation with the mean of all, kurtosis, skewness

    @classmethod
    def of(cls, scores: Matrix, families: npt.ArrayLike) -> Self:
        """Compute the statistics; ``scores`` are (m, n), NaN in the rows of missing models."""
        given = np.asarray(scores, dtype=np.float64)
        present = np.asarray(~np.isnan(given).any(axis=1))
        scaled = unit_scores(given)
        n_rows = scaled.shape[1]
        order = np.argsort(-scaled, axis=1, kind="stable").astype(np.int32)
        top = np.zeros(scaled.shape, dtype=bool)
        count = max(1, int(_TOP * n_rows))
        np.put_along_axis(top, order[:, :count].astype(np.intp), values=True, axis=1)
        shared = top.astype(np.float32) @ top.T.astype(np.float32)
        overlap = (shared / (2 * count - shared)).astype(np.float64)
        correlation = _correlation(scaled, scaled)
        np.fill_diagonal(correlation, 1.0)  # a model with constant scores too
        centrality = _correlation(scaled, scaled[present].mean(axis=0, keepdims=True))[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis = np.nan_to_num(stats.kurtosis(scaled, axis=1))
            skewness = np.nan_to_num(stats.skew(scaled, axis=1))
        shape = np.column_stack(
            [scaled.std(axis=1), _entropy(scaled), centrality, kurtosis, skewness]
        )
        names = np.asarray(families, dtype=np.str_)
        return cls(scaled, present, names, order, top, correlation, overlap, shape)

    def features(self, first: int) -> Matrix:
        """Return the features (m, 19) of the pairs of one model and each other model."""
        mine, top = self.scores[first], self.top[first]
        union = self.top | top
        size = union.sum(axis=1)
        difference = np.where(union, self.scores - mine, 0.0)
        lengths = np.linalg.norm(self.scores, axis=1)
        cosine = (self.scores @ mine) / (lengths * lengths[first] + 1e-9)
        ordered = np.take_along_axis(self.scores, self.order, axis=1)
        distance = np.sqrt(((ordered - ordered[first]) ** 2).mean(axis=1))
        ap, auc = _agreement(top[self.order])
        kurtosis = self.shape[:, 3]
        found = np.column_stack(
            [
                self.correlation[first],
                _tail_correlation(self.scores, mine, union),
                self.overlap[first],
                kurtosis / max(kurtosis[first], 1e-3),
                np.maximum(difference, 0.0).sum(axis=1) / size,
                np.abs(difference).sum(axis=1) / size,
                ap,
                auc,
                distance,
                1.0 - cosine,
                self.families == self.families[first],
                self.shape[:, :3],
                np.broadcast_to(self.shape[first], self.shape.shape),
            ]
        )
        finite: Matrix = np.nan_to_num(found)
        return finite

    def profile(self) -> Matrix:
        """Return eight statistics of the table: means over models and pairs, and its size."""
        shape = self.shape[self.present].mean(axis=0)
        pairs = np.triu_indices(int(self.present.sum()), k=1)
        correlation = self.correlation[np.ix_(self.present, self.present)][pairs]
        overlap = self.overlap[np.ix_(self.present, self.present)][pairs]
        spread = (
            (correlation.mean(), correlation.std(), overlap.mean()) if len(pairs[0]) else [0] * 3
        )
        return np.array([*shape[[0, 1, 3, 4]], *spread, np.log1p(self.scores.shape[1])])

    def centralities(self) -> Matrix:
        """Return PageRank, HITS and mean correlation of the models, (m, 3), as in ELECT."""
        known = self.present
        links = np.abs(self.correlation[np.ix_(known, known)])
        count = len(links)
        found = np.zeros((len(known), 3))
        _, vectors = np.linalg.eigh(links)
        hits = np.abs(vectors[:, -1])
        steps = links / links.sum(axis=0)
        rank = np.linalg.solve(np.eye(count) - 0.85 * steps, np.full(count, 0.15 / count))
        mean = self.correlation[np.ix_(known, known)].mean(axis=1)
        found[known] = np.column_stack([rank, hits / hits.sum(), mean])
        return found


def unit_scores(scores: Matrix) -> Matrix:
    """Return scores (m, n) scaled to the range from 0 to 1 by model; NaN becomes 0."""
    cut = np.clip(np.nan_to_num(scores, posinf=_LIMIT, neginf=-_LIMIT), -_LIMIT, _LIMIT)
    low = cut.min(axis=1, keepdims=True)
    width = cut.max(axis=1, keepdims=True) - low
    scaled: Matrix = (cut - low) / np.where(width > 0, width, 1.0)
    return scaled


def _correlation(first: Matrix, second: Matrix) -> Matrix:
    parts = []
    for values in (first, second):
        centred = values - values.mean(axis=1, keepdims=True)
        length = np.linalg.norm(centred, axis=1, keepdims=True)
        parts.append(centred / np.where(length > 1e-9, length, np.inf))
    product: Matrix = parts[0] @ parts[1].T
    return product


def _tail_correlation(scores: Matrix, mine: Matrix, union: Mask) -> Matrix:
    """Return the correlation of each model with one of them over rows (m, n) of their own."""
    size = union.sum(axis=1, keepdims=True)
    theirs = np.where(union, scores - (scores * union).sum(axis=1, keepdims=True) / size, 0.0)
    ours = np.where(union, mine - (union * mine).sum(axis=1, keepdims=True) / size, 0.0)
    product = np.linalg.norm(theirs, axis=1) * np.linalg.norm(ours, axis=1)
    together: Matrix = (theirs * ours).sum(axis=1) / np.where(product > 1e-9, product, np.inf)
    return together


def _agreement(hits: Mask) -> tuple[Matrix, Matrix]:
    """Return average precision and AUC of orders (m, n) whose hits are given."""
    ranks = np.arange(1, hits.shape[1] + 1)
    count = int(hits[0].sum())
    ap = (np.cumsum(hits, axis=1) / ranks * hits).sum(axis=1) / count
    others = max(hits.shape[1] - count, 1)
    above = (hits * ranks).sum(axis=1) - count * (count + 1) / 2
    return ap, 1.0 - above / (count * others)


def _entropy(scores: Matrix) -> Matrix:
    bins = np.minimum((scores * _BINS).astype(np.intp), _BINS - 1)
    shares = [np.bincount(row, minlength=_BINS) / len(row) for row in bins]
    return np.asarray(stats.entropy(np.array(shares), axis=1))
