"""Train the ranking of reviews on simulated reviews of labelled tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.learners import FlatForest, origin_folds
from metaod.models import Matrix, Scores
from metaod.review import MarkedTable, Ranker
from research.reviews import ReviewTable, by_process

# numbers of answers after which a simulated review is sampled
_SAMPLED = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 60, 80)
_ASKED_ONE_BY_ONE = 12  # later, every fourth answer changes the ranking
_NOISY, _NOISE = 0.15, 0.1  # share of reviews with wrong answers, and share of wrong answers
# rows of a sample: those with the highest scores all, of the others some, with weights
_TOP, _TOP_OF_PICK, _TOP_OF_ERRORS, _MORE_OUTLIERS, _MORE_OTHERS = 70, 40, 30, 50, 70
_FEW_MARKS = 10
_ASKS_FOR_ERRORS = 0.5  # of the reviews
_ON_ERRORS = Ranker.features.index("process on errors")
_N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table during a review: features, labels, and how many rows each stands for."""

    features: npt.NDArray[np.float32]
    y: npt.NDArray[np.int8]
    counts: Scores


def samples(table: ReviewTable, generator: np.random.Generator) -> Iterator[Sample]:
    """Yield samples of a review of a table, and one of marks that nobody asked for.

    The process on leaves asks, in half of the reviews together with that on errors. A part of the
    reviews has wrong answers. The marks that nobody asked for are outliers only, random rows, or a
    few of both kinds.
    """
    ranker = untrained_ranker()
    noise = _NOISE if generator.random() < _NOISY else 0.0
    marked = table.marked(ranker)
    open_rows = table.askable.copy()
    asks_for_errors = generator.random() < _ASKS_FOR_ERRORS
    scores = table.errors[:, 0] if asks_for_errors else marked.scores
    for n_answers in range(1, _SAMPLED[-1] + 1):
        if not open_rows.any():
            break
        row = int(np.where(open_rows, scores, -np.inf).argmax())
        open_rows[row] = False
        marked.mark({row: bool(table.y[row] == 1) ^ (noise > 0 and generator.random() < noise)})
        if n_answers <= _ASKED_ONE_BY_ONE or n_answers % 4 == 0 or n_answers in _SAMPLED:
            by_leaves = scores = by_process(marked)
            if asks_for_errors:
                scores = by_leaves + marked.features[:, _ON_ERRORS]
        if n_answers in _SAMPLED:
            yield from _sample(table, marked, by_leaves, generator)
    marked = table.marked(ranker)
    marked.mark(_unasked(table, generator))
    yield from _sample(table, marked, by_process(marked), generator)


