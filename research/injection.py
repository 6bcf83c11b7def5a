"""Outliers injected into a table, and how well models recover them, without any label.

Each kind breaks one property of the rows: ``local`` their neighbourhood, ``global`` the range of
the table, ``cluster`` the place of the mass, ``dependency`` the relation between columns (the
margins stay), ``masked`` a few columns only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metaod.models import Matrix, ModelSpec, fit_scaling, score_models
from research.statistics import average_precision

Generator = np.random.Generator

_NEIGHBOURS = 20
_FEW_LEVELS = 20  # a column with at most this many values keeps to them


@dataclass(frozen=True)
class Injection:
    """How outliers are injected.

    Parameters
    ----------
    n_rows : int, default=600
        Rows of the table that are drawn, at most.
    share : float, default=0.05
        Injected rows, as a share of the drawn rows; at least 5.
    seed : int, default=0
        Seed of the drawn rows and of the outliers.
    """

    n_rows: int = 600
    share: float = 0.05
    seed: int = 0

    def inject(self, X: Matrix, kind: str) -> tuple[Matrix, Matrix]:
        """Return drawn rows followed by outliers of a kind, (n + k, d), and their labels.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_columns)
            A prepared table.
        kind : str
            One of ``KINDS``.
        """
        rng = np.random.default_rng([self.seed, list(KINDS).index(kind)])
        # every kind has the same rows
        rows = np.random.default_rng(self.seed).permutation(len(X))[: self.n_rows]
        drawn = X[np.sort(rows)]
        scaled = fit_scaling("zscore", drawn).transform(drawn)
        count = max(5, round(self.share * len(drawn)))
        made = _near_levels(KINDS[kind](scaled, count, rng), scaled)
        y = np.repeat([0.0, 1.0], [len(scaled), count])
        return np.ascontiguousarray(np.vstack([scaled, made])), y


def recovery(
    X: Matrix, specs: Sequence[ModelSpec], injection: Injection | None = None
) -> pd.DataFrame:
    """Return the average precision with which models recover injected outliers.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        A prepared table.
    specs : sequence of ModelSpec
        The models.
    injection : Injection, optional
        How outliers are injected.

    Returns
    -------
    DataFrame
        One row for each kind, one column for each model; NaN where a model has no scores.
    """
    injection = injection or Injection()
    found = pd.DataFrame(np.nan, index=list(KINDS), columns=[spec.id for spec in specs])
    for kind in KINDS:
        table, y = injection.inject(X, kind)
        for scored in score_models(table, specs, trials=1):
            if scored.scores is not None:
                found.loc[kind, scored.spec.id] = average_precision(y, scored.scores)
    return found


def _local(Z: Matrix, count: int, rng: Generator) -> Matrix:
    """Return rows moved by noise of three times the spread of their nearest rows."""
    made = Z[rng.integers(len(Z), size=count)]
    for row in range(count):
        distance = ((Z - made[row]) ** 2).sum(axis=1)
        nearest = Z[np.argsort(distance, kind="stable")[: _NEIGHBOURS + 1]]
        made[row] += 3.0 * nearest.std(axis=0) * rng.standard_normal(Z.shape[1])
    return made


def _global(Z: Matrix, count: int, rng: Generator) -> Matrix:
    """Return uniform rows in the box of the table, widened by a tenth on each side."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    wider = 0.1 * (high - low)
    return rng.uniform(low - wider, high + wider, (count, Z.shape[1]))


def _cluster(Z: Matrix, count: int, rng: Generator) -> Matrix:
    """Return a narrow clump of rows, two standard deviations from a row in every column."""
    centre = Z[rng.integers(len(Z))] + 2.0 * rng.choice([-1.0, 1.0], Z.shape[1])
    made: Matrix = centre + 0.2 * rng.standard_normal((count, Z.shape[1]))
    return made


def _dependency(Z: Matrix, count: int, rng: Generator) -> Matrix:
    """Return rows with each value from another row: margins stay, relations do not."""
    made: Matrix = Z[rng.integers(len(Z), size=(count, Z.shape[1])), np.arange(Z.shape[1])]
    return made


def _masked(Z: Matrix, count: int, rng: Generator) -> Matrix:
    """Return rows with a quarter of the columns uniform in the widened box."""
    made = Z[rng.integers(len(Z), size=count)]
    changed = rng.random(made.shape).argsort(axis=1) < -(-Z.shape[1] // 4)
    return np.where(changed, _global(Z, count, rng), made)


def _near_levels(made: Matrix, Z: Matrix) -> Matrix:
    """Round made values to the nearest value of a column that has few."""
    for column in range(Z.shape[1]):
        levels = np.unique(Z[:, column])
        if len(levels) <= _FEW_LEVELS:
            nearest = np.abs(made[:, column, np.newaxis] - levels).argmin(axis=1)
            made[:, column] = levels[nearest]
    return made


KINDS: dict[str, Callable[[Matrix, int, Generator], Matrix]] = {
    "local": _local,
    "global": _global,
    "cluster": _cluster,
    "dependency": _dependency,
    "masked": _masked,
}
"""The kinds of injected outliers: functions of standardised rows, a count and a generator."""
