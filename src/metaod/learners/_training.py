"""The training data of a learner: checked inputs, and folds of whole origins."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.models import Matrix


@dataclass(frozen=True)
class Training:
    """Historical datasets: their performance matrix, meta-features and origins."""

    P: Matrix  # (n, m) performance, NaN where missing; every row has a value
    M: Matrix  # (n, d) raw meta-features, with NaN and infinities
    groups: npt.NDArray[np.intp]  # (n,) numbers of the origins, from 0
    models: tuple[str, ...]  # ids of P's columns, in alphabetical order
    features: tuple[str, ...]  # names of M's columns
    given_models: tuple[str, ...]  # ids in the caller's order
    order: npt.NDArray[np.intp]  # (m,) index of P's columns in the caller's order

    @classmethod
    def from_inputs(cls, P: Any, M: Any, groups: Any, *, learner: str) -> Self:
        """Check the inputs of ``fit`` and order the models by their ids.

        Datasets without any performance are left out; models without any are kept.
        """
        performance, features = _matrix(P, learner, "P"), _matrix(M, learner, "M")
        if len(performance) != len(features):
            legal = f"one row for each of P's {len(performance)} datasets"
            raise BadParameter(learner, "M", legal, f"{len(features)} rows")
        if isinstance(P, pd.DataFrame) and isinstance(M, pd.DataFrame):
            # fingerprints of P and M must agree; row numbers may differ
            numbered = isinstance(P.index, pd.RangeIndex) and isinstance(M.index, pd.RangeIndex)
            if not numbered and list(P.index) != list(M.index):
                legal = "with the datasets of P in the same order"
                raise BadParameter(learner, "M", legal, list(M.index[:3]))
        given_models = _names(P, performance.shape[1], learner, "P")
        labels = np.arange(len(performance)) if groups is None else np.asarray(groups)
        if labels.shape != (len(performance),):
            legal = f"one origin for each of {len(performance)} datasets"
            raise BadParameter(learner, "groups", legal, f"shape {labels.shape}")
        if np.isinf(performance).any():
            raise BadParameter(learner, "P", "finite, or NaN where missing", np.inf)
        known = ~np.isnan(performance).all(axis=1)
        if not known.any():
            raise BadParameter(learner, "P", "a matrix with at least one value", "only NaN")
        if isinstance(P, pd.DataFrame):
            order = np.array(sorted(range(len(given_models)), key=given_models.__getitem__))
        else:
            # columns without names are ordered by their values
            order = np.lexsort(np.nan_to_num(performance, nan=-np.inf)[::-1])
        _, numbers = np.unique(labels[known].astype(str), return_inverse=True)
        return cls(
            performance[known][:, order],
            features[known],
            numbers.astype(np.intp),
            tuple(given_models[index] for index in order),
            _names(M, features.shape[1], learner, "M"),
            given_models,
            order.astype(np.intp),
        )


def feature_matrix(
    M: Any, features: tuple[str, ...], *, learner: str
) -> tuple[Matrix, pd.Index | None]:
    """Return raw meta-features (q, d) and the index of the rows, None for a single dataset."""
    if isinstance(M, pd.Series | pd.DataFrame):
        names = M.index if isinstance(M, pd.Series) else M.columns
        missing = [name for name in features if name not in names]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            legal = f"with the {len(features)} features of training"
            raise BadParameter(learner, "M", legal, f"no {missing[0]}{more}")
        if isinstance(M, pd.Series):
            return _numbers(M[list(features)], learner, "M")[None, :], None
        return _matrix(M[list(features)], learner, "M"), M.index
    values = _numbers(M, learner, "M")
    if values.shape[-1:] != (len(features),) or values.ndim > 2:
        legal = f"of {len(features)} features, one row for each dataset"
        raise BadParameter(learner, "M", legal, f"shape {values.shape}")
    if values.ndim == 1:
        return values[None, :], None
    return values, pd.RangeIndex(len(values))


def _names(given: Any, count: int, learner: str, parameter: str) -> tuple[str, ...]:
    if not isinstance(given, pd.DataFrame):
        return tuple(f"{'model' if parameter == 'P' else 'feature'} {i}" for i in range(count))
    names = tuple(map(str, given.columns))
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise BadParameter(learner, parameter, "a frame with distinct column names", repeated)
    return names


def _matrix(values: Any, learner: str, parameter: str) -> Matrix:
    matrix = _numbers(values, learner, parameter)
    if matrix.ndim != 2 or 0 in matrix.shape:
        legal = "a matrix with one row for each dataset"
        raise BadParameter(learner, parameter, legal, f"shape {matrix.shape}")
    return matrix


def _numbers(values: Any, learner: str, parameter: str) -> Matrix:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadParameter(learner, parameter, "numbers", str(error)) from error


def put_unknown_last(
    scores: Matrix, known: npt.NDArray[np.intp] | npt.NDArray[np.bool_], *, by: float = 1.0
) -> Matrix:
    """Put models not in ``known`` (indices or mask) at least ``by`` below the others, in place."""
    mask = np.zeros(scores.shape[1], dtype=bool)
    mask[known] = True
    if not mask.all():
        lowest = scores[:, mask].min(axis=1, keepdims=True)
        scores[:, ~mask] = np.minimum(lowest - by, np.nextafter(lowest, -np.inf))
    return scores


def origin_folds(groups: npt.ArrayLike, n_folds: int, *, seed: int = 0) -> npt.NDArray[np.intp]:
    """Assign datasets to folds of whole origins; all folds hold about equally many origins.

    Examples
    --------
    >>> folds = origin_folds(["a", "b", "a", "c"], 3)
    >>> bool(folds[0] == folds[2]), sorted(set(folds.tolist()))
    (True, [0, 1, 2])
    """
    found, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    if not 2 <= n_folds <= len(found):
        legal = f"an int in the range [2, {len(found)}], the number of origins"
        raise BadParameter("origin_folds", "n_folds", legal, n_folds)
    fold_of = np.empty(len(found), dtype=np.intp)
    fold_of[np.random.default_rng(seed).permutation(len(found))] = np.arange(len(found)) % n_folds
    return fold_of[numbers]
