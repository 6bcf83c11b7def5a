"""Evaluate all methods on a testbed, and write the results of ``python -m research evaluate``."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from metaod.artifacts import library_versions
from metaod.errors import BadParameter, MissingExtra, UserError
from research.methods import METHODS, Method, empirical_upper_bound, oracle, random_selection
from research.protocols import PROTOCOLS, Protocol, groups_of, splits_of
from research.publication import Findings, embed_testbed, unit_of
from research.results import Results
from research.running import Candidate, Progress, run_protocol
from research.sensitivity import run_sensitivity
from research.tables import summary_table, write_table
from research.testbed_data import TestbedData
from research.testbeds.folder import read_manifest
from research.timing import add_times, measure_times

_SENSITIVITY_SEEDS = 5

OnStep = Callable[[str, int, int], None]
"""Called with the kind of step, how many are done and how many there are."""


@dataclass(frozen=True)
class EvaluationRun:
    """The results of one protocol, and the folder of its tables and figures."""

    data: TestbedData
    protocol: Protocol
    folder: Path
    results: Results
    n_unavailable: int  # datasets of the paper's testbed that the folder does not have

    def summary(self) -> pd.DataFrame:
        """One row per method: mean, standard deviation, average ranks, spread over seeds."""
        return summary_table(self.results, unit_of(self.data.testbed))


def run_evaluation(
    testbed: str,
    store: str,
    folder: Path,
    out: Path,
    *,
    protocol: str | None = None,
    seeds: int = 10,
    n_jobs: int = 1,
    times: bool = True,
    sensitivity: bool = True,
    on_step: OnStep | None = None,
) -> list[EvaluationRun]:
    """Evaluate every method on a testbed and write all tables and figures.

    A stopped run continues where it stopped.

    Parameters
    ----------
    testbed : {"poc", "st"}
        The testbed.
    store : str
        The store that ``metaod build`` filled.
    folder : Path
        The testbed's folder.
    out : Path
        The folder for the results; each protocol of ST has its own folder inside.
    protocol : str, optional
        Only this protocol of the testbed.
    seeds : int, default=10
        Seeds of a random learner.
    n_jobs : int, default=1
        Processes; -1 for one per core.
    times : bool, default=True
        On POC, also measure the times of selection and training.
    sensitivity : bool, default=True
        Also vary MetaOD's settings one at a time, with 5 seeds at most.
    on_step : callable, optional
        Called with the kind of step, how many are done and how many there are.
    """
    from metaod.store import Store  # noqa: PLC0415 - needs sqlalchemy

    if testbed not in PROTOCOLS:
        raise BadParameter("research evaluate", "TESTBED", PROTOCOLS, testbed)
    if n_jobs == 0:
        raise BadParameter("research evaluate", "--jobs", "-1, or 1 or more", n_jobs)
    # checked now, and not after hours of training
    for module, package in (("matplotlib", "matplotlib"), ("scikit_posthocs", "scikit-posthocs")):
        if find_spec(module) is None:
            raise MissingExtra(package, extra="research", needed_for="research evaluate")
    manifest = read_manifest(folder)
    if manifest.testbed != testbed:
        raise UserError(
            f"the folder holds {manifest.testbed}, not {testbed}",
            where=str(folder),
            remedy=f"make it with: python -m research testbed {testbed}",
        )
    protocols = [item for item in PROTOCOLS[testbed] if protocol in (None, item)]
    if not protocols:
        raise BadParameter("research evaluate", "--protocol", PROTOCOLS[testbed], protocol)
    with Store(store, read_only=True) as opened:
        data = TestbedData.from_store(opened, manifest, folder)
    runs = []
    for item in protocols:
        target = out if testbed == "poc" else out / item
        results = _run_one(data, item, target, seeds, n_jobs, times, sensitivity, on_step)
        runs.append(EvaluationRun(data, item, target, results, manifest.n_left_out))
    return runs


def _run_one(
    data: TestbedData,
    protocol: Protocol,
    out: Path,
    seeds: int,
    n_jobs: int,
    times: bool,
    sensitivity: bool,
    on_step: OnStep | None,
) -> Results:
    def options(journal: str, kind: str) -> dict[str, Any]:
        progress = None if on_step is None else partial(on_step, kind)
        return {"journal": out / ".journal" / f"{journal}.jsonl", "progress": progress}

    results = evaluate_testbed(
        data, protocol, seeds=seeds, n_jobs=n_jobs, **options("picks", "trainings")
    )
    if times and data.testbed == "poc":
        results = add_times(results, measure_times(data, protocol, **options("times", "timed")))
    # leave-one-out shows nothing about stability that leave-one-origin-out does not
    varied = None
    if sensitivity and protocol != "leave-one-out":
        varied = run_sensitivity(
            data,
            groups_of(data, protocol),
            seeds=min(seeds, _SENSITIVITY_SEEDS),
            n_jobs=n_jobs,
            **options("sensitivity", "settings varied"),
        )
    embedding = embed_testbed(results, data.metafeatures["paper"], data.testbed)
    Findings(data.testbed, protocol, results, data.P, embedding, varied).write(out)
    if data.duplicates:
        duplicates = pd.DataFrame(data.duplicates, columns=["dataset", "the same table as"])
        write_table(duplicates, out, "duplicates")
    drawing = {name: version(name) for name in ("matplotlib", "scikit-posthocs")}
    run = {
        "testbed": data.testbed,
        "protocol": protocol,
        "seeds": seeds,
        "sensitivity_seeds": min(seeds, _SENSITIVITY_SEEDS),
        "datasets": len(data.P),
        "space": data.space,
        "models": data.P.shape[1],
        "versions": {**library_versions(), **drawing},
    }
    (out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    return results


def evaluate_testbed(
    data: TestbedData,
    protocol: Protocol,
    *,
    methods: Sequence[Method] = METHODS,
    schema: str = "paper",
    seeds: int = 10,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Progress | None = None,
) -> Results:
    """Evaluate all methods on a testbed.

    Learners are fitted on the training side of every split only; a random learner is run with
    several seeds. A model without performance on a dataset cannot be run there: the next one in
    the ranking is used, as in a user's run.

    Parameters
    ----------
    data : TestbedData
        The testbed.
    protocol : {"folds", "leave-one-out", "leave-one-origin-out"}
        The splits.
    methods : sequence of Method
        The methods to compare.
    schema : str, default="paper"
        The meta-features of the learners.
    seeds, n_jobs, journal, progress
        As for :func:`run_protocol`.
    """
    if schema not in data.metafeatures:
        raise BadParameter("evaluate_testbed", "schema", data.metafeatures, schema)
    splits = splits_of(data, protocol)
    M = data.metafeatures[schema]
    candidates = [
        Candidate(item.key, item.learner, M)
        for item in methods
        if item.learner is not None
        and item.testbed in (None, data.testbed)
        and item.key != "random_selection"  # its expectation is computed below
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
    """Return the result of a method that is not a learner, or None for a learner."""
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