def _unasked(table: ReviewTable, generator: np.random.Generator) -> dict[int, bool]:
    shuffled = generator.permutation(np.flatnonzero(table.askable))
    is_outlier = table.y[shuffled] == 1
    count, kind = int(generator.integers(1, _FEW_MARKS + 1)), int(generator.integers(3))
    if kind == 0:
        rows = shuffled[is_outlier][:count]
    elif kind == 1:
        rows = shuffled[: 2 * count]
    else:
        outliers = shuffled[is_outlier][: max(1, count // 2)]
        rows = np.concatenate([outliers, shuffled[~is_outlier][:count]])
    return dict(zip(rows.tolist(), (table.y[rows] == 1).tolist(), strict=True))


def _sample(
    table: ReviewTable, marked: MarkedTable, scores: Scores, generator: np.random.Generator
) -> Iterator[Sample]:
    """Yield a sample of the rows that are not marked, if there is an outlier among them.

    Rows with high scores are taken whatever their labels are: if high scores were drawn among the
    others only, a sample would say that a high score is no outlier. Of the rest some outliers and
    some others are drawn, which stand for all of their kind.
    """
    rest = np.flatnonzero(marked.is_unmarked)
    if not table.y[rest].any():
        return
    is_top = np.zeros(len(table.y), dtype=np.bool_)
    for own, most in (
        (scores, _TOP), (table.scores, _TOP_OF_PICK), (table.errors[:, 0], _TOP_OF_ERRORS)
    ):  # fmt: skip
        is_top[rest[np.argsort(-own[rest], kind="stable")[:most]]] = True
    rows, counts = [np.flatnonzero(is_top)], [np.ones(int(is_top.sum()))]
    for label, most in ((1, _MORE_OUTLIERS), (0, _MORE_OTHERS)):
        more = rest[~is_top[rest] & (table.y[rest] == label)]
        chosen = generator.permutation(more)[:most]
        rows.append(chosen)
        counts.append(np.full(len(chosen), len(more) / max(len(chosen), 1)))
    places = np.concatenate(rows)
    yield Sample(marked.features[places], table.y[places], np.concatenate(counts))


def fit_rows(found: Sequence[Sample]) -> FlatForest:
    """Fit the score of a row: log odds of being an outlier, each sample with the same weight."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - slow to import

    X = np.concatenate([sample.features for sample in found])
    y = np.concatenate([sample.y for sample in found])
    weights = np.concatenate([_weights(sample) for sample in found])
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.08,
        max_leaf_nodes=16,
        min_samples_leaf=1000,
        l2_regularization=5.0,
        max_features=0.5,
        early_stopping=False,
        random_state=0,
    )
    model.fit(X, y, sample_weight=weights / weights.mean())
    return flat_boosting(model)


def _weights(sample: Sample) -> Scores:
    """Return weights of rows: 1 for all others, and the root of their share for all outliers."""
    weights = sample.counts.copy()
    is_outlier = sample.y == 1
    share = weights[is_outlier].sum() / weights.sum()
    weights[is_outlier] *= np.sqrt(share) / weights[is_outlier].sum()
    weights[~is_outlier] /= weights[~is_outlier].sum()
    return weights


def fit_left(
    states: Matrix, log_numbers: Scores, groups: npt.NDArray[Any], whole: npt.NDArray[np.bool_]
) -> FlatForest:
    """Fit low, middle and high quantiles of the number of outliers among the unmarked rows.

    The interval is widened until it covers the wanted part of the states of groups that were left
    out of the fit (conformal quantile regression), of whole tables and of thinned ones. ``whole``
    tells which states are of whole tables.
    """
    folds = origin_folds(groups, _N_FOLDS)
    misses = np.empty(len(states))
    for fold in range(_N_FOLDS):
        out = folds == fold
        low, _, high = (
            model.predict(states[out]) for model in _quantiles(states, log_numbers, ~out)
        )
        misses[out] = np.maximum(low - log_numbers[out], log_numbers[out] - high)
    forest = flat_boosting(*_quantiles(states, log_numbers, np.ones(len(states), bool)))
    wider = max(
        float(np.quantile(misses[own], Ranker.coverage)) for own in (whole, ~whole) if own.any()
    )
    return replace(forest, values=forest.values + np.array([-wider, 0.0, wider]))


def _quantiles(states: Matrix, log_numbers: Scores, chosen: npt.NDArray[np.bool_]) -> list[Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - slow to import

    return [
        HistGradientBoostingRegressor(
            loss="quantile",
            quantile=level,
            max_iter=60,
            learning_rate=0.1,
            max_leaf_nodes=8,
            min_samples_leaf=30,
            early_stopping=False,
            random_state=0,
        ).fit(states[chosen].astype(np.float32), log_numbers[chosen])
        for level in ((1 - Ranker.coverage) / 2, 0.5, (1 + Ranker.coverage) / 2)
    ]


def left_states(
    table: ReviewTable, ranker: Ranker, most: int = _SAMPLED[-1]
) -> tuple[Matrix, Scores]:
    """Review a table; return the states and the logarithms of the numbers of outliers left."""
    marked = table.marked(ranker)
    open_rows = table.askable.copy()
    states, log_numbers = [], []
    for n_answers in range(most + 1):
        if n_answers == 0 or n_answers in _SAMPLED:
            states.append(marked.state[0])
            log_numbers.append(np.log(table.y[marked.is_unmarked].sum() + 0.5))
        if not open_rows.any():
            break
        row = int(np.where(open_rows, marked.questions, -np.inf).argmax())
        open_rows[row] = False
        marked.mark({row: bool(table.y[row] == 1)})
    return np.array(states), np.array(log_numbers)


def untrained_ranker() -> Ranker:
    """Return a ranker whose forests are single leaves, for reviews before anything is learned."""
    return Ranker(_leaf(len(Ranker.features), 1), _leaf(len(Ranker.state_features), 3))


def _leaf(n_features: int, n_outputs: int) -> FlatForest:
    zero, end = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
    return FlatForest(zero, end, np.zeros(1), zero, end, np.zeros((1, n_outputs)), n_features)


def flat_boosting(*models: Any) -> FlatForest:
    """Flatten fitted HistGradientBoosting models of the same features; each is an output.

    A prediction is the mean over all trees, so a leaf holds its value times the number of
    trees, and the trees of a model share its baseline.
    """
    # scikit-learn has no public form of these
    trees_of = [[stage[0].nodes for stage in model._predictors] for model in models]  # noqa: SLF001
    baselines = [float(np.ravel(model._baseline_prediction)[0]) for model in models]  # noqa: SLF001
    n_trees = sum(map(len, trees_of))
    roots, parts, n_nodes, n_leaves = [], [], 0, 0
    for output, (trees, baseline) in enumerate(zip(trees_of, baselines, strict=True)):
        for nodes in trees:
            leaf = nodes["is_leaf"].astype(bool)
            row = n_leaves + np.cumsum(leaf) - 1
            roots.append(n_nodes)
            feature = np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32)
            threshold = np.where(leaf, 0.0, nodes["num_threshold"])
            left = np.where(leaf, row, nodes["left"].astype(np.int64) + n_nodes)
            right = np.where(leaf, -1, nodes["right"].astype(np.int64) + n_nodes)
            values = np.zeros((int(leaf.sum()), len(models)))
            values[:, output] = n_trees * (nodes["value"][leaf] + baseline / len(trees))
            parts.append((feature, threshold, left, right, values))
            n_nodes += len(nodes)
            n_leaves += len(values)
    feature, threshold, left, right, values = map(np.concatenate, zip(*parts, strict=True))
    first, n_features = np.array(roots, dtype=np.int32), int(models[0].n_features_in_)
    left, right = left.astype(np.int32), right.astype(np.int32)
    values = np.ascontiguousarray(values)
    return FlatForest(first, feature, threshold, left, right, values, n_features)
