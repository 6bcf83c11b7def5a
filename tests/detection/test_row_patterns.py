"""Patterns of a result: of wrong cells, then of unusual rows, which the same columns set apart."""

import numpy as np
import pandas as pd
import pytest

from metaod.detection import MetaOD, Reason, RowReasons, detect
from metaod.tables import read_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal([50, 20, 8], [5, 2, 1], (500, 3)), columns=["a", "b", "c"])
    frame["plant"] = rng.choice([f"P{place}" for place in range(20)], 500)
    frame.loc[[3, 90, 200, 410], ["a", "b"]] += [40, -16]
    frame.loc[[3, 90, 200, 410], "plant"] = "P7"
    return frame.round(2)


@pytest.fixture(scope="module")
def model(frame):
    return MetaOD(pick="committee", rows_only=True, contamination=0.01).fit(frame)


def test_rows_that_the_same_columns_set_apart_are_a_pattern(model):
    [pattern] = [own for own in model.patterns() if len(own.rows) > 2]
    assert sorted(pattern.rows) == [3, 90, 200, 410]
    assert (pattern.kind, pattern.columns) == ("unusual", ("a", "b"))
    assert pattern.sentence() == "4 rows with plant 'P7': a high and b low"


def test_patterns_of_cells_come_first_and_hold_no_row_of_the_others(frame):
    wrong = frame.copy()
    wrong.loc[[60, 70, 80], "c"] *= 1000
    found = detect(read_table(wrong), pick="committee")
    patterns = found.patterns()
    kinds = [own.kind == "unusual" for own in patterns]
    assert kinds == sorted(kinds)
    assert patterns[0].sentence() == "3 rows: c × 1000"
    of_cells = {row for own in patterns for row in own.rows if own.findings}
    assert not of_cells & {row for own in patterns for row in own.rows if not own.findings}
    listed = found.to_dict()["patterns"]
    assert [own["sentence"] for own in listed] == [own.sentence() for own in patterns]
    assert listed[0]["rows"] == [61, 71, 81]


def test_the_most_common_set_of_reasons_is_chosen(model, monkeypatch):
    def reason(column, side, is_odd=True):
        return Reason(column, 1.0, 0.5, "", (), is_odd, side)

    high, low, gap = reason("a", "high"), reason("b", "low"), reason("c", "missing")
    both, single, odd = (high, low), (high,), (reason("a", "high", is_odd=False), gap)
    own = [both, both, both, single, single, odd, (gap,)]
    monkeypatch.setattr(MetaOD, "explain_rows", lambda _self, rows, **_: [
        RowReasons(int(row), 1.0, reasons) for row, reasons in zip(rows, own, strict=False)
    ])  # fmt: skip
    monkeypatch.setattr(model, "threshold_", np.sort(model.decision_scores_)[-8])
    assert [(len(own.rows), own.what) for own in model.patterns()] == [
        (3, "a high and b low"),
        (2, "a high"),
        (2, "c missing"),
    ]
