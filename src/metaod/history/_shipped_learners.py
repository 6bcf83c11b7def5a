"""The shipped learners: the default, the paper's MetaOD, and any rival, trained when asked for."""

import hashlib
import inspect
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path

from metaod._version import __version__
from metaod.artifacts import Artifact, BadArtifact, read_document
from metaod.errors import BadParameter, UserError
from metaod.history._cache import default_cache_dir
from metaod.learners import ENTRY_POINTS, learner_class, learner_names

__all__ = ["DEFAULT", "SHIPPED", "find_artifact", "shipped_artifact", "will_train"]

DEFAULT = "default"
"""What stands for the shipped default learner."""

SHIPPED = (DEFAULT, "metaod")
"""Learners whose artifact is inside the package; others are trained on the shipped matrix."""

_UNTRAINABLE = "fixed"
"""The learner that has no defaults: its models are what the user names."""

_HERE = files("metaod.history").joinpath("shipped")
_SOURCES = files("metaod.history")
_LEARNERS = files("metaod.learners")


def find_artifact(
    learner: "str | PathLike[str] | Artifact" = DEFAULT, *, owner: str = "select"
) -> Artifact:
    """The learner that a user asked for.

    Parameters
    ----------
    learner : str, path or Artifact
        ``default``, the name of a learner, the path of an artifact, or an artifact itself.
    owner : str, default="select"
        Whose parameter it is, for errors.

    Examples
    --------
    >>> find_artifact("metaod").manifest.learner
    'metaod'
    """
    if isinstance(learner, Artifact):
        return learner
    names = [name for name in (DEFAULT, *learner_names()) if name != _UNTRAINABLE]
    if isinstance(learner, str) and learner in names:
        return shipped_artifact(learner)
    if isinstance(learner, str | PathLike) and Path(learner).is_file():
        _refuse_pick(learner)
        return Artifact.load(learner)
    remedy = None
    if learner == _UNTRAINABLE:
        remedy = (
            "It picks the model that you name: 'metaod train --learner fixed --set model=...' "
            "makes an artifact of it"
        )
    legal = f"an artifact's path, or one of {tuple(names)}"
    raise BadParameter(owner, "learner", legal, learner, remedy=remedy)


def _refuse_pick(path: "str | PathLike[str]") -> None:
    """A fitted pick has the same container as a learner, and is easily taken for one."""
    document: dict[str, object] = {}
    # what is wrong with any other file is for its reader to say
    with suppress(UserError):
        document = read_document(path)
    if document.get("kind") == "pick":
        raise BadArtifact(
            path,
            "is a saved pick, not a learner",
            remedy="'metaod detect --apply' and metaod.load take it",
        )


def will_train(learner: object) -> bool:
    """Whether asking for the learner trains it first, which takes seconds to minutes.

    Examples
    --------
    >>> will_train("metaod")
    False
    """
    if not isinstance(learner, str) or learner in (*SHIPPED, _UNTRAINABLE):
        return False
    return learner in learner_names() and not _cache_place(learner).is_file()


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
    from metaod.history._shipped_training import train_shipped  # noqa: PLC0415 - fitting is slow to import

    artifact = train_shipped(name)
    # an answer that cannot be kept is an answer all the same
    with suppress(OSError, UserError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        artifact.save(place)
    return artifact


def _cache_place(name: str) -> Path:
    """A file of its own for whatever the trained learner depends on."""
    digest = hashlib.sha256()
    for part in _depends_on(name):
        # lengths keep neighbours apart
        digest.update(len(part).to_bytes(8, "big") + part)
    key = digest.hexdigest()[:16]
    return default_cache_dir() / "learners" / f"{name}-{__version__}-{key}.metaod"


def _depends_on(name: str) -> Iterator[bytes]:
    """The shipped data, how it is trained, and the learner: its parameters, source and package."""
    data = [item for item in _HERE.joinpath("performance").iterdir() if _ends(item, ".parquet")]
    around = (*_HERE.iterdir(), *_SOURCES.iterdir(), *_LEARNERS.iterdir())
    sources = [item for item in around if _ends(item, ".py") or _ends(item, ".txt")]
    for item in (*sorted(data, key=_name), *sorted(sources, key=_name)):
        yield item.name.encode()
        yield item.read_bytes()
    kind = learner_class(name)
    yield repr(sorted(kind().params().items())).encode()
    # of another package's learner also its package's version, and its own file where it
    # has one that can be read
    with suppress(OSError, TypeError):
        yield Path(inspect.getfile(kind)).read_bytes()
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name and point.dist is not None:
            yield f"{point.dist.name} {point.dist.version}".encode()


def _name(item: Traversable) -> str:
    return item.name


def _ends(item: Traversable, ending: str) -> bool:
    return item.name.endswith(ending) and item.is_file()
