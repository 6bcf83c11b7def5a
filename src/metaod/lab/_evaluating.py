"""One testbed under one protocol: what every method reaches on every dataset."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import pandas as pd

from metaod.errors import BadParameter
from metaod.lab._bounds import empirical_upper_bound, oracle, random_selection
from metaod.lab._methods import METHODS, Method, Testbed
from metaod.lab._protocols import Split, by_folds, leave_one_origin_out, leave_one_out
from metaod.lab._results import Results
from metaod.lab._running import Candidate, run_protocol
from metaod.lab._testbed_data import TestbedData

__all__ = ["PROTOCOLS", "Protocol", "evaluate_testbed", "groups_of", "splits_of"]

Protocol = Literal["folds", "leave-one-out", "leave-one-origin-out"]

PROTOCOLS: dict[Testbed, tuple[Protocol, ...]] = {
    "poc": ("folds",),
    "st": ("leave-one-out", "leave-one-origin-out"),
}
"""The protocols of each testbed; the paper's first."""


def splits_of(data: TestbedData, protocol: Protocol) -> list[Split]:
    """The splits of a protocol on a testbed."""
    if protocol == "folds":
        return by_folds(data.datasets["fold"])
    if protocol == "leave-one-out":
        return leave_one_out(list(data.datasets["name"]))
    if protocol == "leave-one-origin-out":
        return leave_one_origin_out(data.datasets["origin"])
    raise BadParameter("splits_of", "protocol", get_args(Protocol), protocol)


def groups_of(data: TestbedData, protocol: Protocol) -> list[str]:
    """What the protocol leaves out together: origins, or each dataset by itself.

    A learner that holds out a part of its training side, to know when to stop, does so as the
    protocol does: where test datasets have siblings on the training side, what it holds out has.
    """
    if protocol == "leave-one-origin-out":
        return list(data.datasets["origin"])
    return list(data.datasets.index)


def evaluate_testbed(
    data: TestbedData,
    protocol: Protocol,
    *,
    methods: Sequence[Method] = METHODS,
    schema: str = "paper",
    seeds: int = 5,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Evaluate all methods on a testbed.

    Learners are fitted on the training side of every split alone. Of a random learner several
    seeds are run. A model without performance on a dataset cannot be run there: the next in the
    ranking is taken, as a user's run would do.

    Parameters
    ----------
    data : TestbedData
        The testbed.
    protocol : {"folds", "leave-one-out", "leave-one-origin-out"}
        The splits.
    methods : sequence of Method
        What to compare.
    schema : str, default="paper"
        The meta-features that learners are given.
    seeds : int, default=5
        Seeds of a random learner.
    n_jobs : int, default=1
        Processes.
    journal : Path, optional
        File that keeps what is done, so that a run that was stopped goes on.
    progress : callable, optional
        Told how many trainings are done, of how many.
    """
    if schema not in data.metafeatures:
        raise BadParameter("evaluate_testbed", "schema", data.metafeatures, schema)
    splits = splits_of(data, protocol)
    learners = [
        item
        for item in methods
        if item.learner is not None and item.testbed in (None, data.testbed)
    ]
    M = data.metafeatures[schema]
    # the expectation of a uniformly random model is known without drawing any
    candidates = [
        Candidate(item.key, item.learner, M)
        for item in learners
        if item.learner is not None and item.key != "random_selection"
    ]
    picks = run_protocol(
        data.P,
        groups_of(data, protocol),
        splits,
        candidates,
        seeds=seeds,
        n_jobs=n_jobs,
        journal=journal,
        progress=progress,
    )
    folds = pd.Series(0, index=data.datasets.index)
    for number, split in enumerate(splits, start=1):
        folds.iloc[split.test] = number
    described = data.datasets.assign(fold=folds)
    frame = picks.rename(columns={"performance": "ap"}).drop(columns="passed_over")
    results = Results(frame.join(described, on="dataset"))
    for item in methods:
        found = _without_learning(item, data)
        if found is not None:
            results = results.with_method(item.key, found)
    return results


def _without_learning(item: Method, data: TestbedData) -> pd.DataFrame | None:
    """What a method reaches that is no learner; None for one that is."""
    if item.reference is not None:
        found = data.references[item.reference]
        if item.stand_in is not None:
            found = found.fillna(data.references[item.stand_in])
        return found.to_frame("ap")
    if item.key == "oracle":
        return oracle(data.P)
    if item.key == "eub" and data.testbed == "poc":
        return empirical_upper_bound(data.P, data.datasets["motherset"])
    if item.key == "random_selection" and data.testbed == "st":
        return random_selection(data.P)
    return None
