"""Update a pick: fit it again to a fair sample of the rows that it knows and of new ones."""

from copy import copy
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from metaod.detection._cells import CellCheck
from metaod.detection._estimator import MetaOD
from metaod.detection._fitted import Fitted, fit_models
from metaod.detection._history import PickVersion, checksum_of
from metaod.detection._inputs import read_rows, roles_of
from metaod.detection._loading import load
from metaod.detection._sampling import for_sample
from metaod.detection._schema import changed_types
from metaod.detection._threshold import automatic_share, check_contamination, threshold_of
from metaod.errors import UserError
from metaod.models import ALL_ROWS_UP_TO, ModelSpec
from metaod.review import UsedMarks
from metaod.selection import OnProgress, Tracker, part_of
from metaod.tables import Preparation, PreparedTable, Table


def update(
    pick: "MetaOD | str | PathLike[str]",
    rows: Any,
    *,
    when: str = "",
    progress: OnProgress | None = None,
) -> MetaOD:
    """Fit a pick again to the rows that it knows and to new ones, with the same models and options.

    Of both at most 20,000 rows are used, each in the share of the rows that it stands for: a pick
    that was fitted to 90,000 rows and saved with 5,000 of them uses every eighteenth of 10,000 new
    ones. Types of columns stay, usual values and categories are learned anew, wrong cells are
    looked for beside all of them, the threshold is found again, and marks are kept.

    Parameters
    ----------
    pick : MetaOD or path-like
        A fitted estimator, or its file. It is not changed.
    rows : DataFrame, array, Table or what else :func:`metaod.read_table` takes
        The new rows, with the columns of the first ones.
    when : str, optional
        When the rows were learned, for the record; nothing by default, so that the same rows give
        the same file.
    progress : callable, optional
        Receives a :class:`metaod.selection.ProgressReport` at every stage.

    Returns
    -------
    MetaOD
        The new estimator. ``history_`` has a version for each update, and what it has changed.

    Examples
    --------
    >>> import metaod
    >>> frame = metaod.load_example().frame
    >>> model = update(metaod.MetaOD().fit(frame.head(400)), frame.tail(200))
    >>> [version.n_rows for version in model.history_], len(model.decision_scores_)
    ([400, 200], 600)
    """
    model = pick if isinstance(pick, MetaOD) else load(pick, progress=part_of(progress, 0.0, 0.5))
    check_is_fitted(model)
    tracker = Tracker(progress if model is pick else part_of(progress, 0.5, 1.0))
    if model.cells_ is None:
        what = "the pick keeps no rows of its table, as it was fitted with rows_only"
        raise UserError(what, where="update", remedy="fit it again, without rows_only")
    tracker.stage("read")
    given = read_rows(model, rows, typed=True)
    new = model.cells_.checked(given)
    for number, earlier in enumerate(model.history_, 1):
        if earlier.checksum == checksum_of(new):
            what = f"the pick has learned these rows already, as version {number}"
            raise UserError(what, where=given.source, remedy="give other rows", code="same-rows")
    tracker.stage("prepare")
    record = model.preparation_.transform(given).record
    for change in changed_types(model.preparation_, given, record):
        remedy = "write it as in the first table, or fit again to both"
        raise UserError(change.sentence(), where=given.source, remedy=remedy, code="other-type")
    n_known = sum(version.n_rows for version in model.history_)
    table, n_old = _sampled(model, model.cells_.table, new, n_known)
    preparation = Preparation(**roles_of(model))
    prepared = preparation.fit_transform(table)
    tracker.stage("check")
    cells = CellCheck(table, preparation, model.fitted_.seed, n_jobs=model.n_jobs)
    marks = _marks(model, table.take(np.arange(n_old)))
    fitted = _fitted(model, prepared, cells, marks, n_known + new.n_rows, tracker)
    tracker.finish("score")
    updated = copy(model)._set_fitted(None, preparation, fitted, cells)  # noqa: SLF001 - one room
    updated.marks_ = UsedMarks(marks) if marks else None
    updated._table = table  # noqa: SLF001
    before = -model._scored(table, warns=False) > model.threshold_  # noqa: SLF001
    version = PickVersion.of(
        updated,
        new,
        new.n_rows,
        when=when,
        kept=float(fitted.labels[before].mean()) if before.any() else None,
        drifted=tuple(dict.fromkeys(own.column for own in record.drift)),
    )
    updated._history = (*model.history_, version)  # noqa: SLF001
    return updated


def _sampled(model: MetaOD, known: Table, new: Table, n_known: int) -> tuple[Table, int]:
    """Return known and new rows in their shares, marked ones always, and how many are known."""
    share = min(known.n_rows / n_known, ALL_ROWS_UP_TO / (n_known + new.n_rows), 1.0)
    rng = np.random.default_rng(model.fitted_.seed)
    marked = np.array([*_marks(model, known)], dtype=np.intp)
    old = np.union1d(_drawn(known.n_rows, share * n_known, rng), marked)
    table = known.take(old).joined(new.take(_drawn(new.n_rows, share * new.n_rows, rng)))
    columns = model.preparation_.record_.columns
    frame = table.frame.reindex(columns=[own.name for own in columns])  # those ignored are empty
    added = next((own.name for own in columns if own.cause == "file"), None)
    return replace(table, frame=frame, source=new.source, file_column=added), len(old)


def _drawn(n_rows: int, wanted: float, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    chosen = rng.choice(n_rows, min(n_rows, max(1, round(wanted))), replace=False)
    return np.sort(chosen).astype(np.intp)


def _marks(model: MetaOD, known: Table) -> dict[int, bool | None]:
    """Return the marks of rows that a pick knows, by their places among these."""
    if model.fitted_.marked is None:
        return {}
    answers = model.fitted_.marked.marks
    places, is_known = model.fitted_.find(model.preparation_.transform(known).X)
    rows: dict[int, int] = {}  # of equal rows one is marked
    for row in np.flatnonzero(is_known).tolist():
        rows.setdefault(int(places[row]), row)
    return {row: answers[place] for place, row in rows.items() if place in answers}


def _fitted(
    model: MetaOD,
    prepared: PreparedTable,
    cells: CellCheck,
    marks: dict[int, bool | None],
    n_rows: int,
    tracker: Tracker,
) -> Fitted:
    """Fit the models of a pick again, for a sample of so many rows, and learn the marks."""
    known, n_learned = model.fitted_, len(prepared.X)
    n_before = len(known.X if known.reference is None else known.reference)
    weights: dict[ModelSpec, float] = {}
    for name, weight in known.weights.items():
        spec = ModelSpec.parse(name)
        if n_learned < n_before:  # fewer neighbours, as there are fewer rows
            spec = for_sample(spec, n_learned, n_before)
        weights[spec] = weights.get(spec, 0.0) + weight
    share = check_contamination(model.contamination)
    fitted = fit_models(
        list(weights),
        prepared.X,
        fixed=prepared.fixed,
        weights=list(weights.values()),
        contamination=share,
        random_state=known.seed,
        n_reference=n_learned,
        tracker=tracker,
    )
    found = automatic_share(fitted.scores, n_rows) if share == "auto" else share
    threshold = threshold_of(fitted.scores, found)
    fitted = replace(fitted, threshold=threshold, n_jobs=model.n_jobs)
    ranker = None if known.marked is None else known.marked.ranker
    return fitted.answered(marks, share, cells.found.of_rows(), ranker)
