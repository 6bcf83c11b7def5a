"""Updated picks: what they learn from, what they keep, and the record of versions."""

import numpy as np
import pandas as pd
import pytest
from made_months import orders

from metaod import MetaOD, load, update
from metaod.detection import _updating
from metaod.errors import UserError
from metaod.tables import read_table


@pytest.fixture(scope="module")
def months():
    return orders("2024-01", 0), orders("2024-02", 1)


@pytest.fixture(scope="module")
def model(months):
    marks = {5: True, 8: False, 11: None}
    return MetaOD(pick="committee").fit(months[0], marks=marks)


@pytest.fixture(scope="module")
def updated(model, months):
    return update(model, months[1], when="March")


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "jan.mod")
    return tmp_path / "jan.mod"


def test_an_update_is_a_fit_to_all_rows(updated, months):
    # the committee is the same for every table
    marks = {5: True, 8: False, 11: None}
    whole = MetaOD(pick="committee").fit(pd.concat(months, ignore_index=True), marks=marks)
    np.testing.assert_allclose(updated.decision_scores_, whole.decision_scores_)
    np.testing.assert_allclose(updated.error_scores_, whole.error_scores_)
    assert updated.threshold_ == pytest.approx(whole.threshold_)
    assert updated.marks_.answers == marks
    assert [own.sentence() for own in updated.patterns()] == [
        own.sentence() for own in whole.patterns()
    ]


def test_a_saved_pick_is_updated_as_one_in_memory(saved, updated, months, tmp_path):
    again = update(saved, months[1], when="March")
    assert again.history_ == updated.history_
    again.save(tmp_path / "feb.mod")
    loaded = load(tmp_path / "feb.mod")
    assert loaded.history_ == updated.history_
    assert loaded.marks_.answers == {5: True, 8: False}
    np.testing.assert_allclose(loaded.decision_scores_, updated.decision_scores_)


def test_the_record_names_rows_and_changes(model, updated, months):
    first, last = updated.history_
    assert (first, first.n_rows, first.kept) == (model.history_[0], len(months[0]), None)
    assert (last.n_rows, last.n_learned) == (len(months[1]), len(months[0]) + len(months[1]))
    assert (last.source, last.when, last.drifted) == ("DataFrame", "March", ())
    assert last.threshold == updated.threshold_
    assert last.n_flagged == (updated.decision_scores_ > updated.threshold_).sum()
    assert 0.5 < last.kept <= 1
    assert f"{last.kept:.0%} of flags kept; 0 columns drifted" in last.changes(first)


def test_new_categories_and_ranges_are_usual_afterwards(model, months):
    moved = months[1].assign(plant="Quito", humidity=months[1]["humidity"] + 0.5)
    later = update(model, moved)
    assert {"plant", "humidity"} <= set(later.history_[-1].drifted)
    kinds = {own.kind for own in later.drift(moved) if own.column in ("plant", "humidity")}
    assert kinds == {"shares"}  # half of the rows were learned with these values, now all have them


@pytest.mark.parametrize("most", [50, 200, 20_000])
def test_rows_are_drawn_in_the_share_of_those_they_stand_for(model, months, most, monkeypatch):
    monkeypatch.setattr(_updating, "ALL_ROWS_UP_TO", most)
    few = months[1].head(len(months[0]) // 4)
    later = update(model, few)
    n_all = len(months[0]) + len(few)
    assert len(later.decision_scores_) == pytest.approx(min(most, n_all), abs=5)  # marked rows
    is_new = np.isin(later._table.frame["ordered"].astype(str), few["ordered"].astype(str))
    assert is_new.mean() == pytest.approx(0.2, abs=0.05)
    assert len(later.marks_.answers) == 3
    assert update(later, months[1].tail(30)).history_[-1].n_rows == 30


def test_text_in_a_notation_and_misfits_stay(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "price": [f"1.{n:03d},50 €" for n in rng.integers(0, 999, 300)],
        "weight": rng.normal(3, 1, 300).round(2).astype(str),
    })  # fmt: skip
    frame.loc[4, "weight"] = frame.loc[204, "weight"] = "heavy"
    for name, part in (("old", frame.head(200)), ("new", frame.tail(100))):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    model = MetaOD(pick="committee").fit(tmp_path / "old.csv")
    later = update(model, read_table(tmp_path / "new.csv"))
    whole = MetaOD(pick="committee").fit(frame)
    np.testing.assert_allclose(later.decision_scores_, whole.decision_scores_)
    found = later.suspect_cells().set_index(["row", "column"])["value"]
    assert found[4, "weight"] == found[204, "weight"] == "heavy"


def test_of_equal_rows_one_is_marked(months):
    twice = pd.concat([months[0], months[0].iloc[[5]]], ignore_index=True)
    model = MetaOD(pick="committee").fit(twice, marks={5: True, 8: False})
    assert update(model, months[1]).marks_.answers == {5: True, 8: False}


def test_rows_that_were_learned_already_are_refused(updated, months):
    for number, rows in enumerate(months, 1):
        with pytest.raises(UserError, match=f"version {number}") as refused:
            update(updated, rows)
        assert refused.value.code == "same-rows"


def test_a_pick_without_rows_cannot_be_updated(months):
    model = MetaOD(pick="committee", rows_only=True).fit(months[0])
    with pytest.raises(UserError, match="keeps no rows"):
        update(model, months[1])


@pytest.mark.parametrize(
    ("change", "code"),
    [(lambda f: f.sample(frac=1, random_state=0), "same-rows"),
     (lambda f: f.assign(price=[f"no. {p}" for p in f["price"]]), "other-type")],
    ids=["another order", "another type"],
)  # fmt: skip
def test_known_rows_and_columns_of_another_type_are_refused(model, months, change, code):
    with pytest.raises(UserError) as error:
        update(model, change(months[0]))
    assert error.value.code == code
