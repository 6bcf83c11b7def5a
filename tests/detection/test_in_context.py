"""Rows and cells judged in context: reasons, findings, saved picks, and files in chunks."""

import numpy as np
import pandas as pd
import pytest

import metaod
from metaod.detection import MetaOD, detect_file, load
from metaod.errors import UserError

FAST = {"space": ["KNN"], "pick": "learned-single"}


@pytest.fixture(scope="module")
def shops():
    """Shops with revenues of their own size; row 3 is too low for its shop of ten rows."""
    rng = np.random.default_rng(0)
    shop = np.repeat(["North", "East", "South", "West"], [10, 150, 150, 150])
    level = pd.Series(shop).map({"North": 1050.0, "East": 200.0, "South": 40.0, "West": 1800.0})
    frame = pd.DataFrame(
        {
            "shop": shop,
            "revenue": (level * rng.normal(1, 0.04, len(shop))).round(3),
            "visitors": rng.poisson(60, len(shop)),
        }
    )
    frame.loc[3, "revenue"] = 212.0
    return frame


@pytest.fixture(scope="module")
def sensor():
    """Temperatures in shuffled rows, 61 of them unchanged."""
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 30)
    heat = 20 + 5 * np.sin(hours / 24 * 2 * np.pi) + rng.normal(0, 0.3, len(hours))
    heat[300:361] = 21.4
    stamps = pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h")
    frame = pd.DataFrame({"time": stamps, "temperature": heat.round(2), "row": hours})
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def test_reasons_and_findings_name_the_group(shops):
    model = MetaOD(by="shop", **FAST).fit(shops)
    assert np.argmax(model.decision_scores_) == 3
    [reason] = model.explain_rows([3])[0].main_reasons(1)
    assert (reason.column, reason.value) == ("revenue", 212.0)
    assert reason.usual.startswith("usually 9")
    assert reason.usual.endswith(" with shop 'North'")
    first = model.suspect_cells().iloc[0]
    assert first[["row", "column", "why"]].tolist() == [3, "revenue", "with shop 'North'"]
    assert first["score"] > 0.5
    plain = MetaOD(**FAST).fit(shops)
    assert np.argmax(plain.decision_scores_) != 3


def test_stuck_values_are_findings_and_reasons(sensor):
    model = MetaOD(over="time", ignore="row", **FAST).fit(sensor)
    stuck = sensor.index[sensor["row"].between(300, 360)]
    found = model.suspect_cells().query("kind == 'stuck'")
    assert sorted(found["row"]) == sorted(stuck)
    assert set(found["why"]) == {"unchanged for 61 rows"}
    [reason] = model.explain_rows([int(stuck[0])])[0].reasons
    assert str(reason) == "temperature 21.4 (unchanged for 61 rows)"


def test_findings_are_of_the_target_alone_or_of_one_side(shops):
    frame = shops.assign(visitors=shops["visitors"].astype(float))
    frame.loc[[20, 30], "revenue"] = [2000.0, 2.0]
    frame.loc[40, "visitors"] = 9000.0
    target = MetaOD(target="revenue", by="shop", **FAST).fit(frame)
    assert {"revenue"} == set(target.suspect_cells()["column"])
    assert target.preparation_.names_ == ("revenue",)
    high = MetaOD(high="revenue", by="shop", **FAST).fit(frame).suspect_cells()
    high = high.query("score > .3 and kind != 'duplicate'")
    assert {(20, "revenue"), (40, "visitors")} == set(zip(high["row"], high["column"], strict=True))


@pytest.mark.parametrize(
    "context",
    [{"by": "shop"}, {"target": "revenue"}, {"by": "shop", "over": "visitors", "low": "revenue"}],
    ids=str,
)
def test_saved_picks_and_fitted_rows(shops, context, tmp_path):
    model = MetaOD(**context, **FAST).fit(shops)
    model.save(tmp_path / "pick.mod")
    loaded = load(tmp_path / "pick.mod")
    assert {name: getattr(loaded, name) for name in context} == {
        name: [own] for name, own in context.items()
    }
    later = shops.tail(40).assign(revenue=lambda own: own["revenue"] + 0.1)
    for rows in (shops, shops.iloc[::-3], later):
        np.testing.assert_array_equal(loaded.score_samples(rows), model.score_samples(rows))
        pd.testing.assert_frame_equal(loaded.suspect_cells(rows), model.suspect_cells(rows))
    np.testing.assert_array_equal(-model.score_samples(shops), model.decision_scores_)


def test_files_in_chunks(shops, sensor, tmp_path):
    shops.to_parquet(tmp_path / "shops.parquet")
    sensor.to_parquet(tmp_path / "sensor.parquet")
    found = detect_file(tmp_path / "shops.parquet", by="shop", **FAST)
    np.testing.assert_array_equal(
        found.scores, MetaOD(by="shop", **FAST).fit(shops).decision_scores_
    )
    with pytest.raises(UserError, match="needs all rows at once"):
        detect_file(tmp_path / "sensor.parquet", over="time", **FAST)
    model = MetaOD(over="time", **FAST).fit(sensor)
    with pytest.raises(UserError, match="needs all rows at once"):
        detect_file(tmp_path / "sensor.parquet", model=model)


def test_drift_is_told_in_words(shops):
    model = MetaOD(by="shop", **FAST).fit(shops)
    [drift] = model.drift(shops.assign(revenue=3 * shops["revenue"]))
    assert (drift.column, drift.kind, drift.low) == ("revenue", "range", None)
    assert "are unusual in their context" in drift.sentence()


def test_new_groups_are_named_in_a_note(shops):
    model = MetaOD(by="shop", **FAST).fit(shops)
    later = metaod.read_table(shops.head(20).assign(shop="Web"))
    found = metaod.detection.detect(later, model=model)
    assert [own.code for own in found.notes if hasattr(own, "code")][:1] == ["new-groups"]
    assert "shop" not in set(found.wrong.cells["column"])
