"""What every kind of database must do as a store."""

import itertools
import math
import tempfile

import numpy as np
import pytest

from metaod.errors import UserError
from metaod.history import Evaluation
from metaod.models import CellState, ModelSpec
from metaod.store import (
    DatasetRecord,
    MetaFeatureRecord,
    Store,
    export_parquet,
    import_parquet,
    merge,
)

_HBOS, _IFOREST, _MEAN = ModelSpec("HBOS"), ModelSpec("IForest"), ModelSpec("MegaEnsemble")


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


def _dataset(number):
    return DatasetRecord(
        f"fp1:{number:032x}", f"set {number}", f"origin {number % 2}", 100 + number, 5, 10,
        collection="made", source="generated", licence="CC0-1.0",
    )  # fmt: skip


def _ok(spec, trial=0, ap=0.5):
    figures = (ap, 0.1 + 0.7 * ap, ap / 3, 0.25)
    return Evaluation(spec.id, trial, CellState.OK, *figures, trial, "", "1.0")


def _failed(spec, trial=0):
    return Evaluation(spec.id, trial, CellState.FAILED, reason="ValueError: no rows")


def _vector(*values):
    return MetaFeatureRecord("made", 1, [f"feature {k}" for k in range(len(values))], values)


def _new(new_url, *numbers):
    store = Store(new_url(), create=True)
    store.add_models([_HBOS, _IFOREST])
    store.add_models([_MEAN], is_reference=True)
    for number in numbers:
        store.add_dataset(_dataset(number))
    return store


def _content(store):
    """Return all data of a store in a form that can be compared."""
    found = [store.datasets(), store.models()]
    for record in store.datasets():
        found += [repr(item) for item in store.evaluations(record.fingerprint)]
        found += [repr(item) for item in store.cells(record.fingerprint)]
        for vector in store.metafeatures(record.fingerprint):
            found += [repr(vector), vector.values.tobytes()]
    return found


def test_a_new_store_is_empty_and_consistent(new_url):
    with Store(new_url(), create=True) as store:
        known = store.summary()
        counts = [known[name] for name in ("datasets", "models", "evaluations", "origins")]
        assert counts == [0, 0, 0, 0]
        assert store.datasets() == []
        assert store.models() == []
        assert store.cells_frame().empty
        assert store.performance_matrix().shape == (0, 0)
        assert store.inconsistencies() == []


def test_records_are_read_back_bit_for_bit(new_url):
    trials = [_failed(_IFOREST, trial=0), _ok(_IFOREST, trial=1, ap=5e-324)]
    evaluations = [_ok(_HBOS, ap=0.1 + 0.2), *trials]
    vector = _vector(1 / 3, math.nan, -1.7e308)
    with _new(new_url, 1, 2) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, evaluations, [vector])
        assert store.datasets() == [_dataset(1), _dataset(2)]
        models = [item.spec for item in store.models()]
        assert models == sorted([_HBOS, _IFOREST, _MEAN])
        references = [item.id for item in store.models() if item.is_reference]
        assert references == [_MEAN.id]
        expected = sorted(evaluations, key=lambda item: (item.model, item.trial))
        assert repr(store.evaluations(dataset)) == repr(expected)
        found = store.metafeatures(dataset)
        assert [item.features for item in found] == [vector.features]
        assert found[0].values.tobytes() == vector.values.tobytes()
        matrix = store.metafeature_matrix("made")
        assert list(matrix.index) == [dataset]
        np.testing.assert_array_equal(matrix.to_numpy()[0], vector.values)
        assert not store.add_dataset(_dataset(1))
        assert store.add_models([_HBOS]) == 0


def test_a_task_is_written_completely_or_not_at_all(new_url):
    with _new(new_url, 1) as store:
        before = _content(store)
        for dataset, evaluation in (
            (_dataset(1).fingerprint, _ok(ModelSpec("Unknown"))),
            (_dataset(2).fingerprint, _ok(_HBOS)),
        ):
            with pytest.raises(UserError):
                store.record_task(dataset, [_ok(_HBOS), evaluation], [_vector(1.0)])
            assert _content(store) == before


def test_a_trial_that_is_evaluated_again_replaces_the_first(new_url):
    with _new(new_url, 1) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, [_failed(_HBOS), _ok(_IFOREST, 0)], [_vector(1.0)])
        store.record_task(dataset, [_ok(_HBOS)], [_vector(2.0)])
        store.record_task(dataset, [_ok(_IFOREST, 1)])
        states = [cell.state for cell in store.cells(dataset)]
        assert states == [CellState.OK, CellState.OK]
        assert len(store.evaluations(dataset)) == 3
        (vector,) = store.metafeatures(dataset)
        assert vector.values[0] == 2.0
        assert store.inconsistencies() == []


