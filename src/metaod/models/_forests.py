"""Isolation forests of any kind of tree.

One nested forest for each seed and kind of tree serves every size: the first t trees of a forest
are the forest of t trees, as in scikit-learn with an integer seed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator, grouped
from metaod.models._isolation_trees import average_path_length


@dataclass(frozen=True)
class TreeKind(ABC):
    """What the trees of a forest have in common."""

    seed: int
    n_samples: int

    def table(self, X: Matrix) -> Any:
        """Return the table in the form that trees take."""
        return X

    @abstractmethod
    def grow(self, table: Any, first: int, last: int) -> Any:
        """Grow trees ``first`` ... ``last - 1`` of the forest."""

    @abstractmethod
    def add_path_lengths(self, table: Any, trees: Any, sums: Scores) -> None:
        """Add each row's path lengths in the trees to ``sums``, tree by tree."""

    def scores(self, sums: Scores, n_trees: int) -> Scores:
        """Convert summed path lengths to scores in (0, 1]; a row of average depth has 0.5."""
        scores: Scores = np.exp2(-sums / (n_trees * average_path_length(self.n_samples)))
        return scores


class Forest(Estimator):
    """A forest of isolation trees; rows with short paths are outlying."""

    n_estimators: int

    @abstractmethod
    def tree_kind(self, n_rows: int, n_columns: int) -> TreeKind:
        """Return the kind of trees on a table of that size; refuse an illegal one."""

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models, forest by forest and size by size."""
        possible = []
        for model in models:
            try:
                possible.append((model.tree_kind(*X.shape), model))
            except BadParameter as error:
                yield model, error
        for kind, own in grouped(possible, lambda item: item[0]).items():
            table, sums, grown = kind.table(X), np.zeros(len(X)), 0
            for _, model in sorted(own, key=lambda item: item[1].n_estimators):
                if model.n_estimators > grown:
                    trees = kind.grow(table, grown, model.n_estimators)
                    kind.add_path_lengths(table, trees, sums)
                    grown = model.n_estimators
                yield model, kind.scores(sums, grown)

    def _fit(self, X: Matrix) -> Scores:
        self.kind_ = self.tree_kind(*X.shape)
        self.trees_ = self.kind_.grow(self.kind_.table(X), 0, self.n_estimators)
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        sums = np.zeros(len(X))
        self.kind_.add_path_lengths(self.kind_.table(X), self.trees_, sums)
        return self.kind_.scores(sums, self.n_estimators)
