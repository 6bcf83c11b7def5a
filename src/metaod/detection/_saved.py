"""A fitted pick in one file, without pickle: models, preparation, training matrix, threshold.

The detector is fitted again from the training matrix, and its scores are compared with those saved.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from metaod.artifacts import (
    Artifact,
    BadArtifact,
    library_versions,
    read_container,
    write_container,
)
from metaod.detection._fitted import Fitted, fit_models
from metaod.detection._threshold import check_contamination
from metaod.errors import UserError
from metaod.learners import Shape, decode, encode
from metaod.models import Cost, Matrix, ModelSpec, Scores, expected_costs
from metaod.options import Picking, Reading
from metaod.review import Ranker
from metaod.selection import Tracker
from metaod.tables import Preparation

_UNSURE = -1
_SAVE_AGAIN = "save the pick again"
_MATRIX = Annotated[Matrix, Shape("n", "d")]
_SCORES = Annotated[Scores, Shape("n")]
_INTEGERS = Annotated[npt.NDArray[np.int64], Shape("n")]
_PARAMETERS = ("learner", "pick", "contamination", "exclude", "space", "max_seconds")

# limits of fitting again, because a file from elsewhere could demand more; the count is the product
# of a model's counts (trees, bins, cuts)
_MAX_SECONDS, _MAX_BYTES, _MAX_COUNT = 3600.0, 64.0 * 2**30, 10**7
_SAME = 1e-6  # scores that differ by less than this share of their spread are the same


def write_pick(path: "str | PathLike[str]", fitted: Fitted, document: Mapping[str, Any]) -> None:
    """Write a fitted pick to a file, or replace it.

    Of a large table the rows that the models learned from are written, and the marked ones.
    """
    rows = np.arange(len(fitted.X)) if fitted.reference is None else fitted.reference
    own: dict[str, Any] = {
        "n_reference": len(rows),
        "models": list(fitted.weights),
        "weights": list(fitted.weights.values()),
        "seed": fitted.seed,
        "threshold": fitted.threshold,
        "notes": list(fitted.all_notes),
        "versions": library_versions(),
    }
    if fitted.marked is not None:
        marks = fitted.marked.marks
        rows = np.concatenate([rows, np.setdiff1d(list(marks), rows)])
        places = np.empty(len(fitted.X), dtype=np.int64)
        places[rows] = np.arange(len(rows))
        own["marked_rows"] = places[list(marks)]
        answers = [_UNSURE if answer is None else int(answer) for answer in marks.values()]
        own["answers"] = np.array(answers, dtype=np.int8)
        own["ranker"] = encode(fitted.marked.ranker)
    own |= {"X": fitted.X[rows], "scores": fitted.scores[rows]}
    write_container(path, "pick", {**document, **own})


def read_pick(
    path: "str | PathLike[str]", tracker: Tracker
) -> tuple[Fitted, Preparation, dict[str, Any]]:
    """Read a file and fit its models again; BadArtifact if it is no pick or is damaged.

    Also return the preparation and the other members that :func:`write_pick` was given.
    """
    document = read_container(path, "pick")
    try:
        return _restored(document, path, tracker)
    except (UserError, KeyError, TypeError, ValueError, AttributeError) as error:
        known = isinstance(error, UserError)
        what = str(error) if known else f"{type(error).__name__}: {error}"
        raise BadArtifact(path, f"is inconsistent ({what})", remedy=_SAVE_AGAIN) from error


def _restored(
    document: dict[str, Any], path: "str | PathLike[str]", tracker: Tracker
) -> tuple[Fitted, Preparation, dict[str, Any]]:
    parameters = {name: document["parameters"][name] for name in _PARAMETERS}
    parameters["learner"] = str(parameters["learner"])
    share = check_contamination(parameters["contamination"])
    declared = Picking.declared()
    declared["pick"].checked(parameters["pick"], "the pick")
    preparation = Preparation.from_dict(document["preparation"])
    scores = decode(_SCORES, document["scores"], "scores")
    X = decode(_MATRIX, document["X"], "X", {"n": len(scores), "d": len(preparation.names_)})
    models = [ModelSpec.parse(name) for name in document["models"]]
    weights = [float(weight) for weight in document["weights"]]
    if not models or len(models) != len(weights) or not all(weight > 0 for weight in weights):
        raise ValueError("weights that are not positive, one a model")
    n_reference = document["n_reference"]
    if type(n_reference) is not int or not 0 < n_reference <= len(X):
        raise ValueError(f"models that learned from {n_reference!r} of {len(X)} rows")
    _refuse_costly(models, X.shape)
    kept = {name: option for name, option in Reading.declared().items() if option.is_kept}
    other = {
        "parameters": parameters,
        "feature_names": _feature_names(document, preparation),
        "reading": {
            name: kept[name].checked(value, "the pick")
            for name, value in dict(document["reading"]).items()
        },
    }
    fitted = fit_models(
        models,
        X,
        fixed=preparation.fixed_,
        weights=weights,
        contamination=share,
        random_state=declared["random_state"].checked(document["seed"], "the pick"),
        n_reference=n_reference,
        tracker=tracker,
    )
    if "ranker" in document:
        table = fitted.markable(decode(Ranker, document["ranker"], "ranker"))
        table.mark(_marks(document, len(X)))
        fitted = fitted.learn(table, share)
    notes = tuple(str(note) for note in document["notes"])
    fitted = replace(fitted, threshold=float(document["threshold"]), notes=notes, ties=None)
    return _compared(fitted, scores, document, path), preparation, other


def plain_parameters(model: Any) -> dict[str, Any]:
    """Return an estimator's parameters as plain data; roles are those of the preparation."""
    learner = model.learner
    return {
        "learner": learner.learner.name if isinstance(learner, Artifact) else fspath(learner),
        "pick": model.pick,
        "contamination": check_contamination(model.contamination),
        "exclude": _model_names(model.exclude),
        "space": _model_names(model.space),
        "max_seconds": None if model.max_seconds is None else float(model.max_seconds),
    }


