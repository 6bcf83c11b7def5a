"""Which rows of a motherset are normal, and which are candidates for outliers."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from metaod.errors import UserError
from metaod.lab.childsets.mothersets import Motherset

__all__ = ["confusable_sides", "split"]

Mask = npt.NDArray[np.bool_]

#: Rows on which the forest is grown, at most; more change the confusion little.
_FOREST_ROWS = 20_000


def split(motherset: Motherset) -> Mask:
    """Tell for every row whether it is normal.

    A regression target splits at its median, or where the motherset says so; of two classes the
    larger is normal; more classes are coloured so that confusable ones fall on opposite sides,
    and the larger side is normal. The split belongs to the motherset: no seed changes it.

    Parameters
    ----------
    motherset : Motherset
        Rows with a class or a regression target.

    Returns
    -------
    numpy.ndarray of bool
        True for a normal row.
    """
    y = motherset.y
    if motherset.task == "regression":
        threshold = motherset.normal_at_least
        is_normal = y <= np.median(y) if threshold is None else y >= threshold
    else:
        classes, codes = np.unique(y, return_inverse=True)
        sizes = np.bincount(codes)
        if len(classes) <= 2:
            is_normal = codes == np.argmax(sizes)
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


def confusable_sides(confusion: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Two-colour the maximum spanning tree of C + Cᵀ.

    Parameters
    ----------
    confusion : numpy.ndarray of shape (n_classes, n_classes)
        C: how often one class was taken for another.

    Returns
    -------
    numpy.ndarray of int
        0 or 1 for every class; the first is 0.

    Examples
    --------
    >>> confusable_sides(np.array([[9.0, 4.0, 1.0], [0.0, 9.0, 3.0], [0.0, 0.0, 9.0]])).tolist()
    [0, 1, 0]
    """
    weights = confusion + confusion.T
    # one more for every pair: classes that are never confused are joined to the tree all the same
    weights = -(weights + 1.0)
    np.fill_diagonal(weights, 0.0)
    tree = minimum_spanning_tree(weights)
    order, parents = breadth_first_order(tree, 0, directed=False)
    sides = np.zeros(len(confusion), dtype=np.intp)
    for node in order[1:]:
        sides[node] = 1 - sides[parents[node]]
    return sides


def _confusion(
    X: npt.NDArray[np.float64], codes: npt.NDArray[Any], n_classes: int
) -> npt.NDArray[np.float64]:
    """Sum the out-of-bag votes of a random forest for each class, over the rows of each class.

    Votes rather than decisions: where few rows are decided wrongly, a handful of them would make
    the tree.
    """
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
