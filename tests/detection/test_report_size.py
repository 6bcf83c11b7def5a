"""A report stays under 2 MB whatever the table."""

import numpy as np
import pandas as pd
import pytest
from made_result import made_result
from made_selection import pick_with

from metaod.detection import Reason, RowReasons, detect, summarise
from metaod.report import render
from metaod.tables import read_table

LIMIT = 2_000_000


@pytest.fixture(autouse=True)
def quick_pick(monkeypatch):
    pick_with(monkeypatch, "HBOS(n_bins=10, alpha=0.1)")


def size_of(found):
    return len(render(summarise(found)).encode())


LONG_NOTES = ("x" * 10_000,) * 500


def test_a_million_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000_000, 3)), columns=list("abc"))
    table = read_table(frame)
    scores = rng.exponential(size=1_000_000)
    found = made_result(table, scores, top_n=400_000, further_notes=LONG_NOTES)
    summary = summarise(found)
    assert len(render(summary).encode()) < LIMIT
    assert summary["scores"]["n_flagged"] == 400_000
    assert sum(summary["scores"]["counts"]) == 1_000_000


def test_two_thousand_columns():
    rng = np.random.default_rng(0)
    names = [f"a column with a rather long name, number {place}" for place in range(2_000)]
    frame = pd.DataFrame(rng.normal(size=(120, 2_000)), columns=names)
    assert size_of(detect(read_table(frame))) < LIMIT


@pytest.mark.parametrize("text", ["x", "<", '"', "\u202e", "😀", "&"])
def test_cells_names_and_reasons_of_ten_thousand_characters(text):
    rng = np.random.default_rng(0)
    long = text * 10_000
    frame = pd.DataFrame({f"{place}{long}": rng.normal(size=300) for place in range(30)})
    for place in range(5):
        frame[f"t{place}{long}"] = [f"{row % 50}{long}" for row in range(300)]

    def explain(rows, progress=None):
        reasons = tuple(Reason(str(name), long, 0.9, long, (long,)) for name in frame.columns[:5])
        return [RowReasons(int(row), 1.0, reasons) for row in rows]

    more = {"explain": explain, "top_n": 100, "further_notes": LONG_NOTES}
    found = made_result(read_table(frame), rng.exponential(size=300), **more)
    assert size_of(found) < LIMIT
