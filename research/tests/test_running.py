"""Learners over splits: the data they are fitted on, and the journal."""

import json

import numpy as np
import pandas as pd
import pytest
from made_testbed import RandomSpy, Spy, make_testbed, register

from metaod.errors import BadFile, BadParameter
from research import running
from research.protocols import by_folds, leave_one_origin_out
from research.running import Candidate, Journal, ranking, run_protocol


@pytest.fixture(autouse=True)
def _spies(monkeypatch):
    register(monkeypatch)


@pytest.fixture(scope="module")
def data():
    return make_testbed()


def run(data, *names, splits=None, P=None, M=None, params=None, **options):
    M = data.metafeatures["paper"] if M is None else M
    splits = by_folds(data.datasets["fold"]) if splits is None else splits
    candidates = [Candidate(name, name, M, params or {}) for name in names]
    P = data.P if P is None else P
    return run_protocol(P, list(data.datasets["origin"]), splits, candidates, **options)


def test_fitting_sees_the_training_side_alone(data):
    splits = leave_one_origin_out(data.datasets["origin"])
    run(data, "spy", splits=splits)
    assert len(Spy.fits) == len(splits)
    for split, (of_P, of_M, groups, P), asked in zip(splits, Spy.fits, Spy.asked, strict=True):
        train, test = data.P.index[split.train], data.P.index[split.test]
        assert of_P == of_M == list(train)
        assert groups == list(data.datasets.loc[train, "origin"])
        assert asked == list(test)
        assert not set(of_P) & set(asked)
        pd.testing.assert_frame_equal(P, data.P.loc[train])


@pytest.mark.parametrize(
    "learner",
    ["metaod", "squared_error", "alors", "supervised_surrogates", "argosmart", "isac",
     "global_best", "global_best_rank", "metaod_c", "metaod_f"],
)  # fmt: skip
def test_test_performance_does_not_change_picks(data, learner):
    split = by_folds(data.datasets["fold"])[:1]
    before = run(data, learner, splits=split, seeds=1)
    other = data.P.copy()
    rows = split[0].test
    drawn = np.random.default_rng(1).random((len(rows), other.shape[1]))
    other.iloc[rows] = np.where(other.iloc[rows].isna(), np.nan, drawn)
    after = run(data, learner, splits=split, seeds=1, P=other)
    assert list(after["pick"]) == list(before["pick"])
    reached = [other.loc[row.dataset, row.pick] for row in after.itertuples()]
    assert list(after["performance"]) == reached
    assert (after["performance"] != before["performance"]).all()


def test_all_datasets_of_all_learners(data):
    found = run(data, "spy", "global_best_rank")
    assert len(found) == 2 * len(data.P)
    assert not found.duplicated(["method", "seed", "dataset"]).any()
    for method in ("spy", "global_best_rank"):
        assert set(found.loc[found["method"] == method, "dataset"]) == set(data.P.index)


def test_a_model_without_value_is_passed_over(data):
    P = data.P.copy()
    P["KNN(n_neighbors=5)"] = 0.99
    P["KNN(n_neighbors=6)"] = 0.98
    P["KNN(n_neighbors=7)"] = 0.97
    first, second = P.index[:2]
    P.loc[first, ["KNN(n_neighbors=5)", "KNN(n_neighbors=6)"]] = np.nan
    P.loc[second] = np.nan
    found = run(data, "global_best", P=P).set_index("dataset")
    assert found.loc[first, "pick"] == "KNN(n_neighbors=7)"
    assert found.loc[first, "performance"] == 0.97
    assert found.loc[first, "passed_over"] == 2
    assert found.loc[second, "pick"] == ""
    assert np.isnan(found.loc[second, "performance"])
    assert found.loc[second, "passed_over"] == P.shape[1]
    others = found.drop([first, second])
    assert set(others["pick"]) == {"KNN(n_neighbors=5)"}
    assert not others["passed_over"].any()


