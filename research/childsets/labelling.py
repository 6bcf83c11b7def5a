"""Which rows of a motherset are normal, and how similar anomalous rows are to normal ones."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from threadpoolctl import threadpool_limits

from metaod.errors import UserError
from metaod.models import Matrix, Scores
from research.childsets.mothersets import Motherset
from research.childsets.recipe import Difficulty

Mask = npt.NDArray[np.bool_]

LEVELS: dict[Difficulty, tuple[float, float]] = {
    "any": (0.0, np.inf),
    "easy": (0.0, 0.16),
    "medium": (0.16, 0.3),
    "hard": (0.3, 0.5),
    "very hard": (0.5, np.inf),
}
"""Half-open interval of P(normal | x) of each difficulty."""

_FOREST_ROWS = 20_000  # more rows change the confusion little

# limits that keep the largest motherset, of a quarter of a million rows, to seconds
_FITTED_ROWS = 10_000
_LANDMARKS = 300
_CHUNK = 10_000

_PENALTIES = (1.0, 10.0, 100.0)


def normal_rows(motherset: Motherset) -> Mask:
    """Whether each row is normal.

    A regression target is split at its median, or at the motherset's `normal_at_least`; of two
    classes the larger is normal; more classes are divided so that confusable ones fall on opposite
    sides, and the larger side is normal. The result does not depend on any seed.
    """
    y = motherset.y
    if motherset.task == "regression":
        threshold = motherset.normal_at_least
        is_normal = y <= np.median(y) if threshold is None else y >= threshold
    else:
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) <= 2:
            is_normal = codes == np.argmax(np.bincount(codes))
        else:
            side = confusable_sides(_confusion(motherset.X, codes, len(classes)))[codes]
            is_normal = side == np.argmax(np.bincount(side))
    if is_normal.all() or not is_normal.any():
        raise UserError(
            f"all {len(y)} rows fall on one side of the target",
            where=f"motherset {motherset.name}",
            remedy="a target needs two values at least",
        )
    return np.asarray(is_normal)


def confusable_sides(confusion: Matrix) -> npt.NDArray[np.intp]:
    """Two-colour the maximum spanning tree of C + Cᵀ; the first class has colour 0."""
    # 1 is added to every pair: classes that are never confused belong to the tree too
    weights = -(confusion + confusion.T + 1.0)
    np.fill_diagonal(weights, 0.0)
    tree = minimum_spanning_tree(weights)
    order, parents = breadth_first_order(tree, 0, directed=False)
    sides = np.zeros(len(confusion), dtype=np.intp)
    for node in order[1:]:
        sides[node] = 1 - sides[parents[node]]
    return sides


def _confusion(X: Matrix, codes: npt.NDArray[Any], n_classes: int) -> Matrix:
    """Sum the out-of-bag votes of a random forest for each class, over the rows of each class."""
    # votes rather than decisions: a few misclassified rows must not determine the tree
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - slow to import

    rows = np.arange(len(codes))
    if len(rows) > _FOREST_ROWS:
        rows = np.random.default_rng(0).choice(len(rows), _FOREST_ROWS, replace=False)
    forest = RandomForestClassifier(n_estimators=100, oob_score=True, random_state=0)
    forest.fit(X[rows], codes[rows])
    votes = np.zeros((len(rows), n_classes))
    # a row that is in every bag has no votes
    votes[:, forest.classes_] = np.nan_to_num(forest.oob_decision_function_)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, codes[rows], votes)
    return confusion


def of_difficulty(probability: Scores, difficulty: Difficulty) -> Mask:
    """Whether rows have a difficulty, by their P(normal | x)."""
    low, high = LEVELS[difficulty]
    return (probability >= low) & (probability < high)


def normal_probability(X: Matrix, is_normal: Mask) -> Scores:
    """P(normal | x) of every row of a motherset with standardised columns.

    Logistic regression on an RBF kernel (γ = 1/d), by Nyström's approximation with 300 landmarks,
    fitted to at most 10,000 rows; the penalty is chosen by cross-validated log loss.
    """
    # one thread: the order of summation does not depend on the number of cores
    with threadpool_limits(limits=1):
        return _fit_and_predict(X, is_normal)


def _fit_and_predict(X: Matrix, is_normal: Mask) -> Scores:
    # slow to import
    from sklearn.kernel_approximation import Nystroem  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_score  # noqa: PLC0415

    rows = np.random.default_rng(0).permutation(len(X))[:_FITTED_ROWS]
    # both classes must be among the fitted rows, however rare one is
    rows = np.union1d(rows, [np.argmax(is_normal), np.argmin(is_normal)])
    kernel = Nystroem(
        gamma=1.0 / X.shape[1], n_components=min(_LANDMARKS, len(rows)), random_state=0
    )
    features, target = kernel.fit_transform(X[rows]), is_normal[rows]
    # Newton's method converges; with other solvers the result depends on where they stop
    models = [
        LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-8) for penalty in _PENALTIES
    ]
    model = models[0]
    n_folds = min(3, int(target.sum()), int((~target).sum()))
    if n_folds >= 2:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        losses = [
            -cross_val_score(model, features, target, scoring="neg_log_loss", cv=folds).mean()
            for model in models
        ]
        model = models[int(np.argmin(losses))]
    model.fit(features, target)
    chunks = (X[start : start + _CHUNK] for start in range(0, len(X), _CHUNK))
    return np.concatenate([model.predict_proba(kernel.transform(chunk))[:, 1] for chunk in chunks])
