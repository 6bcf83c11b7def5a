"""What is shipped: the performance matrix as files, the default learner and the paper's MetaOD."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex

from metaod.artifacts import Artifact
from metaod.errors import BadParameter

DEFAULT = "default"
"""Name of the shipped default learner."""

_SHIPPED = files("metaod.history").joinpath("shipped")


@dataclass(frozen=True)
class ShippedRecipe:
    """How a shipped learner is trained.

    `params` are the parameters that differ from the learner's defaults; with `averages` it also
    picks from averages of the models in `space`.
    """

    learner: str
    schemas: tuple[str, ...] = ("paper",)
    params: dict[str, Any] = field(default_factory=dict)
    space: str = "paper"
    averages: bool = False


RECIPES = {
    DEFAULT: ShippedRecipe("gain_forest", ("paper", "scores"), space="extended", averages=True),
    # fewer trees than the learner's default keep the package small
    "metaod": ShippedRecipe("metaod", params={"n_estimators": 60}),
}
"""The learners whose artifacts are in the package."""


def shipped_folder() -> Path:
    """Return the folder of the performance matrix, as written by ``metaod db export``.

    Examples
    --------
    >>> (shipped_folder() / "cells.parquet").is_file()
    True
    """
    with as_file(_SHIPPED.joinpath("performance")) as path:
        return path


def find_artifact(
    learner: "str | PathLike[str] | Artifact" = DEFAULT, *, owner: str = "select"
) -> Artifact:
    """Return the artifact of the learner that a user named.

    Parameters
    ----------
    learner : str, path or Artifact
        ``default``, ``metaod``, the path of an artifact, or an artifact.
    owner : str, default="select"
        The function whose parameter it is, for errors.

    Examples
    --------
    >>> find_artifact("metaod").learner.name
    'metaod'
    """
    if isinstance(learner, Artifact):
        return learner
    if isinstance(learner, str) and learner in RECIPES:
        return _shipped_artifact(learner)
    if isinstance(learner, str | PathLike) and Path(learner).is_file():
        return Artifact.load(learner)
    legal = f"an artifact's path, or one of {tuple(RECIPES)}"
    remedy = "'metaod train' makes the artifact of another learner"
    raise BadParameter(owner, "learner", legal, learner, remedy=remedy)


@dataclass(frozen=True)
class _ShippedArtifact(Artifact):
    """A shipped artifact, which is pickled as its name because its history is large."""

    shipped_as: str = DEFAULT

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if self is _shipped_artifact(self.shipped_as):
            return find_artifact, (self.shipped_as,)
        return super().__reduce_ex__(protocol)  # it was made from a shipped one


@lru_cache(maxsize=4)
def _shipped_artifact(name: str) -> Artifact:
    with as_file(_SHIPPED.joinpath("artifacts", f"{name}.metaod")) as path:
        return replace(_ShippedArtifact.load(path), shipped_as=name)
