"""A fitted pick in one file, without pickle: models, preparation, training matrix, threshold.

The detector is fitted again from the training matrix, and its scores are compared with those saved.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from metaod._state import Shape, decode, encode
from metaod.artifacts import (
    Artifact,
    BadArtifact,
    library_versions,
    read_container,
    write_container,
)
from metaod.detection._cells import CellCheck
from metaod.detection._conformal import Calibration
from metaod.detection._extremes import Extremes
from metaod.detection._fitted import Errors, Fitted, fit_models
from metaod.detection._history import PickVersion
from metaod.detection._threshold import check_contamination, threshold_below
from metaod.errors import Setting, UserError
from metaod.models import COMMITTEE, Cost, Matrix, ModelSpec, Scores, expected_costs, model_space
from metaod.options import Picking, Reading
from metaod.review import Ranker
from metaod.selection import Tracker, memory_for
from metaod.tables import Preparation, save_table, saved_table

_SAVE_AGAIN = "save the pick again"
_PARAMETERS = (
    "learner", "pick", "contamination", "rows_only", "exclude", "space", "max_seconds",
)  # fmt: skip

# limits of fitting again, because a file from elsewhere could demand more: times the committee's
# cost on this table; the parts of a model are the product of its counts (trees, bins, cuts)
_QUICK_SECONDS, _MANY, _MAX_COUNT = 60.0, 10, 10**7
_MOST_ROWS = 5_000  # from which the search for wrong cells learns again
_SAME = 1e-6  # scores that differ by less than this share of their spread are the same


@dataclass(frozen=True, eq=False)
class SavedCells:
    """What the search for wrong cells learned from, and what it found in the rows of the file."""

    columns: tuple[Any, ...]  # of :func:`save_table`
    scores: Annotated[Scores, Shape("n")]
    flags: Annotated[npt.NDArray[np.bool_], Shape("n")]
    errors: Annotated[Errors, Shape("marked", None)]  # of the rows, if there are marks

    @classmethod
    def of(
        cls, cells: CellCheck, fitted: Fitted, rows: npt.NDArray[np.intp], marked: Sequence[int]
    ) -> "SavedCells":
        """Describe a search, with its findings in these rows; keep the marked ones of them."""
        has_all = cells.table.n_rows == len(cells.scores)  # not if it is of a large table's file
        own = rows if has_all else np.arange(cells.table.n_rows)
        kept = np.linspace(0, len(own) - 1, min(len(own), _MOST_ROWS)).astype(np.intp)
        own = own[np.union1d(kept, np.array(marked, dtype=np.intp)) if has_all else kept]
        columns = save_table(cells.table.take(own))
        errors = np.empty((0, 0), dtype=np.float32)
        if fitted.marked is not None and fitted.errors is not None:
            errors = fitted.errors[rows]
        return cls(tuple(columns), cells.scores[rows], cells.flags[rows], errors)

    def fitted(self, preparation: Preparation, seed: int) -> CellCheck:
        """Return the search, which has learned again."""
        table = saved_table(self.columns, "the rows of the pick")
        return CellCheck(table, preparation, seed, (self.scores, self.flags))


@dataclass(frozen=True, eq=False)
class SavedPick:
    """What the file of a fitted estimator holds; of a large table a sample and the marked rows.

    The rows that the models learned from come first, `n_reference` of them. `feature_names` is
    empty if the columns of the training table have no names; `reading` holds the options of
    :func:`metaod.read_table` that later rows are read with.
    """

    models: tuple[str, ...]
    weights: tuple[float, ...]
    seed: int
    threshold: float
    notes: tuple[str, ...]
    n_reference: int
    X: Annotated[Matrix, Shape("n", "d")]
    scores: Annotated[Scores, Shape("n")]
    cells: SavedCells | None
    calibration: Calibration | None
    extremes: Extremes | None
    marked_rows: tuple[int, ...]
    answers: tuple[bool | None, ...]
    ranker: Ranker | None
    preparation: dict[str, Any]
    feature_names: tuple[str, ...]
    parameters: dict[str, Any]
    reading: dict[str, Any]
    versions: dict[str, str]
    history: tuple[PickVersion, ...]

    @classmethod
    def of(
        cls, model: Any, calibration: Calibration | None, reading: Mapping[str, Any]
    ) -> "SavedPick":
        """Describe a fitted estimator; those options of reading are kept that later rows need."""
        fitted: Fitted = model.fitted_
        kept = (name for name, option in Reading.declared().items() if option.is_kept)
        rows = np.arange(len(fitted.X)) if fitted.reference is None else fitted.reference
        n_reference = len(rows)
        marks = {} if fitted.marked is None else dict(fitted.marked.marks)
        rows = np.concatenate([rows, np.setdiff1d(np.array([*marks], dtype=np.intp), rows)])
        places = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        marked = tuple(places[row] for row in marks)
        return cls(
            tuple(fitted.weights),
            tuple(fitted.weights.values()),
            fitted.seed,
            fitted.threshold,
            tuple(fitted.all_notes),
            n_reference,
            fitted.X[rows],
            fitted.scores[rows],
            None if model.cells_ is None else SavedCells.of(model.cells_, fitted, rows, marked),
            calibration,
            fitted.extremes,
            marked,
            tuple(marks.values()),
            None if fitted.marked is None else fitted.marked.ranker,
            model.preparation_.to_dict(),
            tuple(map(str, getattr(model, "feature_names_in_", ()))),
            _plain_parameters(model),
            {name: reading[name] for name in kept if reading.get(name) is not None},
            library_versions(),
            model.history_,
        )

    def write(self, path: "str | PathLike[str]", sign: "str | PathLike[str] | None") -> None:
        """Write to a file, or replace it; sign it with a key."""
        write_container(path, "pick", encode(self), sign)

    @classmethod
    def read(
        cls, path: "str | PathLike[str]", tracker: Tracker, max_seconds: float | None
    ) -> "tuple[SavedPick, Fitted, Preparation, CellCheck | None]":
        """Read a file and fit its models again; BadArtifact if it is no pick or is damaged."""
        try:
            saved: SavedPick = decode(cls, read_container(path, "pick"), "pick")
            preparation = Preparation.from_dict(saved.preparation)
            saved._check(preparation)
            models = [ModelSpec.parse(name) for name in saved.models]
            _refuse_costly(models, (len(saved.X), saved.X.shape[1]), max_seconds, path)
            fitted, cells = saved._fitted(models, preparation, path, tracker), None
            if saved.cells is not None:
                tracker.stage("check")
                cells = saved.cells.fitted(preparation, fitted.seed)
            return saved, fitted, preparation, cells
        except BadArtifact:
            raise
        except (UserError, KeyError, TypeError, ValueError, AttributeError) as error:
            known = isinstance(error, UserError)
            what = str(error) if known else f"{type(error).__name__}: {error}"
            raise BadArtifact(path, f"is inconsistent ({what})", remedy=_SAVE_AGAIN) from error

    def _check(self, preparation: Preparation) -> None:
        """Refuse members that do not fit together."""
        if set(self.parameters) != set(_PARAMETERS):
            raise ValueError("other parameters than those of an estimator")
        Picking.declared()["pick"].checked(self.parameters["pick"], "the pick")
        kept = {name: option for name, option in Reading.declared().items() if option.is_kept}
        for name, value in self.reading.items():
            kept[name].checked(value, "the pick")
        n_rows, n_columns = self.X.shape
        if n_columns != len(preparation.names_) or not 0 < self.n_reference <= n_rows:
            raise ValueError("a training matrix of other columns or rows")
        if not len(self.models) == len(self.weights) > 0 or min(self.weights) <= 0:
            raise ValueError("weights that are not positive, one a model")
        columns = tuple(column.name for column in preparation.record_.columns)
        if self.feature_names not in ((), columns):
            raise ValueError("columns that are not those of the preparation")
        n_kinds = 1 if self.cells is None else 2
        held_out = (1, n_kinds) if self.calibration is None else self.calibration.statistics.shape
        if not held_out[0] or held_out[1] != n_kinds:
            raise ValueError("held-out rows with other statistics than those of the pick")
        marked = set(self.marked_rows)
        if not marked <= set(range(n_rows)) or not len(marked) == len(self.answers):
            raise ValueError("marks of rows that do not exist, or not one a row")

    def _fitted(
        self,
        models: Sequence[ModelSpec],
        preparation: Preparation,
        path: "str | PathLike[str]",
        tracker: Tracker,
    ) -> Fitted:
        share = check_contamination(self.parameters["contamination"])
        fitted = fit_models(
            models,
            self.X,
            fixed=preparation.fixed_,
            weights=self.weights,
            contamination=share,
            random_state=Picking.declared()["random_state"].checked(self.seed, "the pick"),
            n_reference=self.n_reference,
            extremes=self.extremes,
            tracker=tracker,
        )
        errors = None if self.cells is None else self.cells.errors
        if errors is not None and len(errors) != len(self.X):  # there were no marks
            errors = None
        answers = dict(zip(self.marked_rows, self.answers, strict=True))
        fitted = fitted.answered(answers, share, errors, self.ranker)
        fitted = replace(fitted, threshold=self.threshold, notes=self.notes, ties=None)
        return _compared(fitted, self, path)


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Return an estimator's parameters as plain data; roles are those of the preparation."""
    learner = model.learner
    return {
        "learner": learner.learner.name if isinstance(learner, Artifact) else fspath(learner),
        "pick": model.pick,
        "contamination": check_contamination(model.contamination),
        "rows_only": bool(model.rows_only),
        "exclude": _model_names(model.exclude),
        "space": _model_names(model.space),
        "max_seconds": None if model.max_seconds is None else float(model.max_seconds),
    }


