"""Small folders of labelled datasets, their builds, and what these leave in a store."""

import numpy as np

from metaod.history import iter_folder
from metaod.store import BuildOptions, Store, build

SMALL = BuildOptions(detectors=("HBOS", "COF", "LODA"), trials=2, references=False, schemas=())


def make_folder(folder, count=4, rows=90, names=None):
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names or [f"set{k:02d}" for k in range(count)]):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(rows + 10 * number, 3))
        y = np.zeros(len(X), dtype=np.int8)
        y[:6] = 1
        X[:6] += rng.normal(0, 4, size=(6, 3))
        np.savez(folder / f"{name}.npz", X=X, y=y)
    return folder


def content(path):
    """All that a store holds, in one order, but for timings and dates."""
    with Store(path, read_only=True) as store:
        return [
            (
                record,
                [
                    (e.model, e.trial, e.seed, e.state, repr(e.ap), repr(e.roc_auc),
                     repr(e.precision_at_n), e.reason)
                    for e in store.evaluations(record.fingerprint)
                ],
                [
                    (c.model, c.n_trials, c.state, repr(c.ap), repr(c.ap_std), c.reason)
                    for c in store.cells(record.fingerprint)
                ],
                [(m.schema, m.values.tobytes()) for m in store.metafeatures(record.fingerprint)],
            )
            for record in store.datasets()
        ]  # fmt: skip


def run(path, folder, options=SMALL, **keywords):
    with Store(path, create=True) as store:
        return build(store, iter_folder(folder), options, **keywords)
