"""``metaod detect`` of files that are read in chunks."""

import json

import numpy as np
import pandas as pd
import pytest

from metaod.detection import detect
from metaod.errors import UserError

FRAME = pd.DataFrame(
    {
        "name": [f"row {row}" for row in range(300)],
        "height": [*np.linspace(150, 190, 299).round(1), 900.0],
        "colour": [*(["red", "green", "blue"] * 100)][:300],
    }
)


@pytest.fixture
def tables(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_parquet(tmp_path / "t.parquet")
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_screen_and_the_file_are_those_of_an_ordinary_run(call, tables, ending):
    out = {}
    for option in ("--stream", "--no-stream"):
        target = tables / f"{option}.{ending}"
        shown = call(tables / f"t.{ending}", option, "--id", "name", "-o", target).out
        out[option] = shown.replace(option, "")
    assert out["--stream"] == out["--no-stream"]
    assert "row 299" in out["--stream"]
    written = [(tables / f"{option}.{ending}").read_bytes() for option in out]
    assert written[0] == written[1]


def test_large_files_are_read_in_chunks(call, tables, monkeypatch):
    monkeypatch.setattr("metaod.tables._stream.MOST_ROWS", 200)
    monkeypatch.setattr(detect, "__kwdefaults__", {**detect.__kwdefaults__, "sample_rows": 100})
    out = call(tables / "t.csv", "--json").out
    found = json.loads(out)
    assert any("a sample of 100 of its 300 rows" in str(note) for note in found["notes"])
    assert found["flagged"][0]["cells"]["height"] == 900.0
    assert "sample" not in call(tables / "t.csv", "--no-stream").out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--sort"], "sort-in-chunks"),
        (["--label", "colour"], "label-in-chunks"),
        (["--marks", "m.csv"], "rows-in-parts"),
    ],
)
def test_what_needs_the_whole_table_is_refused(call, tables, options, code):
    with pytest.raises(UserError) as caught:
        call(tables / "t.csv", "--stream", "-o", tables / "s.csv", *options)
    assert caught.value.code == code
    assert not (tables / "s.csv").exists()


def test_other_formats_and_pipes_cannot_be_streamed(call, tables):
    np.save(tables / "t.npy", FRAME[["height"]].to_numpy())
    for file in (tables / "t.npy", "-"):
        with pytest.raises(UserError, match="only Parquet and delimited text in a file"):
            call(file, "--stream")
