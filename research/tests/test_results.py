"""The frame of results, the methods and the bounds read from the performance matrix."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadFile, BadParameter, UserError
from metaod.history import REFERENCE_MODELS, MegaEnsemble
from metaod.learners import learner_classes
from research import methods as bounds
from research.methods import METHODS, method, paper_methods
from research.results import COLUMNS, Results


def rows(**changes):
    frame = pd.DataFrame(
        {
            "dataset": ["fp1:a", "fp1:a", "fp1:b", "fp1:b"],
            "name": ["NA", "NA", "bee", "bee"],
            "origin": ["a", "a", "b", "b"],
            "motherset": ["", "", "", ""],
            "fold": 0,
            "n_rows": [10, 10, 20, 20],
            "n_columns": 3,
            "outlier_share": 0.1,
            "method": ["lof", "metaod", "lof", "metaod"],
            "seed": 0,
            "pick": ["", "LOF()", "", "KNN(n_neighbors=5)"],
            "ap": [0.1, 0.2, 0.3, 0.5],
            "select_seconds": [np.nan, 0.5, np.nan, 0.25],
        }
    )
    return frame.assign(**changes)


# methods


def test_the_papers_twelve_methods_are_in_its_order():
    titles = ["LOF", "iForest", "ME", "GB", "ISAC", "AS", "SS", "ALORS"]
    titles += ["MetaOD_C", "MetaOD_F", "MetaOD"]
    for testbed, last in (("poc", "EUB"), ("st", "RS")):
        found = [m.title for m in METHODS if m.in_paper and m.testbed in (None, testbed)]
        assert found == [*titles, last]
        assert len(found) == 12


def test_methods_name_learners_and_references_that_exist():
    references = {item.id for item in REFERENCE_MODELS} | {MegaEnsemble("paper", ()).spec.id}
    for item in METHODS:
        assert item.learner is None or item.learner in learner_classes(), item.key
        assert item.reference is None or item.reference in references, item.key
        assert not (item.learner and item.reference)
    assert len({item.key for item in METHODS}) == len({m.title for m in METHODS}) == len(METHODS)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(BadParameter, match="'nonsense'"):
        method("nonsense")
    assert paper_methods(["oracle", "lof", "metaod"]) == ["lof", "metaod"]


# the frame


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_what_is_written_is_read_back_the_same(tmp_path, suffix):
    results = Results(rows())
    path = results.write(tmp_path / "deep" / f"results{suffix}")
    back = Results.read(path)
    pd.testing.assert_frame_equal(back.frame, results.frame)
    assert back.datasets.loc["fp1:a", "name"] == "NA"
    assert back.frame.loc[0, "pick"] == ""
    assert back.frame.columns.tolist() == list(COLUMNS)


def test_files_without_results_are_refused(tmp_path):
    with pytest.raises(BadFile, match=r"\.parquet or \.csv"):
        Results(rows()).write(tmp_path / "results.json")
    with pytest.raises(BadFile, match="does not exist"):
        Results.read(tmp_path / "results.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(BadFile, match="cannot be read"):
        Results.read(tmp_path / "broken.parquet")
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    with pytest.raises(BadColumn, match="'dataset'"):
        Results.read(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ap": [0.1, 0.2, 0.3, 1.5]}, "outside"),
        ({"method": "nonsense"}, "nonsense"),
        ({"seed": ["one", "two", "0", "0"]}, "'seed'"),
        ({"method": "lof"}, "twice"),
        ({"origin": ["a", "b", "b", "b"]}, "'origin'"),
        ({"pick": [None, "", "", ""]}, "'pick'"),
    ],
    ids=["range", "method", "type", "twice", "torn", "missing"],
)
def test_invalid_results_are_refused(changes, said):
    with pytest.raises(UserError, match=said):
        Results(rows(**changes))


def test_no_rows_are_refused():
    with pytest.raises(UserError, match="no rows"):
        Results(rows().iloc[:0])


def test_the_callers_frame_is_not_changed():
    given = rows()
    before = given.copy()
    Results(given)
    pd.testing.assert_frame_equal(given, before)


def test_seeds_are_averaged_and_methods_ordered():
    twice = pd.concat([rows(), rows().query("method == 'metaod'").assign(seed=1, ap=[0.4, 0.7])])
    results = Results(twice)
    assert results.methods == ["lof", "metaod"]
    assert results.matrix()["metaod"].tolist() == pytest.approx([0.6, 0.3])  # bee, NA
    assert results.datasets["name"].tolist() == ["bee", "NA"]


def test_a_dataset_that_one_method_lacks_is_left_out_for_all_and_named():
    results = Results(rows(ap=[0.1, np.nan, 0.3, 0.5]))
    assert results.matrix().index.tolist() == ["fp1:b"]
    assert results.origins().tolist() == ["b"]
    assert results.left_out().to_dict("records") == [{"dataset": "NA", "without AP": "MetaOD"}]
    with pytest.raises(UserError, match="every method"):
        Results(rows(ap=[0.1, np.nan, np.nan, 0.5])).matrix()


def test_rows_of_poc_are_means_over_siblings(poc):
    results, P, _ = poc
    matrix = results.matrix("motherset")
    assert len(matrix) == 6
    own = results.frame.query("motherset == 'mother_b' and method == 'metaod'")["ap"]
    assert len(own) == 10
    assert matrix.loc["mother_b", "metaod"] == pytest.approx(own.mean())
    pooled = results.pooled(P, "motherset")
    siblings = results.datasets.index[results.datasets["motherset"] == "mother_c"]
    assert pooled.loc["mother_c", P.columns[0]] == pytest.approx(P.loc[siblings].iloc[:, 0].mean())
    assert results.origins("motherset").index.tolist() == matrix.index.tolist()


def test_rows_by_origin_and_runs_by_seed(st):
    results, _, _ = st
    by_origin = results.matrix("origin")
    assert len(by_origin) == 6
    own = results.frame.query("origin == 'mother_b' and method == 'metaod'")
    assert by_origin.loc["mother_b", "metaod"] == pytest.approx(own["ap"].mean())
    assert results.origins("origin").tolist() == by_origin.index.tolist()
    for by in ("dataset", "origin"):
        runs = results.runs(by)
        assert list(runs) == results.methods
        assert runs["lof"].shape[1] == 1
        assert runs["metaod"].shape[1] == 2
        for key, run in runs.items():
            expected = results.matrix(by)[key]
            assert run.index.tolist() == expected.index.tolist()
            assert run.mean(axis=1).to_numpy() == pytest.approx(expected.to_numpy())
    assert runs["metaod"].loc["mother_b", 1] == pytest.approx(own[own["seed"] == 1]["ap"].mean())


def test_only_childsets_have_mothersets(st):
    results, P, _ = st
    with pytest.raises(UserError, match="no motherset"):
        results.matrix("motherset")
    with pytest.raises(UserError, match="performance matrix"):
        results.pooled(P.iloc[1:])


def test_a_method_can_be_added_and_replaced():
    results = Results(rows())
    found = pd.DataFrame({"ap": [0.9, 0.8]}, index=["fp1:a", "fp1:b"])
    more = results.with_method("oracle", found)
    assert more.methods == ["lof", "metaod", "oracle"]
    assert more.by_dataset.loc["fp1:b", "oracle"] == 0.8
    again = more.with_method("oracle", found / 2)
    assert again.by_dataset.loc["fp1:b", "oracle"] == 0.4
    assert len(again.frame) == len(more.frame)


# bounds


def test_oracle_is_the_best_of_each_row():
    P = pd.DataFrame({"b": [0.3, 0.3, np.nan], "a": [0.3, 0.4, np.nan]}, index=list("xyz"))
    found = bounds.oracle(P)
    assert found["pick"].tolist() == ["a", "a", ""]
    assert found["ap"].tolist()[:2] == [0.3, 0.4]
    assert np.isnan(found["ap"].iloc[2])


def test_the_upper_bound_is_picked_by_siblings_alone():
    P = pd.DataFrame(
        {"a": [0.9, 0.1, 0.2, 0.5], "b": [0.3, 0.4, 0.6, 0.5]}, index=["s1", "s2", "s3", "t1"]
    )
    with pytest.raises(BadParameter, match="siblings"):
        bounds.empirical_upper_bound(P, pd.Series(["s", "s", "s", "t"], index=P.index))
    found = bounds.empirical_upper_bound(P.iloc[:3], pd.Series("s", index=P.index[:3]))
    # s1: its siblings say b (.5 > .15); s2: a (.55 > .45); s3: a (.5 > .35)
    assert found["pick"].tolist() == ["b", "a", "a"]
    assert found["ap"].tolist() == [0.3, 0.1, 0.2]


def test_the_upper_bound_does_not_look_at_the_childset_itself(poc):
    results, P, _ = poc
    mothersets = results.datasets["motherset"]
    before = bounds.empirical_upper_bound(P, mothersets)
    changed = P.copy()
    changed.iloc[7] = np.random.default_rng(0).permutation(changed.iloc[7].to_numpy())
    after = bounds.empirical_upper_bound(changed, mothersets)
    assert before["pick"].iloc[7] == after["pick"].iloc[7]


def test_random_selection_is_the_expectation():
    P = pd.DataFrame({"a": [0.2, 0.4], "b": [0.4, np.nan]})
    assert bounds.random_selection(P)["ap"].tolist() == pytest.approx([0.3, 0.4])
