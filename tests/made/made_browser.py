"""A real browser for tests of pages: the system's Chromium, driven by Playwright.

A conftest.py imports the fixture: ``from made_browser import browser``. Tests are skipped, with
the reason, where there is no browser.
"""

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",  # as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")  # its event loop must not be there in tests of other modules
def browser():
    """Start Chromium once for the tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"there is no browser: none of {', '.join(NAMES)} is on the path")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        yield found
        found.close()
