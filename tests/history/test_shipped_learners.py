"""The learner that a user names: shipped, or their own; and the shipped files."""

import hashlib
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from metaod.artifacts import Artifact, BadArtifact, write_container
from metaod.errors import BadParameter
from metaod.history import RECIPES, find_artifact, shipped_folder
from metaod.history import _shipped as shipped
from metaod.learners import make_learner
from metaod.models import candidate_averages, model_space
from metaod.store import Store, import_parquet


@pytest.fixture(autouse=True)
def _nothing_remembered():
    yield
    shipped._shipped_artifact.cache_clear()


def tiny(value=0.5, name="made_best"):
    P = pd.DataFrame({"KNN()": [value, 0.2], "IForest()": [0.1, 0.3]})
    M = pd.DataFrame(np.eye(2), columns=["a", "b"])
    return Artifact(make_learner(name).fit(P, M))


def same(one, other):
    return one.learner.predict([0.0, 0.0]).equals(other.learner.predict([0.0, 0.0]))


# names and paths


def test_an_artifact_is_taken_as_it_is():
    made = tiny()
    assert find_artifact(made) is made


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path(tmp_path, kind):
    tiny().save(tmp_path / "mine.metaod")
    assert same(find_artifact(kind(tmp_path / "mine.metaod")), tiny())


def test_a_path_without_an_artifact(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadArtifact, match=r"t\.csv"):
        find_artifact(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "given", ["metaodd", "no/such.metaod", "", ".", "/", None, 3, b"metaod", "a\0b"], ids=repr
)
def test_something_else_is_answered_with_the_list(given):
    with pytest.raises(BadParameter, match="'learner'") as caught:
        find_artifact(given)
    for name in RECIPES:
        assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_saved_pick_is_no_learner(tmp_path):
    write_container(tmp_path / "pick.mod", "pick", {})
    with pytest.raises(BadArtifact, match="--apply") as error:
        find_artifact(tmp_path / "pick.mod")
    assert error.value.code == "other-kind"


def test_shipped_names_are_read_from_the_package(monkeypatch, tmp_path):
    (tmp_path / "artifacts").mkdir()
    for number, name in enumerate(RECIPES):
        tiny(number / 4).save(tmp_path / "artifacts" / f"{name}.metaod")
    monkeypatch.setattr(shipped, "_SHIPPED", tmp_path)
    shipped._shipped_artifact.cache_clear()
    assert same(find_artifact(), tiny(0.0))
    assert same(find_artifact("default"), tiny(0.0))
    assert same(find_artifact("metaod"), tiny(0.25))
    assert find_artifact("metaod") is find_artifact("metaod")


def test_a_file_named_as_a_learner_does_not_hide_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("metaod").write_text("no artifact")
    assert find_artifact("metaod").learner.name == "metaod"


# the files


def test_files_are_small_enough_to_ship():
    for path in shipped_folder().iterdir():
        assert path.stat().st_size < 8_000_000, path.name


def test_the_manifest_describes_the_files():
    manifest = json.loads((shipped_folder() / "manifest.json").read_text("utf-8"))["files"]
    models = {*model_space("paper"), *model_space("extended"), *candidate_averages()}
    assert len(models) == 790
    n_cells = 838 * (790 + 6) + 227 * (790 + 6)
    rows = {"datasets.parquet": 1065, "models.parquet": 790 + 6, "cells.parquet": n_cells}
    assert {name: manifest[name]["rows"] for name in rows} == rows
    for name, entry in manifest.items():
        path = shipped_folder() / name
        assert pq.read_metadata(path).num_rows == entry["rows"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]


def write_part(folder, chosen, names=("",)):
    """Write the shipped files with rows of the chosen datasets in those with one of the names."""
    manifest = json.loads((shipped_folder() / "manifest.json").read_text("utf-8"))
    for name, entry in manifest["files"].items():
        table = pq.read_table(shipped_folder() / name)
        key = {"datasets.parquet": "fingerprint", "models.parquet": None}.get(name, "dataset")
        if key is not None and name.startswith(names):
            table = table.filter(pc.is_in(table[key], pa.array(chosen, pa.string())))
        pq.write_table(table, folder / name)
        entry["rows"] = table.num_rows
        entry["sha256"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_the_files_become_a_store(tmp_path):
    chosen = sorted(
        pq.read_table(shipped_folder() / "datasets.parquet")["fingerprint"].to_pylist()
    )[:20]
    write_part(tmp_path, chosen)
    with Store(tmp_path / "my.db", create=True) as store:
        assert import_parquet(store, tmp_path).n_conflicts == 0
        facts = store.summary()
        assert (facts["datasets"], facts["models"], facts["references"]) == (20, 790, 6)
        matrix = store.performance_matrix("ap")
    cells = pd.read_parquet(shipped_folder() / "cells.parquet").query("dataset in @chosen")
    shipped = cells.pivot_table(index="dataset", columns="model", values="ap", dropna=False)
    shared = matrix.reindex(index=shipped.index)
    np.testing.assert_allclose(shared, shipped[shared.columns], equal_nan=True)


def test_a_shipped_learner_is_pickled_by_name_but_not_one_made_from_it():
    shipped_learner = find_artifact("metaod")
    assert pickle.loads(pickle.dumps(shipped_learner)) is shipped_learner
    made = replace(shipped_learner, history=None, calibration=None)
    assert pickle.loads(pickle.dumps(made)).history is None
