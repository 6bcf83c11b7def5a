"""Several builders on one store: each task has one owner, and is written once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
from metaod.history import FolderEntry
from metaod.models import Budget, CellState, ModelSpec
from metaod.store import BuildOptions, Store
from metaod.store import _claims as claiming
from metaod.store._claims import SharedWork
from metaod.store._executors import SerialExecutor
from metaod.store._schema import claims
from metaod.store._server import Interrupted
from metaod.store._tasks import BuildTask, TaskResult

TINY = BuildOptions(detectors=("HBOS",), references=False, schemas=())
HBOS = ModelSpec("HBOS", {"n_bins": 10})


def task(number):
    entry = FolderEntry(f"set{number}", Path("nowhere.npz"), "", "origin")
    lacking = frozenset({(HBOS.id, 0)})
    return BuildTask(entry, fingerprint(number), (10 + number, 2), TINY, lacking)


def result(task, ap=0.5):
    ((_, trial),) = task.lacking
    return TaskResult(task, (ok(HBOS, trial, ap),))


def all_done(task, retried):
    return None


def builder(store, tasks):
    """Return a builder that has its tasks, but has claimed none."""
    work = SharedWork(store)
    work._replan, work._retry = all_done, ""
    work._pending = {item.fingerprint: item for item in tasks}
    work._add(tasks)
    return work


def record(store):
    def write(result, first):
        store.record_task(result.task.fingerprint, result.evaluations, first=first)

    return write


def run_all(work, store, executor, tasks):
    return list(work.run(executor, tasks, (), all_done, record(store), lambda n: None))


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
    tasks = [task(1), task(3), task(2)]
    one, other = builder(store, tasks), builder(store, tasks)
    assert one._next().fingerprint == fingerprint(3)
    assert other._next().fingerprint == fingerprint(2)
    assert one._next().fingerprint == fingerprint(1)
    assert one._next() is None
    assert other._next() is None


def test_a_row_that_another_transaction_holds_is_passed_over(store):
    tasks = [task(1), task(2)]
    one, other = builder(store, tasks), builder(store, tasks)
    with store.writing(lock="none") as connection:
        is_row = claims.c.fingerprint == fingerprint(2)
        connection.execute(update(claims).where(is_row).values(owner=None))
        # does not wait for the end of the transaction above
        assert one._next().fingerprint == fingerprint(1)
    assert other._next().fingerprint == fingerprint(2)


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
    Store(url, create=True).close()
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda _: run(url, folder, TINY), range(3)))
    assert content(url) == content(tmp_path / "serial.db")
    assert sum(report.n_tasks for report in reports) == 5
    assert sum(report.states[CellState.OK] for report in reports) == 5 * 40


def test_another_builder_repeats_failures_once(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1), postgres.new_url()
    options = replace(TINY, budget=Budget(seconds=0.0))
    run(url, folder, options)
    again = replace(options, retry=("over budget",))
    reports = []

    def start_another(_):
        reports.append(run(url, folder, again))

    assert run(url, folder, again, on_plan=start_another).n_tasks == 0
    assert reports[0].n_tasks == 1


def test_only_what_another_builder_leaves_is_computed(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1, rows=130), postgres.new_url()
    more = BuildOptions(detectors=("HBOS", "LODA"), trials=2, schemas=("paper",))
    results = []

    def start_another(_):
        run(url, folder, replace(more, trials=1))

    run(url, folder, more, on_plan=start_another, on_task=results.append)
    [rest] = [result.task for result in results]
    assert rest.schemas == ()
    assert {trial for _, trial in rest.lacking} == {1}
    assert {spec.detector for spec in rest.specs} == {"IForest", "LODA", "ZAverage"}  # random ones
    run(tmp_path / "serial.db", folder, more)
    assert content(url) == content(tmp_path / "serial.db")


def test_what_is_retried_remains_until_it_is_written_again(tmp_path, postgres):
    folder, url = make_folder(tmp_path / "data", count=1), postgres.new_url()
    run(url, folder, replace(TINY, budget=Budget(seconds=0.0)))
    retry = replace(TINY, retry=("over budget",))

    def start_another(_):
        # the same claim, other models
        run(url, folder, replace(TINY, detectors=("LODA",)))

    assert run(url, folder, retry, on_plan=start_another).n_tasks == 1
    with Store(url) as store:
        [record] = store.datasets()
        assert {cell.state for cell in store.cells(record.fingerprint)} == {CellState.OK}


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
        self.tasks = [task(number) for number in range(4)]
        for number in range(4):
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
                self.written.append(done.fingerprint)

    @precondition(lambda self: any(self.taken))
    @rule()
    def end_leases(self):
        end_leases(self.store)

    @invariant()
    def nothing_is_written_twice(self):
        assert len(set(self.written)) == len(self.written)
        assert self.store.inconsistencies() == []
        stored = sum(len(self.store.evaluations(fingerprint(k))) for k in range(4))
        assert stored == len(self.written)

    def teardown(self):
        # whoever is left finishes everything
        end_leases(self.store)
        last = self.builders[0]
        last._busy.clear()
        last._held.clear()
        while (found := last._next()) is not None:
            if last._finish(result(found), record(self.store)):
                self.written.append(found.fingerprint)
        assert sorted(self.written) == sorted(item.fingerprint for item in self.tasks)
        with self.store.writing() as connection:
            connection.execute(delete(claims))
        self.store.close()


TestBuilders = Builders.TestCase
TestBuilders.settings = settings(
    deadline=None, max_examples=4, stateful_step_count=12, phases=[Phase.generate]
)
