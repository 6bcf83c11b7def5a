"""MetaEns: a small average of models, chosen by predicted gains from the models' raw scores.

A rival from the literature (Phan et al., ICML 2026), from its published description. It is not a
learner: it needs the scores of all candidates on every historical dataset and on the new table,
which :class:`~metaod.learners.Learner` does not carry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.models import Matrix
from research.score_pairs import N_FEATURES, ScorePairs, unit_scores
from research.statistics import average_precision

Indices = npt.NDArray[np.intp]

_LARGEST_GAIN = 0.1  # larger gains and losses are cut
_FEWEST_GAINS = 50  # with fewer positive examples, one regression on all of them
_LATER_WEIGHT = 2.0  # of examples with more than one model in the average
_SUCCESS = 0.01  # gain of a partner that counts as a success in the order of candidates
_PAIRS = 30_000  # of models on a dataset that ELECT's regression is fitted on


@dataclass(frozen=True)
class ScoreHistory:
    """What MetaEns learns from one labelled dataset.

    An example is an average of one to three models and a candidate; its gain is the change in
    average precision when the candidate joins.
    """

    ap: Matrix  # (m,) of the single models, NaN where missing
    profile: Matrix  # (8,) statistics of the scores of all models
    centralities: Matrix  # (m, 3) of the models in the graph of their correlations
    features: Matrix  # (e, 58) of the examples
    gains: Matrix  # (e,)
    first: Indices  # (e,) first model of the average
    candidate: Indices  # (e,)
    size: Indices  # (e,) models in the average

    @classmethod
    def of(
        cls,
        scores: Matrix,
        y: npt.ArrayLike,
        families: npt.ArrayLike,
        *,
        n_first: int = 5,
        n_candidates: int = 120,
    ) -> "ScoreHistory":
        """Make the examples of a dataset.

        The averages start from the best models of the dataset and grow by the candidate with the
        largest gain, up to three models.

        Parameters
        ----------
        scores : ndarray of shape (m, n)
            Scores of the models; NaN in the rows of missing models.
        y : array-like of {0, 1}
            The labels.
        families : array-like of str
            Family of each model.
        n_first : int, default=5
            How many of the best models averages start from.
        n_candidates : int, default=120
            Candidates of an average of two or more: those with the largest gain for the first.
        """
        pairs = ScorePairs.of(scores, families)
        models = np.flatnonzero(pairs.present)
        ap = np.full(len(pairs.scores), np.nan)
        ap[models] = [average_precision(y, pairs.scores[model]) for model in models]
        made: list[tuple[Matrix, Matrix, Indices, Indices, Indices]] = []
        best = models[np.argsort(-ap[models], kind="stable")][:n_first]
        for first in best:
            chosen, candidates = [int(first)], models
            while len(chosen) <= 3:
                candidates = candidates[~np.isin(candidates, chosen)]
                if not len(candidates):
                    break
                total = pairs.scores[chosen].sum(axis=0)
                before = average_precision(y, total)
                after = [average_precision(y, total + pairs.scores[q]) for q in candidates]
                gains = np.array(after) - before
                rows = _features(pairs, chosen)[candidates]
                same = np.full(len(candidates), chosen[0])
                made.append((rows, gains, same, candidates, np.full_like(same, len(chosen))))
                if len(chosen) > 1 and gains.max() <= 0:
                    break
                chosen.append(int(candidates[gains.argmax()]))
                if len(chosen) == 2:
                    candidates = candidates[np.argsort(-gains, kind="stable")][:n_candidates]
        if not made:
            raise BadParameter("ScoreHistory", "scores", "of two models at least", len(models))
        features, gains, starts, joined, size = map(np.concatenate, zip(*made, strict=True))
        gains = np.clip(gains, -_LARGEST_GAIN, _LARGEST_GAIN)
        return cls(ap, pairs.profile(), pairs.centralities(), features, gains, starts, joined, size)


def _features(pairs: ScorePairs, chosen: Sequence[int]) -> Matrix:
    """Return features (m, 58) of every candidate for an average, the first model's pairs first."""
    first = pairs.features(chosen[0])
    others = np.zeros((2, len(first), N_FEATURES))
    if len(chosen) > 1:
        others[0] = first[list(chosen[1:])].mean(axis=0)
        others[1] = np.mean([pairs.features(model) for model in chosen[1:]], axis=0)
    return np.column_stack([first, *others, np.full(len(first), len(chosen))])


