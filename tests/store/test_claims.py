"""Several builders on one store: each task has one owner, and is written once."""

import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from made_builds import content, make_folder, run
from made_store import dataset, fingerprint, ok
from sqlalchemy import delete, func, select, update

from metaod.errors import UserError
from metaod.history import FolderEntry, iter_folder
from metaod.models import Budget, CellState, Mode, ModelSpec
from metaod.store import BuildOptions, Store, TaskResult, build, find_inconsistencies
from metaod.store import _claims as claiming
from metaod.store._build import plan_build
from metaod.store._claims import Others, SharedWork, still_lacking
from metaod.store._executors import SerialExecutor
from metaod.store._locking import Holder
from metaod.store._schema import claims
from metaod.store._server import Interrupted
from metaod.store._sums import SlicedReferences
from metaod.store._tasks import BuildTask

TINY = BuildOptions(detectors=("HBOS",), references=False, schemas=())
HBOS = ModelSpec("HBOS", {"n_bins": 10})


def task(number, slice_=""):
    entry = FolderEntry(f"set{number}", Path("nowhere.npz"), "", "origin")
    lacking = frozenset({(HBOS.id, int(slice_[:1] or 0))})
    return BuildTask(
        entry, fingerprint(number), (HBOS,), (), lacking, (), 1, Mode.FAST, Budget(),
        float(number), slice=slice_,
    )  # fmt: skip


def result(task, ap=0.5):
    ((_, trial),) = task.lacking
    return TaskResult(task, (ok(HBOS, trial, ap),), (), 0.1)


def builder(store, tasks):
    """Return a builder that has its tasks, but has claimed none."""
    work = SharedWork(store)
    work._references = SlicedReferences(store, (), 1, Mode.FAST)
    work._pending = {item.key: item for item in tasks}
    work._add(tasks)
    return work


def record(store):
    def write(result, first):
        store.record_task(result.task.fingerprint, result.evaluations, first=first)
        return list(result.evaluations)

    return write


def run_all(work, store, executor, tasks, on_others=lambda others: None):
    references = SlicedReferences(store, (), 1, Mode.FAST)
    return list(work.run(executor, tasks, references, record(store), on_others))


def end_leases(store):
    with store.writing() as connection:
        connection.execute(update(claims).values(expires="2020-01-01T00:00:00Z"))


def lasts(store):
    """Return whether a lease has not ended."""
    with store.reading() as connection:
        return connection.scalar(select(claims.c.expires > func.clock_timestamp()))


@pytest.fixture
def store(postgres):
    with Store(postgres.new_url(), create=True) as opened:
        opened.add_models([HBOS])
        for number in range(4):
            opened.add_dataset(dataset(number))
        yield opened


def test_the_most_costly_task_that_is_free(store):
    tasks = [task(1), task(3), task(2, "1/2"), task(2, "2/2")]
    one, other = builder(store, tasks), builder(store, tasks)
    assert one._next().key == (fingerprint(3), "")
    assert other._next().key == (fingerprint(2), "1/2")
    assert one._next().key == (fingerprint(2), "2/2")
    assert other._next().key == (fingerprint(1), "")
    assert one._next() is None
    assert other._next() is None


def test_a_row_that_another_transaction_holds_is_passed_over(store):
    tasks = [task(1), task(2)]
    one, other = builder(store, tasks), builder(store, tasks)
    with store.writing(lock="none") as connection:
        connection.execute(update(claims).where(claims.c.cost == 2.0).values(owner=None))
        # does not wait for the end of the transaction above
        assert one._next().key == (fingerprint(1), "")
    assert other._next().key == (fingerprint(2), "")


def test_a_builder_whose_lease_has_ended_writes_nothing(store):
    one, other = builder(store, [task(1)]), builder(store, [task(1)])
    mine = one._next()
    assert other._next() is None
    end_leases(store)
    other._busy.clear()
    theirs = other._next()
    assert theirs.key == mine.key
    assert other._finish(result(theirs, ap=0.25), record(store))
    assert not one._finish(result(mine, ap=0.75), record(store))
    assert [item.ap for item in store.evaluations(fingerprint(1))] == [0.25]
    # it is still to do for the first builder, which then finds that it is done
    assert one._next() is None
    assert (one._pending, one._n_finished) == ({}, 1)


def test_an_ended_lease_that_nobody_took_is_still_good(store):
    one = builder(store, [task(1)])
    mine = one._next()
    end_leases(store)
    assert one._finish(result(mine), record(store))
    assert len(store.evaluations(fingerprint(1))) == 1


