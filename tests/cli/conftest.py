"""Fixtures for the tests of all commands."""

import pytest


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    """Print as to a pipe, 200 columns wide, whatever terminal the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)