@dataclass
class MetaEns:
    """Chooses a first model by similar datasets, then adds models while a gain is predicted.

    An extra-trees classifier and a regressor, fitted on averages of historical datasets, predict
    the probability and the size of a candidate's gain in average precision. The product is
    discounted by the candidate's overlap with the chosen models, the Jaccard index of the top
    tenth of the rows, and, from the second partner on, by the risk of its family: the gain that
    nine of ten historical candidates of the family exceeded, where it is a loss.

    Parameters
    ----------
    first : {"neighbours", "elect"}, default="elect"
        How the first model is chosen: the best on average on the nearest datasets, by
        statistics of the scores, or by ELECT's similarity of predicted performance.
    n_neighbours : int, default=5
        Nearest datasets for the first model.
    stages : tuple of int, default=(40, 160)
        Numbers of candidates, by past success with the first model's family, that are tried
        before all of them.
    overlap_discount : float, default=1.0
        A gain is divided by 1 + this times the largest overlap; for the first partner .001.
    family_risk : float, default=0.2
        Weight of the family's risk.
    min_family : int, default=800
        Examples that a family needs to have a risk.
    min_gain, min_gain_later : float, default=0.001 and 0.005
        Smallest gain of the first partner (discounted), and of the later ones.
    n_estimators : int, default=100
        Trees of each forest; the authors use 500 and 800.
    max_examples : int, default=50_000
        Examples that the forests are fitted on, drawn if there are more.
    random_state : int, default=0
        Seed.
    """

    first: Literal["neighbours", "elect"] = "elect"
    n_neighbours: int = 5
    stages: tuple[int, ...] = (40, 160)
    overlap_discount: float = 1.0
    family_risk: float = 0.2
    min_family: int = 800
    min_gain: float = 0.001
    min_gain_later: float = 0.005
    n_estimators: int = 100
    max_examples: int = 50_000
    random_state: int = 0

    def fit(self, history: Sequence[ScoreHistory], families: npt.ArrayLike) -> "MetaEns":
        """Fit to historical datasets, all with the same models in the same order.

        Parameters
        ----------
        history : sequence of ScoreHistory
            The datasets.
        families : array-like of str
            Family of each model.
        """
        if self.first not in ("neighbours", "elect"):
            raise BadParameter("MetaEns", "first", ["neighbours", "elect"], self.first)
        self.families_ = np.asarray(families, dtype=np.str_)
        self.ap_ = np.array([item.ap for item in history])
        profiles = np.array([item.profile for item in history])
        self.centre_, self.spread_ = profiles.mean(axis=0), profiles.std(axis=0) + 1e-9
        self.profiles_ = (profiles - self.centre_) / self.spread_
        if self.first == "elect":
            self.elect_ = _fit_elect(history, self.random_state)
        features = np.concatenate([item.features for item in history])
        gains = np.concatenate([item.gains for item in history])
        size = np.concatenate([item.size for item in history])
        first = np.concatenate([item.first for item in history])
        candidate = np.concatenate([item.candidate for item in history])
        self.success_ = _successes(self.families_[first], candidate, gains, size)
        later = size > 1
        self.risk_ = _risks(self.families_[candidate[later]], gains[later], self.min_family)
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(len(gains))[: self.max_examples])
        self._fit_forests(features[rows], gains[rows], size[rows])
        return self

    def _fit_forests(self, X: Matrix, gains: Matrix, size: Indices) -> None:
        from sklearn.ensemble import (  # noqa: PLC0415 - slow to import
            ExtraTreesClassifier,
            ExtraTreesRegressor,
        )

        params: dict[str, Any] = {
            "n_estimators": self.n_estimators,
            "min_samples_leaf": 2,
            "random_state": self.random_state,
        }
        weight = np.where(size > 1, _LATER_WEIGHT, 1.0)
        positive = gains > 0
        self.classifier_ = None
        used = np.ones(len(gains), dtype=bool)
        if positive.sum() >= _FEWEST_GAINS and not positive.all():
            self.classifier_ = ExtraTreesClassifier(class_weight="balanced", **params)
            self.classifier_.fit(X, positive, sample_weight=weight)
            used = positive
        self.regressor_ = ExtraTreesRegressor(**params)
        self.regressor_.fit(X[used], gains[used], sample_weight=weight[used])

    def _predict(self, X: Matrix) -> Matrix:
        size: Matrix = self.regressor_.predict(X)
        if self.classifier_ is None:
            return size
        probability: Matrix = self.classifier_.predict_proba(X)[:, 1]
        return probability * size

    def choose(self, scores: Matrix, *, first: int | None = None) -> tuple[int, ...]:
        """Return the models of the average for a table, the first model first.

        Parameters
        ----------
        scores : ndarray of shape (m, n)
            Scores of the models on the table; NaN in the rows of missing models.
        first : int, optional
            The first model; else it is chosen.
        """
        pairs = ScorePairs.of(scores, self.families_)
        chosen = [self._first(pairs) if first is None else first]
        order = self._order(pairs, chosen[0])
        while len(chosen) <= len(order):
            new = self._partner(pairs, chosen, order)
            if new is None:
                break
            chosen.append(new)
        return tuple(chosen)

    def _first(self, pairs: ScorePairs) -> int:
        if self.first == "elect":
            distance = -_elect_similarity(
                self.elect_, pairs.centralities(), pairs.present, self.ap_
            )
        else:
            profile = (pairs.profile() - self.centre_) / self.spread_
            distance = ((self.profiles_ - profile) ** 2).sum(axis=1)
        ap = self.ap_[np.argsort(distance, kind="stable")[: self.n_neighbours]]
        known = ~np.isnan(ap)
        mean = np.where(known, ap, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return int(np.where(pairs.present, mean, -1.0).argmax())

    def _order(self, pairs: ScorePairs, first: int) -> Indices:
        """Return the candidates by past success with the first model's family."""
        rates = self.success_.get(self.families_[first], self.success_[""])
        rate = np.array([rates.get(model, -1.0) for model in range(len(pairs.scores))])
        order = np.argsort(-rate, kind="stable")
        candidates: Indices = order[pairs.present[order] & (order != first)]
        return candidates

    def _partner(self, pairs: ScorePairs, chosen: list[int], order: Indices) -> int | None:
        X = _features(pairs, chosen)
        overlap = pairs.overlap[chosen].max(axis=0)
        alone = len(chosen) == 1
        discount = 1.0 + (0.001 if alone else self.overlap_discount) * overlap
        for stage in (*self.stages, len(order)):
            candidates = order[:stage][~np.isin(order[:stage], chosen)]
            if not len(candidates):
                continue
            gains = self._predict(X[candidates])
            if alone:
                values = gains / discount[candidates]
                values[values < self.min_gain] = -np.inf
            else:
                risk = np.array([self.risk_.get(self.families_[q], 0.0) for q in candidates])
                values = (gains - self.family_risk * risk) / discount[candidates]
                values[(gains < self.min_gain_later) | (values <= 0)] = -np.inf
            if np.isfinite(values.max()):
                return int(candidates[values.argmax()])
            if stage >= len(order):
                break
        return None

    def scores(self, scores: Matrix, chosen: Sequence[int]) -> Matrix:
        """Return the mean of the chosen models' scores, each from 0 to 1."""
        mean: Matrix = unit_scores(scores[list(chosen)]).mean(axis=0)
        return mean


def _successes(
    families: npt.NDArray[np.str_], candidate: Indices, gains: Matrix, size: Indices
) -> dict[str, dict[int, float]]:
    """Return how often candidates helped a first model, by its family; "" is any family."""
    found = {}
    for family in ("", *np.unique(families)):
        used = (size == 1) & ((families == family) | (family == ""))
        counts = np.bincount(candidate[used])
        wins = np.bincount(candidate[used & (gains > _SUCCESS)], minlength=len(counts))
        known = np.flatnonzero(counts)
        found[str(family)] = {int(q): float(wins[q] / counts[q]) for q in known}
    return found


def _risks(families: npt.NDArray[np.str_], gains: Matrix, fewest: int) -> dict[str, float]:
    found = {}
    for family in np.unique(families):
        own = gains[families == family]
        if len(own) >= fewest:
            found[str(family)] = max(0.0, -float(np.quantile(own, 0.1)))
    return found


def _fit_elect(history: Sequence[ScoreHistory], seed: int) -> Any:
    """Fit differences in performance of pairs of models by their centralities."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - slow to import

    rng = np.random.default_rng(seed)
    most = max(1, _PAIRS // len(history))
    X, y = [], []
    for item in history:
        models = np.flatnonzero(~np.isnan(item.ap))
        all_pairs = np.array(list(permutations(models, 2)), dtype=np.intp)
        a, b = all_pairs[rng.permutation(len(all_pairs))[:most]].T
        X.append(_pair_centralities(item.centralities, a, b))
        y.append(item.ap[a] - item.ap[b])
    boosted = HistGradientBoostingRegressor(
        learning_rate=0.01, max_iter=200, max_leaf_nodes=64, max_depth=20, early_stopping=False,
        min_samples_leaf=min(1000, 2 + sum(map(len, y)) // 100), random_state=seed,
    )  # fmt: skip
    return boosted.fit(np.concatenate(X), np.concatenate(y))


def _pair_centralities(values: Matrix, a: Indices, b: Indices) -> Matrix:
    rows: Matrix = np.column_stack([values[a], values[b], values[a] - values[b]])
    return rows


def _elect_similarity(
    boosted: Any, centralities: Matrix, present: npt.NDArray[np.bool_], ap: Matrix
) -> Matrix:
    """Return the similarity of each historical dataset's performance to the predicted one."""
    models = np.flatnonzero(present)
    a, b = models[np.array(np.triu_indices(len(models), k=1))]
    forward = boosted.predict(_pair_centralities(centralities, a, b))
    backward = boosted.predict(_pair_centralities(centralities, b, a))
    consistent = np.sign(forward) == -np.sign(backward)
    consistent |= not consistent.any()
    a, b, predicted = a[consistent], b[consistent], (0.5 * (forward - backward))[consistent]
    predicted = predicted / (np.abs(predicted).max() + 1e-12)
    true = np.nan_to_num(ap[:, a] - ap[:, b])
    true /= np.abs(true).max(axis=1, keepdims=True) + 1e-12
    larger = np.maximum(np.abs(true), np.abs(predicted))
    smaller = np.minimum(np.abs(true), np.abs(predicted))
    agreement = np.sign(true * predicted) * smaller / np.maximum(larger, 1e-12)
    similarity: Matrix = agreement.sum(axis=1) / np.maximum(np.abs(agreement).sum(axis=1), 1e-12)
    return similarity
