"""Historical datasets joined from frames, and parameters read from texts."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
import pytest
from made_history import history
from made_learners import Best

from metaod.errors import BadParameter, UserError
from metaod.history import TrainingData, train
from metaod.learners import make_learner
from metaod.metafeatures import schema


def frames(n=10):
    P, _, origins = history(n)
    M = pd.DataFrame(
        np.random.default_rng(0).normal(size=(n, len(schema("paper").names))),
        index=P.index, columns=list(schema("paper").names),
    )  # fmt: skip
    datasets = pd.DataFrame(
        {"name": P.index, "origin": origins, "n_rows": 100, "n_columns": 5}, index=P.index
    )
    return P, M, datasets


def test_datasets_that_lack_something_are_left_out():
    P, M, datasets = frames()
    P.iloc[3] = np.nan
    data = TrainingData.from_frames(
        P.drop(index=P.index[0]), {"paper": M.drop(index=P.index[1])[::-1]}, datasets
    )
    expected = [P.index[place] for place in (2, *range(4, 10))]
    assert list(data.P.index) == list(data.M.index) == list(data.origins.index) == expected
    assert tuple(data.M.columns) == schema("paper").learned
    assert data.n_origins == 4
    np.testing.assert_array_equal(data.M, M.loc[expected, list(schema("paper").learned)])


def test_an_artifact_says_what_it_was_trained_on():
    P, M, datasets = frames()
    data = TrainingData.from_frames(P, {"paper": M}, datasets, measure="roc_auc")
    steps = []
    artifact = train(data, make_learner("made_best"), progress=lambda *step: steps.append(step))
    assert artifact.datasets == tuple(P.index)
    assert artifact.n_origins == 5
    assert artifact.measure == "roc_auc"


def test_origins_are_left_out():
    P, M, datasets = frames()
    data = TrainingData.from_frames(P, {"paper": M}, datasets)
    part = data.without({"origin 0", "origin 2", "origin 3", "origin 4"})
    assert list(part.P.index) == list(part.M.index) == [P.index[2], P.index[3]]
    with pytest.raises(BadParameter, match="origin 77"):
        data.without(["origin 77"])
    with pytest.raises(BadParameter, match="is left"):
        data.without(set(datasets["origin"]))


def test_frames_that_do_not_fit():
    P, M, datasets = frames()
    with pytest.raises(BadParameter, match="n_rows"):
        TrainingData.from_frames(P, {"paper": M.drop(columns="n_rows")}, datasets)
    with pytest.raises(BadParameter, match="one schema"):
        TrainingData.from_frames(P, {}, datasets)
    with pytest.raises(BadParameter, match="'dreams'"):
        TrainingData.from_frames(P, {"dreams": M}, datasets)
    with pytest.raises(BadParameter, match="'measure'"):
        TrainingData.from_frames(P, {"paper": M}, datasets, measure="seconds")
    with pytest.raises(UserError, match="no dataset has both"):
        TrainingData.from_frames(P, {"paper": M.iloc[:0]}, datasets)


@dataclass
class Setting(Best):
    """A learner with a parameter of every type."""

    name: ClassVar[str] = "setting"

    count: int = 1
    share: float = 0.5
    way: Literal["pca", "none"] = "pca"
    label: str = ""
    maybe: int | None = None
    on: bool = False
    cycle: tuple[float, ...] = ()
    embedding: object = None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("count=3", 3), ("count=-3", -3), ("share=1", 1.0), ("share=1e-3", 0.001),
        ("way=none", "none"), ('way="pca"', "pca"), ("label=12", "12"), ("label=", ""),
        ("label=a=b", "a=b"), ("maybe=null", None), ("maybe=4", 4), ("on=true", True),
        ("cycle=[1, 2.5]", (1, 2.5)),
    ],
    ids=str,
)  # fmt: skip
def test_values_are_read_as_declared(text, value):
    (found,) = Setting.read_parameters([text]).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["count=1.5", "count=true", "count=x", "count=", "share=NaN", "share=1e999", "share=-Infinity",
     "share=x", "way=other", "maybe=x", "on=1", "on=yes", "cycle=3", "embedding=x", "name=x",
     "none=1", "=1", "count"],
)  # fmt: skip
def test_other_values_are_refused(text):
    with pytest.raises(BadParameter, match="Setting"):
        Setting.read_parameters([text])
    with pytest.raises(BadParameter, match="given once"):
        Setting.read_parameters(["count=1", "count=1"])
