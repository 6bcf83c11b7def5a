"""Testbeds of random numbers, and learners that tell what they were given."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from metaod.learners import _registry as registry
from research.learners.global_best import GlobalBest
from research.methods import REFERENCE_MODELS
from research.testbed_data import TestbedData


@dataclass
class Spy(GlobalBest):
    """Global Best that writes down what it was fitted on and asked about."""

    name: ClassVar[str] = "spy"
    fits: ClassVar[list] = []
    asked: ClassVar[list] = []

    lift: float = 0.0

    def fit(self, P, M, groups=None, *, progress=None):
        type(self).fits.append((list(P.index), list(M.index), list(groups), P.copy()))
        return super().fit(P, M, groups, progress=progress)

    def predict(self, M):
        type(self).asked.append(list(M.index))
        return super().predict(M)


@dataclass
class RandomSpy(Spy):
    """One that takes a seed and follows it alone."""

    name: ClassVar[str] = "random_spy"
    is_random: ClassVar[bool] = True
    seeds: ClassVar[list] = []

    random_state: int = 0

    def _scores(self, P):
        type(self).seeds.append(self.random_state)
        return np.random.default_rng(self.random_state).random(P.shape[1])


def register(monkeypatch):
    """Put the spies among the learners, with nothing written down yet."""
    for kind in (Spy, RandomSpy):
        monkeypatch.setitem(registry._PATHS, kind.name, f"{__name__}:{kind.__name__}")
        monkeypatch.setattr(kind, "fits", [])
        monkeypatch.setattr(kind, "asked", [])
    monkeypatch.setattr(RandomSpy, "seeds", [])


def make_testbed(testbed="poc", mothersets=4, models=8, seed=0):
    """Siblings that resemble each other: 5 folds of POC; in ST two sets an origin."""
    rng = np.random.default_rng(seed)
    siblings = 5 if testbed == "poc" else 2
    rows = [(mother, sibling) for mother in range(mothersets) for sibling in range(siblings)]
    index = pd.Index([f"fp1:{place:032x}" for place in range(len(rows))], name="dataset")
    datasets = pd.DataFrame(
        {
            "name": [f"made/m{mother}_{sibling}" for mother, sibling in rows],
            "origin": [f"o{mother}" for mother, _ in rows],
            "motherset": [f"m{mother}" if testbed == "poc" else "" for mother, _ in rows],
            "fold": [sibling + 1 if testbed == "poc" else 0 for _, sibling in rows],
            "n_rows": 100,
            "n_columns": 3,
            "outlier_share": 0.1,
        },
        index=index,
    )
    centres = np.repeat(rng.normal(size=(mothersets, 5)), siblings, axis=0)
    features = centres + 0.1 * rng.normal(size=centres.shape)
    level = np.repeat(rng.uniform(0.2, 0.8, size=(mothersets, models)), siblings, axis=0)
    values = np.clip(level + 0.05 * rng.normal(size=level.shape), 0, 1)
    P = pd.DataFrame(
        values, index=index, columns=[f"KNN(n_neighbors={k})" for k in range(1, models + 1)]
    )
    P.iloc[0, 0] = P.iloc[3, 1] = np.nan
    references = list(REFERENCE_MODELS)
    return TestbedData(
        testbed,
        datasets,
        P,
        pd.DataFrame(
            rng.uniform(size=(len(index), len(references))), index=index, columns=references
        ),
        {
            name: pd.DataFrame(features, index=index, columns=[f"{name} {k}" for k in range(5)])
            for name in ("paper", "scores")
        },
        {},
    )
