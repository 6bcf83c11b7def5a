"""Base class of the package's own detectors: one class a family, fitted alone or many at once."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from metaod._legal import Legal, Number, Whole, check_parameters
from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


class Estimator(ABC):
    """A detector with PyOD's ``fit``, ``decision_scores_`` and ``decision_function``.

    :class:`~metaod.models.SpecDetector` adds the rest of PyOD's interface. This file does not
    import PyOD, which is slow.
    """

    legal: ClassVar[Mapping[str, Legal]] = {}
    """The legal values of the hyperparameters, which are attributes of these names."""

    n_features_in_: int
    decision_scores_: Scores
    n_fixed: int = 0
    """Number of columns in fixed units: the last ones."""
    fixed_unit: float = 1.0
    """Length of a fixed unit in these columns."""

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Fit on a table and score its rows; ``y`` is ignored."""
        rows = _matrix(X)
        check_parameters(self, self.legal)
        self.n_features_in_ = rows.shape[1]
        self.decision_scores_ = self._fit(rows)
        return self

    def decision_function(self, X: Any) -> Scores:
        """Return the scores of new rows, each against the training table."""
        return self._score(_matrix(X))

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of several models, or why a model has none, in any order.

        A family whose models share work overrides this. The models have legal hyperparameters.
        Each is yielded before the next is computed, to save memory. The scores are those of
        :meth:`fit`, but a model is not fitted afterwards. A model that is not yielded failed with
        the exception that ends the iteration.
        """
        for model in models:
            result: Scores | Exception
            try:
                result = model.fit(X).decision_scores_
            except Exception as error:  # one model's error must not stop the others
                result = error
            yield model, result

    @abstractmethod
    def _fit(self, X: Matrix) -> Scores:
        """Learn from the training rows and return their scores."""

    @abstractmethod
    def _score(self, X: Matrix) -> Scores:
        """Return the scores of new rows; a score must not depend on the other new rows."""


def _matrix(X: Any) -> Matrix:
    return np.ascontiguousarray(X, dtype=np.float64)


def seed_of(random_state: Any) -> int:
    """Return the seed of a forest: the given one, or one drawn from a random state."""
    if Whole(0).allows(random_state):
        return int(random_state) % 2**63
    from sklearn.utils import check_random_state  # noqa: PLC0415 - slow to import

    return int(check_random_state(random_state).randint(2**31 - 1))


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items by key, in the order of their first one."""
    groups: dict[_Key, list[_Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


# checks of parameters that several detectors take


def check_contamination(value: Any) -> float:
    """Return the share of outliers as a float; refuse it outside (0, 0.5].

    Examples
    --------
    >>> check_contamination(1 / 4)
    0.25
    """
    legal = Number(0, 0.5, "(]")
    if not legal.allows(value):
        raise BadParameter("SpecDetector", "contamination", str(legal), value)
    return float(value)


def check_fixed(owner: str, value: Any, n_columns: int) -> npt.NDArray[np.bool_] | None:
    """Return which columns are in fixed units, or None for none of them.

    Examples
    --------
    >>> check_fixed("score_models", [True, False], 2)
    array([ True, False])
    """
    if value is None:
        return None
    found = np.asarray(value)
    if found.dtype != np.bool_ or found.shape != (n_columns,):
        raise BadParameter(owner, "fixed", f"None or {n_columns} truth values, one a column", value)
    return found
