"""The Python examples of README and pages run, each page from its first block to its last."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pyod.models.knn import KNN

import metaod
from metaod.models import registered_families, unregister_family
from metaod.store import Store

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {
    str(page.relative_to(ROOT)): blocks
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if (blocks := BLOCK.findall(page.read_text("utf-8")))
}


class MyDetector(KNN):
    """A detector of the user."""

    def __init__(self, k=5, contamination=0.1):
        super().__init__(n_neighbors=k, contamination=contamination)
        self.k = k


@pytest.fixture(scope="module")
def fitted():
    """A frame with the columns that examples name, and a detector that is fitted to it."""
    frame = metaod.load_example().frame.head(300)
    frame = frame.assign(comment="", order=range(300), zone=np.arange(300) % 3)
    return frame, metaod.MetaOD().fit(frame)


@pytest.fixture
def names(fitted, tmp_path, monkeypatch):
    """What a reader has at hand: a frame, its file, a fitted detector, and rows that came later."""
    monkeypatch.chdir(tmp_path)
    frame, detector = fitted
    labelled = frame.assign(fault=metaod.load_example().label[:300])
    labelled.to_csv("readings.csv", index=False)
    frame.to_csv("table.csv", index=False)
    frame.to_parquet("big.parquet")
    Store("my.db", create=True).close()
    yield {
        "__name__": "page",
        "metaod": metaod,
        "table": metaod.load_example(),
        "frame": frame,
        "X": frame,
        "X_new": frame.tail(5),
        "new_rows": labelled.tail(5),
        "detector": detector,
        "ax": Figure().subplots(),
        "prepared": metaod.prepare(frame),
        "MyDetector": MyDetector,
    }
    if "Mine" in registered_families():
        unregister_family("Mine")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, names):
    for block in PAGES[page]:
        if "load_dataset(" in block:  # needs a download
            continue
        if "great_expectations" in block and find_spec("great_expectations") is None:
            continue
        exec(compile(block, page, "exec"), names)
