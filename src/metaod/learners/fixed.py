"""The same model, or average of models, for every table."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.errors import BadParameter
from metaod.learners._base import Progress
from metaod.learners._state import StateReader
from metaod.learners._training import Training
from metaod.learners.global_best import ConstantScores


@dataclass
class FixedChoice(ConstantScores):
    """Picks the same model for every table.

    It learns nothing; fitting checks that the model is a column of P. The model's score is 1, that
    of every other model 0.

    Parameters
    ----------
    model : str
        Id of the model, which may be an average.

    Examples
    --------
    >>> learner = FixedChoice("model 1")
    >>> learner.fit(np.array([[0.5, 0.1]]), np.array([[0.0]])).choose([1.0])
    'model 1'
    """

    model: str = ""

    name: ClassVar[str] = "fixed"
    title: ClassVar[str] = "Fixed"
    summary: ClassVar[str] = "the model, or average of models, that you name"

    def _fit(self, training: Training, progress: Progress) -> None:  # noqa: ARG002 - protocol
        if self.model not in training.models:
            legal = f"one of the {len(training.models)} columns of P"
            raise BadParameter("FixedChoice", "model", legal, self.model)
        self.scores_ = np.array([float(model == self.model) for model in training.models])

    def _restore(self, reader: StateReader) -> None:
        super()._restore(reader)
        if np.count_nonzero(self.scores_) != 1 or self.scores_.max() != 1.0:
            raise reader.damaged("scores are not 1 for one model and 0 for the others")
