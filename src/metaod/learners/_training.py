"""What a learner is fitted on, checked and in an order that does not depend on the caller."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter

__all__ = ["Training", "feature_matrix"]

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """Historical datasets: their performance matrix, meta-features and origins.

    Parameters
    ----------
    P : array of shape (n, m)
        Performance, NaN where missing; columns ordered by model id. Every row and every column
        has at least one value.
    M : array of shape (n, d)
        Meta-features as they came: NaN and infinities are still in it.
    groups : array of shape (n,)
        Numbers of the origins, from 0.
    models : tuple of str
        Ids of the models, in the order of P's columns.
    features : tuple of str
        Names of the meta-features, in the order of M's columns.
    given_models : tuple of str
        Ids of the models in the order in which the caller gave them.
    order : array of shape (m,)
        Place in the caller's order of each column of P.
    """

    P: Matrix
    M: Matrix
    groups: npt.NDArray[np.intp]
    models: tuple[str, ...]
    features: tuple[str, ...]
    given_models: tuple[str, ...]
    order: npt.NDArray[np.intp]

    @property
    def n_datasets(self) -> int:
        """Number of datasets."""
        return len(self.P)

    @property
    def n_groups(self) -> int:
        """Number of origins."""
        return int(self.groups.max()) + 1

    def subset(self, rows: npt.NDArray[Any]) -> "Training":
        """Some of the datasets, by place or by mask; a model may have no value among them."""
        _, groups = np.unique(self.groups[rows], return_inverse=True)
        return Training(
            self.P[rows],
            self.M[rows],
            groups.astype(np.intp),
            self.models,
            self.features,
            self.given_models,
            self.order,
        )

    @classmethod
    def from_inputs(cls, P: Any, M: Any, groups: Any, *, learner: str) -> "Training":
        """Check what a caller gave to ``fit`` and put the models in order of their ids.

        Datasets without any performance are left out; models without any are kept, with the
        lowest score that a learner gives.
        """
        performance = _matrix(P, learner, "P")
        features = _matrix(M, learner, "M")
        if len(performance) != len(features):
            legal = f"one row for each of P's {len(performance)} datasets"
            raise BadParameter(learner, "M", legal, f"{len(features)} rows")
        if isinstance(P, pd.DataFrame) and isinstance(M, pd.DataFrame):
            # fingerprints on both sides must agree; anonymous row numbers may differ
            numbered = isinstance(P.index, pd.RangeIndex) and isinstance(M.index, pd.RangeIndex)
            if not numbered and list(P.index) != list(M.index):
                raise BadParameter(
                    learner, "M", "with the datasets of P in the same order", list(M.index[:3])
                )
        given_models = _names(P, performance.shape[1], learner, "P")
        if groups is None:
            groups = np.arange(len(performance))
        labels = np.asarray(groups)
        if labels.shape != (len(performance),):
            legal = f"one origin for each of {len(performance)} datasets"
            raise BadParameter(learner, "groups", legal, f"shape {labels.shape}")
        if np.isinf(performance).any():
            raise BadParameter(learner, "P", "finite, or NaN where missing", np.inf)
        known = ~np.isnan(performance).all(axis=1)
        if not known.any():
            raise BadParameter(learner, "P", "a matrix with at least one value", "only NaN")
        order = _order(performance, P, given_models)
        _, numbers = np.unique(labels[known].astype(str), return_inverse=True)
        return cls(
            performance[known][:, order],
            features[known],
            numbers.astype(np.intp),
            tuple(given_models[place] for place in order),
            _names(M, features.shape[1], learner, "M"),
            given_models,
            order,
        )


def feature_matrix(
    M: Any, features: tuple[str, ...], *, learner: str
) -> tuple[Matrix, pd.Index | None]:
    """Raw meta-features (q, d) in the order of training, and the rows' index (None for one)."""
    if isinstance(M, pd.Series | pd.DataFrame):
        found = M.index if isinstance(M, pd.Series) else M.columns
        lost = [name for name in features if name not in found]
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise BadParameter(
                learner,
                "M",
                f"with the {len(features)} features of training",
                f"no {lost[0]}{more}",
            )
        if isinstance(M, pd.Series):
            return _numbers(M[list(features)], learner, "M")[None, :], None
        return _matrix(M[list(features)], learner, "M"), M.index
    values = _numbers(M, learner, "M")
    if values.shape[-1:] != (len(features),) or values.ndim > 2:
        legal = f"of {len(features)} features, one row a dataset"
        raise BadParameter(learner, "M", legal, f"shape {values.shape}")
    if values.ndim == 1:
        return values[None, :], None
    return values, pd.RangeIndex(len(values))


def _order(performance: Matrix, P: Any, names: tuple[str, ...]) -> npt.NDArray[np.intp]:
    if isinstance(P, pd.DataFrame):
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)
    # anonymous columns have nothing but their content to be ordered by
    return np.lexsort(np.nan_to_num(performance, nan=-np.inf)[::-1]).astype(np.intp)


def _names(given: Any, count: int, learner: str, what: str) -> tuple[str, ...]:
    if not isinstance(given, pd.DataFrame):
        return tuple(f"{'model' if what == 'P' else 'feature'} {place}" for place in range(count))
    names = tuple(map(str, given.columns))
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise BadParameter(learner, what, "a frame with distinct column names", repeated)
    return names


def _matrix(values: Any, learner: str, what: str) -> Matrix:
    matrix = _numbers(values, learner, what)
    if matrix.ndim != 2 or 0 in matrix.shape:
        legal = "a matrix with one row a dataset"
        raise BadParameter(learner, what, legal, f"shape {matrix.shape}")
    return matrix


def _numbers(values: Any, learner: str, what: str) -> Matrix:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadParameter(learner, what, "numbers", str(error)) from error
