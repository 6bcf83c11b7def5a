"""Isolation forests whose splits are hyperplanes, with PyOD's interface."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from metaod.errors import BadParameter
from metaod.models._estimator_new_rows import check_new_rows
from metaod.models._oblique_trees import add_path_lengths
from metaod.models.families.oblique import Forest, isolation_scores

__all__ = ["ExtendedIForest", "SCiForest"]


class _ObliqueForest(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    n_estimators: int
    max_samples: int
    random_state: Any

    @abstractmethod
    def _forest(self) -> Forest:
        """What the parameters ask for, checked."""

    def _check(self, name: str, smallest: int) -> int:
        value = getattr(self, name)
        # numpy's integers are integers too
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
            legal = f"an int in the range [{smallest}, inf)"
            raise BadParameter(type(self).__name__, name, legal, value)
        return int(value)

    def _seed(self) -> int:
        seed = self.random_state
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
            return int(seed) % 2**63
        return int(check_random_state(seed).randint(2**31 - 1))

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Grow the trees and score the training rows; ``y`` is ignored."""
        n_trees = self._check("n_estimators", 1)
        forest = self._forest()
        X = np.ascontiguousarray(check_array(X, dtype=np.float64, ensure_min_samples=2))
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        grove = forest.on(*X.shape)
        self.max_samples_ = grove.n_samples
        self.trees_ = grove.grow(X, self._seed(), 0, n_trees)
        self.decision_scores_ = self._scores(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of new rows by the trees; training rows get their training scores."""
        return self._scores(check_new_rows(self, X))

    def _scores(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        sums = np.zeros(len(X))
        add_path_lengths(X, self.trees_, sums)
        return isolation_scores(sums, len(self.trees_.children), self.max_samples_)


class SCiForest(_ObliqueForest):
    """Isolation forest with oblique splits that are chosen by their gain.

    Every node tries several random hyperplanes and takes the one, and the split point on it, that
    reduce the standard deviation of the projected rows most (Liu, Ting and Zhou, "On detecting
    clustered anomalies using SCiForest", 2010). A step beyond the range of a node's training rows
    does not count in the path length, so that rows far outside look more outlying.

    Gain-guided trees peel off the outermost rows first and are some ten times as deep as those of
    an isolation forest. A ``max_depth`` saves time at the price of telling the inner rows apart.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; the first trees of a larger forest are those of a smaller one.
    max_samples : int, default=256
        Rows that a tree is grown on, all rows where the table has fewer.
    n_dims : int, default=2
        Columns of a hyperplane, q in the paper; fewer where fewer vary.
    n_trials : int, default=10
        Hyperplanes tried at a node, tau in the paper.
    max_depth : int or None, default=None
        Splits from the root to a leaf, at most; no limit, as in the paper, when None.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    trees_ : ObliqueTrees
        The trees.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD; scores are in (0, 1].

    Examples
    --------
    >>> SCiForest(contamination=0.25, random_state=0).fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_samples: int = 256,
        n_dims: int = 2,
        n_trials: int = 10,
        max_depth: int | None = None,
        contamination: float = 0.1,
        random_state: Any = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_dims = n_dims
        self.n_trials = n_trials
        self.max_depth = max_depth
        self.random_state = random_state

    def _forest(self) -> Forest:
        return Forest(
            self._check("n_dims", 1),
            self._check("n_trials", 1),
            self._check("max_samples", 2),
            None if self.max_depth is None else self._check("max_depth", 1),
        )


class ExtendedIForest(_ObliqueForest):
    """Isolation forest with random oblique splits.

    A node's hyperplane has a random direction and passes through a random point of the box around
    the node's rows (Hariri, Carrasco Kind and Brunner, "Extended isolation forest", 2019).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; the first trees of a larger forest are those of a smaller one.
    max_samples : int, default=256
        Rows that a tree is grown on, all rows where the table has fewer.
    n_dims : int or None, default=None
        Columns of a hyperplane, the extension level plus one; None for all that vary.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    trees_ : ObliqueTrees
        The trees.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD; scores are in (0, 1].

    Examples
    --------
    >>> forest = ExtendedIForest(contamination=0.25, random_state=0)
    >>> forest.fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_samples: int = 256,
        n_dims: int | None = None,
        contamination: float = 0.1,
        random_state: Any = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_dims = n_dims
        self.random_state = random_state

    def _forest(self) -> Forest:
        n_dims = None if self.n_dims is None else self._check("n_dims", 1)
        return Forest(n_dims, 0, self._check("max_samples", 2))
