"""The shipped learners: the default and the paper's MetaOD, and any other, trained on demand."""

import hashlib
import inspect
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.metadata import entry_points
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from metaod._version import __version__
from metaod.artifacts import Artifact
from metaod.errors import BadParameter, UserError
from metaod.history._shipped_matrix import (
    MIXED_COLLECTIONS,
    final_origins,
    shipped_datasets,
    shipped_matrix,
    shipped_metafeatures,
)
from metaod.history._training import REFERENCE, TrainingData, calibration_of, train
from metaod.learners import ENTRY_POINTS, Progress, learner_class, learner_names, make_learner

DEFAULT = "default"
"""Name of the shipped default learner."""

# it has no default parameters: the user names its model
_UNTRAINABLE = "fixed"

_SHIPPED = files("metaod.history").joinpath("shipped")
_SOURCES = tuple(files(f"metaod.{room}") for room in ("history", "learners", "artifacts"))


FOLDS = 10
"""Groups of origins, each left out once, for the calibration of the shipped learners."""


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
"""The learners whose artifacts are in the package; any other is trained with its own defaults on
the paper's features and models."""


def shipped_training_data(
    schemas: tuple[str, ...] = ("paper",),
    *,
    space: str = "paper",
    averages: bool = False,
    measure: str = "ap",
    final: bool = True,
    mixed: bool = True,
) -> TrainingData:
    """Return the shipped matrix as training data.

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
        Whether to include the datasets of the final origins, on which nothing is chosen, tuned or
        calibrated.
    mixed : bool, default=True
        Whether to include tables with text, gaps and dates.
    """
    performance = shipped_matrix(measure, references=True)
    datasets = shipped_datasets()
    if not mixed:
        datasets = datasets[~datasets["collection"].isin(MIXED_COLLECTIONS)]
    data = TrainingData.from_frames(
        shipped_matrix(measure, space=space, averages=averages),
        {name: shipped_metafeatures(name) for name in schemas},
        datasets,
        reference=performance[REFERENCE],
        measure=measure,
    )
    return data if final else data.without(final_origins() & set(data.origins))


def train_shipped(name: str, *, progress: Progress | None = None) -> Artifact:
    """Train a learner on all shipped datasets; calibrate it without the final origins.

    Parameters
    ----------
    name : str
        ``default``, or the name of a learner.
    progress : callable, optional
        Called with the progress of training.
    """
    recipe = RECIPES.get(name, ShippedRecipe(name))
    everything = shipped_training_data(recipe.schemas, space=recipe.space, averages=recipe.averages)
    new_learner = partial(make_learner, recipe.learner, **recipe.params)
    artifact = train(everything, new_learner(), progress=progress)
    data = everything.without(final_origins())
    calibration = calibration_of(data, new_learner(), n_folds=FOLDS, progress=progress)
    return replace(artifact, calibration=calibration)


def find_artifact(
    learner: "str | PathLike[str] | Artifact" = DEFAULT, *, owner: str = "select"
) -> Artifact:
    """Return the artifact of the learner that a user named.

    Parameters
    ----------
    learner : str, path or Artifact
        ``default``, the name of a learner, the path of an artifact, or an artifact.
    owner : str, default="select"
        The function whose parameter it is, for errors.

    Examples
    --------
    >>> find_artifact("metaod").learner.name
    'metaod'
    """
    if isinstance(learner, Artifact):
        return learner
    names = [name for name in (DEFAULT, *learner_names()) if name != _UNTRAINABLE]
    if isinstance(learner, str) and learner in names:
        return shipped_artifact(learner)
    if isinstance(learner, str | PathLike) and Path(learner).is_file():
        return Artifact.load(learner)
    remedy = None
    if learner == _UNTRAINABLE:
        remedy = (
            "It picks the model that you name: 'metaod train --learner fixed --set model=...' "
            "makes an artifact of it"
        )
    legal = f"an artifact's path, or one of {tuple(names)}"
    raise BadParameter(owner, "learner", legal, learner, remedy=remedy)


def will_train(learner: object) -> bool:
    """Whether :func:`find_artifact` will train the learner, which takes seconds to minutes.

    Examples
    --------
    >>> will_train("metaod")
    False
    """
    if not isinstance(learner, str) or learner in (*RECIPES, _UNTRAINABLE):
        return False
    return learner in learner_names() and not _cache_file(learner).is_file()


@lru_cache(maxsize=4)
def shipped_artifact(name: str = DEFAULT) -> Artifact:
    """Read a learner from the package or the user's cache; else train it and write the cache."""
    if name in RECIPES:
        with as_file(_SHIPPED.joinpath("artifacts", f"{name}.metaod")) as path:
            return Artifact.load(path)
    learner_class(name)
    path = _cache_file(name)
    # a file that is missing, damaged or of another learner is replaced
    with suppress(UserError):
        kept = Artifact.load(path)
        if kept.learner.name == name:
            return kept
    artifact = train_shipped(name)
    # a cache that cannot be written is no reason to fail
    with suppress(OSError, UserError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        artifact.save(path)
    return artifact


def default_cache_dir() -> Path:
    """Return ``METAOD_CACHE`` if it is set, else the system's cache folder for MetaOD."""
    chosen = os.environ.get("METAOD_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("metaod")


def _cache_file(name: str) -> Path:
    """Return the cache file of a learner; its name has a hash of all that training depends on."""
    digest = hashlib.sha256()
    for part in _dependencies(name):
        # with lengths: two different lists of parts must not give the same bytes
        digest.update(len(part).to_bytes(8, "big") + part)
    key = digest.hexdigest()[:16]
    return default_cache_dir() / "learners" / f"{name}-{__version__}-{key}.metaod"


def _dependencies(name: str) -> Iterator[bytes]:
    data = list(_SHIPPED.joinpath("performance").iterdir())
    sources = [item for folder in (_SHIPPED, *_SOURCES) for item in folder.iterdir()]
    for group, endings in ((data, ".parquet"), (sources, (".py", ".txt"))):
        for item in sorted(group, key=lambda item: item.name):
            if item.name.endswith(endings) and item.is_file():
                yield item.name.encode()
                yield item.read_bytes()
    kind = learner_class(name)
    yield repr(sorted(kind().params().items())).encode()
    # a learner of another package: its file, if it can be read, and the package's version
    with suppress(OSError, TypeError):
        yield Path(inspect.getfile(kind)).read_bytes()
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name and point.dist is not None:
            yield f"{point.dist.name} {point.dist.version}".encode()
