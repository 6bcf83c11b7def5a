"""How the shipped learners are trained on the shipped performance matrix."""

from dataclasses import dataclass, field, replace
from typing import Any

from metaod.artifacts import Artifact
from metaod.history._shipped_matrix import (
    final_origins,
    shipped_datasets,
    shipped_matrix,
    shipped_metafeatures,
)
from metaod.history._training_data import REFERENCE, TrainingData, calibration_of, train
from metaod.learners import Progress, make_learner

__all__ = ["FOLDS", "RECIPES", "ShippedRecipe", "shipped_training_data", "train_shipped"]

FOLDS = 10
"""Groups of origins, each left out once, from which it is learned how sure an answer is."""


@dataclass(frozen=True)
class ShippedRecipe:
    """How a shipped learner is made.

    Parameters
    ----------
    learner : str
        The learner.
    schemas : tuple of str
        The meta-features that it takes.
    params : dict
        Parameters other than its defaults.
    space : str
        The models that it picks from.
    averages : bool
        Whether it picks from averages of representatives too.
    """

    learner: str
    schemas: tuple[str, ...] = ("paper",)
    params: dict[str, Any] = field(default_factory=dict)
    space: str = "paper"
    averages: bool = False


RECIPES = {
    "default": ShippedRecipe("gain_forest", ("paper", "scores"), space="extended", averages=True),
    "metaod": ShippedRecipe("metaod"),
}
"""The shipped learners; any other is trained with its own defaults on the paper's features and
models."""


def shipped_training_data(
    schemas: tuple[str, ...] = ("paper",),
    *,
    space: str = "paper",
    averages: bool = False,
    measure: str = "ap",
    final: bool = True,
) -> TrainingData:
    """The shipped matrix as learners take it.

    Parameters
    ----------
    schemas : tuple of str
        The meta-features.
    space : str, default="paper"
        The models in P.
    averages : bool, default=False
        Whether the averages that may be picked are in P too.
    measure : str, default="ap"
        The measure in P.
    final : bool, default=True
        Whether the datasets of the final origins are among them; whatever is chosen, tuned or
        calibrated is so without them.
    """
    performance = shipped_matrix(measure, references=True)
    data = TrainingData.from_frames(
        shipped_matrix(measure, space=space, averages=averages),
        {name: shipped_metafeatures(name) for name in schemas},
        shipped_datasets(),
        reference=performance[REFERENCE],
        measure=measure,
    )
    return data if final else data.without(final_origins())


def train_shipped(name: str, *, progress: Progress | None = None) -> Artifact:
    """Train a learner on all shipped datasets; how sure it is, is learned without the final ones.

    Parameters
    ----------
    name : str
        ``default``, or the name of a learner.
    progress : callable, optional
        Told of progress.
    """
    recipe = RECIPES.get(name, ShippedRecipe(name))
    everything = shipped_training_data(recipe.schemas, space=recipe.space, averages=recipe.averages)
    artifact = train(everything, make_learner(recipe.learner, **recipe.params), progress=progress)
    held_back = everything.without(final_origins())
    unseen = make_learner(recipe.learner, **recipe.params)
    calibration = calibration_of(held_back, unseen, n_folds=FOLDS, progress=progress)
    return replace(artifact, calibration=calibration)
