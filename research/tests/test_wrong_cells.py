"""The protocol's tables, rivals and figures of wrong cells, on made-up data."""

import zlib

import numpy as np
import pandas as pd
import pytest

from research.shipped import final_origins
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