def test_equal_scores_go_by_id():
    scores = pd.Series({"b": 0.5, "d": 0.7, "a": 0.5, "c": 0.7})
    assert ranking(scores) == ["c", "d", "a", "b"]
    assert ranking(scores.iloc[::-1]) == ["c", "d", "a", "b"]


def test_seeds_of_random_learners_alone(data):
    found = run(data, "spy", "random_spy", seeds=3)
    n_splits = 5
    assert len(Spy.fits) == n_splits
    assert sorted(RandomSpy.seeds) == sorted([0, 1, 2] * n_splits)
    seeds = found.groupby("method")["seed"].unique()
    assert list(seeds["spy"]) == [0]
    assert list(seeds["random_spy"]) == [0, 1, 2]
    picks = found[found["method"] == "random_spy"].groupby("seed")["pick"].agg(set)
    assert len({frozenset(found) for found in picks}) > 1


def test_zero_seeds(data):
    with pytest.raises(BadParameter, match="seeds"):
        run(data, "spy", seeds=0)


def test_two_processes_find_the_same(data):
    names = ("isac", "global_best")
    splits = by_folds(data.datasets["fold"])[:2]
    one = run(data, *names, splits=splits, seeds=2)
    two = run(data, *names, splits=splits, seeds=2, n_jobs=2)
    pd.testing.assert_frame_equal(one, two)


def test_order_of_models_does_not_matter(data):
    one = run(data, "spy")
    two = run(data, "spy", P=data.P[data.P.columns[::-1]])
    pd.testing.assert_frame_equal(one, two)


# journals


class Stopped(Exception):
    pass


def test_a_stopped_run_continues(data, tmp_path):
    journal = tmp_path / "deep" / "picks.jsonl"
    whole = run(data, "spy", "random_spy", seeds=2)
    Spy.fits.clear()
    RandomSpy.fits.clear()

    def stop(done, total):
        assert total == 15
        if done == 4:
            raise Stopped

    with pytest.raises(Stopped):
        run(data, "spy", "random_spy", seeds=2, journal=journal, progress=stop)
    assert len(journal.read_text().splitlines()) == 4
    Spy.fits.clear()
    RandomSpy.fits.clear()
    told = []
    again = run(data, "spy", "random_spy", seeds=2, journal=journal,
                progress=lambda *steps: told.append(steps))  # fmt: skip
    assert len(Spy.fits) + len(RandomSpy.fits) == 11
    assert told == [(done, 15) for done in range(4, 16)]
    pd.testing.assert_frame_equal(again, whole)
    run(data, "spy", "random_spy", seeds=2, journal=journal)
    assert len(Spy.fits) + len(RandomSpy.fits) == 11


@pytest.mark.parametrize("kept", [1, 11, 12, 40, -1], ids=lambda kept: f"{kept} bytes")
def test_a_truncated_line_is_repeated(data, tmp_path, kept):
    journal = tmp_path / "picks.jsonl"
    whole = run(data, "spy", journal=journal)
    raw = journal.read_bytes()
    *lines, last = raw.splitlines(keepends=True)
    journal.write_bytes(b"".join(lines) + last[:kept])
    Spy.fits.clear()
    pd.testing.assert_frame_equal(run(data, "spy", journal=journal), whole)
    assert len(Spy.fits) == 1
    assert journal.read_bytes() == raw


@pytest.mark.parametrize(
    "content",
    [b"a line\n", b"no line's end", b'{"a": 1}\n', b"[1]\n", b"\xff\xfe\x00", b"\xff\n", b"\n"],
    ids=["text", "no end", "other JSON", "a list", "binary", "binary line", "empty line"],
)
def test_other_files_are_refused_and_not_changed(data, tmp_path, content):
    journal = tmp_path / "picks.jsonl"
    journal.write_bytes(content)
    with pytest.raises(BadFile, match="is not a journal of an evaluation; delete it") as caught:
        run(data, "spy", journal=journal)
    assert "\n" not in str(caught.value)
    assert journal.read_bytes() == content
    assert not Spy.fits


