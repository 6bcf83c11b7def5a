"""Fixtures of the tests of artifacts."""

import pytest
from made_artifact import Foresting, fitted

from metaod.learners import _registry as registry


@pytest.fixture
def foresting(monkeypatch):
    """Make the made-up learner one that is installed."""
    known = registry.learner_class
    for module in ("metaod.learners._registry", "metaod.artifacts._artifact"):
        monkeypatch.setattr(
            f"{module}.learner_class",
            lambda name: Foresting if name == "foresting" else known(name),
        )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "a.metaod"
    fitted().save(path)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("place")
