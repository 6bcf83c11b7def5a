"""The contract of a store, as checks that can be run over any database that a store can use."""

import math
import tempfile
from collections.abc import Callable
from functools import partial

import numpy as np

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
from metaod.testing.detectors import Check, ContractViolation

_HBOS, _IFOREST, _MEAN = ModelSpec("HBOS"), ModelSpec("IForest"), ModelSpec("MegaEnsemble")


def store_contract(new_url: Callable[[], str], *, persistent: bool = True) -> list[Check]:
    """List the checks of a kind of database.

    Parameters
    ----------
    new_url : callable
        Returns, at each call, the URL or path of a new, empty database.
    persistent : bool, default=True
        Whether what is written there can be opened again.

    Examples
    --------
    >>> for check in store_contract(lambda: "sqlite://", persistent=False):
    ...     check()
    """
    points = [_empty, _read_back, _atomic, _replaced, _cells_average, _failed_is_not_zero]
    points += [_missing, _merging, _exchange]
    points += [_opened_again] if persistent else []
    return [Check(str(point.__doc__).rstrip("."), partial(point, new_url)) for point in points]


def check_store(new_url: Callable[[], str], *, persistent: bool = True) -> None:
    """Run the whole contract; raise at the first violation."""
    for check in store_contract(new_url, persistent=persistent):
        check()


def _require(kept: bool, store: Store, violation: str) -> None:
    if not kept:
        raise ContractViolation(f"{store}: {violation}")


def _require_refused(call: Callable[[], object], store: Store, violation: str) -> None:
    try:
        call()
    except UserError:
        return
    raise ContractViolation(f"{store}: {violation}")


def _dataset(number: int) -> DatasetRecord:
    return DatasetRecord(
        f"fp1:{number:032x}", f"set {number}", f"origin {number % 2}", 100 + number, 5, 10,
        collection="made", source="generated", licence="CC0-1.0",
    )  # fmt: skip


def _ok(spec: ModelSpec, trial: int = 0, ap: float = 0.5) -> Evaluation:
    figures = (ap, 0.1 + 0.7 * ap, ap / 3, 0.25)
    return Evaluation(spec.id, trial, CellState.OK, *figures, trial, "", "1.0")


def _failed(spec: ModelSpec, trial: int = 0) -> Evaluation:
    return Evaluation(spec.id, trial, CellState.FAILED, reason="ValueError: no rows")


def _vector(*values: float) -> MetaFeatureRecord:
    return MetaFeatureRecord("made", 1, [f"feature {k}" for k in range(len(values))], values)


def _new(new_url: Callable[[], str], *numbers: int) -> Store:
    store = Store(new_url(), create=True)
    store.add_models([_HBOS, _IFOREST])
    store.add_models([_MEAN], is_reference=True)
    for number in numbers:
        store.add_dataset(_dataset(number))
    return store


def _content(store: Store) -> list[object]:
    """Return all data of a store in a form that can be compared."""
    found: list[object] = [store.datasets(), store.models()]
    for record in store.datasets():
        found += [repr(item) for item in store.evaluations(record.fingerprint)]
        found += [repr(item) for item in store.cells(record.fingerprint)]
        for vector in store.metafeatures(record.fingerprint):
            found += [repr(vector), vector.values.tobytes()]
    return found


def _empty(new_url: Callable[[], str]) -> None:
    """A new store is empty and consistent."""
    with Store(new_url(), create=True) as store:
        known = store.summary()
        counts = [known[name] for name in ("datasets", "models", "evaluations", "origins")]
        _require(counts == [0, 0, 0, 0], store, f"counts {counts}")
        _require(store.datasets() == [] and store.models() == [], store, "is not empty")
        _require(store.cells_frame().empty, store, "has cells")
        _require(store.performance_matrix().shape == (0, 0), store, "has a performance matrix")
        _require(store.inconsistencies() == [], store, "is inconsistent")


