"""A report stays under 2 MB whatever the table."""

import numpy as np
import pandas as pd
import pytest
from made_selection import MODELS, MadeSelection, selecting

from metaod.detection import Detection, RowReasons, detect_table, summarise
from metaod.detection import _estimator as estimator
from metaod.detection._reasons import Reason
from metaod.report import render
from metaod.tables import prepare, read_table

LIMIT = 2_000_000


@pytest.fixture(autouse=True)
def quick_pick(monkeypatch):
    monkeypatch.setattr(estimator, "make_selection", selecting("HBOS(n_bins=10, alpha=0.1)"))


def size_of(found):
    return len(render(summarise(found)).encode())


def found_by_hand(table, scores, explain, n_flagged):
    """Return a result without a model, whose reasons a test makes."""
    prepared = prepare(table)
    return Detection(
        table, scores, 0.0, dict.fromkeys(MODELS, 1 / 3), ("x" * 10_000,) * 500, prepared.record,
        MadeSelection(prepared), n_flagged, explain=explain,
    )  # fmt: skip


def test_a_million_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000_000, 3)), columns=list("abc"))
    table = read_table(frame)
    found = found_by_hand(
        table, rng.exponential(size=1_000_000), lambda rows, progress: [], 400_000
    )
    summary = summarise(found)
    assert len(render(summary).encode()) < LIMIT
    assert summary.scores.n_flagged == 400_000
    assert sum(summary.scores.counts) == 1_000_000


def test_two_thousand_columns():
    rng = np.random.default_rng(0)
    names = [f"a column with a rather long name, number {place}" for place in range(2_000)]
    frame = pd.DataFrame(rng.normal(size=(120, 2_000)), columns=names)
    assert size_of(detect_table(read_table(frame))) < LIMIT


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

    found = found_by_hand(read_table(frame), rng.exponential(size=300), explain, 100)
    assert size_of(found) < LIMIT


def test_an_ordinary_report_is_much_smaller():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1_000, 10)))
    assert size_of(detect_table(read_table(frame))) < 400_000
