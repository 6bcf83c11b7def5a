"""A file that is read in chunks has the scores, ranks, flags and bytes of one read at once."""

import errno
import gzip
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

import metaod
from metaod.detection import detect, detect_file, write_scored
from metaod.detection._writing import _Scored
from metaod.errors import BadFile, BadParameter, UserError
from metaod.tables import read_table, stream_table
from metaod.wrong_cells import WrongCells

pytestmark = pytest.mark.usefixtures("quick_pick")


def mixed(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(3), columns=list("abcd"))
    frame["colour"] = rng.choice(["red", "blue", 'say "no"', "two\nlines"], n_rows)
    frame["note"] = [f"row {row}, of many" for row in range(n_rows)]
    frame["price"] = [f"${value:,.2f}" for value in rng.uniform(800, 2000, n_rows)]
    frame.loc[rng.random(n_rows) < 0.02, "b"] = np.nan
    frame.loc[n_rows // 2, "a"] = 40.0
    return frame


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streamed")
    frame = mixed(400)
    frame.to_csv(folder / "t.csv", index=False, sep=";", decimal=",", lineterminator="\r\n")
    frame.to_parquet(folder / "t.parquet", row_group_size=90)
    return folder


def streamed(path, chunk_rows=None, sample_rows=10**6, **options):
    stream = stream_table(path)
    if chunk_rows is not None:
        stream.file.chunk_rows = chunk_rows
    return detect(stream, sample_rows=sample_rows, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("choice", [{}, {"flagged_only": True}, {"why": True}])
def test_the_output_is_that_of_an_ordinary_run(files, tmp_path, ending, choice):
    at_once = detect(read_table(files / f"t.{ending}"))
    found = streamed(files / f"t.{ending}")
    assert np.array_equal(found.scores, at_once.scores)
    assert found.threshold == at_once.threshold
    assert np.array_equal(found.flags, at_once.flags)
    assert found.top(30).tolist() == at_once.top(30).tolist()
    assert found.ranks.tolist() == at_once.ranks.tolist()
    assert found.gap == at_once.gap
    assert found.notes == at_once.notes
    expected, written = (tmp_path / f"{name}.{ending}" for name in ("expected", "written"))
    assert write_scored(at_once, expected, **choice) == write_scored(found, written, **choice)
    if ending == "csv":
        assert written.read_bytes() == expected.read_bytes()
    else:
        assert pq.read_table(written).equals(pq.read_table(expected), check_metadata=True)


@pytest.mark.parametrize(
    ("source", "target"),
    [("csv", "tsv"), ("csv", "csv.gz"), ("parquet", "csv"), ("parquet", "tsv.gz")],
)
@pytest.mark.parametrize("no_formulas", [False, True])
def test_other_formats_and_no_formulas(files, tmp_path, source, target, no_formulas):
    choice = {"no_formulas": no_formulas}
    expected, written = (tmp_path / f"{name}.{target}" for name in ("expected", "written"))
    write_scored(detect(read_table(files / f"t.{source}")), expected, **choice)
    write_scored(streamed(files / f"t.{source}", chunk_rows=70), written, **choice)
    texts = [path.read_bytes() for path in (written, expected)]
    assert len({gzip.decompress(text) if target.endswith("gz") else text for text in texts}) == 1


ROWS = [
    f"{name},{a:.2f},{b}" for name, a, b in zip("abcde" * 8, range(40), [7, 3] * 20, strict=True)
]
SUMS = f"Total,{sum(range(40))}.00,{20 * 10}"
TEXTS = {
    "a title": ["Sales of March", "", "name,a,b", *ROWS],
    "a delimiter line": ["sep=;", *(row.replace(",", ";") for row in ["name,a,b", *ROWS])],
    "a total and blank lines": ["name,a,b", *ROWS, SUMS, "", ""],
    "no names": ROWS,
    "an index": [",a,b", *ROWS],
    "blanks": ["name a   b", *(row.replace(",", "   ") + " " for row in ROWS)],
    "quotes and line breaks": ["name,a,b", *(f'"{row[0]}\n""x""",{row[2:]}' for row in ROWS)],
    "a byte that is not UTF-8": ["näme,a,b", *ROWS],
    "words for missing values": ["name,a,b", *ROWS, "a,-,n/a", "b,,3"],
    "one column": ["a", *(f"{row % 9}.5" for row in range(40)), "99"],
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("flagged_only", [False, True])
def test_texts_of_all_kinds_are_copied_as_in_an_ordinary_run(tmp_path, text, end, flagged_only):
    encoding = "cp1252" if "UTF-8" in text else "utf-8"
    path = tmp_path / "t.csv"
    path.write_bytes(end.join([*TEXTS[text], ""]).encode(encoding))
    at_once = detect(read_table(path))
    choice = {"flagged_only": flagged_only}
    write_scored(at_once, tmp_path / "expected.csv", **choice)
    for chunk_rows in (7, None):
        found = streamed(path, chunk_rows)
        assert (found.notes, found.table.warnings) == (at_once.notes, at_once.table.warnings)
        write_scored(found, tmp_path / "written.csv", **choice)
        assert (tmp_path / "written.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
        applied = detect(stream_table(path), model=found.model, sample_rows=10)
        # a total, which a sample cannot tell from a row, is scored too
        assert np.array_equal(applied.scores[: found.n_rows], found.scores)


def test_one_row_group_is_written_byte_for_byte(tmp_path):
    mixed(300).to_parquet(tmp_path / "t.parquet")
    write_scored(detect(read_table(tmp_path / "t.parquet")), tmp_path / "expected.parquet")
    detect_file(tmp_path / "t.parquet", tmp_path / "written.parquet")
    assert (tmp_path / "written.parquet").read_bytes() == (
        tmp_path / "expected.parquet"
    ).read_bytes()


@settings(max_examples=12)
@given(st.integers(1, 500), st.sampled_from(["csv", "parquet"]))
def test_scores_do_not_depend_on_the_chunks(files, chunk_rows, ending):
    whole = streamed(files / f"t.{ending}", sample_rows=60)
    found = streamed(files / f"t.{ending}", chunk_rows, sample_rows=60)
    assert np.array_equal(found.scores, whole.scores)
    assert (found.threshold, found.notes) == (whole.threshold, whole.notes)


def test_rows_of_a_sample_and_others_and_what_is_counted(files):
    found = streamed(files / "t.parquet", 50, sample_rows=80)
    model, frame = found.model, pd.read_parquet(files / "t.parquet")
    assert np.array_equal(found.scores[found.stream.rows], model.decision_scores_)
    assert np.allclose(-model.score_samples(frame), found.scores)
    assert found.threshold == model.threshold_
    gaps = {column.name: column.n_missing for column in found.record.columns}
    assert gaps["b"] == frame["b"].isna().sum()
    assert found.record.n_rows == 400
    assert any("a sample of 80 of its 400 rows" in str(note) for note in found.notes)
    assert found.ranks.tolist() == rankdata(-found.scores, "min").tolist()


def test_a_number_of_rows_is_flagged_among_equal_scores(tmp_path):
    frame = pd.DataFrame({"a": [0.0, 1.0] * 100 + [9.0] * 6, "b": [1.0] * 206})
    frame.loc[3, "b"] = 1.5
    frame.to_csv(tmp_path / "t.csv", index=False)
    at_once = detect(read_table(tmp_path / "t.csv"), top_n=4)
    found = streamed(tmp_path / "t.csv", top_n=4)
    assert found.flags.tolist() == at_once.flags.tolist()
    assert (found.threshold, found.notes) == (at_once.threshold, at_once.notes)


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("top_n", n) for n in (0, -1, 1.5, "many", 201)),
     *(("sample_rows", n) for n in (0, 1, "many"))],
)  # fmt: skip
@pytest.mark.parametrize("is_new", [True, False])
def test_illegal_numbers_of_rows_are_refused(files, name, value, is_new):
    model = None if is_new else metaod.MetaOD().fit(read_table(files / "t.csv"))
    with pytest.raises(BadParameter) as caught:
        detect_file(files / "t.csv", model=model, **{name: value})
    assert caught.value.name == name


def test_marks_are_of_tables_that_are_read_at_once(files):
    with pytest.raises(UserError) as caught:
        detect_file(files / "t.csv", marks={3: True})
    assert caught.value.code == "rows-in-parts"


def test_a_saved_pick_scores_a_file_in_chunks(files, tmp_path):
    metaod.MetaOD().fit(read_table(files / "t.parquet")).save(tmp_path / "pick.mod")
    later = mixed(300, seed=1).drop(columns="note").assign(new="x", a=lambda own: own["a"] + 5)
    later.to_csv(tmp_path / "later.csv", index=False)
    model = metaod.load(tmp_path / "pick.mod")
    model._set_scores(replace(model.fitted_, notes=("Its table was large.",)))
    found = detect_file(tmp_path / "later.csv", tmp_path / "s.csv", model=model, sample_rows=90)
    assert "When the pick was fitted: Its table was large." in found.notes
    with pytest.warns(UserWarning, match="drift"):
        expected = -model.score_samples(read_table(tmp_path / "later.csv"))
    assert np.array_equal(found.scores, expected)
    assert found.threshold == model.threshold_
    assert any("drift in 'a'" in warning for warning in found.warnings)
    assert any("were ignored: 'new'" in str(note) for note in found.notes)
    written = pd.read_csv(tmp_path / "s.csv", float_precision="round_trip")
    assert np.array_equal(written["score"], found.scores)
    with pytest.raises(BadParameter, match="fitted already"):
        detect_file(tmp_path / "later.csv", model=model, random_state=1)


def test_a_word_among_the_numbers_is_noted(tmp_path):
    frame = mixed(2000).astype({"c": object})
    frame.loc[1500, "c"] = "broken"
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = detect_file(tmp_path / "t.csv", tmp_path / "s.csv", sample_rows=50)
    assert 1500 not in found.stream.rows
    [note] = [note for note in found.notes if getattr(note, "code", "") == "bad-values-finding"]
    assert (note.values["row"], note.values["shown"]) == (1501, "'broken'")
    written = pd.read_csv(tmp_path / "s.csv", dtype=str)
    assert written["c"][1500] == "broken"
    assert found.record.columns[2].n_missing == 1


def test_top_rows_are_read_again(files):
    found = streamed(files / "t.csv", 50, sample_rows=100)
    places = found.top(3)
    assert places[0] == 200
    assert found.rows(places).frame["a"].iloc[0] == 40.0
    assert found.explain(places)[0].reasons[0].column == "a"
    assert found.table.original.texts(places.tolist())["a"][0] == "40,0"


def test_a_report_and_a_document_of_a_sample(files):
    found = streamed(files / "t.parquet", 50, sample_rows=100)
    summary = metaod.detection.summarise(found)
    assert summary["n_rows"] == summary["scores"]["n_rows"] == 400
    assert summary["top"]["rows"][0]["row"] == 201
    ranks = dict(zip(summary["map"]["rows"], summary["map"]["order"], strict=True))
    assert ranks[200] == 0
    document = found.to_dict()
    assert document["n_rows"] == 400
    assert document["n_flagged"] == len(document["flagged"])
    assert document["flagged"][0]["cells"]["a"] == 40.0


# failures


def test_what_cannot_be_written(files, tmp_path):
    found = streamed(files / "t.csv", sample_rows=60)
    with pytest.raises(UserError, match="sort=True needs"):
        write_scored(found, tmp_path / "s.csv", sort=True)
    with pytest.raises(UserError, match=r"cannot be written as \.parquet"):
        write_scored(found, tmp_path / "s.parquet")
    with pytest.raises(UserError) as caught:
        stream_table(files / "t.csv", label="d")
    assert caught.value.code == "label-in-chunks"
    with pytest.raises(UserError, match=r"cannot be written as \.json"):
        detect_file(files / "t.csv", tmp_path / "s.json")
    with pytest.raises(BadParameter, match="output"):
        detect_file(files / "t.csv", tmp_path / "s.pdf")
    assert list(tmp_path.iterdir()) == []


def test_the_input_is_not_overwritten(files, tmp_path):
    (tmp_path / "link.csv").symlink_to(files / "t.csv")
    before = (files / "t.csv").read_bytes()
    for output in (files / "t.csv", tmp_path / "link.csv"):
        with pytest.raises(UserError, match="is the input itself; write to another file"):
            detect_file(files / "t.csv", output)
    assert (files / "t.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "targets"), [("csv", ["csv", "tsv"]), ("parquet", ["csv", "parquet"])]
)
@pytest.mark.parametrize("why", [False, True])
def test_no_flagged_row_is_a_header_alone(files, tmp_path, source, targets, why):
    found = streamed(files / f"t.{source}", sample_rows=60)
    nothing = WrongCells(found.wrong.cells.head(0), found.wrong.row_scores)
    found = replace(found, threshold=np.inf, wrong=nothing)
    assert not found.flags.any()
    choice = {"flagged_only": True, "why": why}
    names = [*mixed(3).columns, "score", "rank", "flag", "suspect", *(["why"] if why else [])]
    for target in targets:
        path = tmp_path / f"s.{target}"
        write_scored(found, path, **choice)
        if target == "parquet":
            written = pd.read_parquet(path)
        else:
            written = pd.read_csv(path, sep="\t" if target == "tsv" else None, engine="python")
        assert list(written.columns) == names
        assert len(written) == 0
    assert found.to_dict()["flagged"] == []


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path):
    mixed(200).to_csv(tmp_path / "t.csv", index=False)
    found = streamed(tmp_path / "t.csv", sample_rows=60)
    mixed(199).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(BadFile, match="was changed after it was read"):
        write_scored(found, tmp_path / "s.csv")
    assert not (tmp_path / "s.csv").exists()


