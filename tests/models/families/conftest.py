"""Tables on which detectors are compared with PyOD's."""

import numpy as np
import pytest

from metaod.models import fit_scaling

_RNG = np.random.default_rng(7)

TABLES = {
    "plain": np.vstack([_RNG.normal(size=(290, 6)), _RNG.normal(4, 1, size=(10, 6))]),
    "tied": _RNG.integers(0, 4, size=(320, 5)).astype(float),
    "duplicated": np.repeat(_RNG.normal(size=(50, 4)), 5, axis=0),
    "constant column": np.column_stack([_RNG.normal(size=(150, 3)), np.full(150, 2.5)]),
    "wide": _RNG.normal(size=(40, 90)),
    "tiny": _RNG.normal(size=(7, 2)),
}


@pytest.fixture(name="X", params=list(TABLES))
def scaled_table(request):
    """A table as the paper's models get it: z-scores, without constant columns."""
    table = TABLES[request.param]
    return fit_scaling("zscore", table).transform(table)
