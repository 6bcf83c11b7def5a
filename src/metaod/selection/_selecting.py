"""The online half: a table without labels in, the model to run on it out."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.artifacts import Artifact
from metaod.errors import BadParameter
from metaod.history import find_artifact
from metaod.learners import Choice
from metaod.metafeatures import extract
from metaod.models import SPACES, Cost, ModelSpec, model_space, together
from metaod.selection._candidates import Candidates, Constraints, Models
from metaod.selection._picks import Pick, check_pick
from metaod.selection._selection import Selection
from metaod.selection._trust import judge
from metaod.tables import PreparedTable, Table, prepare, read_table

__all__ = ["MAX_BYTES", "check_seed", "select"]

MAX_BYTES = 2.0 * 2**30
"""Memory beyond the table that a pick may be expected to need, unless told otherwise ..."""

TIMES_THE_TABLE = 4.0
"""... or this many times the table, where that is more: who holds it has memory for copies."""

_LONG = 60.0
"""Seconds of fitting that a user is told of beforehand."""

Matrix = npt.NDArray[np.float64]


def select(
    X: Any,
    *,
    learner: "str | PathLike[str] | Artifact" = "default",
    pick: Pick | None = None,
    space: Models | None = None,
    exclude: Models | None = None,
    max_seconds: float | None = None,
    max_bytes: float | Literal["auto"] | None = "auto",
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
    pick : {"ensemble", "single"}, optional
        Whether an average of a few models may be picked, where the learner knows such, or one
        model alone; an average may unless told.
    space : str or iterable of str or ModelSpec, optional
        Only these, and averages of these: the name of a model space, or ids of models and names of
        families.
    exclude : str or iterable of str or ModelSpec, optional
        None of these, and no averages with one of these: ids of models and names of families.
    max_seconds : float, optional
        Only models that are expected to take no longer to fit; several that are averaged, together.
    max_bytes : float, None or "auto", default="auto"
        Only models that are expected to need no more memory beyond the table; None for no limit,
        ``auto`` for 2 GiB or four times the table, whichever is more.
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
    if max_bytes != "auto":
        _check_limit("max_bytes", max_bytes)
    kind = check_pick(pick)
    random_state = check_seed(random_state)
    artifact = find_artifact(learner)
    prepared = prepare_table(X)
    features = extract(prepared, artifact.schema_names, random_state=random_state)
    vector = artifact.vector(features)
    scores = artifact.learner.predict(vector)
    shape = (int(prepared.X.shape[0]), int(prepared.X.shape[1]))
    specs = [ModelSpec.parse(name) for name in scores.index]
    if max_bytes == "auto":
        max_bytes = max(MAX_BYTES, TIMES_THE_TABLE * prepared.X.nbytes)
    constraints = Constraints(space, exclude, max_seconds, max_bytes, kind)
    candidates = Candidates.among(specs, shape, constraints)
    ids = [spec.id for spec in candidates.costs]
    wished = _answer(artifact, vector, scores, set(ids), kind)
    answer = _in_time(wished, candidates.costs, max_seconds)
    estimates, distances = _estimates(artifact, vector, scores, answer)
    ranking = pd.DataFrame(
        {
            "model": ids,
            **{name: values[ids].to_numpy() for name, values in estimates.items()},
            "seconds": [cost.seconds for cost in candidates.costs.values()],
            "score": scores[ids].to_numpy(),
        }
    )
    ranking = ranking.sort_values(["score", "model"], ascending=[False, True], ignore_index=True)
    first = ranking[ranking["model"] == answer.best].iloc[0]
    prediction = (float(first["predicted"]), float(first["low"]), float(first["high"]))
    trust = judge(
        prepared,
        distances,
        artifact.history,
        artifact.calibration,
        None if artifact.calibration is None else prediction,
    )
    if not answer.is_single:
        trust = replace(trust, of_average=answer.best)
    trust = replace(trust, warnings=(*trust.warnings, *_unknown(space, set(scores.index))))
    n_left_out = len(wished.weights) - len(answer.weights)
    if n_left_out:
        left_out = (
            f"{n_left_out} of the {len(wished.weights)} models of the average were left out: "
            "together they are expected to take longer than max_seconds"
        )
        trust = replace(trust, warnings=(*trust.warnings, left_out))
    seconds = ranking.loc[ranking["model"].isin(list(answer.weights)), "seconds"].sum()
    if seconds > _LONG:
        slow = f"fitting the pick is expected to take about {seconds:.3g} s; max_seconds limits it"
        trust = replace(trust, warnings=(*trust.warnings, slow))
    return Selection(
        answer,
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


def _unknown(space: Any, known: set[str]) -> tuple[str, ...]:
    """Said where a space is asked for of which the learner knows a part."""
    if not isinstance(space, str) or space not in SPACES:
        return ()
    asked = {spec.id for spec in model_space(space)}
    if asked <= known:
        return ()
    known_part = f"{len(asked & known)} of the {len(asked)} models of the space '{space}'"
    return (f"the learner knows {known_part}, and picked among those",)


def _check_limit(name: str, limit: Any) -> None:
    if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
        raise BadParameter("select", name, "a number above 0", limit)


def check_seed(
    value: Any, *, owner: str = "select", legal: str = "an int in the range [0, 2**32)"
) -> int:
    """A seed as numpy's generators take it, as a plain int.

    Examples
    --------
    >>> check_seed(np.int64(7))
    7
    """
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or not 0 <= int(value) < 2**32:
        raise BadParameter(owner, "random_state", legal, value)
    return int(value)


def _in_time(answer: Choice, costs: Mapping[ModelSpec, Cost], max_seconds: float | None) -> Choice:
    """Of several models those that fit into the time together: the costliest go first."""
    by_name = {spec.id: cost for spec, cost in costs.items()}
    kept = dict(answer.weights)
    while (
        max_seconds is not None
        and len(kept) > 1
        and together(by_name[name] for name in kept).seconds > max_seconds
    ):
        known = {name: by_name[name].seconds for name in kept if by_name[name].is_known}
        del kept[max(known, key=lambda name: (known[name], name))]
    return _of_weights(kept)


def _of_weights(weights: Mapping[str, float]) -> Choice:
    total = sum(weights.values())
    return Choice({name: weight / total for name, weight in weights.items()})


def _answer(
    artifact: Artifact, vector: Matrix, scores: Any, allowed: set[str], pick: Pick
) -> Choice:
    """The learner's own answer where it is allowed, else the best of what is."""
    answer = artifact.learner.choose(vector)
    kept = {name: weight for name, weight in answer.weights.items() if name in allowed}
    if not kept:
        among = scores[[name for name in scores.index if name in allowed]]
        return Choice({str(among.sort_index().idxmax()): 1.0})
    if pick == "single":
        return Choice({next(iter(kept)): 1.0})
    return _of_weights(kept)


def _estimates(
    artifact: Artifact, vector: Matrix, scores: "pd.Series[float]", answer: Choice
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
        pick=models.index(answer.best),
    )
    return {
        name: pd.Series(values, index=models) for name, values in zip(names, found, strict=True)
    }, distances
