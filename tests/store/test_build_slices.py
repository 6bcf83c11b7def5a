"""A build in slices: the same store as without, and nothing computed twice after it was stopped."""

from dataclasses import replace

import numpy as np
import pytest
from made_builds import content, make_folder, run

from metaod.history import iter_folder
from metaod.models import CellState
from metaod.store import BuildOptions, Store, build
from metaod.store import _slices as slices
from metaod.store import _tasks as tasks
from metaod.store._build import plan_build

OPTIONS = BuildOptions(trials=2, schemas=("paper",))
MEGA = "MegaEnsemble(space=paper)"


@pytest.fixture
def cut(monkeypatch):
    """Cut even small tables into several slices."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", 1.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder and the store of a build without slices."""
    place = tmp_path_factory.mktemp("whole")
    folder = make_folder(place / "data", count=1, rows=150)
    run(place / "whole.db", folder, OPTIONS)
    return folder, content(place / "whole.db")


def test_slices_give_the_same_store(tmp_path, whole, cut):
    folder, expected = whole
    report = run(tmp_path / "a.db", folder, OPTIONS)
    assert report.plan.n_unfinished == 1
    assert len(report.plan.tasks) >= 6
    assert len({task.key for task in report.plan.tasks}) == len(report.plan.tasks)
    assert content(tmp_path / "a.db") == expected
    assert sum(report.states.values()) == sum(len(item[1]) for item in expected)
    with Store(tmp_path / "a.db") as store:
        assert store.datasets_with_sums() == []
        assert plan_build(store, iter_folder(folder), OPTIONS).tasks == ()


@pytest.mark.parametrize("stop_after", [1, 4])
def test_a_stopped_build_goes_on_and_computes_nothing_twice(
    tmp_path, whole, cut, monkeypatch, stop_after
):
    folder, expected = whole
    scored = []
    real = tasks.evaluate_models

    def counting(X, y, specs, *, sums, **keywords):
        scored.append((len(X), tuple(specs), sums.members))
        return real(X, y, specs, sums=sums, **keywords)

    monkeypatch.setattr(tasks, "evaluate_models", counting)
    seen = 0

    def stop(result):
        nonlocal seen
        seen += 1
        if seen == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "a.db", folder, OPTIONS, on_task=stop)
    run(tmp_path / "a.db", folder, OPTIONS)
    assert content(tmp_path / "a.db") == expected
    for position in (1, 2):
        done = [(item[0], spec) for item in scored for spec in item[position]]
        assert len(set(done)) == len(done), "a model was computed twice"


def test_a_build_that_ends_before_the_last_sum_is_evaluated(tmp_path, whole, cut, monkeypatch):
    folder, expected = whole
    with monkeypatch.context() as patched:
        patched.setattr("metaod.store._sums.SlicedReferences.finish", lambda *_: [])
        run(tmp_path / "a.db", folder, OPTIONS)
    with Store(tmp_path / "a.db") as store:
        assert len(store.datasets_with_sums()) == 1
    assert run(tmp_path / "a.db", folder, OPTIONS).plan.tasks == ()
    assert content(tmp_path / "a.db") == expected


def test_sums_of_no_use_are_dropped(tmp_path, whole, cut):
    folder, expected = whole

    def stop(result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "a.db", folder, replace(OPTIONS, trials=1), on_task=stop)
    run(tmp_path / "a.db", folder, OPTIONS)
    assert content(tmp_path / "a.db") == expected


def test_a_lost_slice_is_left_out_and_can_be_repeated(tmp_path, whole, cut):
    folder, expected = whole

    class Losing:
        def run(self, function, tasks):
            for position, task in enumerate(tasks):
                yield task.lost("the worker died") if position == 1 else function(task)

    with Store(tmp_path / "a.db", create=True) as store:
        report = build(store, iter_folder(folder), OPTIONS, executor=Losing())
        lost = [task for task in report.plan.tasks if task.summed][1]
        assert report.states[CellState.FAILED] == len(lost.lacking)
        [mega] = [
            cell for cell in store.cells(lost.fingerprint) if cell.model.startswith("MegaEnsemble")
        ]
        assert mega.state == CellState.OK
        assert mega.reason == f"without {len(lost.summed[0].members)} of 302 models"
        retried = replace(OPTIONS, retry=frozenset({CellState.FAILED}))
        build(store, iter_folder(folder), retried)
    assert content(tmp_path / "a.db") == expected


def test_halves_compute_what_the_whole_does(tmp_path, whole, cut):
    folder, expected = whole

    class Halving:
        def run(self, function, tasks):
            for task in tasks:
                yield task.joined(map(self.result_of, task.halves() or [task]))

        def result_of(self, task):
            if len(task.specs) < 40:
                return tasks.run_task(task)
            return task.joined(map(self.result_of, task.halves()))

    run(tmp_path / "a.db", folder, OPTIONS, executor=Halving())
    assert content(tmp_path / "a.db") == expected


def test_a_table_that_cannot_be_prepared(tmp_path, cut):
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "constant.npz", X=np.ones((60, 2)), y=np.arange(60) < 3)
    run(tmp_path / "a.db", folder, OPTIONS)
    [(_, evaluations, cells, vectors)] = content(tmp_path / "a.db")
    assert len(cells) == 302 + 6
    assert {item[3] for item in evaluations} == {CellState.FAILED}
    assert len(vectors) == 1
    assert run(tmp_path / "a.db", folder, OPTIONS).plan.tasks == ()


def test_kept_scores_of_sliced_references(tmp_path, whole, cut):
    folder, expected = whole
    options = replace(OPTIONS, keep_scores=frozenset({MEGA, "LOF()"}))
    run(tmp_path / "a.db", folder, options)
    assert content(tmp_path / "a.db") == expected
    for record, *_ in expected:
        kept = tasks.ScoreCache.beside(tmp_path / "a.db").read(record.fingerprint)
        assert sorted(kept) == [("LOF()", 0), (MEGA, 0), (MEGA, 1)]
    assert run(tmp_path / "a.db", folder, options).plan.tasks == ()