def _model_names(models: Any) -> str | list[str] | None:
    if models is None or isinstance(models, str):
        return models
    return [str(model) for model in ([models] if isinstance(models, ModelSpec) else models)]


def _refuse_costly(
    specs: Sequence[ModelSpec],
    shape: tuple[int, int],
    max_seconds: float | None,
    path: "str | PathLike[str]",
) -> None:
    """Refuse models that are too costly for a pick of this table, before they are fitted."""
    costs = zip(expected_costs(specs, *shape), map(_excess, specs), strict=True)
    cost = Cost.total(Cost(own.seconds * times, own.n_bytes * times) for own, times in costs)
    if max_seconds is None:
        usual = Cost.total(expected_costs(COMMITTEE, *shape)).seconds
        max_seconds = max(_QUICK_SECONDS, _MANY * usual)
    reason = cost.why_over(max_seconds, memory_for(shape))
    if reason is not None:
        is_slow = cost.seconds > max_seconds
        more = Setting("max_seconds").advice("if you trust it, allow more time with {set}")
        remedy = more if is_slow else _SAVE_AGAIN
        raise BadArtifact(path, f"fitting it again {reason}", remedy=remedy, code="costly")
    for spec in specs:
        if _parts(spec) > _MAX_COUNT:
            raise ValueError(f"a model of more than {_MAX_COUNT:,} parts, {spec.id}")


