"""Draw the pictures of a report and of the page that the documentation shows, in a browser.

python -m research draw-report            writes docs/figures/report.png and page.png

Needs the extras dev (playwright) and web, and Chromium.
"""

import contextlib
import shutil
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from playwright.sync_api import Page, sync_playwright

import metaod
from metaod.web import PageServer

FIGURES = Path(__file__).parents[2] / "docs/figures"
WIDTH, HEIGHT = 1000, 900


def main() -> None:
    """Check the bundled example with a few planted errors, and take the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as folder, contextlib.chdir(folder), sync_playwright() as started:
        table = Path("machines.csv")
        with_errors().to_csv(table, index=False)
        report = Path(folder) / "report.html"
        metaod.MetaOD().fit(metaod.read_table(table)).report(report)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        page.screenshot(path=FIGURES / "report.png")
        server = PageServer(uploads=Path(folder))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            check(page, server, table)
            page.screenshot(path=FIGURES / "page.png")
        finally:
            server.should_exit = True
            thread.join()
        browser.close()
    print(f"written: {FIGURES}/report.png and page.png")


def with_errors() -> pd.DataFrame:
    """Return the bundled example with errors of several kinds."""
    frame = metaod.load_example().frame.astype({"plant": object, "operator": object})
    frame.loc[40, "pressure_bar"] *= 100
    frame.loc[57, "plant"] = "nroth"
    frame.loc[[8, 90, 133, 310, 402, 555], "temperature_c"] = 999.0
    frame.loc[261, "operator"] = str(frame.loc[261, "operator"]).lower()
    frame.loc[333, "speed_rpm"] *= -1
    return frame


def check(page: Page, server: PageServer, table: Path) -> None:
    """Upload a table to the page, check it, and open the first finding."""
    while not server.started:
        time.sleep(0.05)
    page.goto(server.link)
    page.set_input_files("#file", table)
    page.click("#detect")
    page.click("#findings .finding:visible >> nth=0")
    page.wait_for_selector("#row-panel:not([hidden])")
