"""The protocol's tables, rivals and figures of wrong cells, on made-up data."""

import argparse
import zlib

import numpy as np
import pandas as pd
import pytest

from metaod.errors import UserError
from research.commands import evaluate_wrong_cells as command
from research.shipped import final_origins
from research.wrong_cells.marked import MarkedTable
from research.wrong_cells.planting import plant
from research.wrong_cells.rivals import METHODS, by_largest_cell, strategies
from research.wrong_cells.tables import PARTS, dirty_tables, sources, tables


@pytest.fixture
def shared(tmp_path):
    """Folders laid out as the shared ones, with an origin of every part."""
    rng = np.random.default_rng(0)
    final = min(final_origins())
    for folder, label in (("datasets", "y"), ("mixed", "outlier")):
        (tmp_path / folder).mkdir()
        origins = [final, *(f"{folder}-{number}" for number in range(12))]
        lines = [{"file": f"{o}.csv", "name": o, "origin": o, "label": label} for o in origins]
        pd.DataFrame(lines).to_csv(tmp_path / folder / "catalog.csv", index=False)
        for origin in origins:
            table = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
            table.assign(**{label: np.arange(50) < 5}).astype({label: int}).to_csv(
                tmp_path / folder / f"{origin}.csv", index=False
            )
    (tmp_path / "dirty").mkdir()
    clean = pd.DataFrame({"city": ["Rome", "Bonn"] * 20, "zip": ["00100", "53111"] * 20})
    dirty = clean.copy()
    dirty.loc[3, "city"], dirty.loc[:9, "zip"] = "", "?"
    clean.set_axis(["Town", "Code"], axis=1).to_csv(tmp_path / "dirty/t.clean.csv", index=False)
    dirty.to_csv(tmp_path / "dirty/t.dirty.csv", index=False)
    line = {"collection": "c", "name": "t", "dirty": "t.dirty.csv", "clean": "t.clean.csv"}
    pd.DataFrame([line]).to_csv(tmp_path / "dirty/catalog.csv", index=False)
    return tmp_path


def test_parts_split_origins(shared):
    origins = {part: {source.origin for source in sources(part, shared=shared)} for part in PARTS}
    assert origins["final"] <= final_origins()
    assert all(zlib.crc32(origin.encode()) % 5 == 0 for origin in origins["check"])
    assert all(zlib.crc32(origin.encode()) % 5 for origin in origins["fit"])
    assert sum(map(len, origins.values())) == 25  # the final origin is in both folders
    assert all(origins.values())


def test_half_of_the_tables_are_mixed_and_have_no_label(shared):
    read = list(tables("fit", 6, shared))
    assert [source.kind for source, _ in read] == ["numeric"] * 3 + ["mixed"] * 3
    assert all(list(frame.columns) == list("abc") for _, frame in read)


def test_dirty_cells_correspond_by_position(shared):
    (table,) = dirty_tables(shared)
    assert table.mask.sum(axis=0).tolist() == [1, 10]
    assert table.few_wrong.tolist() == [True, False]
    assert table.frame.loc[3, "city"] == ""


def dirty_frame():
    """A typo, an odd number and a city with another zip, in that order."""
    rng = np.random.default_rng(0)
    zips = {"Rome": "00100", "Bonn": "53111", "Oslo": "0150"}
    city = rng.choice(list(zips), 200)
    frame = pd.DataFrame(
        {"city": city, "zip": [zips[name] for name in city], "n": rng.integers(10, 20, 200)}
    ).astype(str)
    frame.loc[0, "city"], frame.loc[1, "n"] = "Romme", "99999"
    frame.loc[2, "zip"] = zips["Rome" if frame.loc[2, "city"] != "Rome" else "Oslo"]
    return frame


def ranks(scores, place):
    """How many cells are scored at least as high as each of these cells."""
    return [(scores >= scores[cell]).sum() for cell in place]


@pytest.mark.parametrize(
    ("method", "cells"),
    [
        ("relative rarity", [(0, 0), (1, 2)]),
        ("histograms", [(0, 0), (1, 2), (2, 1)]),
        ("Gaussians", [(1, 2)]),
        ("votes", [(0, 0)]),
    ],
)
def test_rivals_find_what_they_are_made_for(method, cells):
    scored = METHODS[method](dirty_frame())
    assert scored.cells.shape == (200, 3)
    assert max(ranks(scored.cells, cells)) <= 8
    assert np.array_equal(scored.rows, scored.cells.max(axis=1))


@pytest.mark.parametrize("method", ["committee", "IForest()"])
def test_rivals_of_rows_take_stray_words(method):
    frame = dirty_frame().assign(n=np.arange(200.0)).astype({"n": object})
    frame.loc[5, "n"] = "n/a?"
    scored = METHODS[method](frame)
    assert scored.cells is None
    assert np.isfinite(scored.rows).all()


