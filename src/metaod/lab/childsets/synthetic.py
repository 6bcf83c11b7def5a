"""The generated motherset: ten columns, and anomalies of every difficulty."""

import numpy as np

from metaod.lab.childsets.mothersets import Motherset

__all__ = ["make_synthetic"]


def make_synthetic(
    *, n_normal: int = 4_000, n_anomalous: int = 2_000, n_columns: int = 10, seed: int = 0
) -> Motherset:
    """Make the motherset ``synthetic``.

    Emmott et al. have one of ten dimensions; how theirs is drawn is not told in the paper, so
    that this one is ours. Normal rows come from three Gaussian clusters. An anomalous row comes
    from one of the same clusters and is then pushed from 0 to 6 standard deviations in a
    direction of its own: some are far from everything, some are lost among the normal rows.

    Parameters
    ----------
    n_normal, n_anomalous, n_columns : int
        The shape.
    seed : int, default=0
        Of every draw.

    Examples
    --------
    >>> make_synthetic()
    Motherset('synthetic': 6000 rows × 10 columns, binary)
    """
    rng = np.random.default_rng(seed)
    n_rows = n_normal + n_anomalous
    centres = rng.normal(scale=3.0, size=(3, n_columns))
    X = centres[rng.integers(3, size=n_rows)] + rng.normal(size=(n_rows, n_columns))
    directions = rng.normal(size=(n_anomalous, n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X[n_normal:] += rng.uniform(0.0, 6.0, size=(n_anomalous, 1)) * directions
    y = np.repeat([0, 1], [n_normal, n_anomalous])
    return Motherset("synthetic", "synthetic", X, y, "binary", note="generated")
