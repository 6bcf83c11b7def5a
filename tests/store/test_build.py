"""The build: resumable whatever happens to it, and the same result however it went."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from made_builds import SMALL, content, make_folder, run
from sqlalchemy import event

from metaod.errors import BadColumn, BadFile, BadParameter, UserError
from metaod.history import iter_folder
from metaod.metafeatures import extract
from metaod.models import Budget, CellState, model_space, register_family, unregister_family
from metaod.store import BuildOptions, Store, build, make_executor, verify
from metaod.tables import prepare


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "data")


def plan(path, folder, options):
    """Return the tasks of a build, which ends before it computes them."""
    found = []

    def stop(plan):
        found.extend(plan.tasks)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(path, folder, options, on_plan=stop)
    return found


def test_every_model_on_every_dataset(tmp_path, folder):
    report = run(tmp_path / "a.db", folder)
    wanted = 40 + 7 + 54 * 2
    assert report.states == {CellState.OK: 4 * wanted}
    for record, evaluations, cells, _ in content(tmp_path / "a.db"):
        assert len(evaluations) == wanted
        assert len(cells) == 101
        assert record.n_outliers == 6


def test_processes_and_serial_agree_bit_for_bit(tmp_path, folder):
    run(tmp_path / "serial.db", folder)
    run(tmp_path / "joblib.db", folder, executor=make_executor(2))
    assert content(tmp_path / "serial.db") == content(tmp_path / "joblib.db")


def test_only_what_is_missing_is_computed(tmp_path, folder):
    run(tmp_path / "a.db", folder, BuildOptions(detectors=("HBOS",), references=False, schemas=()))
    for task in plan(tmp_path / "a.db", folder, SMALL):
        assert {spec.detector for spec in task.specs} == {"COF", "LODA"}
    # more trials: the random models again, of which only the new trials are written
    run(tmp_path / "a.db", folder)
    more = BuildOptions(detectors=SMALL.detectors, trials=3, references=False, schemas=())
    lacking = [pair for task in plan(tmp_path / "a.db", folder, more) for pair in task.lacking]
    assert {(model.partition("(")[0], trial) for model, trial in lacking} == {("LODA", 2)}
    run(tmp_path / "a.db", folder, more)
    run(tmp_path / "b.db", folder, more)
    assert content(tmp_path / "a.db") == content(tmp_path / "b.db")


def test_a_task_order_that_starts_with_the_costly(tmp_path, folder):
    tasks = plan(tmp_path / "a.db", folder, SMALL)
    assert [task.entry.name for task in tasks] == ["set03", "set02", "set01", "set00"]


def test_references_and_the_mega_ensemble(tmp_path):
    folder = make_folder(tmp_path / "data", count=1, rows=130)
    options = BuildOptions(trials=1, schemas=())
    run(tmp_path / "a.db", folder, options)
    with Store(tmp_path / "a.db") as store:
        (record,) = store.datasets()
        cells = {cell.model: cell for cell in store.cells(record.fingerprint)}
        references = {item.id for item in store.models() if item.is_reference}
    assert len(cells) == 302 + 6
    assert len(references) == 6
    assert all(cells[name].state == CellState.OK for name in references)
    states = [cell.state for cell in cells.values()]
    assert states.count(CellState.OK) == 308
    # LOF's default is one of the 302 under another name
    assert cells["LOF()"].ap == cells["LOF(n_neighbors=20, metric=euclidean)"].ap


def test_meta_features_come_with_the_matrix(tmp_path, folder):
    options = BuildOptions(detectors=("COF",), references=False)
    run(tmp_path / "a.db", folder, options)
    with Store(tmp_path / "a.db") as store:
        for record, entry in zip(store.datasets(), iter_folder(folder), strict=True):
            found = store.metafeatures(record.fingerprint)
            assert [item.schema for item in found] == ["paper", "scores"]
            expected = extract(prepare(entry.load().table), ("paper", "scores"))
            values = np.concatenate([item.values for item in found])
            np.testing.assert_array_equal(values, expected.values)
    assert plan(tmp_path / "a.db", folder, options) == []
    # a store that has the cells alone gets the meta-features later
    run(tmp_path / "b.db", folder, replace(options, schemas=()))
    run(tmp_path / "b.db", folder, replace(options, schemas=("paper",)))
    tasks = plan(tmp_path / "b.db", folder, options)
    assert [(task.schemas, task.specs) for task in tasks] == [(("scores",), ())] * 4
    report = run(tmp_path / "b.db", folder, options)
    assert report.states == {}
    assert content(tmp_path / "a.db") == content(tmp_path / "b.db")


def test_over_budget_is_skipped_and_can_be_made_again(tmp_path, folder):
    mean = BuildOptions(
        detectors=("COF",), references=False, schemas=(), budget=Budget(seconds=0.0)
    )
    report = run(tmp_path / "a.db", folder, mean)
    assert report.states == {CellState.OVER_BUDGET: 28}
    fair = BuildOptions(detectors=("COF",), references=False, schemas=())
    assert run(tmp_path / "a.db", folder, fair).states == {}
    again = BuildOptions(detectors=("COF",), references=False, schemas=(), retry=("over budget",))
    assert run(tmp_path / "a.db", folder, again).states == {CellState.OK: 28}


def test_the_mega_ensemble_follows_its_members(tmp_path):
    folder = make_folder(tmp_path / "data", count=1, rows=130)
    mean = BuildOptions(trials=1, schemas=(), budget=Budget(bytes=50_000))
    run(tmp_path / "a.db", folder, mean)
    run(tmp_path / "a.db", folder, BuildOptions(
        trials=1, schemas=(), retry=("over budget",)))  # fmt: skip
    run(tmp_path / "b.db", folder, BuildOptions(trials=1, schemas=()))
    assert content(tmp_path / "a.db") == content(tmp_path / "b.db")


class Breaking:
    def fit(self, X):
        raise ArithmeticError("no such luck")


class Nan:
    def fit(self, X):
        self.decision_scores_ = np.full(len(X), np.nan)


def test_a_failing_detector_is_a_failed_cell_with_its_reason(tmp_path, folder):
    register_family("Breaking", Breaking)
    register_family("Nan", Nan)
    try:
        options = BuildOptions(
            space="all", detectors=("Breaking", "Nan"), references=False, schemas=()
        )
        report = run(tmp_path / "a.db", folder, options)
    finally:
        unregister_family("Breaking")
        unregister_family("Nan")
    assert report.states == {CellState.FAILED: 8}
    with sqlite3.connect(tmp_path / "a.db") as connection:
        reasons = {row[0] for row in connection.execute("select reason from evaluations")}
    assert any("ArithmeticError: no such luck" in reason for reason in reasons)
    assert any("NaN" in reason for reason in reasons)


def test_a_table_that_cannot_be_prepared_fails_its_cells_and_not_the_build(tmp_path, folder):
    np.savez(folder / "constant.npz", X=np.ones((30, 2)), y=np.arange(30) < 3)
    report = run(tmp_path / "a.db", folder)
    assert report.states[CellState.FAILED] == 155
    assert report.states[CellState.OK] == 4 * 155


def test_a_copy_of_a_dataset_is_left_out_by_name(tmp_path, folder):
    (folder / "copy.npz").write_bytes((folder / "set01.npz").read_bytes())
    report = run(tmp_path / "a.db", folder)
    assert report.plan.duplicates == (("set01", "copy"),)
    assert len(report.plan.datasets) == 4


def test_a_dataset_without_outliers_is_refused(tmp_path, folder):
    np.savez(folder / "none.npz", X=np.eye(30), y=np.zeros(30, dtype=int))
    with pytest.raises((BadColumn, UserError), match=r"none\.npz"):
        run(tmp_path / "a.db", folder)


@pytest.mark.parametrize(
    "options",
    [
        {"trials": 0},
        {"detectors": ("PCA",)},
        {"space": "x"},
        {"schemas": ("x",)},
    ],
)
def test_bad_options_are_refused(tmp_path, folder, options):
    with pytest.raises(BadParameter):
        run(tmp_path / "a.db", folder, BuildOptions(**options))


def test_a_file_that_changes_while_building_is_an_error(tmp_path, folder):
    with Store(tmp_path / "a.db", create=True) as store:
        entries = iter_folder(folder)

        def change(plan):
            make_folder(folder, count=4, rows=50)

        with pytest.raises(BadFile, match="changed"):
            build(store, entries, SMALL, on_plan=change)


def test_a_full_disk_keeps_what_was_finished(tmp_path, folder):
    run(tmp_path / "whole.db", folder)
    path = tmp_path / "a.db"
    with Store(path, create=True) as store:

        def fill(result):
            limit = path.stat().st_size // 4096 + 2
            event.listen(
                store.engine,
                "connect",
                lambda connection, _: connection.execute(f"pragma max_page_count = {limit}"),
            )

        with pytest.raises(UserError, match=r"(?i)full|space"):
            build(store, iter_folder(folder), SMALL, on_task=fill)
    finished = [item for item in content(path) if item[1]]
    assert finished
    assert all(item in content(tmp_path / "whole.db") for item in finished)
    run(path, folder)
    assert content(path) == content(tmp_path / "whole.db")


def count_tasks(path, mode="ro"):
    """Return the number of finished tasks; with mode "ro" a killed writer's work is not undone."""
    try:
        with sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=5) as connection:
            rows = connection.execute("select count(distinct dataset) from evaluations")
            return rows.fetchone()[0]
    except sqlite3.Error:
        return 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A folder, and options and content of its build: models, references and meta-features."""
    place = tmp_path_factory.mktemp("uninterrupted")
    folder = make_folder(place / "data", count=8, rows=130)
    options = BuildOptions(detectors=("COF", "LODA"), trials=1, schemas=("paper",))
    run(place / "whole.db", folder, options)
    return folder, options, content(place / "whole.db")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("jobs", [1, 2])
def test_kill_and_resume_equals_an_uninterrupted_run(tmp_path, uninterrupted, jobs):
    folder, options, whole = uninterrupted
    path = tmp_path / "killed.db"
    command = [sys.executable, "-m", "metaod", "build", "--store", str(path), "--data", str(folder),
               "--trials", "1", "--jobs", str(jobs), "--family", "COF", "--family", "LODA",
               "--schema", "paper"]  # fmt: skip
    finished = 0
    for _ in range(2):  # kill a new build, then the build that resumed it
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and count_tasks(path) <= finished:
            time.sleep(0.002)
        assert process.poll() is None, "the build was over before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        before, finished = finished, count_tasks(path, "rw")
        assert finished > before, "a finished task was lost"
    report = run(path, folder, options)
    assert len(report.plan.tasks) == 8 - finished, "a finished task was computed again"
    assert content(path) == whole


def test_verify_recomputes_a_sample_and_finds_a_forged_cell(tmp_path, folder):
    run(tmp_path / "a.db", folder)
    with Store(tmp_path / "a.db") as store:
        found = verify(store, iter_folder(folder), sample=30)
        assert (found.n_cells, found.differences) == (30, ())
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("update cells set ap = 0.123 where model in (select key from models "
                           "where id like 'COF%')")  # fmt: skip
    with Store(tmp_path / "a.db") as store:
        found = verify(store, iter_folder(folder), sample=10_000)
    assert {item.model for item in found.differences} == {
        spec.id for spec in model_space(detectors=["COF"])
    }
    assert "0.123" in str(found.differences[0])


def test_verify_knows_a_changed_file_and_a_table_that_cannot_be_prepared(tmp_path, folder):
    np.savez(folder / "constant.npz", X=np.ones((30, 2)), y=np.arange(30) < 3)
    run(tmp_path / "a.db", folder)
    make_folder(folder, count=1, rows=50)
    run(tmp_path / "a.db", folder)
    with Store(tmp_path / "a.db") as store:
        found = verify(store, iter_folder(folder), sample=10_000)
    assert plan(tmp_path / "a.db", folder, SMALL) == []
    assert (found.n_datasets, found.differences) == (5, ())
