import json
import math

import numpy as np
import pytest
from made_store import (
    ENSEMBLE,
    HBOS,
    IFOREST,
    LOF,
    bad,
    content,
    dataset,
    filled_store,
    fingerprint,
    new_store,
    ok,
    vector,
)
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES
from metaod.models import CellState, ModelSpec, model_space
from metaod.store import MetaFeatureRecord, Store
from metaod.store import _schema as schema
from metaod.store._rows import aggregate
from metaod.store._schema import Cell

# records


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": "0123"},
        {"name": ""},
        {"origin": ""},
        {"n_rows": 0},
        {"n_columns": 0},
        {"n_outliers": -1},
        {"n_outliers": 201},
    ],
)
def test_a_dataset_that_cannot_be_is_refused(changes):
    with pytest.raises(BadParameter, match=f"'{next(iter(changes))}' parameter of DatasetRecord"):
        dataset(1, **changes)


def test_outlier_share():
    assert dataset(1, n_rows=8, n_outliers=2).outlier_share == 0.25


@pytest.mark.parametrize("name", [*MEASURES, "seconds"])
def test_a_cell_that_is_not_ok_has_no_figures(name):
    with pytest.raises(BadParameter, match=name):
        Cell("HBOS()", 1, CellState.FAILED, **{name: 0.0})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"ap": math.nan}, "ap"),
        ({"ap": 1.01}, "ap"),
        ({"roc_auc": math.inf}, "roc_auc"),
        ({"n_trials": 0}, "n_trials"),
        ({"ap_std": 0.1}, "ap_std"),
        ({"n_trials": 2}, "ap_std"),
        ({"seconds": -1.0}, "seconds"),
        ({"seconds": math.inf}, "seconds"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(changes, named):
    figures = {"ap": 0.5, "roc_auc": 0.5, "precision_at_n": 0.5, "seconds": 1.0, "n_trials": 1}
    Cell("HBOS()", state=CellState.OK, **figures)
    with pytest.raises(BadParameter, match=f"'{named}'"):
        Cell("HBOS()", state=CellState.OK, **(figures | changes))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("Paper!", 1, ["a"], [1.0]), "schema"),
        (("paper", -1, ["a"], [1.0]), "version"),
        (("paper", 1, ["a", "a"], [1.0, 2.0]), "features"),
        (("paper", 1, ["dataset"], [1.0]), "features"),
        (("paper", 1, ["a"], [1.0, 2.0]), "values"),
        (("paper", 1, ["a"], [math.inf]), "values"),
    ],
)
def test_meta_features_that_cannot_be_are_refused(arguments, named):
    with pytest.raises(BadParameter, match=f"'{named}'"):
        MetaFeatureRecord(*arguments)


# the rule of cells


def test_mean_and_spread_over_trials():
    values = [0.1, 0.4, 0.7]
    (cell,) = aggregate([ok(IFOREST, t, ap) for t, ap in enumerate(values)])
    assert cell.n_trials == 3
    assert cell.state == CellState.OK
    assert cell.ap == pytest.approx(np.mean(values), abs=1e-15)
    assert cell.ap_std == pytest.approx(np.std(values, ddof=1), abs=1e-15)
    assert cell.seconds == pytest.approx(0.5)


def test_a_single_trial_has_no_spread():
    (cell,) = aggregate([ok(IFOREST, 3, 0.25)])
    assert (cell.n_trials, cell.ap) == (1, 0.25)
    assert math.isnan(cell.ap_std)


def test_the_order_of_trials_does_not_matter():
    trials = [ok(IFOREST, t, ap) for t, ap in enumerate([0.1, 0.2, 0.3, 1e-17, 0.7])]
    assert repr(aggregate(trials)) == repr(aggregate(reversed(trials)))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("ok ok", "ok"),
        ("ok failed", "failed"),
        ("over budget,ok", "over budget"),
        ("not applicable,over budget", "over budget"),
        ("not applicable,over budget,failed,ok", "failed"),
    ],
)
def test_the_gravest_state_is_the_cells(states, expected):
    names = states.split(",") if "," in states else states.split()
    trials = [
        ok(IFOREST, t) if name == "ok" else bad(IFOREST, t, CellState(name), f"because of {name}")
        for t, name in enumerate(names)
    ]
    (cell,) = aggregate(trials)
    assert cell.state == expected
    assert cell.reason == ("" if expected == "ok" else f"because of {expected}")
    assert math.isnan(cell.ap) == math.isnan(cell.seconds) == (expected != "ok")


def test_a_repair_is_the_reason_of_the_cell():
    (cell,) = aggregate([ok(IFOREST, 0), ok(IFOREST, 1, reason="2 scores were NaN")])
    assert (cell.state, cell.reason) == (CellState.OK, "2 scores were NaN")


# writing


def test_the_first_record_of_a_dataset_stays():
    with new_store(numbers=[1]) as store:
        assert store.add_dataset(dataset(1, origin="elsewhere")) is False
        assert store.add_dataset(dataset(2)) is True
        assert [item.origin for item in store.datasets()] == ["origin1", "origin2"]


