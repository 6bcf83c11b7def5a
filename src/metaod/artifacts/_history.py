"""The historical datasets of a learner: their meta-features and the performance of the models."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.learners import Cleaning, State, StateReader
from metaod.models import Matrix

_NEIGHBOURS = 20  # nearest datasets in an estimate
_SHRINKAGE = 5.0  # weight of the mean over all datasets; a nearest dataset weighs at most 1


def normalised(P: Matrix) -> Matrix:
    """Scale performance in each row from 0, the worst model, to 1, the best.

    NaN stays NaN; if all models of a row perform equally, all get 1.

    Examples
    --------
    >>> normalised(np.array([[0.2, 0.4, np.nan], [0.5, 0.5, 0.5]])).tolist()
    [[0.0, 1.0, nan], [1.0, 1.0, 1.0]]
    """
    known = ~np.isnan(P)
    low = np.min(P, axis=1, keepdims=True, initial=np.inf, where=known)
    width = np.max(P, axis=1, keepdims=True, initial=-np.inf, where=known) - low
    share = np.divide(P - low, width, out=np.ones_like(P), where=width > 0)
    return np.where(known, share, np.nan)


@dataclass(frozen=True)
class History:
    """Historical datasets in the space of cleaned meta-features.

    Distances are Euclidean over all cleaned features, divided by the square root of their number.

    Parameters
    ----------
    names, origins : tuple of str
        Names and origins of the datasets.
    models, features : tuple of str
        Ids of the models, in the order of P's columns, and names of the raw meta-features.
    cleaning : Cleaning
        Fitted on the raw meta-features.
    M : array of shape (n, d')
        Cleaned meta-features.
    P, reference : array of shape (n, m) and (n,)
        Performance of the models and of PyOD's default iForest; NaN where missing.
    shapes : array of shape (n, 2)
        Rows and columns of the datasets.
    """

    names: tuple[str, ...]
    origins: tuple[str, ...]
    models: tuple[str, ...]
    features: tuple[str, ...]
    cleaning: Cleaning
    M: npt.NDArray[np.float32]
    P: npt.NDArray[np.float32]
    reference: npt.NDArray[np.float32]
    shapes: npt.NDArray[np.int64]

    @classmethod
    def from_frames(
        cls, P: pd.DataFrame, M: pd.DataFrame, datasets: pd.DataFrame, reference: "pd.Series[float]"
    ) -> Self:
        """Make a history from frames with the same datasets in the same order.

        ``M`` holds raw meta-features; ``datasets`` has the columns name, origin, n_rows, n_columns.
        """
        raw = M.to_numpy(dtype=np.float64)
        cleaning = Cleaning.fit(raw)
        return cls(
            tuple(map(str, datasets["name"])),
            tuple(map(str, datasets["origin"])),
            tuple(map(str, P.columns)),
            tuple(map(str, M.columns)),
            cleaning,
            cleaning.transform(raw).astype(np.float32),
            P.to_numpy(dtype=np.float32),
            reference.to_numpy(dtype=np.float32),
            datasets[["n_rows", "n_columns"]].to_numpy(dtype=np.int64),
        )

    def distances(self, m: Matrix) -> Matrix:
        """Return the distances (n,) from a dataset with raw meta-features (d,)."""
        return self._distances(self.cleaning.transform(m[None, :])[0])

    def own_distances(self, index: int) -> Matrix:
        """Return the distances (n,) from a historical dataset, infinite within its origin."""
        distances = self._distances(self.M[index].astype(np.float64))
        distances[np.array(self.origins) == self.origins[index]] = np.inf
        return distances

    def _distances(self, clean: Matrix) -> Matrix:
        width = max(self.cleaning.n_features, 1)
        distances: Matrix = np.sqrt(((self.M - clean) ** 2).sum(axis=1) / width)
        return distances

    def estimate(self, distances: Matrix) -> Matrix:
        """Estimate the normalised performance (m,) of every model on a dataset.

        The estimate is an average over the nearest datasets, weighted by a Gaussian whose width is
        the distance of the last of them, and shrunk to the mean over all datasets. Datasets at an
        infinite distance are left out; a model without a value on any other gets 0.
        """
        values = normalised(self.P.astype(np.float64))
        known = ~np.isnan(values)
        values = np.where(known, values, 0.0)
        usable = np.isfinite(distances)
        overall = values[usable].sum(axis=0) / np.maximum(known[usable].sum(axis=0), 1)
        nearest = np.argsort(distances, kind="stable")[: min(_NEIGHBOURS, int(usable.sum()))]
        width = max(distances[nearest].max(initial=0.0), 1e-12)
        weights = np.exp(-0.5 * (distances[nearest] / width) ** 2)
        total = weights @ known[nearest]
        result: Matrix = (weights @ values[nearest] + _SHRINKAGE * overall) / (total + _SHRINKAGE)
        return result

    def state(self) -> State:
        texts = ("names", "origins", "models", "features")
        return {
            **vars(self),
            **{name: list(getattr(self, name)) for name in texts},
            "cleaning": self.cleaning.state(),
            # -1 marks a missing value; no performance measure is negative
            "P": np.where(np.isnan(self.P), np.float32(-1), self.P),
            "reference": np.where(np.isnan(self.reference), np.float32(-1), self.reference),
        }

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        # datasets of two sources may have the same name
        names, origins = (tuple(reader.texts(key, distinct=False)) for key in ("names", "origins"))
        models, features = (tuple(reader.texts(key)) for key in ("models", "features"))
        n = len(names)
        cleaning = Cleaning.restore(reader.part("cleaning", d=len(features)))
        M = reader.array("M", (n, cleaning.n_features))
        P = reader.array("P", (n, len(models)))
        reference = reader.array("reference", (n,))
        if len(origins) != n:
            raise reader.damaged("the numbers of origins and names differ")
        return cls(
            *(names, origins, models, features),
            cleaning,
            M.astype(np.float32),
            np.where(P < 0, np.nan, P).astype(np.float32),
            np.where(reference < 0, np.nan, reference).astype(np.float32),
            reader.array("shapes", (n, 2), "i").astype(np.int64),
        )