def test_claims_of_an_ended_process_of_this_machine_are_released(store, monkeypatch):
    one, other = builder(store, [task(1)]), builder(store, [task(1)])
    one._next()
    other._release_ended()
    assert other._next() is None
    monkeypatch.setattr(claiming, "_has_ended", lambda owner: owner == one._owner)
    other._release_ended()
    other._busy.clear()
    assert other._next() is not None


@pytest.mark.parametrize(
    "owner", ["1@elsewhere#a", "1@elsewhere##1#a", "nonsense", "", "@", "x@y#z", "1@a#b#c"]
)
def test_owners_of_whom_nothing_is_known_have_not_ended(owner):
    assert not claiming._has_ended(owner)


@pytest.mark.skipif(sys.platform == "win32", reason="processes of others cannot be seen here")
def test_only_builders_whose_process_can_be_seen_have_ended():
    here = Holder.this_process()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    gone = replace(here, pid=process.pid)
    assert not claiming._has_ended(claiming._name_of(here))
    assert claiming._has_ended(claiming._name_of(gone))
    # a container of the same name has other processes
    assert not claiming._has_ended(claiming._name_of(replace(gone, system="another")))
    assert not claiming._has_ended(claiming._name_of(replace(gone, host="elsewhere")))
    if here.started:
        # another process has got the number
        assert claiming._has_ended(claiming._name_of(replace(here, started="1")))


def test_a_lease_is_renewed_while_a_task_is_computed(store, monkeypatch):
    monkeypatch.setattr(claiming, "RENEWAL", 0.05)
    one, other = builder(store, [task(1)]), builder(store, [task(1)])
    with one._renewed():
        mine = one._next()
        end_leases(store)
        deadline = time.monotonic() + 60
        while not lasts(store) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert other._next() is None
        assert one._finish(result(mine), record(store))


def test_an_error_gives_claims_up(store):
    one, other = builder(store, [task(1)]), builder(store, [task(1)])

    def fail():
        with one._renewed():
            one._next()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert other._next() is not None


def test_an_error_while_an_executor_takes_tasks_ends_the_build(store, monkeypatch):
    class Threaded(SerialExecutor):
        def run(self, function, tasks):
            taken = []
            thread = threading.Thread(target=lambda: taken.extend(tasks))
            thread.start()
            thread.join()
            yield from map(result, taken)

    work = SharedWork(store)
    claim, calls = work._claim, []

    def fails(window):
        calls.append(window)
        if len(calls) == 3:
            raise UserError("no more")
        return claim(window)

    monkeypatch.setattr(work, "_claim", fails)
    with pytest.raises(UserError, match="no more"):
        run_all(work, store, Threaded(1), [task(1), task(2), task(3)])
    assert [len(store.evaluations(fingerprint(k))) for k in (1, 2, 3)] == [0, 1, 1]


def test_a_claim_whose_answer_is_lost_is_claimed_again(store, monkeypatch):
    work = SharedWork(store)
    claim, calls = work._claim, []

    def loses(window):
        calls.append(claim(window))
        if len(calls) == 1:
            raise Interrupted("lost")
        return calls[-1]

    monkeypatch.setattr(work, "_claim", loses)
    monkeypatch.setattr("metaod.store._server.WAITS", (0.0,))
    monkeypatch.setattr(claiming, "run_task", result)
    assert len(run_all(work, store, SerialExecutor(), [task(1), task(2)])) == 2
    assert [len(store.evaluations(fingerprint(k))) for k in (1, 2)] == [1, 1]


def test_builders_in_turn_equal_one_builder(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=5), postgres.new_url()
    run(tmp_path / "serial.db", folder, TINY)
    done = {}

    def work(name):
        done[name] = run(url, folder, TINY)

    Store(url, create=True).close()
    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(url) == content(tmp_path / "serial.db")
    assert sum(report.n_tasks for report in done.values()) == 5
    assert sum(report.states[CellState.OK] for report in done.values()) == 5 * 40


def test_another_builder_repeats_failures_once(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1), postgres.new_url()
    options = replace(TINY, budget=Budget(seconds=0.0))
    run(url, folder, options)
    again = replace(options, retry=frozenset({CellState.OVER_BUDGET}))
    told = []
    with Store(url) as store:
        late = SharedWork(store)
        plan = plan_build(store, iter_folder(folder), again)
        assert run(url, folder, again).n_tasks == 1
        assert run_all(late, store, SerialExecutor(), plan.tasks, told.append) == []
    assert told == [Others(1, 0)]


