"""Checks of parameters that several detectors take."""

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter

_LEGAL_SHARE = "a number in the range (0, 0.5]"


def check_contamination(
    value: Any, *, owner: str = "SpecDetector", legal: str = _LEGAL_SHARE
) -> float:
    """Return the share of outliers as a float; refuse it outside (0, 0.5].

    The error names ``owner`` and ``legal``.

    Examples
    --------
    >>> check_contamination(1 / 4)
    0.25
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 0.5:
        raise BadParameter(owner, "contamination", legal, value)
    return float(value)


def check_n_jobs(value: Any, *, owner: str = "SpecDetector") -> int | None:
    """Return the number of jobs, or None; negative numbers count from all cores, as in joblib.

    Examples
    --------
    >>> check_n_jobs(-1)
    -1
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) == 0:
        raise BadParameter(owner, "n_jobs", "an int other than 0, or None", value)
    return int(value)


def check_fixed(owner: str, value: Any, n_columns: int) -> npt.NDArray[np.bool_] | None:
    """Return which columns are in fixed units, or None for none of them.

    Examples
    --------
    >>> check_fixed("score_models", [True, False], 2)
    array([ True, False])
    """
    if value is None:
        return None
    found = np.asarray(value)
    if found.dtype != np.bool_ or found.shape != (n_columns,):
        raise BadParameter(owner, "fixed", f"None or {n_columns} truth values, one a column", value)
    return found
