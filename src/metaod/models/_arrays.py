"""Array types of the package."""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]
