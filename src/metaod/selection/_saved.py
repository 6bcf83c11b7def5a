"""A fitted pick in one file, without pickle: models, preparation, training matrix, threshold.

The detector itself is not in the file: it is fitted again from the training matrix, with the same
seed, and held against the training scores that the file has.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from metaod.artifacts import (
    Artifact,
    BadArtifact,
    NewerArtifact,
    library_versions,
    read_container,
    write_container,
)
from metaod.errors import UserError
from metaod.learners import Choice
from metaod.models import ModelSpec, expected_costs, together, why_too_costly
from metaod.selection._candidates import Models
from metaod.selection._estimator import MetaOD
from metaod.selection._fitting import Fitted, fit_models
from metaod.selection._picks import check_pick
from metaod.selection._threshold import check_contamination
from metaod.tables import Preparation

__all__ = ["load", "save"]

_KIND = "pick"
_VERSION = 1
_AGAIN = "save the pick again"
_WHAT_IT_IS = "a pick is a file that 'metaod detect --save' or MetaOD.save wrote"

_MAX_SECONDS, _MAX_BYTES = 3600.0, 64.0 * 2**30
"""What fitting a pick again may be expected to cost: a file from elsewhere could ask for more."""

_MAX_COUNT = 10**7
"""The largest product of a model's counts (trees, bins, cuts), for the same reason."""

_SAME = 1e-6
"""Scores that differ by less than this share of their spread are the same."""


def save(model: MetaOD, path: "str | PathLike[str]") -> None:
    """Write a fitted estimator to a file; a pick that is there already is replaced.

    Parameters
    ----------
    model : MetaOD
        The fitted estimator.
    path : path-like
        The file. It holds the training matrix: whoever has it can read the table's values.
    """
    fitted = model.fitted_
    document = {
        "kind": _KIND,
        "pick_version": _VERSION,
        "models": list(fitted.choice.weights),
        "weights": list(fitted.choice.weights.values()),
        "seed": fitted.seed,
        "threshold": fitted.threshold,
        "notes": list(fitted.notes),
        "preparation": model.preparation_.to_dict(),
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "parameters": {
            "learner": _learner_name(model.learner),
            "pick": None if model.pick is None else check_pick(model.pick),
            "contamination": check_contamination(model.contamination),
            "exclude": _model_names(model.exclude),
            "space": _model_names(model.space),
            "max_seconds": None if model.max_seconds is None else float(model.max_seconds),
        },
        "versions": library_versions(),
    }
    write_container(path, document, {"X": fitted.X, "scores": fitted.scores})


