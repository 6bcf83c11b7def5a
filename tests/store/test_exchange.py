import hashlib
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
from metaod.models import CellState
from metaod.store import Store, export_parquet, import_parquet
from metaod.store import _exchange as form


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def exported(tmp_path):
    with filled_store() as store:
        return export_parquet(store, tmp_path / "exported", evaluations=True)


# round trips


def test_with_every_trial_the_content_comes_back(exported):
    with filled_store() as store, Store("sqlite://", create=True) as other:
        report = import_parquet(other, exported)
        assert content(other) == content(store)
        assert report.added["evaluations"] == 8
        assert other.inconsistencies() == []


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
        assert other.performance_matrix().isna().equals(store.performance_matrix().isna())
        assert store.datasets() == other.datasets()
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


def test_what_is_imported_joins_what_is_there(tmp_path, exported):
    with new_store(numbers=[1]) as store:
        store.record_task(fingerprint(1), [ok(HBOS, ap=0.9)])
        report = import_parquet(store, exported)
        assert report.conflict_counts == {"evaluation": 1}
        assert store.performance_matrix().loc[fingerprint(1), HBOS.id] == 0.9
        import_parquet(store, exported, prefer="source")
        assert store.performance_matrix().loc[fingerprint(1), HBOS.id] == 1 / 3


# the files


def test_the_bytes_depend_on_the_content_alone(tmp_path):
    with filled_store(tmp_path / "a.db") as store:
        one = files(export_parquet(store, tmp_path / "one"))
        assert files(export_parquet(store, tmp_path / "two")) == one
    with Store(tmp_path / "b.db", create=True) as store:
        # the same, written in another order
        store.add_models([HBOS])
        for number in (3, 2, 1):
            store.add_dataset(dataset(number))
        with filled_store() as source:
            for number in (2, 1):
                store.add_models([item.spec for item in source.models() if not item.is_reference])
                store.add_models(
                    [item.spec for item in source.models() if item.is_reference], is_reference=True
                )
                for evaluation in reversed(source.evaluations(fingerprint(number))):
                    store.record_task(fingerprint(number), [evaluation])
                for item in reversed(source.metafeatures(fingerprint(number))):
                    store.record_task(fingerprint(number), (), [item])
        assert files(export_parquet(store, tmp_path / "three")) == one


def test_other_programs_can_read_it(exported):
    cells = pd.read_parquet(exported / "cells.parquet")
    assert list(cells.columns) == list(form._columns("cells.parquet"))
    assert (cells["ap"].isna() == (cells["state"] != "ok")).all()
    M = pd.read_parquet(exported / "metafeatures-made-1.parquet")
    assert list(M.columns) == ["dataset", "f0", "f1"]
    assert M["f1"].tolist()[1] == 1e300
    models = pd.read_parquet(exported / "models.parquet")
    assert json.loads(models.set_index("id").loc[HBOS.id, "params"]) == {"n_bins": 10}


