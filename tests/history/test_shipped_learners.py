"""The learner that a user asked for: shipped, trained when asked for, or their own."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from metaod.artifacts import Artifact, BadArtifact, write_container
from metaod.errors import BadParameter, UserError
from metaod.history import TrainingData, final_origins, find_artifact, will_train
from metaod.history import _shipped_learners as learners
from metaod.history._shipped_learners import DEFAULT, RECIPES, shipped_artifact
from metaod.learners import learner_class, learner_names, make_learner
from metaod.metafeatures import schema


def tiny(value=0.5, name="global_best"):
    P = pd.DataFrame({"KNN()": [value, 0.2], "IForest()": [0.1, 0.3]})
    M = pd.DataFrame(np.eye(2), columns=["a", "b"])
    return Artifact(make_learner(name).fit(P, M))


class Trainer:
    """Stands for training; counts how often it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, name, *, progress=None):
        self.asked.append(name)
        return tiny(name=name)


@pytest.fixture
def trainer(monkeypatch):
    made = Trainer()
    monkeypatch.setattr(learners, "train_shipped", made)
    return made


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache folder of the test's own, and nothing remembered."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("METAOD_CACHE", str(folder))
    shipped_artifact.cache_clear()
    yield folder
    shipped_artifact.cache_clear()


def again(name):
    """As a new process would ask."""
    shipped_artifact.cache_clear()
    return find_artifact(name)


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
def test_something_else_is_answered_with_the_list(given, trainer):
    with pytest.raises(BadParameter, match="'learner'") as caught:
        find_artifact(given)
    for name in (DEFAULT, *learner_names()):
        assert (repr(name) in str(caught.value)) == (name != "fixed")
    assert "\n" not in str(caught.value)
    assert trainer.asked == []


def test_a_fixed_choice_needs_its_model(trainer):
    with pytest.raises(BadParameter, match=r"'learner' parameter of metaod info .*--set model="):
        find_artifact("fixed", owner="metaod info")
    assert trainer.asked == []


def test_a_saved_pick_is_no_learner(tmp_path):
    write_container(tmp_path / "pick.mod", "pick", {})
    with pytest.raises(BadArtifact, match="--apply") as error:
        find_artifact(tmp_path / "pick.mod")
    assert error.value.code == "other-kind"


def test_shipped_names_are_read_from_the_package(monkeypatch, tmp_path, trainer, cache):
    (tmp_path / "artifacts").mkdir()
    for number, name in enumerate(RECIPES):
        tiny(number / 4).save(tmp_path / "artifacts" / f"{name}.metaod")
    monkeypatch.setattr(learners, "_SHIPPED", tmp_path)
    assert same(find_artifact(), tiny(0.0))
    assert same(find_artifact(DEFAULT), tiny(0.0))
    assert same(find_artifact("metaod"), tiny(0.25))
    assert find_artifact("metaod") is find_artifact("metaod")
    assert trainer.asked == []
    assert not cache.exists()


def test_a_file_named_as_a_learner_does_not_hide_it(monkeypatch, tmp_path, trainer):
    monkeypatch.chdir(tmp_path)
    Path("argosmart").write_text("no artifact")
    assert same(find_artifact("argosmart"), tiny(name="argosmart"))
    assert trainer.asked == ["argosmart"]


# learners that are trained when asked for


