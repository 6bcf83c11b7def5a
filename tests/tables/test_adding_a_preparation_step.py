"""Follow the recipe "Add a preparation step" of CONTRIBUTING: degrees as distances from north."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import metaod
from metaod.tables import _columns, _preparation
from metaod.tables._columns import Encoded, FittedColumn, NumberColumn
from metaod.tables._drift import Usual


@dataclass(frozen=True)
class Direction(FittedColumn):
    """Writes 1 minus the cosine of an angle in degrees; a gap becomes 1."""

    tag: ClassVar[str] = "direction"
    full_turn: float

    @classmethod
    def fit(cls, number, cells):
        step = cls(replace(number.record, fill=1.0), number.note, None, number.kind, None, 360.0)
        out = np.empty((len(cells.series), 1))
        gaps = step.encode(cells, out).gaps
        return replace(step, usual=Usual.of_numbers(out[~gaps, 0]))

    def output_names(self):
        return (f"{self.name} from north",)

    def encode(self, cells, out):
        column = cells.numbers()
        turns = 2 * np.pi * column.values / self.full_turn
        gaps = ~np.isfinite(turns)
        out[:, 0] = np.where(gaps, 1, 1 - np.cos(turns))
        return Encoded(gaps)


@pytest.fixture(autouse=True)
def step(monkeypatch):
    before = _columns.fit_column

    def fit_column(cells, *args):
        found = before(cells, *args)
        is_angle = isinstance(found, NumberColumn) and cells.name.endswith("_deg")
        return Direction.fit(found, cells) if is_angle else found

    monkeypatch.setattr(_preparation, "fit_column", fit_column)
    monkeypatch.setattr(_preparation, "Column", _columns.Column | Direction)


def test_a_step_with_two_outputs_is_refused(monkeypatch):
    monkeypatch.setattr(Direction, "output_names", lambda self: ("north", "east"))
    frame = pd.DataFrame({"wind_deg": [1.0, 200.0, 300.0], "speed": [3.0, 2.0, 9.0]})
    with pytest.raises(TypeError, match="one column of the matrix"):
        metaod.Preparation().fit(frame)


def test_the_column_is_encoded_saved_and_applied_to_later_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wind_deg": rng.uniform(0, 360, 40), "speed": rng.normal(size=40)})
    frame["kind"] = np.where(frame["speed"] > 0, "fast", "slow")
    preparation = metaod.Preparation().fit(frame)
    prepared = preparation.transform(frame)
    assert prepared.names[:2] == ("wind_deg from north", "speed")
    assert np.allclose(prepared.X[:, 0], 1 - np.cos(np.radians(frame["wind_deg"])))
    later = frame.assign(wind_deg=frame["wind_deg"] + 360)
    restored = metaod.Preparation.from_dict(preparation.to_dict())
    assert np.allclose(restored.transform(later).X, prepared.X)
    gap = restored.transform(later.head(2).assign(wind_deg=[np.nan, 90.0]))
    assert np.allclose(gap.X[:, 0], [1, 1])
    assert gap.record.columns[0] == replace(prepared.record.columns[0], n_missing=1)


def test_the_fitted_rows_do_not_drift_and_others_do():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wind_deg": rng.uniform(0, 90, 400), "speed": rng.normal(size=400)})
    frame.loc[:99, "wind_deg"] = np.nan
    preparation = metaod.Preparation().fit(frame)
    assert not preparation.transform(frame).record.drift
    turned = frame.assign(wind_deg=frame["wind_deg"] + 90)
    [found] = preparation.transform(turned).record.drift
    assert (found.column, found.kind) == ("wind_deg", "range")
