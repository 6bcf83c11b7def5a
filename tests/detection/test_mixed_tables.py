"""The committee on mixed tables: planted outliers, tables of text, saved picks."""

import numpy as np
import pandas as pd
import pytest

from metaod.detection import MetaOD, detect, load
from metaod.errors import BadParameter
from metaod.tables import read_table

N = 600


def orders(seed):
    """Return orders whose price depends on their zone, a few rare zones, and gaps in one column."""
    rng = np.random.default_rng(seed)
    zone = rng.choice(["north", "south", "east"], N, p=[0.5, 0.3, 0.2])
    place = pd.Series(zone).map({"north": 0.0, "south": 20.0, "east": 40.0}).to_numpy()
    frame = pd.DataFrame(
        {
            "zone": zone,
            "price": place + rng.normal(size=N),
            "weight": rng.normal(size=N),
            "height": rng.normal(size=N),
            "colour": np.where(rng.random(N) < 0.3 + 0.01 * place, "red", "blue"),
            "note": rng.normal(size=N),
        }
    )
    frame.loc[rng.random(N) < 0.1, "note"] = np.nan
    frame.loc[:3, ["zone", "colour"]] = [["west", "red"], ["up", "blue"]] * 2
    frame.loc[4:5, "colour"] = "green"
    return frame, np.arange(6)


def odd_value(frame):
    frame.loc[100, "weight"] = 8.0


def odd_combination(frame):
    frame.loc[100, ["zone", "price"]] = ["north", 40.0]


def odd_gap(frame):
    frame.loc[100, "weight"] = np.nan


@pytest.mark.parametrize("plant", [odd_value, odd_combination, odd_gap])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_outliers_are_above_rare_categories(plant, seed):
    frame, rare = orders(seed)
    plant(frame)
    scores = MetaOD(pick="committee").fit(frame).decision_scores_
    assert scores[100] > scores[rare].max()


def test_a_saved_pick_of_a_mixed_table_scores_as_before(tmp_path):
    frame, _ = orders(0)
    odd_combination(frame)
    model = MetaOD(pick="committee").fit(frame)
    assert model.selection_.prepared.fixed.sum() == 4
    model.save(tmp_path / "pick.mod")
    again = load(tmp_path / "pick.mod")
    later, _ = orders(7)
    later.loc[:2, ["zone", "price"]] = [["moon", 5.0], [None, np.nan], ["east", 0.0]]
    np.testing.assert_allclose(again.decision_scores_, model.decision_scores_, rtol=1e-12)
    np.testing.assert_allclose(again.score_samples(later), model.score_samples(later), rtol=1e-12)


def test_tables_of_text_alone_are_scored():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({"kind": kind, "copy": np.where(rng.random(200) < 0.9, kind, "b")})
    frame.loc[0] = ["unique", "single"]
    for table in (frame, frame[["kind"]]):
        scores = MetaOD(pick="committee").fit(table).decision_scores_
        assert np.isfinite(scores).all()
        assert scores[0] == scores.max()


def test_a_column_of_gaps_beside_numbers_changes_nothing():
    frame, _ = orders(0)
    expected = MetaOD(pick="committee").fit(frame).decision_scores_
    found = MetaOD(pick="committee").fit(frame.assign(empty=None)).decision_scores_
    np.testing.assert_array_equal(found, expected)


def test_the_cells_of_columns_that_the_scores_do_not_use_are_checked():
    rng = np.random.default_rng(5)
    towns = rng.choice(["Hamburg", "Dresden", "Leipzig"], 300).astype(object)
    towns[77] = "Leipizg"
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc")).assign(town=towns)
    found = detect(read_table(frame))
    [record] = [own for own in found.record.columns if own.name == "town"]
    assert (record.is_used, record.cause) == (False, "unrelated")
    [wrong] = found.findings_of(77)
    assert (wrong.column, wrong.kind, wrong.suggestion) == ("town", "spelling", "Leipzig")
    assert found.flags[77]


@pytest.mark.usefixtures("quick_pick")
def test_a_frame_an_array_and_a_path_are_scored_as_a_table(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc"))
    frame.to_parquet(tmp_path / "t.parquet")
    model = MetaOD().fit(frame)
    for given in (frame, frame.to_numpy(), tmp_path / "t.parquet"):
        np.testing.assert_array_equal(detect(given).scores, model.decision_scores_)
    np.testing.assert_allclose(detect(frame, model=model).scores, -model.score_samples(frame))
    with pytest.raises(BadParameter):
        detect(5)
    for name, value in {"ignore": "a", "contamination": 0.3, "marks": {3: True}, "n": 1}.items():
        with pytest.raises(BadParameter, match=f"{name!r}.*fitted already"):
            detect(frame, model=model, **{name: value})
