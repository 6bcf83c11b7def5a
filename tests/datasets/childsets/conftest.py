"""Stand-ins with the rows, columns and class counts of three mothersets of the benchmark."""

import numpy as np
import pytest

from metaod.datasets.childsets import ChildsetGenerator, Motherset, difficulty


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
    monkeypatch.setattr(difficulty, "_LANDMARKS", 60)
    monkeypatch.setattr(difficulty, "_FITTED_ROWS", 2_000)


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