def test_datasets_are_ordered_by_collection_and_name():
    with Store("sqlite://", create=True) as store:
        for number, (collection, name) in enumerate([("b", "a"), ("a", "z"), ("a", "B")]):
            store.add_dataset(dataset(number, collection=collection, name=name))
        assert [item.name for item in store.datasets()] == ["B", "z", "a"]


def test_all_models_of_the_paper_come_back():
    space = model_space("paper")
    with Store("sqlite://", create=True) as store:
        assert store.add_models(space) == 302
        assert store.add_models([*space, ModelSpec("HBOS", scaling="none")]) == 1
        assert {item.spec for item in store.models()} >= set(space)
        assert all(item.spec.params == ModelSpec.parse(item.id).params for item in store.models())


def test_a_trial_given_twice_is_refused():
    with new_store(numbers=[1]) as store:
        with pytest.raises(BadParameter, match="distinct trials"):
            store.record_task(fingerprint(1), [ok(HBOS), ok(HBOS, ap=0.1)])
        assert store.evaluations(fingerprint(1)) == []


def test_unknown_dataset_and_model():
    with new_store(numbers=[1]) as store:
        with pytest.raises(UserError, match=r"the dataset fp1:0.*2 is not in the store; add it"):
            store.record_task(fingerprint(2), [ok(HBOS)])
        with pytest.raises(UserError, match=r"the model COF\(\) is not in the store; add it"):
            store.record_task(fingerprint(1), [ok(ModelSpec("COF"))])
        with pytest.raises(UserError, match="not in the store"):
            store.cells(fingerprint(2))


def test_features_may_not_change_within_a_version():
    with new_store(numbers=[1, 2]) as store:
        store.record_task(fingerprint(1), (), [vector(1.0, 2.0)])
        before = content(store)
        with pytest.raises(UserError, match="schema 'made', version 1, are stored with other"):
            store.record_task(fingerprint(2), [ok(HBOS)], [vector(1.0, 2.0, 3.0)])
        assert content(store) == before
        store.record_task(fingerprint(2), (), [vector(1.0, 2.0, 3.0, version=2)])


def test_an_error_in_a_transaction_undoes_it():
    def stumble(store):
        with store.writing() as connection:
            connection.execute(schema.models.delete())
            raise ZeroDivisionError

    with new_store(numbers=[1]) as store:
        before = content(store)
        with pytest.raises(ZeroDivisionError):
            stumble(store)
        assert content(store) == before


@pytest.mark.parametrize("table", [schema.evaluations, schema.cells])
def test_the_database_itself_refuses_a_zero_for_a_failure(table):
    with filled_store() as store, pytest.raises(IntegrityError), store.writing() as connection:
        connection.execute(update(table).where(table.c.state != "ok").values(ap=0.0))


def test_faults_are_found():
    with filled_store() as store:
        with store.writing() as connection:
            connection.execute(update(schema.cells).where(schema.cells.c.ap > 0.8).values(ap=0.7))
        (fault,) = store.inconsistencies()
        assert "fp1:00000000000000000000000000000001" in fault
        assert f"the cell of {ENSEMBLE.id} is not the aggregate of its trials" in fault
        with store.writing() as connection:
            connection.execute(update(schema.metafeatures).values(vector=b"1234567"))
        faults = store.inconsistencies()
        assert len(faults) == 2
        assert all("buffer size" in fault for fault in faults)
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE evaluations SET state = 'nonsense', ap = NULL, "
                                       "roc_auc = NULL, precision_at_n = NULL")  # fmt: skip
        assert all("nonsense" in fault for fault in store.inconsistencies())


def test_cells_without_trials_and_trials_without_cells_are_faults():
    with filled_store() as store:
        with store.writing() as connection:
            connection.execute(schema.cells.delete().where(schema.cells.c.n_trials == 2))
            connection.execute(schema.evaluations.delete().where(schema.evaluations.c.ap == 0.9))
        assert store.inconsistencies() == [
            f"{fingerprint(1)}: the cell of {IFOREST.id} is missing, although it has trials",
            f"{fingerprint(1)}: the cell of {ENSEMBLE.id} has no trials",
            f"{fingerprint(2)}: the cell of {IFOREST.id} is missing, although it has trials",
        ]


# reading


def test_performance_matrix():
    with filled_store() as store:
        P = store.performance_matrix()
        assert list(P.index) == [fingerprint(1), fingerprint(2)]
        assert list(P.columns) == [HBOS.id, IFOREST.id, LOF.id]
        expected = [[1 / 3, 0.25, np.nan], [np.nan, np.nan, np.nan]]
        np.testing.assert_allclose(P.to_numpy(), expected, rtol=1e-15)
        chosen = store.performance_matrix("roc_auc", models=[ENSEMBLE.id, IFOREST.id])
        np.testing.assert_allclose(chosen.to_numpy()[0], [0.95, 0.625], rtol=1e-15)
        assert list(chosen.columns) == [ENSEMBLE.id, IFOREST.id]
        assert store.performance_matrix("seconds").loc[fingerprint(1), IFOREST.id] == 0.375


