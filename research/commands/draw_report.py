"""Draw the picture of a report that README shows, in a browser.

python -m research draw-report            writes docs/figures/report.png

Needs the extra dev (playwright) and Chromium.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

import metaod

PICTURE = Path(__file__).parents[2] / "docs/figures/report.png"
WIDTH, HEIGHT = 1000, 670  # the headline, the threshold and the scores


def main() -> None:
    """Write the report of the bundled example and take its picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as folder, sync_playwright() as started:
        report = Path(folder) / "report.html"
        metaod.MetaOD().fit(metaod.load_example()).report(report)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"written: {PICTURE}")