def test_a_full_disk_leaves_no_file(files, tmp_path, monkeypatch):
    found = streamed(files / "t.csv", sample_rows=60)
    (tmp_path / "s.csv").write_text("before")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_Scored, "_added", fail)
    with pytest.raises(UserError, match=r"No space left on device.*; free some space"):
        write_scored(found, tmp_path / "s.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["s.csv"]
    assert (tmp_path / "s.csv").read_text() == "before"


_PEAKS = """
import resource, sys
from made_selection import MODELS, selecting
from metaod.detection import _estimator, detect, write_scored
from metaod.tables import stream_table
_estimator.make_selection = selecting(MODELS[2])
for path in sys.argv[1:]:
    stream = stream_table(path)
    stream.file.chunk_rows = 2000
    kind = path.split(".")[-1]
    found = detect(stream, sample_rows=500, rows_only=kind == "csv")  # the search takes long
    write_scored(found, f"{path}.{kind}")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    block = pd.DataFrame(np.random.default_rng(0).normal(size=(2_500, 20))).add_prefix("c")
    text, cells = block.round(4).to_csv(index=False, header=False), pa.Table.from_pandas(block)
    paths = []
    for n_blocks in (10, 60):
        paths += [tmp_path / f"{n_blocks}.csv", tmp_path / f"{n_blocks}.parquet"]
        paths[-2].write_text(",".join(block.columns) + "\n" + n_blocks * text)
        with pq.ParquetWriter(paths[-1], cells.schema) as writer:
            for _ in range(n_blocks):
                writer.write_table(cells)
    done = subprocess.run(
        # the small ones twice: first runs also fill the allocators' caches
        [sys.executable, "-c", _PEAKS, *map(str, [*paths[:2], *paths])],
        check=True,
        capture_output=True,
        text=True,
        # one thread: each keeps memory of its own
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    peaks = [1024 * int(line) for line in done.stdout.split()]
    more_bytes = 50 * 2_500 * 20 * 8  # of the larger table
    assert peaks[5] - peaks[3] < more_bytes / 2, peaks
