"""A factorisation whose way from new meta-features to the dataset matrix is a regression."""

from collections.abc import Callable
from dataclasses import dataclass

from metaod.learners._checks import check_forest
from metaod.learners._foreign import fresh_copy, own_state
from metaod.learners._forests import FlatForest
from metaod.learners._latent import LatentLearner
from metaod.learners._regression import ForestRegression, Regressor, regress
from metaod.learners._state import State, StateReader
from metaod.models import Matrix

__all__ = ["Regressed"]


@dataclass
class Regressed(LatentLearner):
    """A factorisation with f: from the embedding to the rows of U, a random forest by default.

    Parameters
    ----------
    n_estimators : int
        Trees of the forest.
    min_samples_leaf : int
        Datasets that a leaf of its trees holds at least.
    f : object with ``fit`` and ``predict``, optional
        Regressor in place of the forest, e.g. one of scikit-learn's that has several outputs.
    """

    n_estimators: int = 100
    min_samples_leaf: int = 1
    f: Regressor | None = None

    def _fit_regression(self, embedded: Matrix, U: Matrix) -> None:
        forest = ForestRegression(self.n_estimators, self.min_samples_leaf, self.random_state)
        self.f_ = forest if self.f is None else fresh_copy(self.f)
        self.f_.fit(embedded, U[:, 0] if self.f is not None and U.shape[1] == 1 else U)

    def _watched(self, embedded: Matrix, unseen: Matrix) -> Callable[[Matrix], Matrix]:
        """The weights that a forest over the embedding gives to the training datasets.

        Fitting f again after every epoch would cost more than the factorisation. A forest that is
        fitted once, onto the embedding itself, divides the space as f does where U has not moved
        far; its weights are then a matrix, and watching an epoch costs one product.
        """
        forest = FlatForest.fit(
            embedded,
            embedded,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )
        weights = forest.weights(embedded, unseen)
        return lambda U: weights @ U

    def _latent(self, embedded: Matrix) -> Matrix:
        return regress(self.f_, embedded, self.V_.shape[1], owner=type(self).__name__)

    def _check(self) -> None:
        super()._check()
        check_forest(
            type(self).__name__,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
        )

    def _state(self) -> State:
        f = own_state(self.f_, ForestRegression, "f", owner=type(self).__name__)
        return {**super()._state(), "f": f}

    def _restore(self, reader: StateReader) -> None:
        super()._restore(reader)
        self.f_ = ForestRegression.restore(reader.part("f", k=self.V_.shape[1]))
