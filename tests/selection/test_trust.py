"""Trust in a pick: measured figures and warnings."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_selecting import artifact, table

from metaod.selection import table_notes
from metaod.selection._trust import assess_trust
from metaod.tables import Preparation, prepare

PREDICTION = (0.6, 0.4, 0.9)


@pytest.fixture(scope="module")
def made():
    return artifact("made_best")


def median_features(made):
    m = np.zeros(len(made.history.features))
    m[made.history.cleaning.kept] = made.history.cleaning.median
    return m


def judged(made, X=None, *, distances=None, **changes):
    prepared = prepare(table(120) if X is None else X)
    if distances is None:
        distances = made.history.distances(median_features(made))
    calibration = replace(made.calibration, figures=made.calibration.figures | changes)
    return assess_trust(prepared, replace(made, calibration=calibration), distances, PREDICTION)


def test_known_figures_are_passed_on(made):
    trust = judged(made)
    figures = made.calibration.figures
    assert trust.is_calibrated
    assert (trust.predicted, trust.low, trust.high) == (0.6, 0.4, 0.9)
    assert trust.level == 0.8
    assert trust.coverage == figures["interval_coverage"]
    assert trust.beats == figures["beats_reference"]
    assert trust.loses == figures["loses_to_reference"]
    assert trust.warnings == ()
    assert "Expected quality: 0.60" in str(trust)
    assert "0.40 to 0.90" in str(trust)
    assert f"better than isolation forest on {trust.beats:.0%}" in str(trust)
    assert "Warning" not in str(trust)
    assert json.loads(json.dumps(trust.to_dict(), allow_nan=False))["predicted"] == 0.6


def test_without_a_calibration(made):
    prepared = prepare(table(120))
    trust = assess_trust(prepared, replace(made, history=None, calibration=None), None, PREDICTION)
    assert not trust.is_calibrated
    assert "not calibrated" in str(trust)
    assert "expected" not in str(trust)
    plain = trust.to_dict()
    assert plain.pop("warnings") == []
    assert set(plain.values()) == {None}
    # the history alone tells small tables
    bare = replace(made, calibration=None)
    trust = assess_trust(prepare(table(5)), bare, np.zeros(30), PREDICTION)
    assert not trust.is_calibrated
    assert len(trust.warnings) == 1


def test_without_a_reference_it_is_not_mentioned(made):
    figures = {
        name: value
        for name, value in made.calibration.figures.items()
        if name not in ("beats_reference", "loses_to_reference")
    }
    artifact = replace(made, calibration=replace(made.calibration, figures=figures))
    distances = made.history.distances(median_features(made))
    trust = assess_trust(prepare(table(120)), artifact, distances, PREDICTION)
    assert math.isnan(trust.beats)
    assert trust.to_dict()["loses"] is None
    assert "isolation forest" not in str(trust)


# warnings, each on and off

UNLIKE = "the learner knows no table like this one"


def test_a_table_unlike_the_training_data(made):
    far = judged(made, distances=np.full(30, 1e6))
    assert far.unlikeness == 1.0
    assert UNLIKE in far.warnings[0]
    near = judged(made, distances=np.zeros(30))
    assert near.unlikeness == 0.0
    assert near.warnings == ()
    farthest = made.calibration.distances.max()
    for distance, warned in ((farthest, False), (1.01 * farthest, True)):
        trust = judged(made, distances=np.full(30, distance))
        assert any(UNLIKE in text for text in trust.warnings) == warned


def test_a_small_table(made):
    smallest = int(made.history.shapes[:, 0].min())
    warning = judged(made, table(smallest - 1)).warnings[-1]
    assert f"has {smallest - 1} rows, and all 30 tables" in warning
    # as many rows as the smallest of 30, and more than 2 % of them
    assert judged(made, table(smallest)).warnings == ()
    shapes = np.column_stack([np.arange(100, 300), np.full(200, 3)])
    large = replace(made, history=replace(made.history, shapes=shapes), calibration=None)
    for n_rows, warned in ((99, True), (102, True), (103, False), (200, False)):
        trust = assess_trust(prepare(table(n_rows)), large, None, PREDICTION)
        assert bool(trust.warnings) == warned
    [warning] = assess_trust(prepare(table(102)), large, None, PREDICTION).warnings
    assert "197 of the 200 tables that" in warning


def test_rows_that_are_equal_in_the_scored_columns(made):
    X = table(120)
    X[60:] = X[:60]
    assert judged(made, X).warnings == ()
    X[50:] = X[0]
    [warning] = judged(made, X).warnings
    assert "58% of the rows equal an earlier one in the columns that the scores use" in warning
    assert "remove" not in warning  # the rows may differ in other columns


def test_a_column_that_is_missing_in_every_row_is_told_once():
    frame = pd.DataFrame(table(120), columns=list("abcd"))
    later = frame.assign(a=np.nan, b=frame["b"].where(frame.index < 20))
    record = Preparation().fit(frame).transform(later).record
    told = [str(note) for note in table_notes(record, fitted=False)]
    assert sum("'a'" in note for note in told) == sum("'b'" in note for note in told) == 1


@pytest.mark.parametrize(("share", "warned"), [(0.1, False), (0.6, True)])
def test_a_table_that_was_mostly_filled_in(made, share, warned):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(table(120), columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < share)
    trust = judged(made, frame)
    assert any("missing and filled in" in text for text in trust.warnings) == warned
