"""Parquet files of a store: what comes back, and what is refused."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_store import (
    HBOS,
    IFOREST,
    content,
    dataset,
    filled_store,
    fingerprint,
    new_store,
    ok,
    vector,
)

from metaod.errors import BadFile, BadParameter, UserError
from metaod.history import MEASURES
from metaod.store import Store, export_parquet, import_parquet
from metaod.store import _exchange as form

CELLS, TRIALS, VECTORS = "cells.parquet", "evaluations.parquet", "metafeatures-made-1.parquet"


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def exported(tmp_path):
    with filled_store() as store:
        return export_parquet(store, tmp_path / "exported", evaluations=True)


# round trips (with every trial: test_store.py)


def test_cells_alone_come_back_rounded(tmp_path):
    with filled_store() as store, Store("sqlite://", create=True) as other:
        store.record_task(fingerprint(3), [ok(HBOS, ap=0.123456, seconds=0.0123456)])
        report = import_parquet(other, export_parquet(store, tmp_path))
        assert (report.added["cells"], report.added["evaluations"]) == (7, 0)
        mine, theirs = store.cells_frame(), other.cells_frame()
        assert theirs["imported"].all()
        figures = [*MEASURES, *(f"{name}_std" for name in MEASURES)]
        np.testing.assert_array_equal(theirs[figures], mine[figures].round(4))
        np.testing.assert_allclose(theirs["seconds"], mine["seconds"], rtol=5e-3)
        same = ["dataset", "model", "n_trials", "state", "reason"]
        pd.testing.assert_frame_equal(theirs[same], mine[same])
        assert theirs["seconds"].iloc[-1] == 0.0123
        assert import_parquet(other, tmp_path).added.total() == 0
        # what was imported is not computed again
        wanted = {HBOS.id: 1, IFOREST.id: 2}
        assert other.missing([fingerprint(1), fingerprint(2)], wanted) == {}


def test_without_rounding_cells_come_back_exactly(tmp_path):
    with filled_store() as store, Store("sqlite://", create=True) as other:
        import_parquet(other, export_parquet(store, tmp_path, decimals=None))
        mine, theirs = store.cells_frame(), other.cells_frame()
        pd.testing.assert_frame_equal(
            theirs.drop(columns="imported"), mine.drop(columns="imported")
        )


def test_an_empty_store(tmp_path):
    with Store("sqlite://", create=True) as store, Store("sqlite://", create=True) as other:
        import_parquet(other, export_parquet(store, tmp_path, evaluations=True))
        assert content(other) == content(store)


def test_what_is_imported_joins_what_is_there(exported):
    with new_store(numbers=[1]) as store:
        store.record_task(fingerprint(1), [ok(HBOS, ap=0.9)])
        assert import_parquet(store, exported).conflict_counts == {"evaluation": 1}
        assert store.performance_matrix().loc[fingerprint(1), HBOS.id] == 0.9
        import_parquet(store, exported, prefer="source")
        assert store.performance_matrix().loc[fingerprint(1), HBOS.id] == 1 / 3


def test_versions_of_meta_features(tmp_path):
    """Schemas are kept apart; a version that a later one contains is left out."""
    with new_store(numbers=[1, 2]) as store, Store("sqlite://", create=True) as other:
        for number in (1, 2):
            vectors = [vector(1.0), vector(1.0, 3.0, version=2), vector(5.0, version=3)]
            store.record_task(fingerprint(number), (), vectors)
        store.record_task(fingerprint(1), (), [vector(1.0, 2.0, 4.0, version=4)])
        folder = export_parquet(store, tmp_path)
        names = sorted(path.name for path in folder.glob("metafeatures-*"))
        assert names == [f"metafeatures-made-{version}.parquet" for version in (2, 3, 4)]
        import_parquet(other, folder)
        for version in (2, 3, 4):
            mine = store.metafeature_matrix("made", version)
            assert other.metafeature_matrix("made", version).equals(mine)


# the files


def test_the_bytes_depend_on_the_content_alone(tmp_path):
    with filled_store(tmp_path / "a.db") as store:
        one = files(export_parquet(store, tmp_path / "one"))
        assert files(export_parquet(store, tmp_path / "two")) == one
    with Store(tmp_path / "b.db", create=True) as store, filled_store() as source:
        # the same, written in another order
        for number in (3, 2, 1):
            store.add_dataset(dataset(number))
        for model in reversed(source.models()):
            store.add_models([model.spec], is_reference=model.is_reference)
        for number in (2, 1):
            for evaluation in reversed(source.evaluations(fingerprint(number))):
                store.record_task(fingerprint(number), [evaluation])
            for item in reversed(source.metafeatures(fingerprint(number))):
                store.record_task(fingerprint(number), (), [item])
        assert files(export_parquet(store, tmp_path / "three")) == one


def test_other_programs_can_read_it(exported):
    cells = pd.read_parquet(exported / CELLS)
    assert (cells["ap"].isna() == (cells["state"] != "ok")).all()
    M = pd.read_parquet(exported / VECTORS)
    assert list(M.columns) == ["dataset", "f0", "f1"]
    assert M["f1"].tolist()[1] == 1e300
    models = pd.read_parquet(exported / "models.parquet")
    assert json.loads(models.set_index("id").loc[HBOS.id, "params"]) == {"n_bins": 10}


def test_an_export_over_an_earlier_one(exported):
    (exported / "mine.txt").write_text("left alone")
    with new_store(numbers=[1]) as store:
        export_parquet(store, exported)
    assert sorted(files(exported)) == [
        CELLS, "datasets.parquet", "manifest.json", "mine.txt", "models.parquet",
    ]  # fmt: skip


# refusals


def rewrite(folder, file, change):
    """Alter a table and make the manifest fit, as somebody who means it would."""
    table = change(pq.read_table(folder / file))
    manifest = json.loads((folder / form._MANIFEST).read_text())
    manifest["files"][file] = form._write_table(folder / file, table)
    (folder / form._MANIFEST).write_text(json.dumps(manifest))


def put(name, row, value):
    def change(table):
        values = table[name].to_pylist()
        values[row] = value
        position = table.column_names.index(name)
        return table.set_column(position, name, pa.array(values, table.schema.field(name).type))

    return change


def without_text(table):
    """Put bytes that are no UTF-8 into a column of texts."""
    bad = pa.array([b"\xff"] * table.num_rows, pa.binary()).view(pa.string())
    return table.set_column(table.column_names.index("reason"), "reason", bad)


BAD_TABLES = [
    (CELLS, without_text, "cannot be read as Parquet"),
    (CELLS, lambda t: t.drop_columns("reason"), "has the columns"),
    (CELLS, lambda t: t.append_column("x", t["ap"]), "has the columns"),
    (CELLS, lambda t: t.select(t.column_names[::-1]), "has the columns"),
    ("datasets.parquet", lambda t: t.set_column(3, "n_rows", t["n_rows"].cast("float")), "n_rows"),
    (VECTORS, lambda t: t.set_column(1, "f0", t["f0"].cast("string")), "f0: string"),
    (CELLS, put("state", 0, None), "'state': has missing values"),
    (CELLS, put("state", 0, "fine"), "row 1: 'fine' is not a valid"),
    (CELLS, put("ap", 0, 1.5), "row 1: The 'ap' parameter"),
    (TRIALS, put("roc_auc", 0, -0.1), "row 1: The 'roc_auc'"),
    (TRIALS, put("seconds", 2, math.inf), "row 3: The 'seconds'"),
    (CELLS, put("ap", 0, None), "row 1: The 'ap' parameter"),
    (TRIALS, put("seconds", 0, None), "row 1: The 'seconds'"),
    (CELLS, put("n_trials", 0, 0), "row 1: The 'n_trials' parameter"),
    (TRIALS, put("trial", 0, -1), "row 1: The 'trial'"),
    (CELLS, put("dataset", 0, fingerprint(0)), "row 1 names an unknown dataset"),
    (TRIALS, put("model", 0, "COF()"), "row 1 names an unknown model"),
    (VECTORS, put("dataset", 0, None), "row 1 names an unknown dataset"),
    (VECTORS, put("f0", 1, math.inf), "row 2: The 'values' parameter"),
    ("datasets.parquet", put("fingerprint", 0, "../../etc"), "row 1: The 'fingerprint' parameter"),
    ("datasets.parquet", put("n_outliers", 1, 999), "row 2: The 'n_outliers'"),
    ("models.parquet", put("params", 0, '{"n_bins": 11}'), "row 1: HBOS.* has the hyperparameters"),
    ("models.parquet", put("params", 0, "[1"), "row 1: "),
    ("models.parquet", put("params", 0, "[1]"), "row 1: "),
    (CELLS, lambda t: t.take(list(range(t.num_rows))[::-1]), "row 2 is not after the one before"),
    (TRIALS, lambda t: pa.concat_tables([t.slice(0, 1), t]), "row 2 is not after the one before"),
]


@pytest.mark.parametrize(("file", "change", "words"), BAD_TABLES)
def test_a_table_that_is_wrong_is_refused_whole(exported, file, change, words):
    rewrite(exported, file, change)
    with new_store(numbers=[1]) as store:
        before = content(store)
        with pytest.raises(BadFile, match=words) as caught:
            import_parquet(store, exported)
        assert file in str(caught.value)
        assert caught.value.remedy
        assert "\n" not in str(caught.value)
        assert content(store) == before


def altered(**changes):
    def alter(folder):
        manifest = json.loads((folder / form._MANIFEST).read_text())
        (folder / form._MANIFEST).write_text(json.dumps(manifest | changes))

    return alter


def listing(change):
    def alter(folder):
        manifest = json.loads((folder / form._MANIFEST).read_text())
        manifest["files"] = change(manifest["files"])
        (folder / form._MANIFEST).write_text(json.dumps(manifest))

    return alter


def not_parquet(folder):
    rewrite(folder, CELLS, lambda table: table)
    data = b"PAR1 this is not Parquet PAR1"
    (folder / CELLS).write_bytes(data)
    listed = {"rows": 1, "sha256": form._sha256(folder / CELLS)}
    listing(lambda known: known | {CELLS: listed})(folder)


BAD_FOLDERS = [
    (lambda folder: (folder / form._MANIFEST).unlink(), "holds no manifest"),
    (lambda folder: (folder / CELLS).unlink(), "is missing, but"),
    (lambda folder: (folder / CELLS).write_bytes(b"PAR1"), "is not the file that manifest.json"),
    *(
        (lambda folder, data=data: (folder / form._MANIFEST).write_bytes(data), "is not the manif")
        for data in (b"{", b"\xff", b"[1]", b"[" * 200_000)
    ),
    (altered(version=2), "format version 2; .* reads version 1; upgrade metaod"),
    (altered(format="another"), "is not the manifest of an export"),
    (listing(lambda known: known | {"notes.txt": {}}), "is not the manifest of an export"),
    (listing(lambda known: known | {"../cells.parquet": known[CELLS]}), "which is no file of an"),
    (listing(lambda known: {CELLS: known[CELLS]}), r"does not list datasets\.parquet"),
    (not_parquet, "cannot be read as Parquet"),
]


@pytest.mark.parametrize(("spoil", "words"), BAD_FOLDERS)
def test_a_folder_that_is_wrong_is_refused(exported, spoil, words):
    spoil(exported)
    with Store("sqlite://", create=True) as store, pytest.raises(BadFile, match=words):
        import_parquet(store, exported)


def test_a_promise_of_too_many_rows(exported, monkeypatch):
    monkeypatch.setattr(form, "_MAX_ROWS", 3)
    with Store("sqlite://", create=True) as store, pytest.raises(BadFile, match="4 rows"):
        import_parquet(store, exported)


def test_exports_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with filled_store() as store:
        with pytest.raises(UserError, match=r"file: cannot be written \(File exists\); name"):
            export_parquet(store, tmp_path / "file")
        (tmp_path / "manifest.json").write_text("{}")
        with pytest.raises(BadFile, match="not the manifest of an export; name another folder"):
            export_parquet(store, tmp_path)
        with pytest.raises(BadParameter, match="'decimals'"):
            export_parquet(store, tmp_path, decimals=3)
        with pytest.raises(BadParameter, match="'prefer'"):
            import_parquet(store, export_parquet(store, tmp_path / "out"), prefer="both")


def test_a_demanded_signature(tmp_path, monkeypatch):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    with filled_store() as store:
        signed = export_parquet(store, tmp_path / "signed", sign=key)
        unsigned = export_parquet(store, tmp_path / "unsigned")
        monkeypatch.setenv("METAOD_VERIFY_KEY", str(key))
        import_parquet(store, signed)
        with pytest.raises(BadFile) as error:
            import_parquet(store, unsigned)
        assert error.value.code == "not-signed"
        import_parquet(store, export_parquet(store, unsigned, sign=key))
        manifest = json.loads((signed / "manifest.json").read_text())
        manifest["files"]["cells.parquet"]["sha256"] = "0" * 64
        (signed / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(BadFile) as error:
            import_parquet(store, signed)
        assert error.value.code == "not-signed"