def test_performance_matrix_refuses_what_it_does_not_know():
    with filled_store() as store:
        with pytest.raises(BadParameter, match="'measure'"):
            store.performance_matrix("accuracy")
        with pytest.raises(BadParameter, match=r"'COF\(\)'"):
            store.performance_matrix(models=["COF()"])


def test_cells_frame():
    with filled_store() as store:
        frame = store.cells_frame()
        assert len(frame) == 6
        assert (frame[list(MEASURES)].isna().any(axis=1) == (frame["state"] != "ok")).all()
        assert frame["ap"].dtype == float
        assert frame[["dataset", "model"]].apply(tuple, axis=1).is_monotonic_increasing


def test_frames_of_an_empty_store():
    with Store("sqlite://", create=True) as store:
        assert store.cells_frame().columns.tolist()[:2] == ["dataset", "model"]
        assert "outlier_share" in store.datasets_frame()
        assert store.performance_matrix().empty


def test_datasets_frame():
    with new_store(numbers=[2, 1]) as store:
        frame = store.datasets_frame()
        assert frame["name"].tolist() == ["set1", "set2"]
        assert frame["outlier_share"].tolist() == [0.05, 0.05]


def test_metafeature_matrix():
    with filled_store() as store:
        M = store.metafeature_matrix("made")
        assert M.columns.tolist() == ["f0", "f1"]
        np.testing.assert_array_equal(M.to_numpy(), [[1.0, np.nan], [-2.0, 1e300]])
        store.record_task(fingerprint(3), (), [vector(9.0, 8.0, 7.0, version=2)])
        assert store.metafeature_matrix("made", 2).to_numpy().tolist() == [[9.0, 8.0, 7.0]]
        assert len(store.metafeature_matrix("made", 1)) == 2
        with pytest.raises(BadParameter, match=r"'made 1', 'made 2', 'other 3'.*Got 'made 7'"):
            store.metafeature_matrix("made", 7)


def test_metafeatures_are_read_in_the_newest_version_that_every_dataset_has():
    with filled_store() as store:
        old = store.metafeature_matrix("made")
        store.record_task(fingerprint(3), (), [vector(9.0, 8.0, 7.0, version=2)])
        mixed = store.metafeature_matrix("made")
        assert mixed.columns.tolist() == ["f0", "f1"]
        assert mixed.loc[fingerprint(3)].tolist() == [9.0, 8.0]
        np.testing.assert_array_equal(mixed.loc[old.index], old)
        for number in old.index:
            store.record_task(number, (), [vector(1.0, 2.0, 3.0, version=2)])
        assert store.metafeature_matrix("made").columns.tolist() == ["f0", "f1", "f2"]


def test_summary():
    with filled_store() as store:
        known = store.summary()
    assert json.loads(json.dumps(known)) == known
    assert (known["datasets"], known["origins"], known["collections"]) == (3, 3, {"made": 3})
    assert (known["models"], known["references"]) == (3, 1)
    assert known["cells"] == {"failed": 1, "not applicable": 1, "ok": 3, "over budget": 1}
    assert (known["evaluations"], known["imported_cells"], known["most_trials"]) == (8, 0, 2)
    assert known["engine_versions"] == {"1.0": 8}
    assert known["metafeatures"] == [
        {"schema": "made", "version": 1, "datasets": 2},
        {"schema": "other", "version": 3, "datasets": 1},
    ]


def test_missing_in_a_store_of_many_datasets():
    wanted = {HBOS.id: 1, IFOREST.id: 2, "COF()": 1}
    with new_store(numbers=range(70)) as store:
        for number in range(0, 70, 2):
            store.record_task(fingerprint(number), [ok(HBOS), ok(IFOREST, 0), ok(IFOREST, 1)])
        found = store.missing(map(fingerprint, range(71)), wanted)
        everything = {HBOS.id: (0,), IFOREST.id: (0, 1), "COF()": (0,)}
        assert found == {
            fingerprint(number): {"COF()": (0,)} if number % 2 == 0 and number < 70 else everything
            for number in range(71)
        }


def test_retry_asks_for_the_trials_that_ended_so():
    wanted = {HBOS.id: 1, IFOREST.id: 2, LOF.id: 1}
    with filled_store() as store:
        two = [fingerprint(2)]
        assert store.missing(two, wanted) == {}
        assert store.missing(two, wanted, retry=[CellState.OVER_BUDGET]) == {
            fingerprint(2): {IFOREST.id: (0,)}
        }
        again = store.missing(two, wanted, retry=set(CellState))[fingerprint(2)]
        assert again == {HBOS.id: (0,), IFOREST.id: (0, 1), LOF.id: (0,)}