def test_what_remains_of_a_task(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1, rows=130), postgres.new_url()
    more = BuildOptions(detectors=("HBOS", "LODA"), trials=2, schemas=("paper",))
    with Store(url, create=True) as store:
        (planned,) = plan_build(store, iter_folder(folder), more).tasks
        run(url, folder, replace(more, trials=1))
        references = SlicedReferences(store, more.reference_models(), 2, Mode.FAST)
        rest = still_lacking(store, references, planned)
        assert rest.schemas == ()
        assert {trial for _, trial in rest.lacking} == {1}
        assert {spec.detector for spec in rest.specs} == {"LODA"}
        assert {item.spec.id for item in rest.references} == {
            model for model, _ in rest.lacking
        } - {spec.id for spec in rest.specs}
        run(url, folder, more)
        assert still_lacking(store, references, planned) is None


def test_what_is_retried_remains_until_it_is_written_again(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1), postgres.new_url()
    failing = replace(TINY, budget=Budget(seconds=0.0))
    run(url, folder, failing)
    retry = replace(TINY, retry=frozenset({CellState.OVER_BUDGET}))

    def start_another(_):
        # the same claim, other models
        run(url, folder, replace(TINY, detectors=("LODA",)))

    with Store(url) as store:
        (planned,) = plan_build(store, iter_folder(folder), retry).tasks
        references = SlicedReferences(store, (), 5, Mode.FAST)
        report = build(store, iter_folder(folder), retry, on_plan=start_another)
        assert report.n_tasks == 1
        cells = store.cells(planned.fingerprint)
        assert {cell.state for cell in cells} == {CellState.OK}
        assert still_lacking(store, references, planned) is None


def test_no_rows_of_claims_in_a_file(tmp_path, postgres):
    with Store(tmp_path / "a.db", create=True) as store, store.reading() as connection:
        assert not connection.dialect.has_table(connection, "claims")
    # a store that was made on a server without the table gets it
    url = postgres.new_url()
    with Store(url, create=True) as store:
        with store.writing() as connection:
            claims.drop(connection, checkfirst=True)
        build(store, iter_folder(make_folder(tmp_path / "data", count=1)), TINY)


SERVER = []


@pytest.fixture(autouse=True)
def _server(postgres):
    SERVER[:] = [postgres]


class Builders(RuleBasedStateMachine):
    """Builders that claim, write, stop for longer than a lease, and come back."""

    def __init__(self):
        super().__init__()
        self.store = Store(SERVER[0].new_url(), create=True)
        self.store.add_models([HBOS])
        self.tasks = [task(number, slice_) for number in range(2) for slice_ in ("1/2", "2/2")]
        for number in range(2):
            self.store.add_dataset(dataset(number))
        self.builders = [builder(self.store, self.tasks) for _ in range(3)]
        self.taken = [[], [], []]
        self.written = []

    @rule(who=st.integers(0, 2))
    def claim(self, who):
        self.builders[who]._busy.clear()
        found = self.builders[who]._next()
        if found is not None:
            self.taken[who].append(found)

    @rule(who=st.integers(0, 2), draw=st.integers(0, 9))
    def write(self, who, draw):
        if self.taken[who]:
            done = self.taken[who].pop(draw % len(self.taken[who]))
            if self.builders[who]._finish(result(done), record(self.store)):
                self.written.append(done.key)

    @precondition(lambda self: any(self.taken))
    @rule()
    def end_leases(self):
        end_leases(self.store)

    @invariant()
    def nothing_is_written_twice(self):
        assert len(set(self.written)) == len(self.written)
        assert find_inconsistencies(self.store) == []
        stored = sum(len(self.store.evaluations(fingerprint(k))) for k in range(2))
        assert stored == len(self.written)

    def teardown(self):
        # whoever is left finishes everything
        end_leases(self.store)
        last = self.builders[0]
        last._busy.clear()
        last._held.clear()
        while (found := last._next()) is not None:
            if last._finish(result(found), record(self.store)):
                self.written.append(found.key)
        assert sorted(self.written) == sorted(item.key for item in self.tasks)
        with self.store.writing() as connection:
            connection.execute(delete(claims))
        self.store.close()


TestBuilders = Builders.TestCase
TestBuilders.settings = settings(
    deadline=None, max_examples=4, stateful_step_count=12, phases=[Phase.generate]
)
