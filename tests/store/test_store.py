"""What every kind of database must do as a store, and what its records must be."""

import itertools
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
from metaod.store import MetaFeatureRecord, Store, export_parquet, import_parquet, merge
from metaod.store import _schema as schema
from metaod.store._schema import Cell

ONE, TWO = fingerprint(1), fingerprint(2)


@pytest.fixture(params=["path", "url", "odd path", "memory", "postgresql"])
def new_url(request, tmp_path):
    """Return, at each call, the URL or path of a new, empty database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").new_url
    counter = itertools.count()
    return {
        "path": lambda: str(tmp_path / f"{next(counter)}.db"),
        "url": lambda: f"sqlite:///{tmp_path}/{next(counter)}.db",
        "odd path": lambda: str(tmp_path / f"50% of #{next(counter)}? ü & more.db"),
        "memory": lambda: "sqlite://",
    }[request.param]


# the contract of a database


def test_a_new_store_is_empty_and_consistent(new_url):
    with Store(new_url(), create=True) as store:
        known = store.summary()
        assert [known[name] for name in ("datasets", "models", "evaluations")] == [0, 0, 0]
        assert store.cells_frame().columns.tolist()[:2] == ["dataset", "model"]
        assert store.datasets_frame().empty
        assert store.performance_matrix().shape == (0, 0)
        assert store.inconsistencies() == []


def test_records_are_read_back_bit_for_bit(new_url):
    evaluations = [ok(HBOS, ap=0.1 + 0.2), bad(IFOREST, 0), ok(IFOREST, 1, ap=5e-324)]
    features = vector(1 / 3, math.nan, -1.7e308)
    url = new_url()
    with new_store(url, [1, 2]) as store:
        store.record_task(ONE, evaluations, [features])
        assert store.datasets() == [dataset(1), dataset(2)]
        assert {item.id: item.is_reference for item in store.models()} == {
            HBOS.id: False, IFOREST.id: False, LOF.id: False, ENSEMBLE.id: True,
        }  # fmt: skip
        assert repr(store.evaluations(ONE)) == repr(evaluations)
        assert store.metafeatures(ONE)[0].values.tobytes() == features.values.tobytes()
        assert store.add_dataset(dataset(1, origin="elsewhere")) is False
        assert store.datasets()[0].origin == "origin1"
        assert store.add_models([HBOS]) == 0
        before = content(store)
    if url == "sqlite://":
        return
    with Store(url, read_only=True) as store:
        assert content(store) == before
        with pytest.raises(UserError):
            store.add_dataset(dataset(3))
    with Store(url, create=True) as store:
        assert content(store) == before


def test_a_task_is_written_completely_or_not_at_all(new_url):
    with new_store(new_url(), [1]) as store:
        store.record_task(ONE, (), [vector(1.0, 2.0)])
        before = content(store)
        for name, evaluation, features, words in (
            (ONE, ok(ModelSpec("COF")), vector(1.0, 2.0), r"the model COF\(\) is not in the store"),
            (TWO, ok(IFOREST), vector(1.0, 2.0), "the dataset fp1:0.*2 is not in the store"),
            (ONE, ok(IFOREST), vector(1.0), "schema 'made', version 1, are stored with other"),
            (ONE, ok(HBOS, ap=0.1), vector(1.0, 2.0), "distinct trials"),
        ):
            with pytest.raises(UserError, match=words):
                store.record_task(name, [ok(HBOS), evaluation], [features])
            assert content(store) == before


def test_what_is_evaluated_again_replaces_the_first(new_url):
    with new_store(new_url(), [1]) as store:
        store.record_task(ONE, [bad(HBOS), ok(IFOREST, 0)], [vector(1.0)])
        store.record_task(ONE, [ok(HBOS)], [vector(2.0)])
        store.record_task(ONE, [ok(IFOREST, 1)])
        assert [(cell.state, cell.n_trials) for cell in store.cells(ONE)] == [("ok", 1), ("ok", 2)]
        assert store.metafeatures(ONE)[0].values.tolist() == [2.0]
        assert store.inconsistencies() == []


def test_it_lists_what_remains_to_be_evaluated(new_url):
    wanted = {HBOS.id: 1, IFOREST.id: 3, "COF()": 1}
    with new_store(new_url(), [1]) as store:
        store.record_task(ONE, [bad(HBOS), ok(IFOREST, 1)])
        assert store.missing([ONE, TWO], wanted) == {
            ONE: {IFOREST.id: (0, 2), "COF()": (0,)},
            TWO: {HBOS.id: (0,), IFOREST.id: (0, 1, 2), "COF()": (0,)},
        }
        assert store.missing([ONE], {HBOS.id: 1}) == {}
        assert store.missing([ONE], {HBOS.id: 1}, retry=[CellState.FAILED]) == {
            ONE: {HBOS.id: (0,)}
        }


def test_merging_is_idempotent_and_without_conflicts_it_is_commutative(new_url, tmp_path):
    contents = []
    for order in ((0, 1), (1, 0)):
        with new_store(new_url(), [1, 2]) as first, new_store(new_url(), [2, 3]) as second:
            first.record_task(TWO, [ok(IFOREST, 0), ok(HBOS)], [vector(1.0, math.nan)])
            second.record_task(TWO, [ok(IFOREST, 1, 0.75), ok(HBOS)])
            second.record_task(fingerprint(3), [bad(HBOS)], [vector(2.0, 3.0)])
            target, source = ((first, second)[k] for k in order)
            assert merge(target, source).n_conflicts == 0
            once = content(target)
            assert merge(target, source).added.total() == 0
            assert content(target) == once
            assert target.inconsistencies() == []
            contents.append(once)
            # so is an import of everything that was exported
            with Store(new_url(), create=True) as other:
                folder = export_parquet(target, tmp_path / str(order), evaluations=True)
                assert import_parquet(other, folder).n_conflicts == 0
                assert content(other) == once
    assert contents[0] == contents[1]


# records


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": "0123"}, {"name": ""}, {"origin": ""}, {"n_rows": 0}, {"n_columns": 0},
        {"n_outliers": -1}, {"n_outliers": 201},
    ],
)  # fmt: skip
def test_a_dataset_that_cannot_be_is_refused(changes):
    with pytest.raises(BadParameter) as caught:
        dataset(1, **changes)
    assert caught.value.name == next(iter(changes))


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
        *(({"state": CellState.FAILED, **dict.fromkeys(MEASURES, math.nan), "seconds": math.nan,
            name: 0.0}, name) for name in (*MEASURES, "seconds")),
    ],
)  # fmt: skip
def test_a_cell_that_cannot_be_is_refused(changes, named):
    figures = {"ap": 0.5, "roc_auc": 0.5, "precision_at_n": 0.5, "seconds": 1.0, "n_trials": 1}
    Cell("HBOS()", state=CellState.OK, **figures)
    with pytest.raises(BadParameter) as caught:
        Cell("HBOS()", **({"state": CellState.OK} | figures | changes))
    assert caught.value.name == named


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
    with pytest.raises(BadParameter) as caught:
        MetaFeatureRecord(*arguments)
    assert caught.value.name == named


# cells


def cell_of(*trials):
    with new_store(numbers=[1]) as store:
        store.record_task(ONE, trials)
        (cell,) = store.cells(ONE)
        return cell


def test_mean_and_spread_over_trials_in_any_order():
    values = [0.1, 0.2, 0.3, 1e-17, 0.7]
    trials = [ok(IFOREST, t, ap) for t, ap in enumerate(values)]
    cell = cell_of(*trials)
    assert (cell.n_trials, cell.state) == (5, CellState.OK)
    assert cell.ap == pytest.approx(np.mean(values), abs=1e-15)
    assert cell.ap_std == pytest.approx(np.std(values, ddof=1), abs=1e-15)
    assert cell.seconds == pytest.approx(0.75)
    assert repr(cell) == repr(cell_of(*reversed(trials)))
    assert math.isnan(cell_of(ok(IFOREST, 3, 0.25)).ap_std)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("ok,ok", "ok"),
        ("ok,failed", "failed"),
        ("over budget,ok", "over budget"),
        ("not applicable,over budget", "over budget"),
        ("not applicable,over budget,failed,ok", "failed"),
    ],
)
def test_the_gravest_state_is_the_cells(states, expected):
    cell = cell_of(
        *(
            ok(IFOREST, t, reason="repaired")
            if name == "ok"
            else bad(IFOREST, t, CellState(name), f"because of {name}")
            for t, name in enumerate(states.split(","))
        )
    )
    assert cell.state == expected
    assert cell.reason == ("repaired" if expected == "ok" else f"because of {expected}")
    assert math.isnan(cell.ap) == math.isnan(cell.seconds) == (expected != "ok")


@pytest.mark.parametrize("table", [schema.evaluations, schema.cells])
def test_the_database_itself_refuses_a_zero_for_a_failure(table):
    with filled_store() as store, pytest.raises(IntegrityError), store.writing() as connection:
        connection.execute(update(table).where(table.c.state != CellState.OK).values(ap=0.0))


FAULTS = {
    "UPDATE cells SET ap = 0.7 WHERE ap > 0.8": [
        f"{ONE}: the cell of {ENSEMBLE.id} is not the aggregate of its trials"
    ],
    "DELETE FROM cells WHERE n_trials = 2": [
        f"{name}: the cell of {IFOREST.id} is missing, although it has trials"
        for name in (ONE, TWO)
    ],
    "DELETE FROM evaluations WHERE ap = 0.9": [f"{ONE}: the cell of {ENSEMBLE.id} has no trials"],
    "UPDATE metafeatures SET vector = x'01020304050607' WHERE dataset = 1": ["buffer size"],
    "UPDATE evaluations SET state = 'odd' WHERE dataset = 2 AND trial = 0": ["'odd' is not among"],
}


@pytest.mark.parametrize("statement", FAULTS)
def test_faults_are_found(statement):
    with filled_store() as store:
        assert store.inconsistencies() == []
        with store.writing() as connection:
            connection.exec_driver_sql(statement)
        found = store.inconsistencies()
        assert len(found) == len(FAULTS[statement])
        assert all(map(str.__contains__, found, FAULTS[statement]))


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


# reading


def test_order_of_datasets_and_models():
    space = model_space("paper")
    with Store("sqlite://", create=True) as store:
        for number, (collection, name) in enumerate([("b", "a"), ("a", "z"), ("a", "B")]):
            store.add_dataset(dataset(number, collection=collection, name=name))
        assert [item.name for item in store.datasets()] == ["B", "z", "a"]
        assert store.datasets_frame()["outlier_share"].tolist() == [0.05] * 3
        assert store.add_models(space) == 302
        assert store.add_models([*space, ModelSpec("HBOS", scaling="none")]) == 1
        assert [item.spec for item in store.models()] == sorted(
            item.spec for item in store.models()
        )
        assert all(item.spec.params == ModelSpec.parse(item.id).params for item in store.models())


def test_performance_matrix_and_cells():
    with filled_store() as store:
        P = store.performance_matrix()
        assert list(P.index) == [ONE, TWO]
        assert list(P.columns) == [HBOS.id, IFOREST.id, LOF.id]
        expected = [[1 / 3, 0.25, np.nan], [np.nan, np.nan, np.nan]]
        np.testing.assert_allclose(P.to_numpy(), expected, rtol=1e-15)
        chosen = store.performance_matrix("roc_auc", models=[ENSEMBLE.id, IFOREST.id])
        np.testing.assert_allclose(chosen.to_numpy()[0], [0.95, 0.625], rtol=1e-15)
        assert list(chosen.columns) == [ENSEMBLE.id, IFOREST.id]
        assert store.performance_matrix("seconds").loc[ONE, IFOREST.id] == 0.375
        for arguments in ({"measure": "accuracy"}, {"models": ["COF()"]}):
            with pytest.raises(BadParameter) as caught:
                store.performance_matrix(**arguments)
            assert [caught.value.name] == list(arguments)
        cells = store.cells_frame()
        assert (cells[list(MEASURES)].isna().any(axis=1) == (cells["state"] != "ok")).all()
        assert cells["ap"].dtype == float
        assert cells[["dataset", "model"]].apply(tuple, axis=1).is_monotonic_increasing


def test_metafeatures_are_read_in_the_newest_version_that_every_dataset_has():
    with filled_store() as store:
        old = store.metafeature_matrix("made")
        np.testing.assert_array_equal(old.to_numpy(), [[1.0, np.nan], [-2.0, 1e300]])
        store.record_task(fingerprint(3), (), [vector(9.0, 8.0, 7.0, version=2)])
        mixed = store.metafeature_matrix("made")
        assert mixed.columns.tolist() == ["f0", "f1"]
        assert mixed.loc[fingerprint(3)].tolist() == [9.0, 8.0]
        np.testing.assert_array_equal(mixed.loc[old.index], old)
        assert store.metafeature_matrix("made", 2).to_numpy().tolist() == [[9.0, 8.0, 7.0]]
        for number in old.index:
            store.record_task(number, (), [vector(1.0, 2.0, 3.0, version=2)])
        assert store.metafeature_matrix("made").columns.tolist() == ["f0", "f1", "f2"]
        with pytest.raises(BadParameter, match=r"'made 1', 'made 2', 'other 3'.*Got 'made 7'"):
            store.metafeature_matrix("made", 7)


def test_summary():
    with filled_store() as store:
        known = store.summary()
    assert json.loads(json.dumps(known)) == known
    assert (known["datasets"], known["origins"], known["collections"]) == (3, 3, {"made": 3})
    assert (known["models"], known["references"]) == (3, 1)
    assert known["cells"] == {"failed": 1, "not applicable": 1, "ok": 3, "over budget": 1}
    assert (known["evaluations"], known["imported_cells"], known["most_trials"]) == (8, 0, 2)
    assert known["metafeatures"] == [
        {"schema": "made", "version": 1, "datasets": 2},
        {"schema": "other", "version": 3, "datasets": 1},
    ]


def test_missing_in_a_store_of_many_datasets():
    wanted = {HBOS.id: 1, IFOREST.id: 2}
    with new_store(numbers=range(70)) as store:
        for number in range(0, 70, 2):
            store.record_task(fingerprint(number), [ok(HBOS), ok(IFOREST, 0), ok(IFOREST, 1)])
        found = store.missing(map(fingerprint, range(70)), wanted)
        everything = {HBOS.id: (0,), IFOREST.id: (0, 1)}
        assert found == {fingerprint(number): everything for number in range(1, 70, 2)}
