"""The online half: a table without labels in, the model to run on it out."""

from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.datasets import Table, prepare, read_table
from metaod.datasets.preparation import PreparedTable
from metaod.detectors import ModelSpec
from metaod.errors import BadParameter
from metaod.learners import Choice
from metaod.learners.artifact import Artifact
from metaod.metafeatures import extract
from metaod.pretrained.learners import find_artifact
from metaod.selection.candidates import Candidates, Constraints, Models
from metaod.selection.selection import Selection
from metaod.selection.trust import judge

__all__ = ["MAX_BYTES", "select"]

MAX_BYTES = 2.0 * 2**30
"""Memory beyond the table that a pick may be expected to need, unless told otherwise."""

_LONG = 60.0
"""Seconds of fitting that a user is told of beforehand."""

Matrix = npt.NDArray[np.float64]


def select(
    X: Any,
    *,
    learner: "str | PathLike[str] | Artifact" = "default",
    space: Models | None = None,
    exclude: Models | None = None,
    max_seconds: float | None = None,
    max_bytes: float | None = MAX_BYTES,
    random_state: int = 0,
) -> Selection:
    """Pick the model to run on a table, without labels and without running any candidate.

    Parameters
    ----------
    X : path, DataFrame, array, Table or PreparedTable
        The table. Text, dates and missing values are prepared.
    learner : str, path or Artifact, default="default"
        Who picks: the shipped default, the name of a learner (``metaod learners``), or an artifact
        that ``metaod train`` made.
    space : str or iterable of str or ModelSpec, optional
        Only these: the name of a model space, or ids of models and names of families.
    exclude : str or iterable of str or ModelSpec, optional
        None of these: ids of models and names of families.
    max_seconds : float, optional
        Only models that are expected to take no longer to fit.
    max_bytes : float or None, default=2 GiB
        Only models that are expected to need no more memory beyond the table; None for no limit.
    random_state : int, default=0
        Seeds the random landmarkers among the meta-features, and the detector.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import metaod
    >>> selection = metaod.select(metaod.load_example())
    >>> selection.best.id == selection.ranking["model"][0]
    True
    """
    _check_limit("max_seconds", max_seconds)
    _check_limit("max_bytes", max_bytes)
    artifact = find_artifact(learner)
    prepared = prepare_table(X)
    features = extract(prepared, artifact.schema_names, random_state=random_state)
    vector = artifact.vector(features)
    scores = artifact.learner.predict(vector)
    shape = (int(prepared.X.shape[0]), int(prepared.X.shape[1]))
    specs = [ModelSpec.parse(name) for name in scores.index]
    constraints = Constraints(space, exclude, max_seconds, max_bytes)
    candidates = Candidates.among(specs, shape, constraints)
    ids = [spec.id for spec in candidates.costs]
    choice = _choice(artifact, vector, scores, set(ids))
    estimates, distances = _estimates(artifact, vector, scores, choice)
    ranking = pd.DataFrame(
        {
            "model": ids,
            **{name: values[ids].to_numpy() for name, values in estimates.items()},
            "seconds": [cost.seconds for cost in candidates.costs.values()],
            "score": scores[ids].to_numpy(),
        }
    )
    ranking = ranking.sort_values(["score", "model"], ascending=[False, True], ignore_index=True)
    first = ranking[ranking["model"] == choice.best].iloc[0]
    prediction = (float(first["predicted"]), float(first["low"]), float(first["high"]))
    trust = judge(
        prepared,
        distances,
        artifact.history,
        artifact.calibration,
        None if artifact.calibration is None else prediction,
    )
    seconds = ranking.loc[ranking["model"].isin(list(choice.weights)), "seconds"].sum()
    if seconds > _LONG:
        slow = f"fitting the pick is expected to take about {seconds:.3g} s; max_seconds limits it"
        trust = replace(trust, warnings=(*trust.warnings, slow))
    return Selection(
        choice,
        ranking,
        candidates.passed_over,
        prepared,
        features,
        artifact,
        trust,
        random_state,
    )


def prepare_table(X: Any) -> PreparedTable:
    """Whatever a user holds as a finite matrix, with the record of how it became one."""
    if isinstance(X, PreparedTable):
        return X
    if isinstance(X, Table | pd.DataFrame):
        return prepare(X)
    return prepare(read_table(X))


def _check_limit(name: str, limit: Any) -> None:
    if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
        raise BadParameter("select", name, "a number above 0", limit)


def _choice(artifact: Artifact, vector: Matrix, scores: Any, allowed: set[str]) -> Choice:
    """The learner's own answer where it is allowed, else the best of what is."""
    answer = artifact.learner.choose(vector)
    kept = {name: weight for name, weight in answer.weights.items() if name in allowed}
    if not kept:
        among = scores[[name for name in scores.index if name in allowed]]
        return Choice({str(among.sort_index().idxmax()): 1.0})
    total = sum(kept.values())
    return Choice({name: weight / total for name, weight in kept.items()})


def _estimates(
    artifact: Artifact, vector: Matrix, scores: "pd.Series[float]", choice: Choice
) -> tuple[dict[str, "pd.Series[float]"], Matrix | None]:
    """Predicted performance of every model with its interval, and distances to the history."""
    history, calibration = artifact.history, artifact.calibration
    names = ("predicted", "low", "high")
    unknown = pd.Series(np.nan, index=scores.index)
    if history is None:
        return dict.fromkeys(names, unknown), None
    distances = history.distances(vector)
    if calibration is None:
        return dict.fromkeys(names, unknown), distances
    models = list(history.models)
    found = calibration.predict(
        np.asarray(scores[models], dtype=np.float64),
        history.estimate(distances),
        pick=models.index(choice.best),
    )
    return {
        name: pd.Series(values, index=models) for name, values in zip(names, found, strict=True)
    }, distances
