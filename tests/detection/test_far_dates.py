"""Dates outside the years 1 to 9999: they are findings, and come out as they went in."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaod.detection import Correction, detect, write_corrected, write_scored
from metaod.tables import read_table

DAYS = np.random.default_rng(0).permutation(np.arange(17_000, 17_060))
# 2**62 microseconds as nanoseconds are 0 modulo 2**64, which would be 1970-01-01
FAR = {
    "date32": (pa.date32(), "D", (2932897, -719_562)),
    "us": (pa.timestamp("us"), "us", (2**62, -(2**62))),
    "zone": (pa.timestamp("us", "Europe/Zurich"), "us", (2**62, -(2**62))),
    "ms": (pa.timestamp("ms"), "ms", (2**62, -(2**50))),
}


@pytest.fixture(params=FAR)
def far(request, tmp_path):
    """A file with two such dates, in rows 7 and 9, its column and what is written for them."""
    kind, unit, values = FAR[request.param]
    counts = DAYS.astype("M8[D]").astype(f"M8[{unit}]").astype(np.int64)
    counts[[7, 9]] = values
    column = pa.array(counts, pa.int32() if unit == "D" else pa.int64()).cast(kind)
    ending = {"zone": "+00:00", "ms": "000"}.get(request.param, "")
    texts = [str(np.datetime64(value, unit)).replace("T", " ") + ending for value in values]
    x = np.random.default_rng(1).normal(size=len(DAYS))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": x, "d": column}), path)
    return path, column, tuple(texts)


@pytest.mark.parametrize("options", [{}, {"time": "d"}], ids=["dropped", "used"])
def test_they_are_found_and_written_as_they_are(far, tmp_path, options):
    path, column, texts = far
    found = detect(read_table(path), pick="committee", **options)
    assert {own.row for own in found.wrong.findings() if own.column == "d"} >= {7, 9}
    found.to_dict()  # with the reasons of flagged rows
    for ending in ("csv", "xlsx", "jsonl", "parquet"):
        write_scored(found, tmp_path / f"out.{ending}")
    assert pq.read_table(tmp_path / "out.parquet")["d"].combine_chunks().equals(column)
    rows = list(csv.DictReader((tmp_path / "out.csv").open(encoding="utf-8")))
    assert (rows[7]["d"], rows[9]["d"]) == texts
    assert rows[0]["d"] == str(column[0].as_py()).removesuffix(" 00:00:00")


def test_one_is_corrected_and_the_other_stays(far, tmp_path):
    path, column, texts = far
    target = tmp_path / "fixed.parquet"
    after = "2016-08-01 12:00:00" + ("+00:00" if texts[0].endswith("+00:00") else "")
    write_corrected(read_table(path), [Correction(7, "d", after, texts[0])], target)
    fixed = pq.read_table(target)["d"]
    assert str(fixed[7].as_py())[:10] == "2016-08-01"
    others = [row for row in range(len(column)) if row != 7]
    assert fixed.take(others).combine_chunks().equals(column.take(others))
