"""Runs of the landmarkers on one table."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar, cast

import numpy as np

from metaod.errors import BadParameter, UserError
from metaod.models import (
    ECODRun,
    HBOSRun,
    IForestRun,
    LODARun,
    Matrix,
    NeighbourRun,
    NeighbourScores,
    PCARun,
    fit_scaling,
    run_ecod,
    run_hbos,
    run_iforest,
    run_knn,
    run_loda,
    run_lof,
    run_neighbours,
    run_pca,
)

MAX_ROWS = 10_000
"""Most rows that landmarkers run on, by default."""
MAX_VALUES = 2**22
"""Most values that landmarkers run on (32 MiB); wide tables have smaller samples."""
_FEWEST_ROWS = 256  # a wide table is not sampled below that; an isolation tree takes no more

_Run = TypeVar("_Run")


class LandmarkerRuns:
    """Landmarkers on the z-scored columns of one table, with default parameters.

    Each run is computed when it is first needed. Above `max_rows` rows or 4,194,304 values,
    landmarkers run on a sample of the rows, and neighbours are searched in a smaller one.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
        The prepared table: finite, not scaled.
    random_state : int, default=0
        Determines the sample and the seeds of the random landmarkers.
    n_seeds : int, default=3
        Number of seeds of the random landmarkers; features are averaged over them.
    max_rows : int, default=10,000
        The most rows that landmarkers run on.

    Attributes
    ----------
    X : ndarray of float
        The table.
    Z : ndarray of float or None
        Z-scores of the sampled rows, without constant columns; None if all columns are constant.
    rows : ndarray of int
        The rows of `X` that are in `Z`, ascending.
    seeds : tuple of int
        Seeds of the random landmarkers.

    Examples
    --------
    >>> runs = LandmarkerRuns(np.array([[0.0, 1.0], [1.0, 1.0], [5.0, 1.0]]))
    >>> runs.Z.shape, runs.seeds, int(runs.hbos().scores.argmax())
    ((3, 1), (0, 1, 2), 2)
    """

    def __init__(
        self, X: Matrix, *, random_state: int = 0, n_seeds: int = 3, max_rows: int = MAX_ROWS
    ) -> None:
        for name, value, least in (
            ("random_state", random_state, 0), ("n_seeds", n_seeds, 1), ("max_rows", max_rows, 2),
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                legal = f"an int in the range [{least}, inf)"
                raise BadParameter("LandmarkerRuns", name, legal, value)
        self.X = X
        self.random_state = int(random_state)
        first = self.random_state * int(n_seeds)
        # numpy's seeds are below 2**32
        self.seeds = tuple((first + i) % 2**32 for i in range(int(n_seeds)))
        by_width = max(_FEWEST_ROWS, MAX_VALUES // max(1, X.shape[1]))
        n_rows, most = len(X), min(max_rows, by_width)
        self.rows = np.arange(n_rows)
        if n_rows > most:
            rng = np.random.default_rng(self.random_state)
            self.rows = np.sort(rng.choice(n_rows, size=most, replace=False, shuffle=False))
        self._runs: dict[tuple[str, int | None], object] = {}

    @cached_property
    def Z(self) -> Matrix | None:  # noqa: N802 - the name of z-scores
        """Z-scores of the sampled rows; None where every column is constant in them."""
        sampled = self.X[self.rows] if len(self.rows) < len(self.X) else self.X
        try:
            return fit_scaling("zscore", sampled).transform(sampled)
        except UserError:
            return None

    def iforest(self, seed: int) -> IForestRun:
        """Isolation forest with that seed."""
        return self._once("iforest", lambda: run_iforest(self._z_scores, seed), seed)

    def hbos(self) -> HBOSRun:
        """Histogram-based outlier scores."""
        return self._once("hbos", lambda: run_hbos(self._z_scores))

    def loda(self, seed: int) -> LODARun:
        """LODA with that seed."""
        return self._once("loda", lambda: run_loda(self._z_scores, seed), seed)

    def pca(self) -> PCARun:
        """Principal components and reconstruction errors."""
        return self._once("pca", lambda: run_pca(self._z_scores))

    def ecod(self) -> ECODRun:
        """Scores from the empirical distribution of each column."""
        return self._once("ecod", lambda: run_ecod(self._z_scores))

    def neighbours(self) -> NeighbourRun:
        """The nearest neighbours of each row, or of each row of a sample."""
        seed = self.random_state
        return self._once("neighbours", lambda: run_neighbours(self._z_scores, random_state=seed))

    def knn(self) -> NeighbourScores:
        """Distances to neighbours, as scores of the rows that were searched."""
        return self._once("knn", lambda: run_knn(self.neighbours()))

    def lof(self) -> NeighbourScores:
        """Local outlier factors of the rows that were searched."""
        return self._once("lof", lambda: run_lof(self.neighbours()))

    @property
    def _z_scores(self) -> Matrix:
        if self.Z is None:
            raise AssertionError("no landmarker runs where every column is constant")
        return self.Z

    def _once(self, landmarker: str, run: Callable[[], _Run], seed: int | None = None) -> _Run:
        key = (landmarker, seed)
        if key not in self._runs:
            self._runs[key] = run()
        return cast("_Run", self._runs[key])
