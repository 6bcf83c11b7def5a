"""The shipped learners: the default, the paper's MetaOD, and any rival, trained when asked for."""

import hashlib
from contextlib import suppress
from functools import lru_cache
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path

from metaod._version import __version__
from metaod.datasets.download import default_cache_dir
from metaod.errors import BadParameter, UserError
from metaod.learners.artifact import Artifact
from metaod.learners.registry import learner_class, learner_names

__all__ = ["DEFAULT", "SHIPPED", "find_artifact", "shipped_artifact"]

DEFAULT = "default"
"""What stands for the shipped default learner."""

SHIPPED = (DEFAULT, "metaod")
"""Learners whose artifact is inside the package; others are trained on the shipped matrix."""

_HERE = files("metaod.pretrained")


def find_artifact(learner: "str | PathLike[str] | Artifact" = DEFAULT) -> Artifact:
    """The learner that a user asked for.

    Parameters
    ----------
    learner : str, path or Artifact
        ``default``, the name of a learner, the path of an artifact, or an artifact itself.

    Examples
    --------
    >>> find_artifact("metaod").manifest.learner
    'metaod'
    """
    if isinstance(learner, Artifact):
        return learner
    if isinstance(learner, str) and (learner == DEFAULT or learner in learner_names()):
        return shipped_artifact(learner)
    if isinstance(learner, str | PathLike) and Path(learner).is_file():
        return Artifact.load(learner)
    legal = f"an artifact's path, or one of {(DEFAULT, *learner_names())}"
    raise BadParameter("select", "learner", legal, learner)


@lru_cache(maxsize=4)
def shipped_artifact(name: str = DEFAULT) -> Artifact:
    """A learner trained on the shipped performance matrix.

    The default and the paper's MetaOD are read from the package. Any other is trained when it is
    first asked for, which takes seconds to minutes, and kept in the user's cache folder.

    Parameters
    ----------
    name : str, default="default"
        ``default``, or the name of a learner.
    """
    if name in SHIPPED:
        with as_file(_HERE.joinpath("artifacts", f"{name}.metaod")) as path:
            return Artifact.load(path)
    learner_class(name)
    place = _cache_place(name)
    # what is not there, damaged or of another learner is made anew
    with suppress(UserError):
        kept = Artifact.load(place)
        if kept.manifest.learner == name:
            return kept
    from metaod.pretrained.training import train_shipped  # noqa: PLC0415 - fitting is slow to import

    artifact = train_shipped(name)
    # an answer that cannot be kept is an answer all the same
    with suppress(OSError, UserError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        artifact.save(place)
    return artifact


def _cache_place(name: str) -> Path:
    """A file of its own for every version of the package and of the matrix."""
    cells = _HERE.joinpath("performance", "cells.parquet").read_bytes()
    matrix = hashlib.sha256(cells).hexdigest()[:12]
    return default_cache_dir() / "learners" / f"{name}-{__version__}-{matrix}.metaod"
