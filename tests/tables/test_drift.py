"""Drift: none for rows of the same distribution, and every kind is found and measured."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import UserError
from metaod.tables import Preparation
from metaod.tables._drift import _chance


def rows(seed, n_rows=400):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "normal": generator.normal(size=n_rows),
            "heavy": generator.standard_cauchy(n_rows),
            "count": generator.poisson(2, n_rows),
            "town": [f"town {value}" for value in generator.zipf(1.6, n_rows) % 500],
            "kind": generator.choice(["a", "b", "c"], n_rows, p=[0.9, 0.09, 0.01]),
            "good": generator.random(n_rows) < 0.01,
        }
    )
    frame.loc[generator.random(n_rows) < 0.05, "normal"] = np.nan
    frame.loc[generator.random(n_rows) < 0.01, "kind"] = None
    return frame


@pytest.fixture
def fitted():
    return Preparation(only=list(rows(0))).fit(rows(0))


def found(fitted, frame):
    return {(drift.column, drift.kind): drift for drift in fitted.transform(frame).record.drift}


def test_rows_of_the_same_distribution_do_not_drift():
    alarms = 0
    for seed in range(60):
        fitted = Preparation(only=list(rows(0))).fit(rows(3 * seed, 200 + 10 * seed))
        alarms += sum(bool(found(fitted, rows(3 * seed + more, 50 * seed + 20))) for more in (1, 2))
    assert alarms <= 1  # of 120; 1 of 1,000 is expected


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(2, 60))
def test_fitted_rows_and_single_rows_do_not_drift(seed, n_rows):
    frame = rows(seed, n_rows).assign(number=np.arange(n_rows) % 7.0)
    fitted = Preparation().fit(frame)
    assert fitted.transform(frame).record.drift == ()
    odd = frame.iloc[[0]].assign(number=1e9, town="elsewhere")
    assert fitted.transform(odd).record.drift == ()


def test_every_kind_of_drift_is_measured(fitted):
    later = rows(1).assign(count=lambda frame: frame["count"] + 20, good=None)
    later.loc[:19, "kind"] = "d"
    drift = found(fitted, later)
    assert set(drift) == {("count", "range"), ("good", "gaps"), ("kind", "categories")}
    assert drift["count", "range"].share == 1.0
    low, high = rows(0)["count"].quantile([0.01, 0.99], interpolation="nearest")
    assert (drift["count", "range"].low, drift["count", "range"].high) == (low, high)
    assert drift["good", "gaps"].n_rows == 400
    assert drift["kind", "categories"].share == 0.05
    assert drift["kind", "categories"].expected == 0.0
    later.loc[:, "town"] = [f"new {row}" for row in range(400)]
    assert found(fitted, later)["town", "categories"].share == 1.0


def test_a_moved_column_is_found_long_before_it_leaves_the_range(fitted):
    assert ("normal", "range") in found(fitted, rows(1).assign(normal=lambda f: f["normal"] + 1.5))
    assert not found(fitted, rows(1).assign(normal=lambda f: f["normal"] + 0.1))


def test_other_shares_of_the_same_values_are_drift():
    generator = np.random.default_rng(5)
    later = rows(1).assign(count=lambda frame: frame["count"].clip(upper=1))
    later["kind"] = generator.choice(["a", "b", "c"], 400, p=[0.3, 0.6, 0.1])
    later["good"] = generator.random(400) < 0.1
    later["normal"] *= 0.3
    fitted = Preparation(only=list(rows(0))).fit(rows(0).assign(good=generator.random(400) < 0.5))
    drift = found(Preparation.from_dict(json.loads(json.dumps(fitted.to_dict()))), later)
    assert set(drift) == {(name, "shares") for name in ("count", "kind", "good", "normal")}
    assert (drift["kind", "shares"].value, drift["good", "shares"].value) == ("a", "false")
    share, expected = ((frame["count"] <= 1).mean() for frame in (later, rows(0)))
    counts = drift["count", "shares"]
    assert (counts.high, counts.share, counts.expected) == (1.0, share, expected)
    assert counts.sentence().startswith("drift in 'count': 100.0% of the rows are 1 or less (exp")
    assert "of the rows are 'a' (expected: " in drift["kind", "shares"].sentence()


def test_gaps_do_not_change_the_shares_of_values(fitted):
    later = rows(1)
    later.loc[:150, ["normal", "kind"]] = None
    assert set(found(fitted, later)) == {("normal", "gaps"), ("kind", "gaps")}


def test_small_changes_of_shares_in_many_rows_are_no_drift():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"number": generator.normal(size=40_000)})
    frame["kind"] = generator.choice(["a", "b"], 40_000)
    later = frame.assign(number=frame["number"] + 0.15)
    later.loc[:3000, "kind"] = "a"
    fitted = Preparation(only=["number", "kind"]).fit(frame)
    assert found(fitted, later) == {}
    assert set(found(fitted, later.assign(number=frame["number"] + 0.3))) == {("number", "shares")}


def test_ignored_columns_and_dates_do_not_drift():
    frame = rows(0).assign(day=pd.date_range("2024-01-01", periods=400))
    later = rows(1).assign(day=pd.date_range("2026-01-01", periods=400), normal=50.0)
    fitted = Preparation(ignore="normal").fit(frame)
    assert fitted.transform(later).record.drift == ()
    time = Preparation(time="day", ignore="normal").fit(frame).transform(later).record
    [drift] = time.drift
    assert (drift.column, drift.share) == ("day", 1.0)
    assert "are outside 2024-01-04 to 2025-01-30 (" in drift.sentence()


def test_new_values_of_unused_text_are_drift():
    frame = rows(0).assign(status="ok", plant=["P1", "P2", "P3", "P1"] * 100, code=range(400))
    frame["code"] = frame["code"].map("A{:04}".format)
    later = rows(1).assign(status=["ok", "error"] * 200, plant="P9", code="B7", kind="z")
    fitted = Preparation(ignore="kind").fit(frame)
    assert {"status", "plant"} <= {c.name for c in fitted.record_.columns if not c.is_used}
    drift = found(Preparation.from_dict(fitted.to_dict()), later)
    assert set(drift) == {("status", "categories"), ("plant", "categories")}
    assert drift["status", "categories"].share == 0.5
    assert drift["plant", "categories"].sentence().startswith("drift in 'plant' (not used): 100")


@pytest.mark.parametrize("only", [None, ["amount", "count"]])
def test_numbers_where_text_was_are_told(only):
    frame = rows(0).assign(amount=[f"about {row % 50}" for row in range(400)])
    fitted = Preparation(only=only).fit(frame)
    record = fitted.transform(rows(1).assign(amount=np.arange(400) / 7)).record
    assert ("amount", 1.0) in {(drift.column, drift.share) for drift in record.drift}
    [message] = record.messages
    assert message.values["column"] == "amount"
    assert fitted.transform(frame).record.messages == ()


def test_a_saved_preparation_finds_the_same(fitted):
    later = rows(1).assign(count=20)
    saved = json.loads(json.dumps(fitted.to_dict()))
    assert Preparation.from_dict(saved).transform(later).record.drift == (
        fitted.transform(later).record.drift
    )
    del saved["columns"][0]["usual"]
    with pytest.raises(UserError, match="not a saved preparation"):
        Preparation.from_dict(saved)


def test_warnings_name_the_largest_and_say_what_to_do(fitted):
    later = rows(1).assign(**dict.fromkeys(["normal", "heavy", "count", "town", "kind", "good"]))
    record = fitted.transform(later.assign(normal=pd.NA)).record
    lines = record.drift_warnings()
    assert len(lines) == 6
    assert lines[0].endswith("100.0% of the rows have no value (expected: 0.0%)")
    assert lines[-1].endswith("; fit again if such rows are normal now")
    assert record.to_dict()["drift"][0]["share"] == 1.0


def test_the_chance_is_that_of_drawing_both_tables():
    generator = np.random.default_rng(0)
    share = generator.random(200_000)
    before, after = generator.binomial(50, share), generator.binomial(30, share)
    for n_fitted, count in ((0, 2), (3, 6), (10, 10)):
        simulated = (after[before == n_fitted] >= count).mean()
        assert _chance(count, 30, n_fitted, 50) == pytest.approx(simulated, abs=0.03)
