"""Array types of the package."""

import numpy as np
import numpy.typing as npt

__all__ = ["Matrix", "Scores"]

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]