def _read_back(new_url: Callable[[], str]) -> None:
    """Records are read back bit for bit."""
    trials = [_failed(_IFOREST, trial=0), _ok(_IFOREST, trial=1, ap=5e-324)]
    evaluations = [_ok(_HBOS, ap=0.1 + 0.2), *trials]
    vector = _vector(1 / 3, math.nan, -1.7e308)
    with _new(new_url, 1, 2) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, evaluations, [vector])
        _require(store.datasets() == [_dataset(1), _dataset(2)], store, "datasets differ")
        models = [item.spec for item in store.models()]
        _require(models == sorted([_HBOS, _IFOREST, _MEAN]), store, "models differ")
        references = [item.id for item in store.models() if item.is_reference]
        _require(references == [_MEAN.id], store, f"references are {references}")
        expected = sorted(evaluations, key=lambda item: (item.model, item.trial))
        _require(repr(store.evaluations(dataset)) == repr(expected), store, "evaluations differ")
        found = store.metafeatures(dataset)
        same = len(found) == 1 and found[0].values.tobytes() == vector.values.tobytes()
        _require(same and found[0].features == vector.features, store, "meta-features differ")
        matrix = store.metafeature_matrix("made")
        _require(list(matrix.index) == [dataset], store, "the meta-features' rows differ")
        same = np.array_equal(matrix.to_numpy()[0], vector.values, equal_nan=True)
        _require(same, store, "the meta-features' matrix differs")
        _require(not store.add_dataset(_dataset(1)), store, "adds a dataset twice")
        _require(store.add_models([_HBOS]) == 0, store, "adds a model twice")


def _atomic(new_url: Callable[[], str]) -> None:
    """A task is written completely or not at all."""
    with _new(new_url, 1) as store:
        before = _content(store)
        for dataset, evaluation in (
            (_dataset(1).fingerprint, _ok(ModelSpec("Unknown"))),
            (_dataset(2).fingerprint, _ok(_HBOS)),
        ):
            record = partial(store.record_task, dataset, [_ok(_HBOS), evaluation], [_vector(1.0)])
            _require_refused(record, store, "accepts an unknown model or dataset")
            _require(_content(store) == before, store, "keeps half of a task")


def _replaced(new_url: Callable[[], str]) -> None:
    """A trial that is evaluated again replaces the first."""
    with _new(new_url, 1) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, [_failed(_HBOS), _ok(_IFOREST, 0)], [_vector(1.0)])
        store.record_task(dataset, [_ok(_HBOS)], [_vector(2.0)])
        store.record_task(dataset, [_ok(_IFOREST, 1)])
        states = [cell.state for cell in store.cells(dataset)]
        _require(states == [CellState.OK, CellState.OK], store, f"cells are {states}")
        _require(len(store.evaluations(dataset)) == 3, store, "there are not three evaluations")
        (vector,) = store.metafeatures(dataset)
        _require(vector.values[0] == 2.0, store, "meta-features are not replaced")
        _require(store.inconsistencies() == [], store, "cells do not follow from trials")


def _cells_average(new_url: Callable[[], str]) -> None:
    """A cell is the mean and the spread over trials that are all ok."""
    with _new(new_url, 1) as store:
        dataset = _dataset(1).fingerprint
        store.record_task(dataset, [_ok(_IFOREST, t, ap) for t, ap in enumerate((0.25, 0.75))])
        (cell,) = store.cells(dataset)
        _require((cell.n_trials, cell.ap) == (2, 0.5), store, f"the cell is {cell}")
        _require(math.isclose(cell.ap_std, math.sqrt(0.125)), store, f"the spread is {cell.ap_std}")
        store.record_task(dataset, [_failed(_IFOREST, 2)])
        (cell,) = store.cells(dataset)
        found = (cell.n_trials, cell.state, cell.reason, math.isnan(cell.ap))
        failed = found == (3, CellState.FAILED, "ValueError: no rows", True)
        _require(failed, store, "one failed trial does not fail the cell")