def test_the_journal_is_a_folder(data, tmp_path):
    with pytest.raises(BadFile, match="cannot be used"):
        run(data, "spy", journal=tmp_path)


def test_missing_performance_comes_back_from_a_journal(data, tmp_path):
    P = data.P.copy()
    P.iloc[1] = np.nan
    first = run(data, "spy", P=P, journal=tmp_path / "j")
    again = run(data, "spy", P=P, journal=tmp_path / "j")
    assert np.isnan(first["performance"]).sum() == 1
    pd.testing.assert_frame_equal(first, again)


def _changed_performance(data):
    P = data.P.copy()
    P.iloc[0, 2] += 1e-9
    return {"P": P}


def _changed_metafeatures(data):
    M = data.metafeatures["paper"].copy()
    M.iloc[0, 0] += 1e-9
    return {"M": M}


def _renamed_features(data):
    return {"M": data.metafeatures["paper"].rename(columns=str.upper)}


def _renamed_models(data):
    return {"P": data.P.rename(columns=lambda name: name.replace("KNN", "LOF"))}


@pytest.mark.parametrize(
    "change",
    [
        _changed_performance,
        _changed_metafeatures,
        _renamed_features,
        _renamed_models,
        lambda _: {"params": {"lift": 1.0}},
    ],
    ids=["performance", "meta-features", "features' names", "models' names", "parameter"],
)
def test_other_inputs_are_run_again(data, tmp_path, change):
    journal = tmp_path / "picks.jsonl"
    run(data, "spy", journal=journal)
    run(data, "spy", journal=journal, **change(data))
    assert len(Spy.fits) == 10
    assert len(Journal(journal).done) == 10


def test_other_origins_and_splits_are_run_again(data, tmp_path):
    journal = tmp_path / "picks.jsonl"
    candidate = [Candidate("spy", "spy", data.metafeatures["paper"])]
    splits = by_folds(data.datasets["fold"])
    for origins in (data.datasets["origin"], data.datasets["name"]):
        run_protocol(data.P, list(origins), splits, candidate, journal=journal)
    assert len(Spy.fits) == 10
    run(data, "spy", splits=leave_one_origin_out(data.datasets["origin"]), journal=journal)
    assert len(Spy.fits) == 14


def test_a_changed_default_is_run_again(data, tmp_path, monkeypatch):
    journal = tmp_path / "picks.jsonl"
    run(data, "spy", journal=journal)
    # naming the default changes nothing
    run(data, "spy", journal=journal, params={"lift": 0.0})
    assert len(Spy.fits) == 5
    monkeypatch.setattr(Spy.__init__, "__defaults__", (0.5,))
    run(data, "spy", journal=journal)
    assert len(Spy.fits) == 10


def test_another_version_is_run_again(data, tmp_path, monkeypatch):
    journal = tmp_path / "picks.jsonl"
    run(data, "spy", journal=journal)
    assert "metaod" in running.versions()
    monkeypatch.setattr(running, "versions", lambda: {"metaod": "99.0"})
    run(data, "spy", journal=journal)
    assert len(Spy.fits) == 10


def test_other_code_is_run_again(data, tmp_path, monkeypatch):
    journal, source = tmp_path / "picks.jsonl", tmp_path / "learner.py"
    source.write_text("one")
    monkeypatch.setattr("made_testbed.__file__", str(source))
    running._code.cache_clear()
    run(data, "spy", journal=journal)
    source.write_text("two")
    running._code.cache_clear()
    run(data, "spy", journal=journal)
    running._code.cache_clear()
    assert len(Spy.fits) == 10


def test_a_journal_is_lines_of_json(data, tmp_path):
    journal = tmp_path / "picks.jsonl"
    run(data, "spy", journal=journal)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [sorted(line) for line in lines] == [["digest", "found"]] * 5
    assert len({line["digest"] for line in lines}) == 5