def _model_names(models: Any) -> str | list[str] | None:
    if models is None or isinstance(models, str):
        return models
    return [str(model) for model in ([models] if isinstance(models, ModelSpec) else models)]


def _marks(document: Mapping[str, Any], n_rows: int) -> dict[int, bool | None]:
    rows = decode(_INTEGERS, document["marked_rows"], "marked_rows").tolist()
    answers = decode(_INTEGERS, document["answers"], "answers", n=len(rows)).tolist()
    meaning = {1: True, 0: False, _UNSURE: None}
    if not rows or not set(rows) <= set(range(n_rows)) or len(set(rows)) < len(rows):
        raise ValueError("marks of rows that do not exist, or not one a row")
    return {row: meaning[answer] for row, answer in zip(rows, answers, strict=True)}


def _refuse_costly(specs: Sequence[ModelSpec], shape: tuple[int, ...]) -> None:
    """Refuse models that are too costly for a real pick, before they are fitted."""
    cost = Cost.total(expected_costs(specs, *shape))
    reason = cost.why_over(_MAX_SECONDS, _MAX_BYTES)
    if reason is not None:
        raise ValueError(f"fitting it again {reason}")
    for spec in specs:
        counts = [abs(value) for value in dict(spec.params).values() if isinstance(value, int)]
        if math.prod(max(1, count) for count in counts) > _MAX_COUNT:
            raise ValueError(f"a model of more than {_MAX_COUNT:,} parts, {spec.id}")


def _feature_names(document: Mapping[str, Any], preparation: Preparation) -> list[str]:
    names = [str(name) for name in document["feature_names"]]
    columns = [column.name for column in preparation.record_.columns]
    if document["n_features"] != len(columns) or names not in ([], columns):
        raise ValueError("columns that are not those of the preparation")
    return names


def _compared(
    fitted: Fitted, scores: Scores, document: Mapping[str, Any], path: "str | PathLike[str]"
) -> Fitted:
    """Return the models with the saved scores, or with a new threshold if scores have changed."""
    # a marked row lies above or below all rows of its table, of which the file has some
    compared = np.ones(len(scores), dtype=np.bool_)
    compared[list(fitted.marks)] = False
    differences = np.abs(fitted.scores - scores)[compared]
    difference = float(differences.max(initial=0.0)) / (float(scores.std()) or 1.0)
    if difference <= _SAME:
        return replace(fitted, scores=scores)
    n_flagged = int(np.count_nonzero(scores > fitted.threshold))
    ordered = np.sort(fitted.scores)[::-1]
    # half way between the last row that is flagged and the first that is not
    after = ordered[min(n_flagged, len(ordered) - 1)]
    threshold = float(after if n_flagged == 0 else (ordered[n_flagged - 1] + after) / 2)
    now, then = library_versions(), document["versions"]
    changed = [
        f"{name} {then[name]} is now {now[name]}"
        for name in sorted(now.keys() & then.keys())
        if now[name] != then[name]
    ]
    note = (
        "the training scores differ from the saved ones "
        f"({'; '.join(changed) or 'on another machine'}; largest difference {difference:.2g} "
        "standard deviations); the threshold was set anew"
    )
    warnings.warn(f"{fspath(path)}: {note}", stacklevel=5)  # the caller of metaod.load
    notes = (*fitted.notes, f"{note[0].upper()}{note[1:]}.")
    return replace(fitted, threshold=threshold, notes=notes)
