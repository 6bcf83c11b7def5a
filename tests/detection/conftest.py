"""Fixtures for tests of detection."""

import pytest
from made_selection import pick_with


@pytest.fixture
def quick_pick(monkeypatch):
    """Pick a model without a learner."""
    pick_with(monkeypatch)
