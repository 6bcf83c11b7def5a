"""Forests as arrays: fitted by scikit-learn, saved and applied without it."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from metaod._state import Shape
from metaod.errors import BadParameter
from metaod.learners._cleaning import Cleaning
from metaod.models import Matrix, njit

Indices = npt.NDArray[np.intp]
Nodes = npt.NDArray[np.int32]

_BLOCK = 8  # rows


@dataclass(frozen=True)
class FlatForest:
    """A forest of regression trees as arrays, with the same predictions to the bit.

    Features are compared in single precision, and the trees' predictions are added in their order.
    """

    roots: Annotated[Nodes, Shape(None)]  # index of each tree's first node
    feature: Annotated[Nodes, Shape(None)]  # feature that a node compares; in a leaf, -1
    threshold: Annotated[Matrix, Shape(None)]  # rows with at most this value go left
    left: Annotated[Nodes, Shape(None)]  # index of the left child; in a leaf, its row of values
    right: Annotated[Nodes, Shape(None)]  # index of the right child
    values: Annotated[Matrix, Shape(None, None)]  # predictions of the leaves
    n_features: int

    def __post_init__(self) -> None:
        if not len(self.feature) == len(self.threshold) == len(self.left) == len(self.right):
            raise ValueError("the forest has nodes without all their parts")
        nodes, leaf = np.arange(len(self.feature)), self.feature < 0
        rows = self.left[leaf]
        children = np.concatenate([self.left[~leaf], self.right[~leaf]])
        valid = (
            len(self.roots) > 0
            and ((self.feature >= -1) & (self.feature < self.n_features)).all()
            and ((rows >= 0) & (rows < len(self.values))).all()
            # children come after their parent: every descent ends
            and (children > np.tile(nodes[~leaf], 2)).all()
            and (children < len(nodes)).all()
            and ((self.roots >= 0) & (self.roots < len(nodes))).all()
        )
        if not valid:
            raise ValueError("the forest points outside itself")

    @classmethod
    def fit(
        cls, X: Matrix, Y: Matrix, *, sample_weight: Matrix | None = None, **params: Any
    ) -> Self:
        """Fit scikit-learn's RandomForestRegressor on X (n, d) and Y (n, outputs); flatten it."""
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - slow; only for fitting

        forest = RandomForestRegressor(**{"random_state": 0, **params})
        forest.fit(X, Y[:, 0] if Y.shape[1] == 1 else Y, sample_weight=sample_weight)
        roots, parts, n_nodes, n_leaves = [], [], 0, 0
        for estimator in forest.estimators_:
            tree = estimator.tree_
            leaf = tree.children_left < 0
            row = n_leaves + np.cumsum(leaf) - 1
            roots.append(n_nodes)
            feature = np.where(leaf, -1, tree.feature).astype(np.int32)
            threshold = np.where(leaf, 0.0, tree.threshold)
            left = np.where(leaf, row, tree.children_left + n_nodes).astype(np.int32)
            right = np.where(leaf, -1, tree.children_right + n_nodes).astype(np.int32)
            parts.append((feature, threshold, left, right, tree.value[leaf, :, 0]))
            n_nodes += tree.node_count
            n_leaves += int(leaf.sum())
        feature, threshold, left, right, values = map(np.concatenate, zip(*parts, strict=True))
        first, values = np.array(roots, dtype=np.int32), np.ascontiguousarray(values)
        return cls(first, feature, threshold, left, right, values, X.shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.values.shape[1])

    def predict(self, X: npt.NDArray[Any]) -> Matrix:
        """Return the mean prediction of the trees, (q, outputs), for finite features (q, d).

        Compiled: for 100,000 rows it takes a tenth of the time of array operations, and no memory.
        """
        total = np.zeros((len(X), self.n_outputs))
        nodes = np.column_stack([self.feature, self.left, self.right])
        _add_predictions(self._checked(X), self.roots, nodes, self.threshold, self.values, total)
        return total / len(self.roots)

    def _checked(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            legal = f"a matrix with {self.n_features} columns"
            raise BadParameter("FlatForest", "X", legal, f"shape {X.shape}")
        return np.ascontiguousarray(X, dtype=np.float32)

    def leaves(self, X: Matrix) -> Indices:
        """Return the number of the leaf that each row (n, d) reaches in each tree, (n, trees)."""
        single = self._checked(X)
        rows = np.arange(len(X))[:, None]
        nodes = np.tile(self.roots.astype(np.intp), (len(X), 1))
        # all rows descend all trees at once, one level a step
        while True:
            feature = self.feature[nodes]
            inner = feature >= 0
            if not inner.any():
                return self.left[nodes].astype(np.intp)
            # a float32 and a float64 are compared in double precision, as in scikit-learn
            goes_left = single[rows, feature] <= self.threshold[nodes]
            below = np.where(goes_left, self.left[nodes], self.right[nodes])
            nodes = np.where(inner, below, nodes)

    def leaf_weights(self, leaves: Indices, X: Matrix) -> Matrix:
        """Return weights (q, n) of training rows for new rows (q, d): how often they share a leaf.

        ``leaves`` (n, trees) are those of the training rows. The training rows of a leaf share its
        weight equally, all trees have the same weight, and the weights of a new row sum to 1.

        >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
        >>> forest = FlatForest.fit(X, X, n_estimators=3, max_depth=1, bootstrap=False)
        >>> forest.leaf_weights(forest.leaves(X), np.array([[4.9]])).round(9).tolist()
        [[0.0, 0.0, 0.5, 0.5]]
        """
        from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import; few learners need it

        def by_leaf(numbers: Indices, values: Matrix) -> Any:
            ends = np.arange(0, numbers.size + 1, numbers.shape[1])
            shape = (len(numbers), len(self.values))
            return csr_array((values.ravel(), numbers.ravel(), ends), shape=shape)

        reached = self.leaves(X)
        sizes = np.bincount(leaves.ravel(), minlength=len(self.values))
        share = np.full(reached.shape, 1.0 / len(self.roots))
        product = by_leaf(reached, share) @ by_leaf(leaves, 1.0 / sizes[leaves]).T
        return np.asarray(product.toarray())


@njit(cache=True, nogil=True)
def _add_predictions(
    X: Any, roots: Any, nodes: Any, threshold: Any, values: Any, total: Any
) -> None:
    """Add the values of the leaves that rows reach, one tree after the other as scikit-learn.

    A node is its feature and its children. Rows descend a tree in blocks, one level at a time: the
    processor works on all of a block at once, which takes .6 of the time of row after row.
    """
    n_whole = X.shape[0] - X.shape[0] % _BLOCK
    at = np.zeros(_BLOCK, dtype=np.int64)
    for start in range(0, n_whole, _BLOCK):
        for tree in range(roots.shape[0]):
            at[:] = roots[tree]
            is_open = True
            while is_open:
                is_open = False
                for i in range(_BLOCK):
                    own = nodes[at[i], 0]
                    if own >= 0:
                        # compared in double precision, as in scikit-learn
                        is_left = X[start + i, own] <= threshold[at[i]]
                        at[i] = nodes[at[i], 1 if is_left else 2]
                        is_open = True
            for i in range(_BLOCK):
                for output in range(values.shape[1]):
                    total[start + i, output] += values[nodes[at[i], 1], output]
    for row in range(n_whole, X.shape[0]):
        for tree in range(roots.shape[0]):
            node = roots[tree]
            while nodes[node, 0] >= 0:
                node = nodes[node, 1 if X[row, nodes[node, 0]] <= threshold[node] else 2]
            for output in range(values.shape[1]):
                total[row, output] += values[nodes[node, 1], output]


@dataclass(frozen=True)
class MetaRegression:
    """A cleaning of raw meta-features and a forest fitted on the result."""

    cleaning: Cleaning
    forest: FlatForest

    def __post_init__(self) -> None:
        if self.forest.n_features != max(self.cleaning.n_features, 1):
            raise ValueError("the forest and the cleaning have different features")

    @classmethod
    def fit(cls, M: Matrix, Y: Matrix, **params: Any) -> Self:
        """Fit to raw meta-features (n, d) and targets (n, outputs); ``params`` of the forest."""
        cleaning = Cleaning.fit(M)
        return cls(cleaning, FlatForest.fit(_columns(cleaning, M), Y, **params))

    def with_values(self, values: npt.NDArray[Any]) -> Self:
        """Return the same regression with other values in the leaves."""
        return replace(self, forest=replace(self.forest, values=values.astype(np.float64)))

    def predict(self, M: Matrix) -> Matrix:
        return self.forest.predict(_columns(self.cleaning, M))

    def leaves(self, M: Matrix) -> Indices:
        return self.forest.leaves(_columns(self.cleaning, M))

    def leaf_weights(self, leaves: Indices, M: Matrix) -> Matrix:
        return self.forest.leaf_weights(leaves, _columns(self.cleaning, M))


def _columns(cleaning: Cleaning, M: Matrix) -> Matrix:
    clean = cleaning.transform(M)
    # scikit-learn needs at least one column; all features may be constant
    return clean if cleaning.n_features else np.zeros((len(M), 1))
