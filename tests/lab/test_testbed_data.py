"""A testbed read from a store: order, duplicates, and errors for missing rows."""

from pathlib import Path

import numpy as np
import pytest

from metaod.errors import UserError
from metaod.history import Evaluation
from metaod.lab import LeftOut, Manifest, Member, TestbedData
from metaod.lab._methods import REFERENCE_MODELS
from metaod.metafeatures import schema
from metaod.models import CellState, Mode, ModelSpec
from metaod.store import DatasetRecord, MetaFeatureRecord, Store

FOLDER = Path("my-testbed")
SPECS = [ModelSpec("HBOS", {"n_bins": bins}) for bins in (5, 10, 20)]
REFERENCES = [ModelSpec.parse(name) for name in REFERENCE_MODELS]


def fingerprint(number):
    return f"fp1:{number:032x}"


def fill(path, *, numbers=range(4), references=True, schemas=("paper", "scores")):
    rng = np.random.default_rng(0)
    with Store(str(path), create=True) as store:
        store.add_models(SPECS)
        if references:
            store.add_models(REFERENCES, is_reference=True)
        for number in numbers:
            store.add_dataset(
                DatasetRecord(fingerprint(number), f"set{number}", f"o{number}", 100, 5, 10)
            )
            evaluations = [
                Evaluation(spec.id, 0, Mode.FAST, CellState.OK, *rng.uniform(size=3), 0.1, 0, "",
                           "1.0")
                for spec in (*SPECS, *(REFERENCES if references else ()))
            ]  # fmt: skip
            vectors = [
                MetaFeatureRecord(name, schema(name).version, schema(name).names,
                                  rng.normal(size=len(schema(name).names)))
                for name in schemas
            ]  # fmt: skip
            store.record_task(fingerprint(number), evaluations, vectors)
    return path


def member(number, **values):
    values = {"name": f"made/set{number}", "file": f"set{number}.npz"} | values
    name, file = values.pop("name"), values.pop("file")
    return Member(name, "motherset", fingerprint(number), f"o{number}", (100, 5, 10), file=file,
                  **values)  # fmt: skip


def read(path, *members, testbed="st"):
    manifest = Manifest(testbed, 0, members, (LeftOut("speech", 1, "gone"),), {})
    with Store(str(path), read_only=True) as store:
        return TestbedData.from_store(store, manifest, FOLDER)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("store") / "t.db")


def test_in_the_testbeds_order(store):
    data = read(store, member(2, motherset="m", fold=3), member(0, file=None))
    rows = [fingerprint(2), fingerprint(0)]
    assert list(data.datasets.index) == rows
    assert list(data.datasets["name"]) == ["made/set2", "made/set0"]
    assert list(data.datasets["motherset"]) == ["m", ""]
    assert list(data.datasets["fold"]) == [3, 0]
    assert list(data.datasets["outlier_share"]) == [0.1, 0.1]
    assert list(data.P.columns) == [spec.id for spec in SPECS]
    assert list(data.references.columns) == [spec.id for spec in REFERENCES]
    for frame in (data.P, data.references, *data.metafeatures.values()):
        assert list(frame.index) == rows
    for name, M in data.metafeatures.items():
        # what learning may not use stays in the store
        assert tuple(M.columns) == schema(name).learned
    assert data.files == {fingerprint(2): FOLDER / "set2.npz"}
    assert data.duplicates == ()


def test_the_same_table_twice_counts_once(store):
    twin = member(1, name="dami/Pima")
    data = read(store, member(1, name="odds/pima"), member(0), twin)
    assert list(data.datasets["name"]) == ["odds/pima", "made/set0"]
    assert len(data.P) == 2
    assert data.duplicates == (("dami/Pima", "odds/pima"),)


def refused(path, *members, **options):
    with pytest.raises(UserError) as caught:
        read(path, *members, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_childsets_are_named(store):
    message = refused(store, member(0), member(7), member(8))
    assert "no performance of made/set7 and 1 more" in message
    assert "metaod build --store STORE --data my-testbed" in message


def test_missing_sets_of_the_catalogue_are_not_in_the_folder(store):
    message = refused(store, member(0), member(7, name="odds/pima", file=None))
    assert "no performance of odds/pima;" in message
    assert "metaod db init --store STORE --shipped" in message


def test_missing_metafeatures(tmp_path):
    path = fill(tmp_path / "t.db", schemas=("paper",))
    message = refused(path, member(0))
    assert "no scores meta-features of made/set0" in message
    assert "metaod build" in message


def test_missing_references(tmp_path):
    message = refused(fill(tmp_path / "t.db", references=False), member(0))
    assert f"no reference model {REFERENCES[0].id}" in message
    assert "all detectors: metaod build" in message


def test_an_empty_store(tmp_path):
    path = fill(tmp_path / "t.db", numbers=())
    assert "no performance of made/set0" in refused(path, member(0))


def test_own_childsets_are_not_a_testbed(store):
    assert "metaod testbed poc|st" in refused(store, member(0), testbed="childsets")
