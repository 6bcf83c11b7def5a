"""Measure how long a selection takes, and how long the picked model takes to train."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.errors import UserError
from metaod.history._datasets import read_labelled
from metaod.learners import Learner
from metaod.metafeatures import extract
from metaod.models import ModelSpec
from metaod.tables import prepare
from research.protocols import Protocol, groups_of, splits_of
from research.results import Results
from research.running import Candidate, Journal, Progress, ranking, trainings
from research.testbed_data import TestbedData

_SCHEMA = "paper"


def measure_times(
    data: TestbedData,
    protocol: Protocol,
    *,
    learner: str = "metaod",
    journal: Path | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Time the selection on every dataset with a file, and the training of what it picks.

    A selection is the extraction of the meta-features and the prediction, by a learner fitted
    without the dataset; reading the file and compilation are not included. Training is ``fit`` of
    the picked PyOD detector. The result has ``pick`` and both times by fingerprint.
    """
    candidate = Candidate(learner, learner, data.metafeatures[_SCHEMA])
    groups = np.array(groups_of(data, protocol))
    kept = Journal(journal)
    planned = list(trainings(data.P, groups, splits_of(data, protocol), [candidate], seeds=1))
    # the training's digest is included: a selection by another learner is another result
    digests = {
        name: f"{item.digest} {_SCHEMA} {name}"
        for item in planned
        for name in data.datasets.index[item.split.test]
        if name in data.files
    }
    pending = {name for name, digest in digests.items() if digest not in kept.done}
    if pending:
        _warm_up()
    for item in planned:
        here = [name for name in data.datasets.index[item.split.test] if name in pending]
        if not here:
            continue
        fitted = item.fit(data.P, groups)
        for name in here:
            kept.add(digests[name], _measure(data, name, fitted))
            pending.remove(name)
            if progress is not None:
                progress(len(digests) - len(pending), len(digests))
    found = {name: kept.done[digest] for name, digest in digests.items()}
    columns = ["pick", "select_seconds", "train_seconds"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("dataset")


def add_times(results: Results, times: pd.DataFrame, method: str = "metaod") -> Results:
    """Add the times of one method to the rows of its first seed."""
    frame = results.frame.copy()
    rows = (frame["method"] == method) & (frame["seed"] == 0)
    for name in ("select_seconds", "train_seconds"):
        frame.loc[rows, name] = frame.loc[rows, "dataset"].map(times[name]).to_numpy()
    return Results(frame)


def _measure(data: TestbedData, name: str, fitted: Learner) -> dict[str, Any]:
    described = data.datasets.loc[name]
    title, origin = str(described["name"]), str(described["origin"])
    found = read_labelled(data.files[name], name=title, origin=origin)
    prepared = prepare(found.X)  # without the label
    started = time.perf_counter()
    features = extract(prepared, _SCHEMA).to_series()
    scores = fitted.predict(features[list(fitted.features_)])
    selected = time.perf_counter() - started
    reached = data.P.loc[name]
    for model in ranking(scores):
        # skip models that cannot be run on the dataset, as the protocol does
        if np.isnan(reached[model]):
            continue
        detector = ModelSpec.parse(model).to_pyod(random_state=0)
        started = time.perf_counter()
        try:
            detector.fit(prepared.X)
        except Exception:  # noqa: S112 - PyOD raises any kind of exception; the next model is run
            continue
        trained = time.perf_counter() - started
        return {"pick": model, "select_seconds": selected, "train_seconds": trained}
    raise UserError("no model can be fitted", where=name, remedy="check the dataset")


def _warm_up() -> None:
    X = np.random.default_rng(0).normal(size=(200, 5))
    extract(X, _SCHEMA)
    for family in ("IForest", "KNN", "LOF", "HBOS", "LODA", "OCSVM", "COF", "ABOD"):
        ModelSpec(family).to_pyod(random_state=0).fit(X)
