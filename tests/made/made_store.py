"""Made-up records for the tests of the store."""

import math

from metaod.history import Evaluation
from metaod.models import CellState, ModelSpec
from metaod.store import DatasetRecord, MetaFeatureRecord, Store

HBOS = ModelSpec("HBOS", {"n_bins": 10})
IFOREST = ModelSpec("IForest", {"n_estimators": 100})
LOF = ModelSpec("LOF", {"n_neighbors": 20, "metric": "euclidean"})
ENSEMBLE = ModelSpec("ZAverage", {"members": "IForest() + KNN(n_neighbors=50)"})


def fingerprint(number):
    return f"fp1:{number:032x}"


def dataset(number, **changes):
    known = {
        "fingerprint": fingerprint(number),
        "name": f"set{number}",
        "origin": f"origin{number}",
        "n_rows": 200,
        "n_columns": 4,
        "n_outliers": 10,
        "collection": "made",
        "source": "generated",
        "licence": "CC0-1.0",
    }
    return DatasetRecord(**(known | changes))


def ok(spec, trial=0, ap=0.5, **changes):
    known = {
        "model": spec.id,
        "trial": trial,
        "state": CellState.OK,
        "ap": ap,
        "roc_auc": 0.5 + ap / 2,
        "precision_at_n": ap / 3,
        "seconds": 0.25 * (trial + 1),
        "seed": trial,
        "engine_version": "1.0",
    }
    return Evaluation(**(known | changes))


def bad(spec, trial=0, state=CellState.FAILED, reason="ValueError: no"):
    return Evaluation(spec.id, trial, state, reason=reason, engine_version="1.0")


def vector(*values, schema="made", version=1):
    return MetaFeatureRecord(schema, version, [f"f{k}" for k in range(len(values))], values)


def new_store(place="sqlite://", numbers=(), **keywords):
    store = Store(place, create=True, **keywords)
    store.add_models([HBOS, IFOREST, LOF])
    store.add_models([ENSEMBLE], is_reference=True)
    for number in numbers:
        store.add_dataset(dataset(number))
    return store


def filled_store(place="sqlite://"):
    """Two datasets with trials in every state, and a third with nothing."""
    store = new_store(place, (1, 2, 3))
    store.record_task(
        fingerprint(1),
        [ok(HBOS, ap=1 / 3), ok(IFOREST, 0, 0.1), ok(IFOREST, 1, 0.4), ok(ENSEMBLE, ap=0.9)],
        [vector(1.0, math.nan), vector(0.5, schema="other", version=3)],
    )  # fmt: skip
    store.record_task(
        fingerprint(2),
        [bad(HBOS), bad(IFOREST, 0, CellState.OVER_BUDGET, "too long"), ok(IFOREST, 1),
         bad(LOF, 0, CellState.NOT_APPLICABLE, "n_neighbors=20 needs at least 21 rows")],
        [vector(-2.0, 1e300)],
    )  # fmt: skip
    return store


def content(store):
    """Everything that a store holds, comparable."""
    found = [store.datasets(), store.models()]
    for record in store.datasets():
        name = record.fingerprint
        found += map(repr, (*store.evaluations(name), *store.cells(name)))
        found += [(repr(item), item.values.tobytes()) for item in store.metafeatures(name)]
    return found
