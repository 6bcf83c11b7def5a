"""D'Agostino and Pearson's test for normality from skewness and kurtosis, all columns at once."""

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST_ROWS", "normality_p_values"]

FEWEST_ROWS = 8
"""Rows below which the test of the skewness is not defined."""

Vector = npt.NDArray[np.float64]


def normality_p_values(skewness: Vector, kurtosis: Vector, n_rows: int) -> Vector:
    """P-values of the hypothesis that columns are normal; NaN where they are undefined.

    Parameters
    ----------
    skewness, kurtosis : ndarray of float
        Of each column; NaN where it is constant.
    n_rows : int

    Examples
    --------
    >>> normality_p_values(np.array([0.1, 2.0]), np.array([3.1, 9.0]), 100).round(3)
    array([0.79, 0.  ])
    """
    if n_rows < FEWEST_ROWS:
        return np.full_like(skewness, np.nan)
    # the sum of two squared standard normal scores exceeds k with probability exp(-k / 2)
    scores = _skewness_score(skewness, n_rows) ** 2 + _kurtosis_score(kurtosis, n_rows) ** 2
    p_values: Vector = np.exp(-0.5 * scores)
    return p_values


def _skewness_score(skewness: Vector, n: float) -> Vector:
    """D'Agostino's normal approximation (1970)."""
    y = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)
    beta /= (n - 2) * (n + 5) * (n + 7) * (n + 9)
    w2 = np.sqrt(2 * (beta - 1)) - 1
    score: Vector = np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(0.5 * np.log(w2))
    return score


def _kurtosis_score(kurtosis: Vector, n: float) -> Vector:
    """Anscombe and Glynn's normal approximation (1983)."""
    expected = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - expected) / np.sqrt(variance)
    beta = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    beta *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / beta * (2 / beta + np.sqrt(1 + 4 / beta**2))
    denominator = 1 + x * np.sqrt(2 / (a - 4))
    with np.errstate(divide="ignore"):
        root = np.cbrt((1 - 2 / a) / denominator)
    score: Vector = (1 - 2 / (9 * a) - root) / np.sqrt(2 / (9 * a))
    return score
