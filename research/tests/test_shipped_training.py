"""Training of the shipped learners on the shipped matrix."""

import numpy as np
import pandas as pd
import pytest

from metaod.history import RECIPES, TrainingData, find_artifact
from metaod.history._shipped import ShippedRecipe
from metaod.learners import learner_classes, make_learner
from metaod.metafeatures import schema
from research import shipped
from research.shipped import final_origins


def small(n=24):
    """Data as the shipped matrix gives it, of which some origins are final."""
    rng = np.random.default_rng(0)
    index = pd.Index([f"fp1:{place:032x}" for place in range(n)])
    final = sorted(final_origins())[:3]
    origins = [*final, *(f"origin {place}" for place in range(n - 3))]
    names = list(schema("paper").names)
    return TrainingData.from_frames(
        pd.DataFrame(rng.random((n, 3)), index, ["KNN()", "IForest()", "HBOS()"]),
        {"paper": pd.DataFrame(rng.normal(size=(n, len(names))), index, names)},
        pd.DataFrame({"name": index, "origin": origins, "n_rows": 9, "n_columns": 2}, index),
        reference=pd.Series(rng.random(n), index),
    )


def test_final_origins_train_but_do_not_calibrate(monkeypatch):
    data = small()
    held_back = sorted(final_origins())[:3]
    monkeypatch.setattr(shipped, "final_origins", lambda: frozenset(held_back))
    asked, seen = [], []
    real = shipped.calibration_of

    def told(found, learner, **kwargs):
        seen.append(set(found.origins))
        return real(found, learner, **kwargs)

    monkeypatch.setattr(shipped, "calibration_of", told)
    monkeypatch.setattr(
        shipped,
        "shipped_training_data",
        lambda schemas, **models: asked.append((schemas, models)) or data,
    )
    artifact = shipped.train_shipped("argosmart")
    assert asked == [(("paper",), {"space": "paper", "averages": False})]
    assert artifact.datasets == tuple(data.P.index)
    assert artifact.n_origins == 24
    assert set(artifact.history.origins) == set(data.origins)
    assert seen == [set(data.origins) - set(held_back)]
    assert len(artifact.calibration.distances) == 21
    # the learner itself has learned from all
    whole = make_learner("argosmart").fit(data.P, data.M, data.origins)
    pd.testing.assert_frame_equal(artifact.learner.predict(data.M), whole.predict(data.M))


def test_a_recipe_says_which_models(monkeypatch):
    asked = []
    recipe = ShippedRecipe("global_best", space="extended", averages=True)
    monkeypatch.setitem(RECIPES, "default", recipe)
    monkeypatch.setattr(shipped, "final_origins", lambda: frozenset(sorted(final_origins())[:3]))

    def found(schemas, **models):
        asked.append(models)
        return small()

    monkeypatch.setattr(shipped, "shipped_training_data", found)
    shipped.train_shipped("default")
    assert asked == [{"space": "extended", "averages": True}]


def test_the_recipes():
    for name in RECIPES:
        recipe = RECIPES[name]
        assert recipe.learner in learner_classes()
        assert set(recipe.schemas) <= {"paper", "scores"}
        make_learner(recipe.learner, **recipe.params)
        assert recipe.space in {"paper", "extended"}
    paper = RECIPES["metaod"]
    assert (paper.learner, paper.space, paper.averages) == ("metaod", "paper", False)


def test_the_shipped_data_with_and_without_the_final_origins():
    everything = shipped.shipped_training_data(("paper",))
    shared = shipped.shipped_training_data(("paper",), final=False)
    assert (len(everything.P), everything.n_origins) == (1065, 958)
    assert everything.reference.notna().mean() > 0.95
    assert not set(shared.origins) & set(final_origins())
    assert set(shared.origins) == set(everything.origins) - set(final_origins())
    assert "IForest()" not in everything.P.columns


@pytest.mark.parametrize("name", RECIPES)
def test_the_calibration_does_not_rest_on_final_origins(name):
    figures = find_artifact(name).calibration.figures
    shared = shipped.shipped_datasets().query(
        "origin not in @final", local_dict={"final": final_origins()}
    )
    assert figures["n_origins"] <= shared["origin"].nunique()
    assert len(find_artifact(name).calibration.distances) == len(shared)
