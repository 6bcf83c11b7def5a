"""The historical datasets that an answer can point to: what they looked like, how models did."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.learners import Cleaning, State, StateReader

__all__ = ["History", "normalised"]

Matrix = npt.NDArray[np.float64]

_NEIGHBOURS = 20
"""Historical datasets that an estimate is made of."""

_SHRINKAGE = 5.0
"""Weight of the mean over all datasets, in nearest datasets."""


def normalised(P: Matrix) -> Matrix:
    """Performance on a scale from 0, the worst model of the dataset, to 1, the best.

    NaN stays; where all models do the same, all get 1. Nothing is known of a row of NaN.

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
    models : tuple of str
        Ids of the models, in the order of P's columns.
    features : tuple of str
        Names of the raw meta-features.
    cleaning : Cleaning
        How raw meta-features become comparable.
    M : array of shape (n, d')
        Cleaned meta-features, in single precision.
    P : array of shape (n, m)
        Performance, in single precision; NaN where missing.
    reference : array of shape (n,)
        Performance of PyOD's default iForest, NaN where missing.
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
        cls,
        P: pd.DataFrame,
        M: pd.DataFrame,
        datasets: pd.DataFrame,
        reference: "pd.Series[float]",
    ) -> Self:
        """Make it from frames over the same datasets in the same order.

        Parameters
        ----------
        P, M : DataFrame
            Performance and raw meta-features.
        datasets : DataFrame
            With the columns name, origin, n_rows and n_columns.
        reference : Series
            Performance of PyOD's default iForest.
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
        """Distance of one dataset, by its raw meta-features (d,), to every historical one."""
        clean = self.cleaning.transform(m[None, :])[0]
        return self._from_clean(clean)

    def own_distances(self, place: int) -> Matrix:
        """Distance of a historical dataset to all; infinite to those of its own origin."""
        found = self._from_clean(self.M[place].astype(np.float64))
        found[np.array(self.origins) == self.origins[place]] = np.inf
        return found

    def estimate(self, distances: Matrix) -> Matrix:
        """Normalised performance of every model on a dataset at these distances, (m,).

        An average over the nearest datasets, weighted by a Gaussian whose width is the distance
        of the last of them, and drawn towards the mean over all datasets. Datasets at an infinite
        distance are left out; a model without a value on any of the others gets 0.
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

    def _from_clean(self, clean: Matrix) -> Matrix:
        width = max(self.cleaning.n_features, 1)
        found: Matrix = np.sqrt(((self.M - clean) ** 2).sum(axis=1) / width)
        return found

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        return {
            "names": list(self.names),
            "origins": list(self.origins),
            "models": list(self.models),
            "features": list(self.features),
            "cleaning": self.cleaning.state(),
            "M": self.M,
            # what is missing is marked by a number that no measure takes
            "P": np.where(np.isnan(self.P), np.float32(-1), self.P),
            "reference": np.where(np.isnan(self.reference), np.float32(-1), self.reference),
            "shapes": self.shapes,
        }

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave."""
        # datasets of two sources may have the same name
        names, origins = (reader.texts(name, distinct=False) for name in ("names", "origins"))
        models, features = reader.texts("models"), reader.texts("features")
        sizes = {"n": len(names), "m": len(models), "d": len(features)}
        cleaning = Cleaning.restore(reader.part("cleaning", **sizes))
        P = reader.array("P", (sizes["n"], sizes["m"]))
        reference = reader.array("reference", (sizes["n"],))
        M = reader.array("M", (sizes["n"], cleaning.n_features))
        if len(origins) != len(names):
            raise reader.damaged("there are not as many origins as names")
        return cls(
            tuple(names),
            tuple(origins),
            tuple(models),
            tuple(features),
            cleaning,
            M.astype(np.float32),
            np.where(P < 0, np.nan, P).astype(np.float32),
            np.where(reference < 0, np.nan, reference).astype(np.float32),
            reader.array("shapes", (sizes["n"], 2), "i").astype(np.int64),
        )
