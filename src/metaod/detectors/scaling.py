"""Scalings of the columns before a detector sees them; part of what a model is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError

__all__ = ["SCALINGS", "FittedScaling", "fit_scaling"]

SCALINGS = ("zscore", "none")
"""Known scalings; every model of the paper uses the first."""

Matrix = npt.NDArray[np.float64]

# a column whose spread is below this share of its largest value is constant up to rounding, and a
# z-score would blow the rounding up into data
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class FittedScaling:
    """Columns kept, and the shift and factor of each: ``(x * unit - center) / scale``.

    Parameters
    ----------
    name : str
        The scaling.
    n_columns : int
        Columns of the matrix it was fitted on.
    kept : ndarray of int
        Indices of the columns that are not constant.
    unit : ndarray of float
        A power of two a column that keeps sums and squares of huge or tiny values in range.
    center, scale : ndarray of float
        Shift and divisor in those units.
    """

    name: str
    n_columns: int
    kept: npt.NDArray[np.intp]
    unit: Matrix
    center: Matrix
    scale: Matrix

    def transform(self, X: Matrix) -> Matrix:
        """Scale a matrix with the columns that it was fitted on."""
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise BadParameter(
                "FittedScaling.transform", "X", f"a matrix of {self.n_columns} columns", X.shape
            )
        result = X[:, self.kept] * self.unit
        result -= self.center
        result /= self.scale
        return np.ascontiguousarray(result)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; floats keep every bit."""
        return {
            "name": self.name,
            "n_columns": self.n_columns,
            "kept": self.kept.tolist(),
            "unit": self.unit.tolist(),
            "center": self.center.tolist(),
            "scale": self.scale.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "FittedScaling":
        """Read back :meth:`to_dict`'s form."""
        return cls(
            name=str(data["name"]),
            n_columns=int(data["n_columns"]),
            kept=np.asarray(data["kept"], dtype=np.intp),
            unit=np.asarray(data["unit"], dtype=np.float64),
            center=np.asarray(data["center"], dtype=np.float64),
            scale=np.asarray(data["scale"], dtype=np.float64),
        )


def fit_scaling(name: str, X: Matrix) -> FittedScaling:
    """Learn a scaling from a finite matrix; constant columns are dropped by every scaling.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> fit_scaling("zscore", X).transform(X)
    array([[-1.],
           [ 1.]])
    """
    if name not in SCALINGS:
        raise BadParameter("ModelSpec", "scaling", SCALINGS, name)
    largest = np.abs(X).max(axis=0, initial=0.0)
    # exact in floating point, so that ordinary data gives the same z-scores with or without it
    outside = (largest > 1e100) | ((largest < 1e-100) & (largest > 0))
    exponent = np.where(outside, np.frexp(largest)[1], 0)
    unit = np.ldexp(1.0, -np.clip(exponent, -1000, 1000))
    scaled = X * unit
    center = scaled.mean(axis=0)
    scale = scaled.std(axis=0)
    kept = np.flatnonzero(scale > _ROUNDING * np.abs(scaled).max(axis=0, initial=0.0))
    if kept.size == 0:
        raise UserError(
            "every column is constant, there is nothing to compare rows by",
            remedy="check that the table is the one you meant",
        )
    if name == "none":
        unit, center, scale = np.ones_like(unit), np.zeros_like(center), np.ones_like(scale)
    return FittedScaling(name, X.shape[1], kept, unit[kept], center[kept], scale[kept])