def test_a_cell_is_the_mean_and_the_spread_over_trials_that_are_all_ok(new_url):
    with _new(new_url, 1) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, [_ok(_IFOREST, t, ap) for t, ap in enumerate((0.25, 0.75))])
        (cell,) = store.cells(dataset)
        assert (cell.n_trials, cell.ap) == (2, 0.5)
        assert math.isclose(cell.ap_std, math.sqrt(0.125))
        store.record_task(dataset, [_failed(_IFOREST, 2)])
        (cell,) = store.cells(dataset)
        found = (cell.n_trials, cell.state, cell.reason, math.isnan(cell.ap))
        failed = found == (3, CellState.FAILED, "ValueError: no rows", True)
        assert failed


def test_a_failed_or_missing_cell_is_never_a_zero(new_url):
    with _new(new_url, 1, 2) as store:
        store.record_task(_dataset(1).fingerprint, [_failed(_HBOS), _ok(_IFOREST, ap=0.0)])
        store.record_task(_dataset(2).fingerprint, [_ok(_HBOS, ap=1.0)])
        P = store.performance_matrix("ap")
        assert list(P.columns) == [_HBOS.id, _IFOREST.id]
        expected = np.array([[math.nan, 0.0], [1.0, math.nan]])
        assert np.array_equal(P.to_numpy(), expected, equal_nan=True)


def test_it_lists_what_remains_to_be_evaluated(new_url):
    wanted = {_HBOS.id: 1, _IFOREST.id: 3}
    one, two = _dataset(1).fingerprint, _dataset(2).fingerprint
    with _new(new_url, 1) as store:
        store.record_task(one, [_failed(_HBOS), _ok(_IFOREST, 1)])
        found = store.missing([one, two], wanted)
        expected = {one: {_IFOREST.id: (0, 2)}, two: {_HBOS.id: (0,), _IFOREST.id: (0, 1, 2)}}
        assert found == expected
        again = store.missing([one], wanted, retry=[CellState.FAILED])
        assert _HBOS.id in again[one]
        store.record_task(one, [_ok(_IFOREST, 0), _ok(_IFOREST, 2)])
        assert store.missing([one], wanted) == {}


def test_merging_is_idempotent_and_without_conflicts_it_is_commutative(new_url):
    contents = []
    for order in ((0, 1), (1, 0)):
        with _new(new_url, 1, 2) as first, _new(new_url, 2, 3) as second:
            two = _dataset(2).fingerprint
            first.record_task(two, [_ok(_IFOREST, 0), _ok(_HBOS)], [_vector(1.0, math.nan)])
            second.record_task(two, [_ok(_IFOREST, 1, 0.75), _ok(_HBOS)])
            second.record_task(_dataset(3).fingerprint, [_failed(_HBOS)], [_vector(2.0, 3.0)])
            target, source = ((first, second)[k] for k in order)
            assert merge(target, source).n_conflicts == 0
            once = _content(target)
            added = merge(target, source).added
            assert added.total() == 0
            assert _content(target) == once
            assert target.inconsistencies() == []
            contents.append(once)
    assert contents[0] == contents[1]


def test_an_export_that_is_imported_into_another_store_has_the_same_content(new_url):
    with _new(new_url, 1, 2) as store, Store(new_url(), create=True) as other:
        store.record_task(
            _dataset(1).fingerprint,
            [_ok(_IFOREST, 0, 1 / 3), _ok(_IFOREST, 1), _failed(_HBOS), _ok(_MEAN)],
            [_vector(1.0, math.nan)],
        )
        with tempfile.TemporaryDirectory() as folder:
            report = import_parquet(other, export_parquet(store, folder, evaluations=True))
        assert report.n_conflicts == 0
        assert _content(other) == _content(store)


def test_content_is_kept_when_a_store_is_opened_again_read_only_on_request(new_url):
    url = new_url()
    if url == "sqlite://":
        pytest.skip("it is not kept")
    with _new(lambda: url, 1) as store:
        store.record_task(_dataset(1).fingerprint, [_ok(_HBOS)], [_vector(1.0)])
        before = _content(store)
    with Store(url, read_only=True) as store:
        assert _content(store) == before
        with pytest.raises(UserError):
            store.add_dataset(_dataset(2))
    with Store(url, create=True) as store:
        assert _content(store) == before
