"""A table with a group of outliers and a group of odd rows that are none."""

import numpy as np
import pytest

from metaod.review import MarkedTable, RowSpace


@pytest.fixture(scope="session")
def made():
    """X, and y: 1 for 20 outliers beside 20 rows that are as far away and are none."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 4))
    X[:20] += [6.0, 0.0, 0.0, 0.0]
    X[20:40] += [0.0, 6.0, 0.0, 0.0]
    X[:, 3] = np.round(X[:, 3])
    y = np.zeros(600, dtype=np.int8)
    y[:20] = 1
    return X, y


@pytest.fixture(scope="session")
def members(made):
    """Scores of two models: the distance from the centre, and the largest coordinate."""
    X, _ = made
    return np.column_stack([np.square(X).sum(axis=1), np.abs(X).max(axis=1)])


@pytest.fixture(scope="session")
def space(made, members):
    """The rows of the table."""
    return RowSpace(made[0], members.mean(axis=1), members, seed=0)


@pytest.fixture
def marked(space, members):
    """The table, without marks."""
    return MarkedTable(space, members.mean(axis=1))
