"""MetaOD with one thing changed at a time."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_testbed import RandomSpy, Spy, make_testbed, register

from metaod.learners import make_learner
from research.protocols import leave_one_origin_out
from research.sensitivity import (
    STUDIES,
    Setting,
    Study,
    _thinned,
    run_sensitivity,
    write_sensitivity,
)
from research.statistics import wilcoxon_p

labels = st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=30).filter(
    lambda found: len(set(found)) > 2
)


@given(labels, st.sampled_from([0.2, 0.4, 0.5, 0.8, 1.0]))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_thinning_draws_whole_origins(origins, share):
    origins = np.array(origins)
    for split in leave_one_origin_out(origins):
        thin = _thinned(split, origins, share, seed=1)
        assert thin.test.tolist() == split.test.tolist()
        there, kept = set(origins[split.train]), set(origins[thin.train])
        assert kept <= there
        assert len(kept) == min(len(there), max(2, round(share * len(there))))
        # every dataset of an origin that is drawn, and no other
        assert thin.train.tolist() == [k for k in split.train if origins[k] in kept]
        assert _thinned(split, origins, share, seed=1).train.tolist() == thin.train.tolist()


def test_a_larger_share_adds_to_a_smaller_one():
    origins = np.array(list("abcdefghij"))
    split = leave_one_origin_out(origins)[0]
    drawn = [
        set(_thinned(split, origins, share, seed=1).train) for share in (0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    assert [len(found) for found in drawn] == [2, 4, 5, 7, 9]
    assert all(small < large for small, large in pairwise(drawn))


def test_studies_have_legal_parameters():
    assert [study.key for study in STUDIES] == [
        "loss", "rank", "base", "origins", "schema", "initialisation", "schedule", "stopping",
    ]  # fmt: skip
    default = make_learner("metaod").params()
    for study in STUDIES:
        assert len({setting.x for setting in study.settings}) == len(study.settings)
        for setting in study.settings:
            changed = make_learner(setting.learner, **setting.params).params()
            assert changed.items() >= setting.params.items()
    # what a study compares with is the default
    for study in STUDIES:
        setting = next(setting for setting in study.settings if setting.x == study.default)
        assert make_learner(setting.learner, **setting.params).params() == default
        assert (setting.learner, setting.schema, setting.origins) == ("metaod", "paper", 1.0)


SMALL = (
    Study("loss", "loss", (Setting("one", "spy"), Setting("other", "random_spy")), "one"),
    Study("origins", "share", (Setting(0.5, "spy", origins=0.5), Setting(1.0, "spy")), 1.0),
    Study("schema", "features", (Setting("both", "spy", schema="paper+scores"),), "both"),
)


@pytest.fixture
def found(monkeypatch, tmp_path):
    register(monkeypatch)
    data = make_testbed()
    told = []
    found = run_sensitivity(
        data,
        list(data.datasets["origin"]),
        studies=SMALL,
        seeds=2,
        journal=tmp_path / "j.jsonl",
        progress=lambda *steps: told.append(steps),
    )
    assert told == [(k, 5) for k in range(1, 6)]
    return data, found


def test_every_setting_on_every_dataset(found):
    data, found = found
    assert list(found.columns) == ["study", "x", "seed", "dataset", "ap"]
    counts = found.groupby(["study", "x"]).size().to_dict()
    n = len(data.P)
    assert counts == {
        ("loss", "one"): n, ("loss", "other"): 2 * n, ("origins", "0.5"): n, ("origins", "1.0"): n,
        ("schema", "both"): n,
    }  # fmt: skip
    # the plain setting stands in two studies and is fitted once
    assert len(Spy.fits) == 15
    assert len(RandomSpy.fits) == 10
    halves = [fit for fit in Spy.fits if len(set(fit[2])) == 2]
    assert len(halves) == 5
    assert all(len(rows) == 8 for rows, *_ in halves)


def write(data, found, folder, studies=SMALL):
    origins = data.datasets["origin"]
    iforest = data.references["IForest()"]
    return write_sensitivity(found, iforest, origins, folder, studies=studies)


def test_tables_and_figures(found, tmp_path):
    data, found = found
    written = write(data, found, tmp_path / "out")
    names = {path.name for path in written}
    assert names == {"sensitivity.csv", "sensitivity.md"} | {
        f"sensitivity-{study.key}.{kind}" for study in SMALL for kind in ("csv", "png", "svg")
    }
    assert all(path.stat().st_size for path in written)
    table = pd.read_csv(tmp_path / "out" / "sensitivity.csv")
    named = ["one (default)", "other", "0.5", "1.0 (default)", "both (default)"]
    assert list(table["setting"]) == named
    iforest = data.references["IForest()"].mean()
    one = found[(found["study"] == "loss") & (found["x"] == "one")]["ap"].mean()
    assert table.loc[0, "MAP"] == pytest.approx(one)
    assert table.loc[0, "MAP - iForest"] == pytest.approx(one - iforest)
    means = found.groupby(["x", "dataset"])["ap"].mean().unstack("x")  # noqa: PD010
    difference = means["other"] - means["one"]
    assert table.loc[1, "Δ"] == pytest.approx(difference.mean())
    assert table.loc[1, "low"] < table.loc[1, "Δ"] < table.loc[1, "high"]
    assert (table.loc[[0, 3, 4], ["Δ", "low", "high"]] == 0).all(axis=None)
    assert (table.loc[[0, 3, 4], "p"] == 1).all()
    # a spread needs two seeds
    assert list(table["seed SD"].notna()) == [False, True, False, False, False]
    assert list(table["changed"].notna()) == [False, True, False, False, False]


def test_siblings_are_tested_as_one(found, tmp_path):
    """20 childsets of 4 mothersets are 4 independent rows."""
    data, found = found
    write(data, found, tmp_path, SMALL[:1])
    row = pd.read_csv(tmp_path / "sensitivity.csv").loc[1]
    mothersets = found["dataset"].map(data.datasets["motherset"])
    means = found.groupby(["x", mothersets])["ap"].mean().unstack("x")  # noqa: PD010
    assert len(means) == row["n"] == 4
    assert row["p"] == pytest.approx(wilcoxon_p(means["other"], means["one"]))
    assert row["wins"] == (means["other"] > means["one"]).sum()
    assert row["losses"] == (means["other"] < means["one"]).sum()


def test_runs_of_an_earlier_version_are_left_out(found, tmp_path):
    data, found = found
    old = found[found["x"] != "one"]
    written = write(data, old, tmp_path)
    assert "sensitivity-loss.csv" not in {path.name for path in written}


def test_datasets_without_iforest_are_left_out(found, tmp_path):
    data, found = found
    data.references.iloc[0, data.references.columns.get_loc("IForest()")] = np.nan
    write(data, found, tmp_path / "out", SMALL[:1])
    table = pd.read_csv(tmp_path / "out" / "sensitivity.csv")
    rest = found[found["dataset"] != data.P.index[0]]
    one = rest[(rest["study"] == "loss") & (rest["x"] == "one")]["ap"].mean()
    assert table.loc[0, "MAP"] == pytest.approx(one)
