"""Matrices that hypothesis makes up."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ANY_FINITE = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)

SCALINGS = ("zscore", "robust", "signedlog", "whitened", "none")
