"""Update a pick: fit it again to a fair sample of the rows that it knows and of new ones."""

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from metaod.detection._cells import CellCheck
from metaod.detection._estimator import MetaOD
from metaod.detection._fitted import Fitted, fit_models
from metaod.detection._history import PickVersion
from metaod.detection._loading import load
from metaod.detection._sampling import for_sample
from metaod.detection._threshold import automatic_share, check_contamination, threshold_of
from metaod.errors import UserError
from metaod.models import ALL_ROWS_UP_TO, ModelSpec
from metaod.review import UsedMarks
from metaod.selection import OnProgress, Tracker, part_of
from metaod.tables import Preparation, Roles, Table, is_file, read_table

_Places = npt.NDArray[np.intp]


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
    is_saved = not isinstance(pick, MetaOD)
    model = (
        load(pick, progress=part_of(progress, 0.0, 0.5)) if not isinstance(pick, MetaOD) else pick
    )
    check_is_fitted(model)
    tracker = Tracker(part_of(progress, 0.5, 1.0) if is_saved else progress)
    if model.cells_ is None:
        what = "the pick keeps no rows of its table, as it was fitted with rows_only"
        raise UserError(what, where="update", remedy="fit it again, without rows_only")
    if is_file(rows):
        tracker.stage("read")
    roles = {name: getattr(model, name) for name in Roles.declared()}
    given = rows
    if not isinstance(rows, Table):
        reading = getattr(model, "reading_", {}) if is_file(rows) else {}
        given = read_table(rows, unused=Roles.of(roles, owner="update").is_unused, **reading)
    new = model.cells_.checked(given)
    own = PickVersion.of(model, new, new.n_rows)
    for number, earlier in enumerate(model.history_, 1):
        if earlier.checksum == own.checksum:
            what = f"the pick has learned these rows already, as version {number}"
            raise UserError(what, where=given.source, remedy="give other rows", code="same-rows")
    tracker.stage("prepare")
    table, is_new = _sampled(model, new)
    preparation = Preparation(**roles)
    prepared = preparation.fit_transform(table)
    tracker.stage("check")
    seed, share = model.fitted_.seed, check_contamination(model.contamination)
    cells = CellCheck(table, preparation, seed, n_jobs=model.n_jobs)
    models = _models(model, len(prepared.X))
    fitted = fit_models(
        list(models),
        prepared.X,
        fixed=prepared.fixed,
        weights=list(models.values()),
        contamination=share,
        random_state=seed,
        n_reference=len(prepared.X),
        tracker=tracker,
    )
    if share == "auto":
        found = automatic_share(fitted.scores, _n_known(model) + new.n_rows)
        fitted = replace(fitted, threshold=threshold_of(fitted.scores, found))
    fitted = replace(fitted, n_jobs=model.n_jobs)
    marks = _marks(model, table.take(np.flatnonzero(~is_new)))
    if marks:
        ranker = None if model.fitted_.marked is None else model.fitted_.marked.ranker
        marked = fitted.markable(ranker)
        marked.mark(marks)
        fitted = fitted.learn(marked, share)
    tracker.finish("score")
    updated = _estimator(model, table, preparation, fitted, cells, marks)
    before = model.preparation_.transform(table).X
    drift = model.preparation_.transform(given).record.drift
    own = replace(
        own,
        when=when,
        n_learned=len(fitted.X),
        n_flagged=int(fitted.labels.sum()),
        threshold=fitted.threshold,
        kept=_kept(model.fitted_.score(before) > model.threshold_, fitted),
        drifted=tuple(dict.fromkeys(column.column for column in drift)),
    )
    updated._history = (*model.history_, own)  # noqa: SLF001 - one room
    return updated


def _models(model: MetaOD, n_rows: int) -> dict[ModelSpec, float]:
    """Return the models of a pick with their weights; of fewer rows, fewer are neighbours."""
    known = model.fitted_
    n_before = len(known.X if known.reference is None else known.reference)
    found: dict[ModelSpec, float] = {}
    for name, weight in known.weights.items():
        spec = ModelSpec.parse(name)
        own = for_sample(spec, n_rows, n_before) if n_rows < n_before else spec
        found[own] = found.get(own, 0.0) + weight
    return found


def _n_known(model: MetaOD) -> int:
    return sum(version.n_rows for version in model.history_)


def _sampled(model: MetaOD, new: Table) -> tuple[Table, npt.NDArray[np.bool_]]:
    """Return known and new rows in their shares, marked ones always, and which are new."""
    assert model.cells_ is not None  # noqa: S101 - for the type checker; refused before
    known, n_known = model.cells_.table, _n_known(model)
    share = min(known.n_rows / n_known, ALL_ROWS_UP_TO / (n_known + new.n_rows), 1.0)
    rng = np.random.default_rng(model.fitted_.seed)
    marked = np.array([*_marks(model, known)], dtype=np.intp)
    old = np.union1d(_drawn(known.n_rows, share * n_known, rng), marked)
    added = _drawn(new.n_rows, share * new.n_rows, rng)
    table = known.take(old).joined(new.take(added))
    names = [column.name for column in model.preparation_.record_.columns]
    table = replace(table, frame=table.frame.reindex(columns=names), source=new.source)
    return table, np.arange(table.n_rows) >= len(old)


def _drawn(n_rows: int, wanted: float, rng: np.random.Generator) -> _Places:
    chosen = rng.choice(n_rows, min(n_rows, max(1, round(wanted))), replace=False)
    return np.sort(chosen).astype(np.intp)


def _marks(model: MetaOD, known: Table) -> dict[int, bool | None]:
    """Return the marks of rows that a pick knows, by their places among these."""
    if model.fitted_.marked is None:
        return {}
    answers = model.fitted_.marked.marks
    places, is_known = model.fitted_.find(model.preparation_.transform(known).X)
    pairs = enumerate(zip(places.tolist(), is_known.tolist(), strict=True))
    return {row: answers[place] for row, (place, here) in pairs if here and place in answers}


def _kept(flagged: npt.NDArray[np.bool_], fitted: Fitted) -> float | None:
    """Return the share of the rows that the pick flagged before and still flags."""
    return float((fitted.labels[flagged] == 1).mean()) if flagged.any() else None


def _estimator(
    model: MetaOD,
    table: Table,
    preparation: Preparation,
    fitted: Fitted,
    cells: CellCheck,
    marks: dict[int, bool | None],
) -> MetaOD:
    """Return an estimator with the parameters of another one."""
    updated = MetaOD(**model.get_params(deep=False))
    updated.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        updated.feature_names_in_ = model.feature_names_in_
    updated.reading_ = getattr(model, "reading_", {})
    updated.marks_ = UsedMarks(marks) if marks else None
    updated._set_fitted(None, preparation, fitted, cells)  # noqa: SLF001 - one room
    updated._table = table  # noqa: SLF001
    return updated