def _failed_is_not_zero(new_url: Callable[[], str]) -> None:
    """A failed or missing cell is never a zero."""
    with _new(new_url, 1, 2) as store:
        store.record_task(_dataset(1).fingerprint, [_failed(_HBOS), _ok(_IFOREST, ap=0.0)])
        store.record_task(_dataset(2).fingerprint, [_ok(_HBOS, ap=1.0)])
        P = store.performance_matrix("ap")
        _require(list(P.columns) == [_HBOS.id, _IFOREST.id], store, f"columns {list(P.columns)}")
        expected = np.array([[math.nan, 0.0], [1.0, math.nan]])
        _require(np.array_equal(P.to_numpy(), expected, equal_nan=True), store, f"P is {P}")


def _missing(new_url: Callable[[], str]) -> None:
    """It lists what remains to be evaluated."""
    wanted = {_HBOS.id: 1, _IFOREST.id: 3}
    one, two = _dataset(1).fingerprint, _dataset(2).fingerprint
    with _new(new_url, 1) as store:
        store.record_task(one, [_failed(_HBOS), _ok(_IFOREST, 1)])
        found = store.missing([one, two], wanted)
        expected = {one: {_IFOREST.id: (0, 2)}, two: {_HBOS.id: (0,), _IFOREST.id: (0, 1, 2)}}
        _require(found == expected, store, f"missing are {found}")
        again = store.missing([one], wanted, retry=[CellState.FAILED])
        _require(_HBOS.id in again[one], store, "does not retry failed trials")
        store.record_task(one, [_ok(_IFOREST, 0), _ok(_IFOREST, 2)])
        _require(store.missing([one], wanted) == {}, store, "lists finished trials as missing")


def _merging(new_url: Callable[[], str]) -> None:
    """Merging is idempotent, and without conflicts it is commutative."""
    contents = []
    for order in ((0, 1), (1, 0)):
        with _new(new_url, 1, 2) as first, _new(new_url, 2, 3) as second:
            two = _dataset(2).fingerprint
            first.record_task(two, [_ok(_IFOREST, 0), _ok(_HBOS)], [_vector(1.0, math.nan)])
            second.record_task(two, [_ok(_IFOREST, 1, 0.75), _ok(_HBOS)])
            second.record_task(_dataset(3).fingerprint, [_failed(_HBOS)], [_vector(2.0, 3.0)])
            target, source = ((first, second)[k] for k in order)
            _require(merge(target, source).n_conflicts == 0, target, "finds conflicts")
            once = _content(target)
            added = merge(target, source).added
            _require(added.total() == 0, target, f"adds {added} again")
            _require(_content(target) == once, target, "changes when merged again")
            _require(target.inconsistencies() == [], target, "cells do not follow from trials")
            contents.append(once)
    _require(contents[0] == contents[1], target, "depends on the order of the stores")


def _exchange(new_url: Callable[[], str]) -> None:
    """An export that is imported into another store has the same content."""
    with _new(new_url, 1, 2) as store, Store(new_url(), create=True) as other:
        store.record_task(
            _dataset(1).fingerprint,
            [_ok(_IFOREST, 0, 1 / 3), _ok(_IFOREST, 1), _failed(_HBOS), _ok(_MEAN)],
            [_vector(1.0, math.nan)],
        )
        with tempfile.TemporaryDirectory() as folder:
            report = import_parquet(other, export_parquet(store, folder, evaluations=True))
        _require(report.n_conflicts == 0, other, "finds conflicts in an import")
        _require(_content(other) == _content(store), other, "differs from what was exported")


def _opened_again(new_url: Callable[[], str]) -> None:
    """Content is kept when a store is opened again, read-only on request."""
    url = new_url()
    with _new(lambda: url, 1) as store:
        store.record_task(_dataset(1).fingerprint, [_ok(_HBOS)], [_vector(1.0)])
        before = _content(store)
    with Store(url, read_only=True) as store:
        _require(_content(store) == before, store, "differs from what was written")
        add = partial(store.add_dataset, _dataset(2))
        _require_refused(add, store, "writes although it is opened read-only")
    with Store(url, create=True) as store:
        _require(_content(store) == before, store, "is overwritten when opened with create=True")
