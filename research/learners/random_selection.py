"""Random Selection: a model at random."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaod.learners import Learner, OnStep, Shape
from metaod.learners._training import Training
from metaod.models import Matrix


@dataclass
class RandomSelection(Learner):
    """Scores models at random, uniformly over [0, 1).

    A score is a hash of the seed, the model's id and the meta-features: the same dataset always
    gets the same scores, alone or in a batch. A model without any value is always last.

    Parameters
    ----------
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> learner = RandomSelection().fit(np.array([[0.1, 0.5]]), np.array([[0.0]]))
    >>> learner.choose([1.0]) == learner.choose([1.0])
    True
    """

    random_state: int = 0

    name: ClassVar[str] = "random_selection"
    title: ClassVar[str] = "RS"
    summary: ClassVar[str] = "a model at random, for comparison"
    learned: ClassVar[Mapping[str, Any]] = {
        "known": Annotated[npt.NDArray[np.bool_], Shape("m")],
    }
    is_random: ClassVar[bool] = True

    def _fit(self, training: Training, progress: OnStep) -> None:  # noqa: ARG002 - protocol
        self.known_ = ~np.isnan(training.P).all(axis=0)

    def _predict(self, M: Matrix) -> Matrix:
        ids = [self.models_[index].encode() for index in self._order]
        # all NaNs and both zeros get the same bits
        plain = np.where(np.isnan(M), np.nan, M + 0.0)
        scores = np.array([[self._score(row.tobytes(), model) for model in ids] for row in plain])
        return np.where(self.known_, scores, -1.0)

    def _score(self, features: bytes, model: bytes) -> float:
        parts = (str(self.random_state).encode(), features, model)
        text = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        number = int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        return (number >> 11) / 2**53
