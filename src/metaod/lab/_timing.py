"""How long a selection takes, and how long the picked model then takes to train."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.errors import UserError
from metaod.history import read_labelled
from metaod.lab._protocols import Split
from metaod.lab._results import Results
from metaod.lab._running import Candidate, Journal, ranking, tasks_of
from metaod.lab._testbed_data import TestbedData
from metaod.learners import Learner
from metaod.metafeatures import extract
from metaod.models import ModelSpec
from metaod.tables import prepare

__all__ = ["add_times", "measure_times"]


def measure_times(
    data: TestbedData,
    splits: list[Split],
    groups: Sequence[str],
    *,
    learner: str = "metaod",
    schema: str = "paper",
    journal: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Time the selection on every dataset that is at hand, and the training of what it picks.

    A selection is the extraction of the meta-features and the prediction; reading the file and
    compiling, which a process does once, are not part of it. Training is the picked detector's own
    ``fit``, of PyOD, as a user runs it.

    Parameters
    ----------
    data : TestbedData
        The testbed; datasets that do not lie in its folder are left out.
    splits : list of Split
        The protocol: a dataset's selection is by a learner fitted without it.
    groups : sequence of str
        What the protocol leaves out together.
    learner, schema : str
        Who selects, and the meta-features that it takes.
    journal : Path, optional
        File that keeps what is done, so that a run that was stopped goes on.
    progress : callable, optional
        Told how many datasets are done, of how many.

    Returns
    -------
    DataFrame
        ``pick``, ``select_seconds`` and ``train_seconds`` by fingerprint.
    """
    candidate = Candidate(learner, learner, data.metafeatures[schema])
    origins = np.array(groups)
    kept = Journal(journal)
    tasks = list(tasks_of(data.P, origins, splits, [candidate], seeds=1))
    # by the training as well: a selection by another learner is another one
    digests = {
        name: f"{task.digest} {schema} {name}"
        for task in tasks
        for name in data.datasets.index[task.split.test]
        if name in data.files
    }
    waiting = {name for name, digest in digests.items() if digest not in kept.done}
    if waiting:
        _warm_up(schema)
    for task in tasks:
        here = [name for name in data.datasets.index[task.split.test] if name in waiting]
        if not here:
            continue
        fitted = task.fit(data.P, origins)
        for name in here:
            kept.keep(digests[name], _measure(data, name, fitted, schema))
            waiting.remove(name)
            if progress is not None:
                progress(len(digests) - len(waiting), len(digests))
    found = {name: kept.done[digest] for name, digest in digests.items()}
    columns = ["pick", "select_seconds", "train_seconds"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("dataset")


def add_times(results: Results, times: pd.DataFrame, method: str = "metaod") -> Results:
    """The results with the times of one method, in the rows of its first seed."""
    frame = results.frame.copy()
    rows = (frame["method"] == method) & (frame["seed"] == 0)
    for name in ("select_seconds", "train_seconds"):
        frame.loc[rows, name] = frame.loc[rows, "dataset"].map(times[name]).to_numpy()
    return Results(frame)


def _measure(data: TestbedData, name: str, fitted: Learner, schema: str) -> dict[str, Any]:
    described = data.datasets.loc[name]
    found = read_labelled(
        data.files[name], name=str(described["name"]), origin=str(described["origin"])
    )
    # the label never comes near the selection
    prepared = prepare(found.X)
    started = time.perf_counter()
    features = extract(prepared, schema).to_series()
    scores = fitted.predict(features[list(fitted.features_)])
    selected = time.perf_counter() - started
    reached = data.P.loc[name]
    for model in ranking(scores):
        # a user's run would pass over what cannot be run there, as the protocol does
        if np.isnan(reached[model]):
            continue
        detector = ModelSpec.parse(model).to_pyod(random_state=0)
        started = time.perf_counter()
        try:
            detector.fit(prepared.X)
        except Exception:  # noqa: S112 - foreign code raises anything; the next one is run
            continue
        trained = time.perf_counter() - started
        return {"pick": model, "select_seconds": selected, "train_seconds": trained}
    raise UserError("no model can be fitted", where=name, remedy="check the dataset")


def _warm_up(schema: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    extract(X, schema)
    for family in ("IForest", "KNN", "LOF", "HBOS", "LODA", "OCSVM", "COF", "ABOD"):
        ModelSpec(family).to_pyod(random_state=0).fit(X)