def load(path: "str | PathLike[str]") -> MetaOD:
    """Read a fitted estimator that :meth:`MetaOD.save` wrote; nothing in the file is executed.

    The detector is fitted again from the training matrix. Where the installed libraries give other
    training scores than those in the file, a warning says so, and the threshold is set anew so
    that as many training rows are flagged as before.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    BadArtifact
        The file is no saved pick, or it is damaged.
    """
    try:
        document, arrays = read_container(path)
    except NewerArtifact:
        raise
    except BadArtifact as error:
        raise BadArtifact(path, _of_pick(error.what), remedy=_WHAT_IT_IS) from error
    if document.get("kind") != _KIND:
        raise BadArtifact(path, "is no saved pick", remedy=_WHAT_IT_IS)
    version = document.get("pick_version")
    if type(version) is not int or version < 1:
        raise BadArtifact(path, "has no version of a pick", remedy=_AGAIN)
    if version > _VERSION:
        raise NewerArtifact(
            path, f"is a pick of format {version}, which is not known here", remedy="update metaod"
        )
    try:
        return _restored(document, arrays, path)
    except (UserError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        raise BadArtifact(path, f"does not fit together ({what})", remedy=_AGAIN) from error


def _restored(
    document: dict[str, Any], arrays: dict[str, Any], path: "str | PathLike[str]"
) -> MetaOD:
    parameters = document["parameters"]
    contamination = check_contamination(parameters["contamination"])
    # files from before there were averages have none
    pick = parameters.get("pick")
    model = MetaOD(
        str(parameters["learner"]),
        pick=None if pick is None else check_pick(pick),
        contamination=contamination,
        exclude=parameters["exclude"],
        space=parameters["space"],
        max_seconds=parameters["max_seconds"],
        random_state=int(document["seed"]),
    )
    preparation = Preparation.from_dict(document["preparation"])
    X, scores = arrays["X"], arrays["scores"]
    n_columns = len(preparation.names_)
    sound = X.dtype == scores.dtype == np.float64
    if not sound or X.shape != (len(scores), n_columns) or not np.isfinite(X).all():
        raise ValueError(f"a training matrix of {X.shape} for {len(scores)} × {n_columns}")
    if not np.isfinite(scores).all():
        raise ValueError("training scores that are not finite")
    weights = {
        ModelSpec.parse(name).id: float(weight)
        for name, weight in zip(document["models"], document["weights"], strict=True)
    }
    if not weights or not all(weight > 0 for weight in weights.values()):
        raise ValueError("weights that are not positive")
    _refuse_costly([ModelSpec.parse(name) for name in weights], X.shape)
    names = _feature_names(document, preparation)
    fitted = fit_models(
        Choice(weights), X, contamination=contamination, random_state=int(document["seed"])
    )
    model.n_features_in_ = int(document["n_features"])
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.selection_ = None
    saved_notes = tuple(str(note) for note in document["notes"])
    threshold = float(document["threshold"])
    return model._settle(  # noqa: SLF001 - the other half of the same class
        preparation, _held_against(fitted, scores, threshold, saved_notes, document, path)
    )


def _of_pick(what: str) -> str:
    return what.replace("artifact", "saved pick")


def _refuse_costly(specs: Sequence[ModelSpec], shape: tuple[int, ...]) -> None:
    """Refuse models that no pick has, before they take all time and memory."""
    total = together(expected_costs(specs, *shape))
    reason = why_too_costly(total, _MAX_SECONDS, _MAX_BYTES)
    if reason is not None:
        raise ValueError(f"fitting it again {reason}")
    for spec in specs:
        counts = [abs(value) for value in dict(spec.params).values() if isinstance(value, int)]
        if math.prod(max(1, count) for count in counts) > _MAX_COUNT:
            raise ValueError(f"a model of more than {_MAX_COUNT:,} parts, {spec.id}")


def _feature_names(document: Mapping[str, Any], preparation: Preparation) -> list[str]:
    """Names of the training table's columns, none where it had none."""
    names = [str(name) for name in document["feature_names"]]
    columns = [column.name for column in preparation.record_.columns]
    if document["n_features"] != len(columns) or names not in ([], columns):
        raise ValueError("columns that are not those of the preparation")
    return names


def _held_against(
    fitted: Fitted,
    scores: "np.ndarray[Any, Any]",
    threshold: float,
    notes: tuple[str, ...],
    document: Mapping[str, Any],
    path: "str | PathLike[str]",
) -> Fitted:
    """The fitted models with the saved threshold, or a new one where their scores have changed."""
    spread = float(scores.std()) or 1.0
    difference = float(np.abs(fitted.scores - scores).max()) / spread
    if difference <= _SAME:
        return _replaced(fitted, scores, threshold, notes)
    n_flagged = int(np.count_nonzero(scores > threshold))
    ordered = np.sort(fitted.scores)[::-1]
    # half way between the last row that is flagged and the first that is not
    after = ordered[min(n_flagged, len(ordered) - 1)]
    new = float(after if n_flagged == 0 else (ordered[n_flagged - 1] + after) / 2)
    now, then = library_versions(), document["versions"]
    changed = [
        f"{name} {then[name]} is now {now[name]}"
        for name in sorted(now.keys() & then.keys())
        if now[name] != then[name]
    ]
    note = (
        "the training scores are not those that were saved "
        f"({'; '.join(changed) or 'on another machine'}; largest difference {difference:.2g} "
        "standard deviations); the threshold was set anew"
    )
    warnings.warn(f"{fspath(path)}: {note}", stacklevel=4)
    return _replaced(fitted, fitted.scores, new, (*notes, f"{note[0].upper()}{note[1:]}."))


def _replaced(
    fitted: Fitted, scores: "np.ndarray[Any, Any]", threshold: float, notes: tuple[str, ...]
) -> Fitted:
    return Fitted(fitted.choice, fitted.detector, fitted.X, scores, threshold, fitted.seed, notes)


def _learner_name(learner: "str | PathLike[str] | Artifact") -> str:
    return learner.manifest.learner if isinstance(learner, Artifact) else fspath(learner)


def _model_names(models: Models | None) -> str | list[str] | None:
    if models is None or isinstance(models, str):
        return models
    if isinstance(models, ModelSpec):
        return models.id
    return [model.id if isinstance(model, ModelSpec) else str(model) for model in models]
