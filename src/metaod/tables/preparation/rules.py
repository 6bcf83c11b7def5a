"""The thresholds that the decisions go by."""

from dataclasses import dataclass

import numpy as np

from metaod.errors import BadParameter

__all__ = ["Rules"]


@dataclass(frozen=True)
class Rules:
    """The parameters of a `Preparation`, which says what they mean, once checked."""

    max_categories: int
    max_columns: int
    max_bytes: int | None
    indicator_share: float
    distinct_share: float

    def __post_init__(self) -> None:
        _check_count("max_categories", self.max_categories, 0)
        _check_count("max_columns", self.max_columns, 1)
        if self.max_bytes is not None:
            _check_count("max_bytes", self.max_bytes, 1, otherwise=" or None")
        _check_share("indicator_share", self.indicator_share)
        _check_share("distinct_share", self.distinct_share)


def _check_count(name: str, value: object, least: int, otherwise: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        legal = f"an int in the range [{least}, inf){otherwise}"
        raise BadParameter("Preparation", name, legal, value)


def _check_share(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or not 0 <= value <= 1
    ):
        raise BadParameter("Preparation", name, "a float in the range [0, 1]", value)
