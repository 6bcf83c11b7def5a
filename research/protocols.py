"""Protocols: which datasets are trained on and which are tested."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners import origin_folds
from research.methods import Testbed
from research.testbed_data import TestbedData

Protocol = Literal["folds", "leave-one-out", "leave-one-origin-out"]

PROTOCOLS: dict[Testbed, tuple[Protocol, ...]] = {
    "poc": ("folds",),
    "st": ("leave-one-out", "leave-one-origin-out"),
}
"""The protocols of each testbed; the paper's first."""


@dataclass(frozen=True)
class Split:
    """One division of the datasets, by position."""

    name: str
    train: npt.NDArray[np.intp]
    test: npt.NDArray[np.intp]


def splits_of(data: TestbedData, protocol: Protocol) -> list[Split]:
    """Return the splits of a protocol on a testbed."""
    if protocol == "folds":
        return by_folds(data.datasets["fold"])
    if protocol == "leave-one-out":
        return leave_one_out(list(data.datasets["name"]))
    if protocol == "leave-one-origin-out":
        return leave_one_origin_out(data.datasets["origin"])
    raise BadParameter("splits_of", "protocol", get_args(Protocol), protocol)


def groups_of(data: TestbedData, protocol: Protocol) -> list[str]:
    """Return the groups that a protocol never divides: origins, or single datasets.

    A learner that holds out a part of its training side for early stopping divides it in the same
    way: if test datasets have siblings on the training side, held-out datasets have them too.
    """
    if protocol == "leave-one-origin-out":
        return list(data.datasets["origin"])
    return list(data.datasets.index)


def _split(name: str, held_out: npt.NDArray[np.bool_]) -> Split:
    return Split(name, np.flatnonzero(~held_out), np.flatnonzero(held_out))


def by_folds(folds: npt.ArrayLike) -> list[Split]:
    numbers = np.asarray(folds)
    found = np.unique(numbers)
    if len(found) < 2:
        raise BadParameter("by_folds", "folds", "two folds at least", found.tolist())
    return [_split(f"fold {fold}", numbers == fold) for fold in found]


def leave_one_out(names: Sequence[str]) -> list[Split]:
    """Test every dataset once, trained on all others, including those of the same origin."""
    if len(names) < 2:
        raise BadParameter("leave_one_out", "names", "two datasets at least", list(names))
    positions = np.arange(len(names))
    return [_split(name, positions == position) for position, name in enumerate(names)]


def leave_one_origin_out(origins: npt.ArrayLike) -> list[Split]:
    """Test every origin once, trained on the datasets of all other origins."""
    labels = np.asarray(origins).astype(str)
    found = np.unique(labels)
    if len(found) < 2:
        legal = "two origins at least"
        raise BadParameter("leave_one_origin_out", "origins", legal, found.tolist())
    return [_split(str(origin), labels == origin) for origin in found]


def grouped_folds(origins: npt.ArrayLike, n_folds: int, *, seed: int = 0) -> list[Split]:
    """Make folds with about the same number of origins; an origin is never on both sides.

    Every origin is left out once, as in :func:`leave_one_origin_out`, at the cost of `n_folds`
    trainings.
    """
    return by_folds(origin_folds(origins, n_folds, seed=seed))
