"""A fixed choice: the same model or weighted set of models for every table."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.learners._base import Choice, Learner, Matrix, Progress
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["FixedChoice"]


@dataclass
class FixedChoice(Learner):
    """Answers every table with the same model, or with several whose scores are averaged.

    It learns nothing; fitting checks that the models are columns of P. Scores are the weights, 0
    for every other model.

    Parameters
    ----------
    models : dict of str to float, or list or tuple of str
        Ids of the models and their positive weights, which are made to sum to 1; a list weighs all
        the same.

    Examples
    --------
    >>> learner = FixedChoice({"model 0": 3, "model 1": 1})
    >>> learner.fit(np.array([[0.1, 0.5]]), np.array([[0.0]])).choose([1.0])
    Choice(weights={'model 0': 0.75, 'model 1': 0.25})
    """

    models: dict[str, float] | list[str] | tuple[str, ...] = ()

    name: ClassVar[str] = "fixed"
    title: ClassVar[str] = "Fixed"
    summary: ClassVar[str] = "the model, or weighted set of models, that you name"
    uses_metafeatures: ClassVar[bool] = False

    def choose(self, m: pd.Series | npt.ArrayLike) -> Choice:
        """The models of the set with their weights, the largest first, then by id."""
        # what is wrong with m is said in the same words as elsewhere
        super().choose(m)
        weights = self.predict(m)
        chosen = weights[weights > 0].sort_index().sort_values(ascending=False, kind="stable")
        return Choice({str(model): float(weight) for model, weight in chosen.items()})

    def _fit(self, training: Training, progress: Progress) -> None:  # noqa: ARG002 - the protocol's
        given = _weights(self.models)
        places = {model: place for place, model in enumerate(training.models)}
        self.weights_ = np.zeros(len(places))
        for model, weight in given.items():
            if model not in places:
                raise BadParameter(
                    "FixedChoice",
                    "models",
                    f"made of columns of P, of which there are {len(places)}",
                    model,
                )
            self.weights_[places[model]] = weight
        self.weights_ /= self.weights_.sum()

    def _predict(self, M: Matrix) -> Matrix:
        return np.tile(self.weights_, (len(M), 1))

    def _state(self) -> State:
        return {"weights": self.weights_}

    def _restore(self, reader: StateReader) -> None:
        self.weights_ = reader.array("weights", ("m",))
        if (self.weights_ < 0).any() or not np.isclose(self.weights_.sum(), 1.0):
            raise reader.damaged("weights are negative or do not sum to 1")


def _weights(models: Any) -> dict[str, float]:
    legal = "model ids, or a dict of model ids and their positive weights"
    if not isinstance(models, dict | list | tuple) or not models:
        raise BadParameter("FixedChoice", "models", legal, models)
    if not isinstance(models, dict):
        if len(set(models)) != len(models):
            raise BadParameter("FixedChoice", "models", "distinct model ids", models)
        models = dict.fromkeys(models, 1.0)
    for weight in models.values():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not 0 < weight < np.inf:
            raise BadParameter("FixedChoice", "models", legal, models)
    return {str(model): float(weight) for model, weight in models.items()}
