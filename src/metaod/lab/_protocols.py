"""Who is trained on and who is tested: the paper's splits, and those by origin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners import origin_folds

__all__ = ["Split", "by_folds", "grouped_folds", "leave_one_origin_out", "leave_one_out"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """One division of the datasets.

    Parameters
    ----------
    name : str
        What is left out, in a few words.
    train, test : array of int
        Places of the datasets on each side.
    """

    name: str
    train: Places
    test: Places


def _split(name: str, held_out: npt.NDArray[np.bool_]) -> Split:
    return Split(name, np.flatnonzero(~held_out), np.flatnonzero(held_out))


def by_folds(folds: npt.ArrayLike) -> list[Split]:
    """Cross-validation by given folds, as in POC: a fold holds one sibling of every motherset.

    Examples
    --------
    >>> [split.test.tolist() for split in by_folds([0, 1, 0])]
    [[0, 2], [1]]
    """
    numbers = np.asarray(folds)
    found = np.unique(numbers)
    if len(found) < 2:
        raise BadParameter("by_folds", "folds", "two folds at least", found.tolist())
    return [_split(f"fold {fold}", numbers == fold) for fold in found]


def leave_one_out(names: Sequence[str]) -> list[Split]:
    """Every dataset once, trained on all others, also on those of the same origin."""
    if len(names) < 2:
        raise BadParameter("leave_one_out", "names", "two datasets at least", list(names))
    places = np.arange(len(names))
    return [_split(name, places == place) for place, name in enumerate(names)]


def leave_one_origin_out(origins: npt.ArrayLike) -> list[Split]:
    """Every origin once, trained on the datasets of all other origins.

    Examples
    --------
    >>> [split.test.tolist() for split in leave_one_origin_out(["a", "b", "a"])]
    [[0, 2], [1]]
    """
    labels = np.asarray(origins).astype(str)
    found = np.unique(labels)
    if len(found) < 2:
        raise BadParameter(
            "leave_one_origin_out", "origins", "two origins at least", found.tolist()
        )
    return [_split(str(origin), labels == origin) for origin in found]


def grouped_folds(origins: npt.ArrayLike, n_folds: int, *, seed: int = 0) -> list[Split]:
    """Folds of about as many origins each; an origin is never on both sides.

    Every origin is left out once, as in :func:`leave_one_origin_out`, at the cost of ``n_folds``
    trainings.
    """
    return by_folds(origin_folds(origins, n_folds, seed=seed))
