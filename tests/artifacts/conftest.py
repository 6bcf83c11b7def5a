"""Fixtures of the tests of artifacts."""

import pytest
from made_artifact import Foresting, fitted

from metaod.learners import _registry as registry


@pytest.fixture
def foresting(monkeypatch):
    """Register the made-up learner."""
    place = f"{Foresting.__module__}:{Foresting.__name__}"
    monkeypatch.setitem(registry._PATHS, "foresting", place)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "a.metaod"
    fitted().save(path)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("place")
