"""All methods on a testbed under a protocol."""

import numpy as np
import pandas as pd
import pytest
from made_testbed import make_testbed

from metaod.errors import BadParameter
from research.evaluation import evaluate_testbed
from research.methods import METHODS, empirical_upper_bound, method, random_selection
from research.protocols import PROTOCOLS, splits_of

QUICK = [
    item
    for item in METHODS
    if item.learner in (None, "global_best", "argosmart", "isac", "random_selection")
]


def evaluate(data, protocol, methods=QUICK, **options):
    return evaluate_testbed(data, protocol, methods=methods, seeds=2, **options)


@pytest.fixture(scope="module")
def poc():
    return make_testbed()


@pytest.fixture(scope="module")
def st():
    return make_testbed("st", mothersets=5)


@pytest.fixture(scope="module")
def of_poc(poc):
    return evaluate(poc, "folds")


@pytest.fixture(scope="module")
def of_st(st):
    return {protocol: evaluate(st, protocol) for protocol in PROTOCOLS["st"]}


def test_splits_of_poc_hold_out_a_sibling_of_each(poc):
    splits = splits_of(poc, "folds")
    assert len(splits) == 5
    for split in splits:
        assert sorted(poc.datasets["motherset"].iloc[split.test]) == ["m0", "m1", "m2", "m3"]


def test_splits_of_st(st):
    assert [len(split.test) for split in splits_of(st, "leave-one-out")] == [1] * 10
    assert [len(split.test) for split in splits_of(st, "leave-one-origin-out")] == [2] * 5
    with pytest.raises(BadParameter, match="leave-one-origin-out"):
        splits_of(st, "leave-two-out")


def test_every_method_of_poc(poc, of_poc):
    results = of_poc
    assert results.methods == [item.key for item in QUICK if item.testbed != "st"]
    assert len(results.datasets) == len(poc.P)
    assert results.left_out().empty
    # every dataset is described as the testbed does, folds by number
    assert results.datasets["fold"].to_dict() == poc.datasets["fold"].to_dict()
    eub = empirical_upper_bound(poc.P, poc.datasets["motherset"])["ap"]
    assert results.by_dataset["eub"].to_dict() == pytest.approx(eub.to_dict())
    assert results.by_dataset["oracle"].to_dict() == pytest.approx(poc.P.max(axis=1).to_dict())
    for item in METHODS:
        if item.reference is not None:
            expected = poc.references[item.reference].to_dict()
            assert results.by_dataset[item.key].to_dict() == pytest.approx(expected)


def test_an_average_without_a_member_has_a_stand_in():
    poc = make_testbed()
    item = method("forest_knn_ocsvm")
    poc.references.loc[poc.P.index[0], item.reference] = np.nan
    reached = evaluate(poc, "folds", [method("global_best"), item]).by_dataset[item.key]
    first, second = poc.P.index[:2]
    assert reached[first] == poc.references.loc[first, item.stand_in]
    assert reached[second] == poc.references.loc[second, item.reference]


@pytest.mark.parametrize("protocol", PROTOCOLS["st"])
def test_every_method_of_st(st, of_st, protocol):
    results = of_st[protocol]
    assert results.methods == [item.key for item in QUICK if item.testbed != "poc"]
    # RS is an expectation, without any draw
    assert set(results.frame.loc[results.frame["method"] == "random_selection", "seed"]) == {0}
    expected = random_selection(st.P)["ap"].to_dict()
    assert results.by_dataset["random_selection"].to_dict() == pytest.approx(expected)


def test_global_best_is_of_the_other_origins(st, of_st):
    frame = of_st["leave-one-origin-out"].frame
    rows = frame[frame["method"] == "global_best"].set_index("dataset")
    for dataset, row in rows.iterrows():
        others = st.P[st.datasets["origin"] != row["origin"]]
        ranked = others.mean().sort_values(ascending=False).index
        best = next(model for model in ranked if not np.isnan(st.P.loc[dataset, model]))
        assert row["pick"] == best
        assert row["ap"] == st.P.loc[dataset, best]


def test_seeds_of_random_methods_alone(of_poc):
    seeds = of_poc.frame.groupby("method")["seed"].nunique()
    assert seeds["isac"] == 2
    assert seeds["global_best"] == seeds["argosmart"] == seeds["lof"] == 1
    assert method("isac").learner == "isac"


def test_a_journal_changes_nothing(poc, of_poc, tmp_path):
    first = evaluate(poc, "folds", journal=tmp_path / "j.jsonl")
    again = evaluate(poc, "folds", journal=tmp_path / "j.jsonl")
    pd.testing.assert_frame_equal(first.frame, again.frame)
    pd.testing.assert_frame_equal(first.frame, of_poc.frame)


def test_a_schema_that_was_not_read(poc):
    with pytest.raises(BadParameter, match="'paper', 'scores'"):
        evaluate(poc, "folds", schema="mine")