def _excess(spec: ModelSpec) -> float:
    """Return how many times more parts a model has than any of its family that costs are known of.

    The laws of costs were measured on these, and say little of larger ones.
    """
    known = [own for own in model_space("all") if own.detector == spec.detector]
    return max(1.0, _parts(spec) / max(map(_parts, known), default=math.inf))


def _parts(spec: ModelSpec) -> int:
    counts = (abs(value) for value in dict(spec.params).values() if isinstance(value, int))
    return math.prod(max(1, count) for count in counts)


def _compared(fitted: Fitted, saved: SavedPick, path: "str | PathLike[str]") -> Fitted:
    """Return the models with the saved scores, or with a new threshold if scores have changed."""
    scores = saved.scores
    # a marked row lies above or below all rows of its table, of which the file has some
    compared = np.ones(len(scores), dtype=np.bool_)
    compared[list(fitted.marks)] = False
    differences = np.abs(fitted.scores - scores)[compared]
    difference = float(differences.max(initial=0.0)) / (float(scores.std()) or 1.0)
    if difference <= _SAME:
        return replace(fitted, scores=scores)
    n_flagged = int(np.count_nonzero(scores > fitted.threshold))
    threshold = threshold_below(np.sort(fitted.scores), n_flagged)
    now, then = library_versions(), saved.versions
    changed = [
        f"{name} {then[name]} is now {now[name]}"
        for name in sorted(now.keys() & then.keys())
        if now[name] != then[name]
    ]
    note = (
        "the training scores differ from the saved ones "
        f"({'; '.join(changed) or 'on another machine'}; largest difference {difference:.2g} "
        "standard deviations); there is a new threshold"
    )
    warnings.warn(f"{fspath(path)}: {note}", stacklevel=5)  # the caller of metaod.load
    notes = (*fitted.notes, f"{note[0].upper()}{note[1:]}.")
    return replace(fitted, threshold=threshold, notes=notes)
