"""Both answers of an estimator: unusual rows, and wrong cells; in memory, saved, and in chunks."""

import numpy as np
import pandas as pd
import pytest
from made_findings import FarFinder
from made_selection import selecting

from metaod.detection import MetaOD, Review, detect, load
from metaod.detection import _cells as cells
from metaod.detection import _detect as detecting
from metaod.detection import _estimator as estimator
from metaod.errors import UserError
from metaod.tables import read_table, stream_table

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "key": [f"K{row}" for row in range(N)],
        "day": pd.date_range("2025-01-01", periods=N),
        "size": RNG.normal(size=N).round(3),
        "price": [f"{value:.2f} €" for value in RNG.uniform(10, 20, N)],
        "kind": RNG.choice(["a", "b", None], N),
        "count": RNG.integers(0, 9, N),
    }
)
FRAME.loc[7, "size"] = 900.0
FRAME.loc[50, "price"] = "1400.00 €"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(estimator, "make_selection", selecting())
    monkeypatch.setattr(cells, "WrongCellFinder", FarFinder)


def places(found):
    return [(own.row, own.column) for own in found.findings()]


def test_both_rankings():
    model = MetaOD(category="kind").fit(FRAME)
    found = model.suspect_cells()
    assert list(found.columns[:6]) == ["row", "column", "value", "expected", "kind", "score"]
    assert found[["row", "column"]].to_numpy().tolist() == [[7, "size"], [50, "price"]]
    assert found["value"].tolist() == [900.0, "1400.00 €"]
    assert found["score"].is_monotonic_decreasing
    assert np.flatnonzero(model.error_scores_).tolist() == [7, 50]
    assert model.decision_scores_.shape == model.error_scores_.shape == (N,)
    only = MetaOD(rows_only=True, category="kind").fit(FRAME)
    np.testing.assert_array_equal(only.decision_scores_, model.decision_scores_)
    assert not hasattr(only, "error_scores_")
    with pytest.raises(UserError, match="rows_only=False"):
        only.suspect_cells()
    assert not hasattr(model.set_params(rows_only=True).fit(FRAME), "error_scores_")


def test_rows_with_findings_are_flagged_unless_a_share_is_asked_for():
    model = MetaOD().fit(FRAME)
    above = model.decision_scores_ > model.threshold_
    expected = above | (np.arange(N) == 7) | (np.arange(N) == 50)
    np.testing.assert_array_equal(model.labels_ == 1, expected)
    np.testing.assert_array_equal(model.predict(FRAME) == -1, expected)
    np.testing.assert_array_equal(detect(read_table(FRAME)).flags == 1, expected)
    share = MetaOD(contamination=1 / N).fit(FRAME)
    assert np.flatnonzero(share.labels_).tolist() == [share.decision_scores_.argmax()]
    assert np.flatnonzero(share.predict(FRAME) == -1).tolist() == np.flatnonzero(share.labels_)
    assert detect(read_table(FRAME), top_n=3).n_flagged == 3
    assert detect(read_table(FRAME), top_n=3).flags[share.decision_scores_.argmax()] == 1


def test_a_row_that_is_marked_as_normal_is_not_flagged():
    review = Review(FRAME)
    assert review.flags[50]
    review.tell(50, False)
    assert not review.flags[50]
    assert review.detector().labels_[50] == 0


def test_later_rows_have_findings_of_their_own():
    model = MetaOD().fit(FRAME)
    new = FRAME.head(3).assign(size=[0.0, -5000.0, 1.0], key=["L1", "L2", "L3"])
    assert model.suspect_cells(new)[["row", "column"]].to_numpy().tolist() == [[1, "size"]]
    assert model.predict(new)[1] == -1
    # dates and names of rows are others later, and columns that are not used may be absent
    later = new.assign(day=new["day"] + pd.Timedelta(days=9000))
    assert model.suspect_cells(later)["row"].tolist() == [1]
    assert model.suspect_cells(new.drop(columns=["key", "day"]))["row"].tolist() == [1]


def test_known_rows_keep_their_findings_in_any_order():
    frame = pd.concat([FRAME, FRAME.head(2)], ignore_index=True)
    model = MetaOD().fit(frame)
    order = np.random.default_rng(1).permutation(len(frame))
    np.testing.assert_array_equal(model.predict(frame)[order], model.predict(frame.iloc[order]))
    assert set(model.suspect_cells(frame.iloc[order])["row"]) == {
        int(np.flatnonzero(order == row)[0]) for row in (7, 50)
    }


def test_columns_that_are_ignored_are_not_checked():
    assert MetaOD(ignore="size").fit(FRAME).suspect_cells()["column"].tolist() == ["price"]
    assert MetaOD(only=["size", "count"]).fit(FRAME).suspect_cells()["column"].tolist() == ["size"]


@pytest.mark.parametrize(
    "form", [FRAME, FRAME[["size", "count"]].to_numpy()], ids=["frame", "array"]
)
def test_a_saved_pick_finds_the_same(tmp_path, form):
    model = MetaOD().fit(form)
    model.save(tmp_path / "pick")
    again = load(tmp_path / "pick")
    pd.testing.assert_frame_equal(again.suspect_cells(form), model.suspect_cells(form))
    np.testing.assert_array_equal(again.error_scores_, model.error_scores_)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(form), model.predict(form))
    new = form[:5] * 1000 if isinstance(form, np.ndarray) else form.head(5).assign(size=1e6)
    found = model.suspect_cells(new)
    assert len(found) >= 5
    pd.testing.assert_frame_equal(again.suspect_cells(new), found)
    MetaOD(rows_only=True).fit(form).save(tmp_path / "pick")
    assert load(tmp_path / "pick").cells_ is None


def test_a_saved_pick_of_a_large_table_learns_from_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.detection._saved._MOST_ROWS", 60)
    model = MetaOD().fit(FRAME)
    model.save(tmp_path / "pick")
    again = load(tmp_path / "pick")
    assert again.cells_.table.n_rows == 60
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.error_scores_, model.error_scores_)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "pick").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_chunks_have_the_findings_of_the_whole_table(tmp_path, ending, monkeypatch):
    path = tmp_path / f"t.{ending}"
    FRAME.to_csv(path, index=False) if ending == "csv" else FRAME.to_parquet(path, index=False)
    whole = detect(read_table(path))
    assert sorted(places(whole.wrong)) == [(7, "size"), (50, "price")]
    for size in (N, 60):  # the sample is the file, or half of it
        found = detect(stream_table(path), sample_rows=size)
        assert sorted(places(found.wrong)) == sorted(places(whole.wrong))
        assert {7, 50} <= set(np.flatnonzero(found.flags).tolist())
        of_sample = found.model.suspect_cells(found.table)["row"].tolist()
        assert of_sample == found.wrong.at(found.stream.rows).cells["row"].tolist()
    monkeypatch.setattr(detecting, "MOST_FINDINGS", 1)
    found = detect(stream_table(path), sample_rows=60)
    assert (len(found.wrong.cells), found.wrong.n_findings) == (1, 2)
    assert np.flatnonzero(found.wrong.flags()).tolist() == [7, 50]
    assert any("2 cells are probably wrong" in str(note) for note in found.notes)


def test_a_saved_pick_finds_wrong_cells_of_a_file_in_chunks(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet", index=False)
    model = MetaOD().fit(FRAME.drop(index=[7, 50]))
    for source in (read_table, stream_table):
        found = detect(source(tmp_path / "t.parquet"), model=model)
        assert sorted(places(found.wrong)) == [(7, "size"), (50, "price")]
