"""Runs of the landmarkers on one table, and what features are computed from."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import scipy

from metaod._legal import Whole
from metaod.errors import BadParameter, UserError
from metaod.models import Matrix, Scores, family, fit_scaling
from metaod.tables import PreparedTable

MAX_ROWS = 10_000
"""Most rows that landmarkers run on, by default."""
MAX_VALUES = 2**22
"""Most values that landmarkers run on (32 MiB); wide tables have smaller samples."""
_FEWEST_ROWS = 256  # a wide table is not sampled below that; an isolation tree takes no more


_Result = TypeVar("_Result")


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
    >>> runs.Z.shape, runs.seeds, int(runs.run("HBOS").decision_scores_.argmax())
    ((3, 1), (0, 1, 2), 2)
    """

    def __init__(
        self, X: Matrix, *, random_state: int = 0, n_seeds: int = 3, max_rows: int = MAX_ROWS
    ) -> None:
        if not Whole(0).allows(random_state):
            raise BadParameter("LandmarkerRuns", "random_state", str(Whole(0)), random_state)
        self.X = X
        self.random_state = int(random_state)
        first = self.random_state * n_seeds
        # numpy's seeds are below 2**32
        self.seeds = tuple((first + i) % 2**32 for i in range(n_seeds))
        by_width = max(_FEWEST_ROWS, MAX_VALUES // max(1, X.shape[1]))
        n_rows, most = len(X), min(max_rows, by_width)
        self.rows = np.arange(n_rows)
        if n_rows > most:
            rng = np.random.default_rng(self.random_state)
            self.rows = np.sort(rng.choice(n_rows, size=most, replace=False, shuffle=False))
        self._runs: dict[tuple[str, int], Any] = {}

    @cached_property
    def Z(self) -> Matrix | None:  # noqa: N802 - the name of z-scores
        """Z-scores of the sampled rows; None where every column is constant in them."""
        sampled = self.X[self.rows] if len(self.rows) < len(self.X) else self.X
        try:
            return fit_scaling("zscore", sampled).transform(sampled)
        except UserError:
            return None

    def run(self, landmarker: str, seed: int = 0) -> Any:
        """Return the run of a family's landmarker with that seed."""
        key = (landmarker, seed)
        if key not in self._runs:
            of_family: Any = family(landmarker).landmarker
            self._runs[key] = of_family(self._z_scores, seed)
        return self._runs[key]

    def of_seeds(self, landmarker: str) -> list[Any]:
        """Return the runs of a random landmarker, one for each seed."""
        return [self.run(landmarker, seed) for seed in self.seeds]

    @cached_property
    def pca(self) -> "PCARun":
        """Principal components and reconstruction errors."""
        return run_pca(self._z_scores)

    @property
    def neighbours(self) -> Any:
        """The nearest neighbours of each row, or of each row of a sample."""
        return self.run("KNN", self.random_state)

    @property
    def _z_scores(self) -> Matrix:
        if self.Z is None:
            raise AssertionError("no landmarker runs where every column is constant")
        return self.Z


class FeatureInputs:
    """The data that features of one table are computed from.

    Parameters
    ----------
    runs : LandmarkerRuns
        The landmarkers of the table; ``runs.X`` is the prepared matrix.
    prepared : PreparedTable, optional
        The prepared table, which records what its columns were; None for a matrix of numbers.
    """

    def __init__(self, runs: LandmarkerRuns, prepared: PreparedTable | None = None) -> None:
        self.runs = runs
        self.X = runs.X
        self.prepared = prepared
        self._shared: dict[object, object] = {}

    def shared(self, compute: "Callable[[FeatureInputs], _Result]") -> _Result:
        """Return the result of a function of these inputs, computed once for several features."""
        if compute not in self._shared:
            self._shared[compute] = compute(self)
        return cast("_Result", self._shared[compute])


# principal components

_NEGLIGIBLE = 1e-12  # a smaller share of the largest variance is rounding

N_COMPONENTS = 3
"""Components that the landmarker computes."""

_SMALL = 200  # measured: above this size, iteration finds a few eigenvectors faster


def leading_components(symmetric: Matrix, k: int) -> tuple[Scores, Matrix]:
    """Return the k largest eigenvalues in descending order, and eigenvectors as columns.

    Examples
    --------
    >>> leading_components(np.diag([1.0, 4.0, 2.0]), 2)[0]
    array([4., 2.])
    """
    size = len(symmetric)
    k = min(k, size)
    if size > max(_SMALL, 4 * k):
        from scipy.sparse.linalg import ArpackError, eigsh  # noqa: PLC0415 - slow to import

        # a fixed start makes the result reproducible
        start = np.random.default_rng(0).standard_normal(size)
        # the iteration fails, rarely, where eigenvalues are too close together
        with suppress(ArpackError):
            values, vectors = eigsh(symmetric, k=k, which="LA", v0=start)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
    values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[size - k, size - 1])
    return values[::-1], vectors[:, ::-1]


@dataclass(frozen=True)
class PCARun:
    """A run of PCA.

    Parameters
    ----------
    decision_scores_ : ndarray of float
        Squared reconstruction error of each row from the first three components, or from all but
        one if there are fewer than four.
    explained, singular_values : ndarray of float
        Shares of the variance and singular values of three components; NaN if there are fewer.
    """

    decision_scores_: Scores
    explained: Scores
    singular_values: Scores


def run_pca(Z: Matrix) -> PCARun:
    """Find the first components of z-scores and the rows' distances from them.

    Memory beyond the table: the square of rows or columns, whichever are fewer.

    Examples
    --------
    >>> run_pca(np.array([[-1.0, -1.0], [1.0, 1.0]])).explained
    array([ 1.,  0., nan])
    """
    n_rows, n_columns = Z.shape
    wide = n_columns > n_rows
    products = Z @ Z.T if wide else Z.T @ Z
    # one more than needed, to see whether an error is left
    values, vectors = leading_components(products, N_COMPONENTS + 1)
    values = np.where(values > _NEGLIGIBLE * values[0], values, 0.0)
    kept = min(N_COMPONENTS, int(np.count_nonzero(values)) - 1)
    # of a wide table, these are already the rows' coordinates up to their lengths
    along = vectors[:, :kept] * np.sqrt(values[:kept]) if wide else Z @ vectors[:, :kept]
    squares = np.einsum("ij,ij->i", Z, Z)
    scores = np.maximum(squares - np.einsum("ij,ij->i", along, along), 0.0)
    explained, singular = np.full((2, N_COMPONENTS), np.nan)
    found = values[:N_COMPONENTS]
    explained[: len(found)] = found / squares.sum()
    singular[: len(found)] = np.sqrt(found)
    return PCARun(scores, explained, singular)