def test_a_rival_is_trained_once(trainer, cache):
    assert same(find_artifact("argosmart"), tiny(name="argosmart"))
    assert find_artifact("argosmart") is find_artifact("argosmart")
    [file] = (cache / "learners").iterdir()
    assert file.name.startswith("argosmart-")
    assert same(again("argosmart"), tiny(name="argosmart"))
    assert trainer.asked == ["argosmart"]
    assert again("global_best")
    assert trainer.asked == ["argosmart", "global_best"]
    assert len(list((cache / "learners").iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [b"", b"PK\x03\x04", None, "a folder"],
    ids=["empty", "cut", "half", "folder"],
)
def test_a_damaged_file_in_the_cache_is_made_anew(trainer, cache, damage):
    find_artifact("argosmart")
    [file] = (cache / "learners").iterdir()
    whole = file.read_bytes()
    if damage == "a folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert same(again("argosmart"), tiny(name="argosmart"))
    assert trainer.asked == ["argosmart", "argosmart"]
    if damage != "a folder":
        assert file.read_bytes() == whole
        again("argosmart")
        assert trainer.asked == ["argosmart", "argosmart"]


def test_an_artifact_of_something_else_in_the_cache_is_made_anew(trainer, cache):
    find_artifact("argosmart")
    [file] = (cache / "learners").iterdir()
    tiny(name="random_selection").save(file)
    assert again("argosmart").learner.name == "argosmart"
    assert trainer.asked == ["argosmart", "argosmart"]


@pytest.mark.parametrize("what", ["a file in the way", "read-only", "no place"])
def test_a_cache_that_cannot_be_written_does_not_matter(
    trainer, cache, what, monkeypatch, tmp_path
):
    if what == "a file in the way":
        cache.write_text("not a folder")
    elif what == "read-only":
        # as root may write anywhere: the system's answer is made up
        def refuse(self, *args, **kwargs):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        monkeypatch.setenv("METAOD_CACHE", os.devnull)
    assert same(find_artifact("argosmart"), tiny(name="argosmart"))
    assert same(again("argosmart"), tiny(name="argosmart"))
    assert trainer.asked == ["argosmart", "argosmart"]


def test_a_disk_that_is_full_does_not_matter(trainer, cache, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Artifact, "save", full)
    assert same(find_artifact("argosmart"), tiny(name="argosmart"))


def test_an_error_in_training_is_raised(monkeypatch, cache):
    def failing(name, *, progress=None):
        raise UserError("no such luck", where=name)

    monkeypatch.setattr(learners, "train_shipped", failing)
    with pytest.raises(UserError, match="no such luck"):
        find_artifact("argosmart")
    assert not cache.exists()


CHANGES = ["cells", "datasets", "features", "final origins", "source", "parameters", "package"]


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_it_depends_on_gives_another_file(monkeypatch, trainer, cache, tmp_path, what):
    here, ours = tmp_path / "here", tmp_path / "ours"
    (here / "performance").mkdir(parents=True)
    ours.mkdir()
    places = {
        "cells": here / "performance" / "cells.parquet",
        "datasets": here / "performance" / "datasets.parquet",
        "features": here / "performance" / "metafeatures-paper-1.parquet",
        "final origins": here / "final_origins.txt",
        "source": ours / "argosmart.py",
    }
    for path in places.values():
        path.write_bytes(b"as it was")
    monkeypatch.setattr(learners, "_SHIPPED", here)
    monkeypatch.setattr(learners, "_SOURCES", (ours,))
    assert will_train("argosmart")
    find_artifact("argosmart")
    assert not will_train("argosmart")
    again("argosmart")
    assert trainer.asked == ["argosmart"]
    if what == "parameters":
        monkeypatch.setattr(learner_class("argosmart"), "params", lambda self: {"k": 2})
    elif what == "package":
        point = SimpleNamespace(name="argosmart", dist=SimpleNamespace(name="other", version="2"))
        monkeypatch.setattr(learners, "entry_points", lambda group: [point])
    else:
        places[what].write_bytes(b"as it is")
    assert will_train("argosmart")
    again("argosmart")
    assert trainer.asked == ["argosmart", "argosmart"]
    assert len(list((cache / "learners").iterdir())) == 2


def test_only_rivals_are_trained(cache):
    assert [
        name for name in (DEFAULT, *RECIPES, "fixed", "no/such", None) if will_train(name)
    ] == []
    assert will_train("isac")


# training on the shipped matrix


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
    monkeypatch.setattr(learners, "final_origins", lambda: frozenset(held_back))
    asked, seen = [], []
    real = learners.calibration_of

    def told(found, learner, **kwargs):
        seen.append(set(found.origins))
        return real(found, learner, **kwargs)

    monkeypatch.setattr(learners, "calibration_of", told)
    monkeypatch.setattr(
        learners,
        "shipped_training_data",
        lambda schemas, **models: asked.append((schemas, models)) or data,
    )
    artifact = learners.train_shipped("argosmart")
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
    recipe = learners.ShippedRecipe("global_best", space="extended", averages=True)
    monkeypatch.setitem(learners.RECIPES, "default", recipe)
    monkeypatch.setattr(learners, "final_origins", lambda: frozenset(sorted(final_origins())[:3]))

    def found(schemas, **models):
        asked.append(models)
        return small()

    monkeypatch.setattr(learners, "shipped_training_data", found)
    learners.train_shipped("default")
    assert asked == [{"space": "extended", "averages": True}]


def test_the_recipes():
    for name in RECIPES:
        recipe = learners.RECIPES[name]
        assert recipe.learner in learner_names()
        assert set(recipe.schemas) <= {"paper", "scores"}
        make_learner(recipe.learner, **recipe.params)
        assert recipe.space in {"paper", "extended"}
    paper = learners.RECIPES["metaod"]
    assert (paper.learner, paper.space, paper.averages) == ("metaod", "paper", False)


def test_the_shipped_data_with_and_without_the_final_origins():
    everything = learners.shipped_training_data(("paper",))
    shared = learners.shipped_training_data(("paper",), final=False)
    assert (len(everything.P), everything.n_origins) == (1065, 958)
    assert everything.reference.notna().mean() > 0.95
    assert not set(shared.origins) & set(final_origins())
    assert set(shared.origins) == set(everything.origins) - set(final_origins())
    assert "IForest()" not in everything.P.columns