def test_strategies_name_cells_of_a_broken_rule():
    frame = dirty_frame()
    marks = strategies(frame)[1]
    assert marks.shape[0] == 200
    broken = (frame["city"] == frame.loc[2, "city"]).to_numpy()
    assert (marks == broken[:, None]).all(axis=0).any()


def test_marked_rows_teach_what_is_wrong():
    rng = np.random.default_rng(0)
    wrong = rng.random((300, 2)) < 0.2
    noise = rng.random((300, 3)) < 0.5
    marks = [np.column_stack([wrong[:, place], noise]) for place in range(2)]
    table = MarkedTable(marks)
    called = table.find(wrong, 12, 0)
    assert command.f1(wrong, called)[2] > 0.95
    assert (table.find(wrong, 12, 0) == called).all()


def test_confident_scores_stand_for_marks_until_one_is_contradicted():
    wrong = np.zeros((200, 2), dtype=bool)
    wrong[:3, 0] = True
    marks = [np.eye(200, 4, dtype=bool), np.arange(200)[:, None] < 150]
    scores = np.where(wrong, 0.9, 0.0)
    scores[:150, 1] = 0.9
    called = MarkedTable(marks, scores).find(wrong, 10, 0)
    assert (called == wrong).all()


def test_measures_of_planted_errors():
    table = dirty_frame().astype({"n": float})
    errors = plant(table, ["far outlier"], 0.05, 0)

    def perfect(frame):
        return by_largest_cell(errors.mask.astype(float))

    def refuses(frame):
        raise UserError("is refused")

    best, worst = (command.measure_planted(errors, score) for score in (perfect, refuses))
    assert best["rows"] == best["cells"] == 1
    assert best["recall"] == {"far outlier": [10, 10]}
    assert best["flags"] == [[10, 10, 10]] * 4
    assert sum(n for n, _, _ in best["bins"]) == 600
    assert best["bins"][-1] == [10, 10, 10]
    assert worst["refused"]
    assert worst["rows"] == pytest.approx(0.05)


def test_the_finder_is_compared_over_origins():
    lines = [
        {
            "method": method,
            "table": f"t{t}",
            "origin": f"o{t // 2}",
            "ap": ap + t / 100,
            "refused": t == 0,
        }
        for method, ap in (("found", 0.6), ("rival", 0.5))
        for t in range(6)
    ]
    own, rival = command.compared(pd.DataFrame(lines), "ap", "found")
    assert own["mean"] == pytest.approx(0.625)
    assert rival["finder −"] == pytest.approx(rival["low"]) == pytest.approx(0.1)
    assert (rival["wins"], rival["losses"], rival["refused"]) == (6, 0, 1)


def test_dirty_tables_are_ranked_and_a_stopped_run_continues(shared, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "FOLDER", tmp_path / "out")
    monkeypatch.setattr(command, "dirty_tables", lambda: dirty_tables(shared))
    given = argparse.Namespace(label="none", methods=["rarity"], model=None)
    command.dirty(given)
    first = pd.read_csv(tmp_path / "out/dirty.csv")
    assert first["columns"].tolist() == ["all", "few"]
    assert first.loc[1, "mean"] == 1
    monkeypatch.setitem(METHODS, "rarity", None)
    command.dirty(given)
    pd.testing.assert_frame_equal(first, pd.read_csv(tmp_path / "out/dirty.csv"))


def test_clean_tables_have_the_size_asked_for():
    assert command.clean_table(0, 100, 300).shape == (100, 300)
    assert command.clean_table(3).notna().all(axis=None)


def test_the_products_findings_are_scores_of_cells():
    frame = pd.DataFrame({"text": ["a", "b"] * 50, "n": np.arange(100.0)})
    frame.loc[7, "n"] = 1e9
    scored = METHODS["found"](frame)
    assert scored.cells.shape == (100, 2)
    assert scored.cells.argmax() == 7 * 2 + 1
    assert np.flatnonzero(scored.flagged()).tolist() == [7]


def test_kinds_left_out_are_measured_alone(shared, tmp_path, monkeypatch):
    given = argparse.Namespace(models=tmp_path, label="found", part="fit", tables=4)
    monkeypatch.setattr(command, "FOLDER", tmp_path / "out")
    monkeypatch.setattr(command, "tables", lambda part, most: tables(part, most, shared))
    monkeypatch.setattr(command, "read_scorer", lambda path: paths.append(path.name) or {})
    monkeypatch.setattr(command, "LEFT_OUT", ("sign", "decimal shift"))
    paths = []
    command.left_out(given)
    table = pd.read_csv(tmp_path / "out/left-out.csv")
    assert table["kind"].tolist() == ["sign", "decimal shift", "mean"]
    assert table["recall, left out"].between(0, 1).all()
    assert table["recall, left out"].equals(table["recall, trained"])  # of the same stand-in
    assert paths[::2] == ["fit without sign.cells", "fit without decimal shift.cells"]
    assert paths[1::2] == ["fit.cells"] * 2
