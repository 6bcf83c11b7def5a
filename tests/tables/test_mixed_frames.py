"""Any frame gives finite scores or an error that the user can correct."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from mixed_frames import large_frames, mixed_frames

from metaod.errors import UserError
from metaod.models import ModelSpec
from metaod.tables import Preparation, read_table

steady = settings(
    derandomize=True, deadline=None, max_examples=50, suppress_health_check=list(HealthCheck)
)
MODEL = ModelSpec("HBOS", {"n_bins": 10})


def check(prepare, frame):
    """Prepare and score a frame; new rows, here the same, are scored too."""
    try:
        prepared, again = prepare(frame)
    except UserError as error:
        assert str(error).count("\n") == 0
        assert len(str(error)) < 2000
        return
    assert np.isfinite(prepared.X).all()
    np.testing.assert_array_equal(prepared.X, again.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = MODEL.to_pyod().fit(prepared.X)
    assert np.isfinite(detector.decision_scores_).all()
    assert np.isfinite(detector.decision_function(again.X)).all()


def prepare_frame(frame):
    preparation = Preparation()
    return preparation.fit_transform(frame), preparation.transform(frame)


def prepare_table(frame):
    table = read_table(frame)
    return prepare_frame(table)


@steady
@given(mixed_frames())
def test_frames(frame):
    check(prepare_frame, frame)


@steady
@given(mixed_frames())
def test_tables(frame):
    check(prepare_table, frame)


@pytest.mark.parametrize("prepare", [prepare_frame, prepare_table])
@pytest.mark.parametrize("name", large_frames())
def test_large_frames(prepare, name):
    check(prepare, large_frames()[name])
