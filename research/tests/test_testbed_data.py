"""A testbed read from a store: order, duplicates, and errors for missing rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaod.errors import UserError
from metaod.history import Evaluation
from metaod.metafeatures import schema
from metaod.models import CellState, ModelSpec, average_of
from metaod.store import DatasetRecord, MetaFeatureRecord, Store
from research import testbed_data
from research.evaluation import evaluate_testbed
from research.methods import METHODS, REFERENCE_MODELS
from research.tables import matching_table
from research.testbed_data import TestbedData
from research.testbeds.folder import LeftOut, Manifest, Member, read_manifest

FOLDER = Path("my-testbed")
SPECS = [ModelSpec("HBOS", {"n_bins": bins}) for bins in (5, 10, 20)]
REFERENCES = [ModelSpec.parse(name) for name in REFERENCE_MODELS]


def fingerprint(number):
    return f"fp1:{number:032x}"


@pytest.fixture(autouse=True)
def small_space(monkeypatch):
    """The paper's space with three models."""
    spaces = {"paper": tuple(SPECS)}
    monkeypatch.setattr(testbed_data, "model_space", lambda name: spaces[name])


def fill(path, *, numbers=range(4), references=True, schemas=("paper", "scores"), others=()):
    """Others are models of another space, better than all of the space; averages among them."""
    rng = np.random.default_rng(0)
    with Store(str(path), create=True) as store:
        store.add_models([*others, *SPECS])
        if references:
            store.add_models(REFERENCES, is_reference=True)
        for number in numbers:
            store.add_dataset(
                DatasetRecord(fingerprint(number), f"set{number}", f"o{number}", 100, 5, 10)
            )
            evaluations = [
                Evaluation(spec.id, 0, CellState.OK, *rng.uniform(size=3), 0.1, 0, "",
                           "1.0")
                for spec in (*SPECS, *(REFERENCES if references else ()))
            ]  # fmt: skip
            evaluations += [
                Evaluation(spec.id, 0, CellState.OK, 1.0, 1.0, 1.0, 0.1, 0, "", "1.0")
                for spec in others
            ]
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


def test_other_models_of_a_store_change_nothing(store, tmp_path):
    """Extended models and averages of a store are never picked, nor counted among the best."""
    members = [member(number) for number in range(4)]
    plain = read(store, *members)
    extended = ModelSpec("KDE", {"gamma_scale": 0.3}, "robust")
    # specs that sort before, between and after those of the space
    others = [ModelSpec("ABOD", {"n_neighbors": 3}), ModelSpec("HBOS", {"n_bins": 15}), extended]
    more = read(fill(tmp_path / "t.db", others=[*others, average_of(SPECS[0], extended)]), *members)
    pd.testing.assert_frame_equal(more.P, plain.P)
    assert more.space == plain.space == "paper"
    learned = ("global_best", "random_selection", "isac", "squared_error", "metaod_c")
    methods = [item for item in METHODS if item.learner in (None, *learned)]
    first, second = (
        evaluate_testbed(data, "leave-one-out", methods=methods, seeds=2) for data in (plain, more)
    )
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert {"oracle", "mega_ensemble", *learned} <= set(first.methods)
    picks = set(first.frame["pick"]) - {""}
    assert picks <= {spec.id for spec in SPECS}
    bests = matching_table(first, plain.P, "dataset")
    pd.testing.assert_frame_equal(matching_table(second, more.P, "dataset"), bests)


def test_a_manifest_names_its_space(tmp_path):
    Manifest("st", 0, (member(0),), (), {}, "extended").write(tmp_path)
    assert read_manifest(tmp_path).space == "extended"
    path = tmp_path / "manifest.json"
    document = json.loads(path.read_text())
    del document["space"]  # of an earlier version
    path.write_text(json.dumps(document))
    assert read_manifest(tmp_path).space == "paper"


def test_a_store_without_the_whole_space(tmp_path, monkeypatch):
    larger = (*SPECS, ModelSpec("HBOS", {"n_bins": 40}))
    monkeypatch.setattr(testbed_data, "model_space", lambda _: larger)
    message = refused(fill(tmp_path / "t.db"), member(0))
    assert f"no model {larger[-1].id}" in message
    assert "metaod build" in message


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
    assert "research testbed poc|st" in refused(store, member(0), testbed="childsets")
