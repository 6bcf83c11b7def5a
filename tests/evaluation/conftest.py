"""A small evaluation that never happened, shaped like POC or ST."""

import numpy as np
import pandas as pd
import pytest

from metaod.evaluation import bounds
from metaod.evaluation.methods import METHODS
from metaod.evaluation.results import COLUMNS, Results


def make_evaluation(testbed, mothersets=6, seed=0):
    """Results, performance matrix and meta-features of five childsets a motherset."""
    rng = np.random.default_rng(seed)
    names = [f"mother_{letter}" for letter in "abcdefghijklmnopqrst"[:mothersets]]
    siblings = 5 if testbed == "poc" else 2
    records, levels = [], []
    for place, name in enumerate(names):
        level = rng.beta(1.2, 4)
        for sibling in range(siblings):
            levels.append(level)
            motherset = name if testbed == "poc" else ""
            fingerprint = f"fp1:{len(records):032x}"
            shape = (100 * (place + 1), 3 + place)
            records.append((fingerprint, f"{name}_{sibling}", name, motherset, sibling, *shape))
    index = [record[0] for record in records]
    level = np.array(levels)[:, None]
    models = [f"KNN(n_neighbors={k})" for k in range(1, 31)]
    values = np.clip(level * np.exp(rng.normal(0, 0.4, (len(index), 30))), 0.001, 1.0)
    P = pd.DataFrame(values, index=index, columns=models)
    P.iloc[1, 3] = np.nan
    rows = []
    for item in METHODS:
        if item.testbed not in (None, testbed) or item.key in ("oracle", "eub"):
            continue
        shift = 0.2 * rng.random()
        for seed_ in range(2 if item.category == "optimisation" else 1):
            for place, record in enumerate(records):
                ap = float(np.clip(levels[place] * np.exp(rng.normal(shift, 0.2)), 0, 1))
                times = rng.lognormal(-1, 0.5), rng.lognormal(1, 1)
                times = times if item.learner else (np.nan, np.nan)
                rows.append((*record, 0.05, item.key, seed_, models[0], ap, *times))
    results = Results(pd.DataFrame(rows, columns=list(COLUMNS)))
    results = results.with_method("oracle", bounds.oracle(P))
    if testbed == "poc":
        eub = bounds.empirical_upper_bound(P, results.datasets["motherset"])
        results = results.with_method("eub", eub)
    centres = np.repeat(rng.normal(0, 3, (mothersets, 8)), siblings, axis=0)
    M = pd.DataFrame(centres + rng.normal(0, 0.5, centres.shape), index=index)
    M.iloc[0, 0], M.iloc[1, 1] = np.nan, np.inf
    return results, P, M


@pytest.fixture(scope="session")
def poc():
    return make_evaluation("poc")


@pytest.fixture(scope="session")
def st():
    return make_evaluation("st")
