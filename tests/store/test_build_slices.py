"""A build in slices: the same store as without, and nothing computed twice after it was stopped."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from made_builds import content, make_folder, run

from metaod.errors import UserError
from metaod.history import iter_folder
from metaod.models import CellState
from metaod.store import BuildOptions, Store, build
from metaod.store import _slices as slices
from metaod.store import _tasks as tasks
from metaod.store._build import plan_build
from metaod.store._sums import SlicedReferences, disjoint

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


def test_sums_of_fewer_trials_are_of_no_use(tmp_path, whole, cut):
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


def stop(result):
    raise KeyboardInterrupt


def members_of_sums(path):
    with Store(path) as store:
        references = SlicedReferences(store, OPTIONS.reference_models(), 2, OPTIONS.mode)
        [found] = [references.members(name) for name in store.datasets_with_sums()]
        return found.get(MEGA, frozenset())


def test_slices_of_one_name_with_other_members(tmp_path, whole, cut, monkeypatch):
    """Two cuts into the same number of slices: each sum of the first is used by the second."""
    folder, expected = whole
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "a.db", folder, OPTIONS, on_task=stop)
    before = members_of_sums(tmp_path / "a.db")
    real = slices.Slicer._of

    def turned(self, *shape):
        # the members of the first slice go to all others
        names = [part.name for part in real(self, *shape)]
        parts = [[] for _ in names]
        for k, unit in enumerate(self._units):
            parts[k % len(parts)] += unit
        return tuple(self._slices(parts, *shape))

    monkeypatch.setattr(slices.Slicer, "_of", turned)
    with Store(tmp_path / "a.db") as store:
        planned = plan_build(store, iter_folder(folder), OPTIONS).tasks
    summed = [member for task in planned for item in task.summed for member in item.members]
    assert before.isdisjoint(summed)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "a.db", folder, OPTIONS, on_task=stop)
    assert before < members_of_sums(tmp_path / "a.db")
    run(tmp_path / "a.db", folder, OPTIONS)
    assert content(tmp_path / "a.db") == expected
    with Store(tmp_path / "a.db") as store:
        assert store.datasets_with_sums() == []


@given(st.lists(st.frozensets(st.integers(0, 9), min_size=1)), st.permutations(range(10)))
def test_disjoint_sums_stay_chosen_when_the_rest_is_added(sets, order):
    sums = {str(k): members for k, members in enumerate(sets)}
    chosen = disjoint(sums)
    covered = set().union(*chosen.values())
    assert sum(map(len, chosen.values())) == len(covered)
    rest = [item for item in order if item not in covered]
    added = {"x": frozenset(rest[::2]), "y": frozenset(rest[1::2])}
    assert disjoint(sums | added) == chosen | added


def test_kept_scores_of_a_build_that_ended_before_the_last_sum(tmp_path, whole, cut, monkeypatch):
    folder, _ = whole
    options = replace(OPTIONS, keep_scores=frozenset({MEGA}))
    with monkeypatch.context() as patched:
        patched.setattr("metaod.store._sums.SlicedReferences.finish", lambda *_: [])
        run(tmp_path / "a.db", folder, options)

    def full(*_):
        raise OSError(28, "No space left on device")

    # first the scores, then the cells: nothing is summed again if they cannot be kept
    with monkeypatch.context() as patched:
        patched.setattr(tasks.ScoreCache, "write", full)
        with pytest.raises(UserError, match="scores cannot be kept"):
            run(tmp_path / "a.db", folder, options)
    assert run(tmp_path / "a.db", folder, options).plan.tasks == ()
    [fingerprint] = [record.fingerprint for record, *_ in content(tmp_path / "a.db")]
    kept = tasks.ScoreCache.beside(tmp_path / "a.db").read(fingerprint)
    assert sorted(kept) == [(MEGA, 0), (MEGA, 1)]


def test_a_builder_with_more_trials_leaves_the_sums_of_another(tmp_path, whole, cut, postgres):
    folder, expected = whole
    few, url, count = replace(OPTIONS, trials=1), postgres.new_url(), 0

    def start_another(result):
        nonlocal count
        count += 1
        if count == 3:
            with pytest.raises(KeyboardInterrupt):
                run(url, folder, OPTIONS, on_task=stop)

    run(url, folder, few, on_task=start_another)
    with Store(url) as store:
        [record] = store.datasets()
        cells = {cell.model: cell for cell in store.cells(record.fingerprint)}
        assert cells[MEGA].n_trials == 1
        # those of the other builder remain
        assert {item.trials for item in store.sums(record.fingerprint)} == {2}
    run(url, folder, OPTIONS)
    assert content(url) == expected
    with Store(url) as store:
        assert store.datasets_with_sums() == []


def test_only_one_builder_evaluates_complete_sums(tmp_path, whole, cut, monkeypatch):
    folder, _ = whole
    with monkeypatch.context() as patched:
        patched.setattr("metaod.store._sums.SlicedReferences.finish", lambda *_: [])
        run(tmp_path / "a.db", folder, OPTIONS)
    with Store(tmp_path / "a.db") as store:
        [name] = store.datasets_with_sums()
        sums = SlicedReferences(store, OPTIONS.reference_models(), 2, OPTIONS.mode)
        first, real = store.sums(name)[0], store.record_task

        def record_later(*arguments, **keywords):
            monkeypatch.setattr(store, "record_task", real)
            assert len(sums.finish(name)) == 2  # another builder, in between
            real(name, sums=[replace(first, trials=3, slice="another")])
            real(*arguments, **keywords)

        monkeypatch.setattr(store, "record_task", record_later)
        assert sums.finish(name) == []
        assert [item.slice for item in store.sums(name)] == ["another"]
