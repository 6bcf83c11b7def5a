"""What the parameters of learners may be: one wording for all learners."""

from numbers import Integral
from typing import Any

from metaod.errors import BadParameter

__all__ = ["check_count", "check_forest", "check_seed"]

_LARGEST_SEED = 2**32 - 1
"""What scikit-learn takes."""


def check_count(owner: str, name: str, value: Any) -> None:
    """Refuse what is no positive integer.

    Examples
    --------
    >>> check_count("ALORS", "rank", 0)
    Traceback (most recent call last):
    metaod.errors.BadParameter: The 'rank' parameter of ALORS must be an int in the range [1, inf). Got 0 instead.
    """  # noqa: E501 - the message is one line
    if not _is_integer(value) or value < 1:
        raise BadParameter(owner, name, "an int in the range [1, inf)", value)


def check_seed(owner: str, value: Any) -> None:
    """Refuse what is no seed of every generator that learners draw from."""
    if not _is_integer(value) or not 0 <= value <= _LARGEST_SEED:
        legal = f"an int in the range [0, {_LARGEST_SEED}]"
        raise BadParameter(owner, "random_state", legal, value)


def check_forest(
    owner: str, *, n_estimators: Any, min_samples_leaf: Any, max_features: Any = 1.0
) -> None:
    """Refuse what a forest of our learners is not grown with."""
    check_count(owner, "n_estimators", n_estimators)
    check_count(owner, "min_samples_leaf", min_samples_leaf)
    # to scikit-learn an int is a number of features, and 1 is not 1.0
    if not isinstance(max_features, float) or not 0 < max_features <= 1:
        raise BadParameter(owner, "max_features", "a float in the range (0, 1]", max_features)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