def test_an_export_over_an_earlier_one(exported):
    (exported / "mine.txt").write_text("left alone")
    with new_store(numbers=[1]) as store:
        export_parquet(store, exported)
    assert sorted(files(exported)) == [
        "cells.parquet", "datasets.parquet", "manifest.json", "mine.txt", "models.parquet",
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


BAD_TABLES = {
    "a column less": ("cells.parquet", lambda t: t.drop_columns("reason"), "has the columns"),
    "a column more": ("cells.parquet", lambda t: t.append_column("x", t["ap"]), "has the columns"),
    "another order": ("cells.parquet", lambda t: t.select(t.column_names[::-1]), "has the columns"),
    "another type": (
        "datasets.parquet",
        lambda t: t.set_column(4, "n_rows", t["n_rows"].cast("float")),
        "n_rows: float",
    ),
    "text for a feature": (
        "metafeatures-made-1.parquet",
        lambda t: t.set_column(1, "f0", t["f0"].cast("string")),
        "f0: string",
    ),
    "a missing text": ("cells.parquet", put("state", 0, None), "'state': has missing values"),
    "an unknown state": ("cells.parquet", put("state", 0, "fine"), "row 1: 'fine' is not a valid"),
    "above one": ("cells.parquet", put("ap", 0, 1.5), "row 1: The 'ap' parameter"),
    "below zero": ("evaluations.parquet", put("roc_auc", 0, -0.1), "row 1: The 'roc_auc'"),
    "infinite": ("evaluations.parquet", put("seconds", 2, math.inf), "row 3: The 'seconds'"),
    "a lost figure": ("cells.parquet", put("ap", 0, None), "row 1: The 'ap' parameter"),
    "no seconds": ("evaluations.parquet", put("seconds", 0, None), "row 1: The 'seconds'"),
    "no trials": ("cells.parquet", put("n_trials", 0, 0), "row 1: The 'n_trials' parameter"),
    "a negative trial": ("evaluations.parquet", put("trial", 0, -1), "row 1: The 'trial'"),
    "an unknown dataset": (
        "cells.parquet",
        put("dataset", 0, fingerprint(0)),
        "row 1 names an unknown dataset",
    ),
    "an unknown model": (
        "evaluations.parquet",
        put("model", 0, "COF()"),
        "row 1 names an unknown model",
    ),
    "a dataset without features": (
        "metafeatures-made-1.parquet",
        put("dataset", 0, None),
        "row 1 names an unknown dataset",
    ),
    "an infinite feature": (
        "metafeatures-made-1.parquet",
        put("f0", 1, math.inf),
        "row 2: The 'values' parameter",
    ),
    "a bad fingerprint": (
        "datasets.parquet",
        put("fingerprint", 0, "../../etc"),
        "row 1: The 'fingerprint' parameter",
    ),
    "more outliers than rows": ("datasets.parquet", put("n_outliers", 1, 999), "row 2: The 'n_out"),
    "hyperparameters of another": (
        "models.parquet",
        put("params", 0, '{"n_bins": 11}'),
        r"row 1: HBOS\(n_bins=10\) has the hyperparameters of HBOS\(n_bins=11\)",
    ),
    "hyperparameters that are none": ("models.parquet", put("params", 0, "[1"), "row 1: "),
    "hyperparameters as a list": ("models.parquet", put("params", 0, "[1]"), "row 1: "),
    "rows in disorder": (
        "cells.parquet",
        lambda t: t.take(list(range(t.num_rows))[::-1]),
        "row 2 is not after the one before it",
    ),
    "a row twice": (
        "evaluations.parquet",
        lambda t: pa.concat_tables([t.slice(0, 1), t]),
        "row 2 is not after the one before it",
    ),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_table_that_is_wrong_is_refused_whole(exported, kind):
    file, change, words = BAD_TABLES[kind]
    rewrite(exported, file, change)
    with new_store(numbers=[1]) as store:
        before = content(store)
        with pytest.raises(BadFile, match=words) as caught:
            import_parquet(store, exported)
        assert file in str(caught.value)
        assert "\n" not in str(caught.value)
        assert content(store) == before


BAD_FOLDERS = {
    "nothing": (lambda folder: (folder / form._MANIFEST).unlink(), "holds no manifest"),
    "a missing file": (lambda folder: (folder / "cells.parquet").unlink(), "is missing, but"),
    "a changed file": (
        lambda folder: (folder / "cells.parquet").write_bytes(b"PAR1"),
        "is not the file that manifest.json lists",
    ),
    "no JSON": (lambda folder: (folder / form._MANIFEST).write_text("{"), "is not the manifest"),
    "other bytes": (
        lambda folder: (folder / form._MANIFEST).write_bytes(b"\xff"),
        "is not the man",
    ),
    "other JSON": (lambda folder: (folder / form._MANIFEST).write_text("[1]"), "is not the manif"),
    "deep JSON": (
        lambda folder: (folder / form._MANIFEST).write_text("[" * 200_000),
        "is not the manifest",
    ),
}


@pytest.mark.parametrize("kind", BAD_FOLDERS)
def test_a_folder_that_is_wrong_is_refused(exported, kind):
    spoil, words = BAD_FOLDERS[kind]
    spoil(exported)
    with Store("sqlite://", create=True) as store, pytest.raises(BadFile, match=words):
        import_parquet(store, exported)


def alter(folder, **changes):
    manifest = json.loads((folder / form._MANIFEST).read_text())
    (folder / form._MANIFEST).write_text(json.dumps(manifest | changes))
    return manifest


def test_manifests_of_others(exported):
    with Store("sqlite://", create=True) as store:
        manifest = alter(exported, version=2)
        with pytest.raises(BadFile, match=r"format version 2; .* reads version 1; upgrade metaod"):
            import_parquet(store, exported)
        alter(exported, version=1, format="another")
        with pytest.raises(BadFile, match="is not the manifest of an export"):
            import_parquet(store, exported)
        listed = manifest["files"]
        for name in ("../cells.parquet", "notes.txt"):
            alter(exported, format="metaod-exchange", files=listed | {name: {}})
            with pytest.raises(BadFile):
                import_parquet(store, exported)
            alter(exported, files=listed | {name: listed["cells.parquet"]})
            with pytest.raises(BadFile, match="which is no file of an export"):
                import_parquet(store, exported)
        alter(exported, files={name: listed[name] for name in ("cells.parquet", "models.parquet")})
        with pytest.raises(BadFile, match=r"does not list datasets\.parquet"):
            import_parquet(store, exported)


def test_a_promise_of_too_many_rows(exported, monkeypatch):
    monkeypatch.setattr(form, "_MAX_ROWS", 3)
    with Store("sqlite://", create=True) as store, pytest.raises(BadFile, match="has 4 rows"):
        import_parquet(store, exported)


def test_what_is_not_parquet_is_refused(exported):
    data = b"PAR1 this is not Parquet PAR1"
    (exported / "cells.parquet").write_bytes(data)
    manifest = json.loads((exported / form._MANIFEST).read_text())
    manifest["files"]["cells.parquet"]["sha256"] = hashlib.sha256(data).hexdigest()
    (exported / form._MANIFEST).write_text(json.dumps(manifest))
    with (
        Store("sqlite://", create=True) as store,
        pytest.raises(BadFile, match="cannot be read as Parquet"),
    ):
        import_parquet(store, exported)


def test_exports_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with filled_store() as store:
        with pytest.raises(UserError, match=r"file: cannot be written \(File exists\); name"):
            export_parquet(store, tmp_path / "file")
        with pytest.raises(BadParameter, match="'decimals'"):
            export_parquet(store, tmp_path, decimals=0)
        with pytest.raises(BadParameter, match="'prefer'"):
            import_parquet(store, export_parquet(store, tmp_path / "out"), prefer="both")


def test_a_state_that_is_not_ok_keeps_its_reason(exported):
    with Store("sqlite://", create=True) as store:
        import_parquet(store, exported)
        cells = {item.model: item for item in store.cells(fingerprint(2))}
        assert cells[IFOREST.id].state == CellState.OVER_BUDGET
        assert cells[IFOREST.id].reason == "too long"


def test_vectors_of_several_schemas_keep_apart(tmp_path):
    with new_store(numbers=[1, 2]) as store, Store("sqlite://", create=True) as other:
        store.record_task(fingerprint(1), (), [vector(1.0), vector(2.0, 3.0, version=2)])
        store.record_task(fingerprint(2), (), [vector(4.0)])
        folder = export_parquet(store, tmp_path)
        assert len(pq.read_table(folder / "metafeatures-made-1.parquet")) == 2
        assert len(pq.read_table(folder / "metafeatures-made-2.parquet")) == 1
        import_parquet(other, folder)
        assert content(other) == content(store)


def test_a_version_that_a_later_one_contains_is_left_out(tmp_path):
    with new_store(numbers=[1, 2]) as store, Store("sqlite://", create=True) as other:
        for number in (1, 2):
            vectors = [vector(1.0), vector(1.0, 3.0, version=2), vector(5.0, version=3)]
            store.record_task(fingerprint(number), (), vectors)
        folder = export_parquet(store, tmp_path)
        names = sorted(path.name for path in folder.glob("metafeatures-*"))
        assert names == ["metafeatures-made-2.parquet", "metafeatures-made-3.parquet"]
        import_parquet(other, folder)
        assert other.metafeature_matrix("made", 2).equals(store.metafeature_matrix("made", 2))
