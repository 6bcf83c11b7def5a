"""Forests flattened to arrays: fitted by scikit-learn, stored and run without it."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners._state import State, StateReader

__all__ = ["FlatForest"]

Matrix = npt.NDArray[np.float64]
Places = npt.NDArray[np.int32]


@dataclass(frozen=True)
class FlatForest:
    """A forest of regression trees with one or more outputs, as arrays.

    Its predictions are those of the scikit-learn forest it was made from, bit by bit: features are
    compared in single precision and the trees' answers are added in their order.

    Parameters
    ----------
    roots : array of shape (trees,)
        Place of each tree's first node.
    feature : array of shape (nodes,)
        Feature that a node asks for; in a leaf, -1.
    threshold : array of shape (nodes,)
        Rows with at most this value go left.
    left, right : array of shape (nodes,)
        Places of the children; in a leaf, ``left`` is the place of its values.
    values : array of shape (leaves, outputs)
        What the leaves answer.
    n_features : int
        Number of features.
    """

    roots: Places
    feature: Places
    threshold: Matrix
    left: Places
    right: Places
    values: Matrix
    n_features: int

    @classmethod
    def fit(
        cls,
        X: Matrix,
        Y: Matrix,
        *,
        kind: str = "random_forest",
        sample_weight: Matrix | None = None,
        random_state: int = 0,
        **params: Any,
    ) -> Self:
        """Fit scikit-learn's forest on ``X`` (n, d) and ``Y`` (n, outputs), and flatten it.

        Parameters
        ----------
        X, Y : array
            Features and targets.
        kind : {"random_forest", "extra_trees"}, default="random_forest"
            scikit-learn's RandomForestRegressor or ExtraTreesRegressor.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        random_state : int, default=0
            Seed.
        **params
            The forest's own parameters.
        """
        # late: prediction does without scikit-learn, which is slow to import
        from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor  # noqa: PLC0415

        kinds = {"random_forest": RandomForestRegressor, "extra_trees": ExtraTreesRegressor}
        forest = kinds[kind](random_state=random_state, **params)
        forest.fit(X, Y[:, 0] if Y.shape[1] == 1 else Y, sample_weight=sample_weight)
        return cls.from_sklearn(forest)

    @classmethod
    def from_sklearn(cls, forest: Any) -> Self:
        """Flatten a fitted RandomForestRegressor or ExtraTreesRegressor."""
        parts: dict[str, list[npt.NDArray[Any]]] = {
            name: [] for name in ("feature", "threshold", "left", "right", "values")
        }
        roots, n_nodes, n_leaves = [], 0, 0
        for estimator in forest.estimators_:
            tree = estimator.tree_
            leaf = tree.children_left < 0
            place = n_leaves + np.cumsum(leaf) - 1
            roots.append(n_nodes)
            parts["feature"].append(np.where(leaf, -1, tree.feature))
            parts["threshold"].append(np.where(leaf, 0.0, tree.threshold))
            parts["left"].append(np.where(leaf, place, tree.children_left + n_nodes))
            parts["right"].append(np.where(leaf, -1, tree.children_right + n_nodes))
            parts["values"].append(tree.value[leaf, :, 0])
            n_nodes += tree.node_count
            n_leaves += int(leaf.sum())
        joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        return cls(
            np.array(roots, dtype=np.int32),
            joined["feature"].astype(np.int32),
            joined["threshold"].astype(np.float64),
            joined["left"].astype(np.int32),
            joined["right"].astype(np.int32),
            np.ascontiguousarray(joined["values"], dtype=np.float64),
            int(forest.n_features_in_),
        )

    def rounded(self) -> Self:
        """The same forest with the leaves' values in single precision: half as large a file."""
        return replace(self, values=self.values.astype(np.float32).astype(np.float64))

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.values.shape[1])

    def predict(self, X: Matrix) -> Matrix:
        """The trees' mean answer, (q, outputs), for finite features (q, d)."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            # compiled code would read beyond the matrix
            legal = f"a matrix with {self.n_features} columns"
            raise BadParameter("FlatForest", "X", legal, f"shape {X.shape}")
        leaves = self._leaves(X.astype(np.float32))
        answers = np.zeros((len(X), self.n_outputs))
        # one tree after the other, as scikit-learn adds them up
        for tree in range(len(self.roots)):
            answers += self.values[leaves[:, tree]]
        answers /= len(self.roots)
        return answers

    def weights(self, X: Matrix, unseen: Matrix) -> Matrix:
        """Weights (q, n) that unseen rows (q, d) give to rows (n, d): who shares their leaves.

        Rows of one leaf share it equally, trees count the same, and weights of a row sum to 1.

        Examples
        --------
        >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
        >>> forest = FlatForest.fit(X, X, n_estimators=3, max_depth=1, bootstrap=False)
        >>> forest.weights(X, np.array([[4.9]])).tolist()
        [[0.0, 0.0, 0.5, 0.5]]
        """
        leaves, asked = self.leaves(X), self.leaves(unseen)
        found = np.zeros((len(unseen), len(X)))
        for tree in range(len(self.roots)):
            shared = asked[:, tree, None] == leaves[None, :, tree]
            found += shared / np.maximum(shared.sum(axis=1, keepdims=True), 1)
        found /= len(self.roots)
        return found

    def leaves(self, X: Matrix) -> npt.NDArray[np.intp]:
        """The leaf, by number, that each row (n, d) meets in each tree, (n, trees)."""
        return self._leaves(X.astype(np.float32))

    def shares(self, leaves: npt.NDArray[np.intp], unseen: Matrix) -> Matrix:
        """What :meth:`weights` gives up to rounding, for rows whose leaves are known already.

        A product of sparse matrices: a leaf has few rows, and only those are looked at.
        """
        # late: scipy.sparse is slow to import, and few learners need it
        from scipy.sparse import csr_array  # noqa: PLC0415

        def met(places: npt.NDArray[np.intp], values: Matrix) -> Any:
            ends = np.arange(0, places.size + 1, places.shape[1])
            shape = (len(places), len(self.values))
            return csr_array((values.ravel(), places.ravel(), ends), shape=shape)

        asked = self.leaves(unseen)
        sizes = np.bincount(leaves.ravel(), minlength=len(self.values))
        share = np.full(asked.shape, 1.0 / len(self.roots))
        found: Matrix = (met(asked, share) @ met(leaves, 1.0 / sizes[leaves]).T).toarray()
        return found

    def _leaves(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.intp]:
        """Places of the values that each row meets in each tree, (q, trees)."""
        rows = np.arange(len(X))[:, None]
        nodes = np.tile(self.roots.astype(np.intp), (len(X), 1))
        # all rows go down all trees at once, a level a step
        while True:
            feature = self.feature[nodes]
            inner = feature >= 0
            if not inner.any():
                return self.left[nodes].astype(np.intp)
            # a float32 beside a float64: compared in double, as scikit-learn does
            goes_left = X[rows, feature] <= self.threshold[nodes]
            below = np.where(goes_left, self.left[nodes], self.right[nodes])
            nodes = np.where(inner, below, nodes)

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        names = ("roots", "feature", "threshold", "left", "right", "values", "n_features")
        state: State = {name: getattr(self, name) for name in names}
        single = self.values.astype(np.float32)
        if np.array_equal(single, self.values):
            state["values"] = single
        return state

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave; a file can lead the descent nowhere."""
        roots = reader.array("roots", ("trees",), "i").astype(np.int32)
        names = ("feature", "left", "right")
        feature, left, right = (
            reader.array(name, ("nodes",), "i").astype(np.int32) for name in names
        )
        threshold = reader.array("threshold", ("nodes",)).astype(np.float64)
        values = reader.array("values", ("leaves", "outputs")).astype(np.float64)
        n_features = int(reader.number("n_features"))
        nodes, leaf = np.arange(len(feature)), feature < 0
        sound = (
            len(roots) > 0
            and ((feature >= -1) & (feature < n_features)).all()
            and ((left[leaf] >= 0) & (left[leaf] < len(values))).all()
            # children come after their parent, so that every descent ends
            and (left[~leaf] > nodes[~leaf]).all()
            and (right[~leaf] > nodes[~leaf]).all()
            and (left[~leaf] < len(nodes)).all()
            and (right[~leaf] < len(nodes)).all()
            and ((roots >= 0) & (roots < len(nodes))).all()
        )
        if not sound:
            raise reader.damaged("the forest points outside itself")
        return cls(roots, feature, threshold, left, right, values, n_features)
