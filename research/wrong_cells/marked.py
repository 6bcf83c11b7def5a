"""Twenty marked rows, as in Raha: the cells of each column that look alike share their mark."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.ensemble import GradientBoostingClassifier

from metaod.wrong_cells import CONFIDENT

Marks = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]


class MarkedTable:
    """A table whose rows are marked one by one, all cells of a row at a time.

    Parameters
    ----------
    strategies : sequence of ndarray of shape (n_rows, n_strategies)
        For each column, which cells each strategy marks: cells with alike strategies are alike.
    scores : ndarray of shape (n_rows, n_columns), optional
        Probabilities that cells are wrong, known before anything is marked. Confident ones count
        as marks of a column, unless a cell with such a score was marked as right.
    """

    def __init__(self, strategies: Sequence[Marks], scores: Scores | None = None):
        self._scores = np.zeros((len(strategies[0]), len(strategies))) if scores is None else scores
        self._evidence = [
            np.column_stack([marks, own])
            for marks, own in zip(strategies, self._scores.T, strict=True)
        ]
        self._trees = []
        for marks in strategies:
            distinct, place = np.unique(marks, axis=0, return_inverse=True)
            tree = linkage(distinct, "average", "cityblock") if len(distinct) > 1 else None
            self._trees.append((tree, place.ravel()))

    def find(self, wrong: Marks, n_marked: int, seed: int) -> Marks:
        """Mark rows by their true cells, and return which cells are wrong.

        The next row is drawn; a row is likelier the more of its cells lie in clusters without a
        marked cell. A column has two more clusters than rows are marked.
        """
        rng = np.random.default_rng(seed)
        marked: list[int] = []
        while True:
            clusters = np.column_stack([self._clusters(j, len(marked) + 2) for j in self._columns])
            if len(marked) == n_marked:
                break
            new = np.column_stack(
                [~np.isin(own, own[marked]) for own in clusters.T]
            ).sum(axis=1, dtype=np.float64)  # fmt: skip
            new[marked] = -np.inf
            weights = np.exp(new - new.max())
            marked.append(int(rng.choice(len(new), p=weights / weights.sum())))
        predicted = np.column_stack(
            [self._predict(j, clusters[:, j], wrong[marked, j], marked) for j in self._columns]
        )
        predicted[marked] = wrong[marked]
        return predicted

    @property
    def _columns(self) -> range:
        return range(len(self._trees))

    def _clusters(self, column: int, most: int) -> npt.NDArray[np.intp]:
        tree, place = self._trees[column]
        if tree is None:
            return np.zeros(len(place), dtype=np.intp)
        return np.asarray(fcluster(tree, most, "maxclust"), dtype=np.intp)[place]

    def _predict(
        self, column: int, clusters: npt.NDArray[np.intp], wrong: Marks, marked: list[int]
    ) -> Marks:
        """Give clusters the mark of their marked cells where these agree, and learn from them."""
        known = np.full(clusters.max() + 1, -1)
        for cluster in np.unique(clusters[marked]):
            own = wrong[clusters[marked] == cluster]
            if own.all() or not own.any():
                known[cluster] = own[0]
        labels = known[clusters]
        confident = self._scores[:, column] >= CONFIDENT
        if (wrong | ~confident[marked]).all():
            labels[confident] = 1
        labels[marked] = wrong
        use = labels >= 0
        if labels[use].min() == labels[use].max():
            return np.full(len(labels), labels[use][0] == 1)
        model = GradientBoostingClassifier(n_estimators=60, random_state=0)
        model.fit(self._evidence[column][use], labels[use])
        return np.asarray(model.predict(self._evidence[column]) == 1)
