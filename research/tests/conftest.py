"""An invented evaluation shaped like POC or ST, and stand-ins for three mothersets."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn import manifold

from research import methods as bounds
from research.childsets import labelling
from research.childsets.generator import ChildsetGenerator
from research.childsets.mothersets import Motherset
from research.methods import METHODS
from research.results import COLUMNS, Results


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


def gaussian_classes(name, sizes, centres, n_columns, seed=0):
    """Unit Gaussians whose centres lie on a line: classes next to each other are confusable."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_columns))
    X[:, 0] += np.asarray(centres, dtype=float)[y]
    task = "binary" if len(sizes) == 2 else "multiclass"
    return Motherset(name, f"{name}-origin", X, y, task)


@pytest.fixture
def quick_difficulty(monkeypatch):
    """Fewer landmarks and fitted rows: the levels differ a little, their meaning does not."""
    monkeypatch.setattr(labelling, "_LANDMARKS", 60)
    monkeypatch.setattr(labelling, "_FITTED_ROWS", 2_000)


@pytest.fixture
def quick_figures(monkeypatch):
    """Few steps of t-SNE, and empty PNG files, whose bytes test_figures.py compares."""
    save = Figure.savefig

    def save_svg(figure, path, **options):
        if path.suffix == ".png":
            path.touch()
        else:
            save(figure, path, **options)

    monkeypatch.setattr(Figure, "savefig", save_svg)
    monkeypatch.setattr(manifold, "TSNE", partial(manifold.TSNE, max_iter=250))


@pytest.fixture
def wave():
    """Breiman's waveforms: each class mixes two of three triangles, the first the outer two."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], (1657, 1647, 1696))
    left, middle, right = (
        np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (7, 11, 15)
    )
    u = rng.random((len(y), 1))
    X = u * np.array([left, left, right])[y] + (1 - u) * np.array([right, middle, middle])[y]
    X += rng.normal(size=X.shape)
    return Motherset("wave", "wave-origin", X, y, "multiclass")


@pytest.fixture
def imgseg():
    return gaussian_classes("imgseg", (330,) * 7, range(0, 14, 2), 18)


@pytest.fixture
def magic():
    return gaussian_classes("magic.gamma", (12332, 6688), (0, 2), 10)


@pytest.fixture(scope="module")
def overlapping():
    """A generator whose anomalous rows are of every difficulty."""
    return ChildsetGenerator(gaussian_classes("overlapping", (2000, 1500), (0, 2), 4))
