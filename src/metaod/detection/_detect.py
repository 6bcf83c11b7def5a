"""Score the rows of a table or of a file that is read in chunks, by a new or a saved pick.

A file that may be larger than memory is read in chunks: the pick is fitted to a sample of its rows.
Scores stay in memory, 8 bytes a row, so that threshold, ranks and flags are those of all rows.
"""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from metaod._legal import Whole
from metaod.detection._comparison import compare_with_forest
from metaod.detection._estimator import MetaOD
from metaod.detection._inputs import read_rows, roles_of, seed_of
from metaod.detection._result import Detection
from metaod.detection._threshold import (
    Contamination,
    automatic_share,
    check_contamination,
    threshold_of,
    ties_note,
)
from metaod.detection._writing import check_target, output_path, write_scored
from metaod.errors import BadParameter, Message, Setting, UserError
from metaod.models import Matrix, Scores
from metaod.selection import OnProgress, Tracker, part_of, table_notes
from metaod.tables import PreparationRecord, Roles, Table, TableStream, check_whole, stream_table
from metaod.wrong_cells import Collector, WrongCells

SAMPLE_ROWS = 100_000
"""Rows of the sample from which types, preparation and pick are learned."""

MOST_FINDINGS = 10_000
"""Suspicious cells that are kept of a file that is read in chunks."""

_FIT_SHARE = 0.99  # of the work; the rest measures the scores on a label
_SCORE_SHARE = 0.7  # of the work, if the rows of a file are written too
_EARLIER = "When the pick was fitted"


def detect(
    source: Any,
    *,
    model: MetaOD | None = None,
    contamination: Contamination = "auto",
    top_n: int | None = None,
    marks: Any = None,
    sample_rows: int = SAMPLE_ROWS,
    progress: OnProgress | None = None,
    **options: Any,
) -> Detection:
    """Score every row of a table, or of a file that is read in chunks.

    Parameters
    ----------
    source : Table, TableStream or table
        The table, or the file that is read in chunks; or a frame, an array or a path, as in
        :meth:`metaod.MetaOD.fit`.
    model : MetaOD, optional
        A fitted estimator that scores the rows. By default one is fitted to the table.
    contamination : "auto" or float, default="auto"
        Share of outliers, as in :class:`metaod.MetaOD`.
    top_n : int, optional
        Flag exactly so many rows.
    marks : mapping or path-like, optional
        Answers to learn from, as in :meth:`metaod.MetaOD.fit`.
    sample_rows : int, default=100,000
        Rows of the sample of a file that is read in chunks.
    progress : callable, optional
        Receives a :class:`ProgressReport` at every stage; what it raises stops the work.
    **options
        Other parameters of :class:`metaod.MetaOD`, if no `model` is given.
    """
    tracker = Tracker(progress)
    if model is not None:
        check_is_fitted(model)
        own = {"contamination": contamination, "marks": marks}
        given = options | {name: own[name] for name in own if own[name] not in ("auto", None)}
        for name, value in given.items():
            legal = "absent, because the estimator is fitted already"
            raise BadParameter("detect", name, legal, value)
    if not isinstance(source, Table | TableStream):
        reader = MetaOD(**options) if model is None else model
        source = read_rows(reader, source, typed=True, is_later=model is not None)
    if isinstance(source, TableStream):
        seed = seed_of(options.get("random_state", 0)) if model is None else model.fitted_.seed
        options["random_state"] = seed
        over = options.get("over") if model is None else model.over
        check_whole(source.source.name, over=over, marks=marks)
        _draw(source, sample_rows, seed, tracker)
    if top_n is not None:
        if contamination != "auto":
            both = {"n": Setting("top_n"), "share": Setting("contamination")}
            what = Message("two-numbers", "{n} and {share} both say how many rows to flag", **both)
            raise UserError(what, remedy="leave one of them out")
        contamination = _share_of(top_n, source.n_rows)
    is_new = model is None
    if model is None:
        model = MetaOD(contamination=contamination, **options)
        table = source if isinstance(source, Table) else source.sample
        model.fit(table, marks=marks, progress=_fitting(progress, source))
    if isinstance(source, TableStream):
        found = _scored_stream(model, source, tracker, is_new=is_new)
    elif is_new:
        found = _measured(Detection.of(model, source))
    else:
        found = apply(model, source, tracker)
    tracker.finish("score")
    return found.flagging(top_n)


def _share_of(top_n: int, n_rows: int) -> float:
    """Return the share whose threshold lies between the n-th and the next score."""
    if not Whole(1, n_rows // 2).allows(top_n):
        legal = f"at least 1 and at most half of the rows, {n_rows // 2} of {n_rows}"
        raise BadParameter("detect", "top_n", legal, top_n)
    return top_n / n_rows


def _fitting(progress: OnProgress | None, source: Table | TableStream) -> OnProgress | None:
    """Return what receives the reports of fitting, after which rows are scored or measured."""
    if isinstance(source, Table):
        return part_of(progress, 0.0, _FIT_SHARE)
    return _reporting(progress, fraction=None, seconds_left=None, next_fraction=None)


def _reporting(progress: OnProgress | None, **changes: Any) -> OnProgress | None:
    """Change reports of a part of the work, whose figures are not those of the work."""
    return None if progress is None else lambda report: progress(replace(report, **changes))


def apply(model: MetaOD, table: Table, tracker: Tracker, n_block: int | None = None) -> Detection:
    """Score the rows of a table with a pick that was fitted to another one.

    With `n_block`, wrong cells are looked for in at most so many rows at once.
    """
    table = _as_fitted(model, table)
    tracker.stage("prepare")
    prepared = model.preparation_.transform(table)
    wrong = None
    if model.cells_ is not None:
        tracker.stage("check")
        wrong = model.cells_.find_in_blocks(table, n_block or table.n_rows)
    errors = None if wrong is None else wrong.of_rows()
    scores = model.fitted_.score(prepared.X, tracker.scoring(len(prepared.X)), errors)
    notes = (*table_notes(prepared.record, fitted=False), *_earlier_notes(model))
    found = Detection(
        model, table, scores, model.threshold_, prepared.record, False, notes, wrong=wrong
    )
    return _measured(found, prepared.X)


def _as_fitted(model: MetaOD, table: Table) -> Table:
    """Leave out notes on columns of which the rows do not tell the type: the pick knows it."""
    known = {column.name for column in model.preparation_.columns_ if column.kind is not None}
    kept = [
        note
        for note in table.warnings
        if note.code != "mixed-column" or note.values["column"] not in known
    ]
    return replace(table, warnings=tuple(kept))


def _earlier_notes(model: MetaOD) -> list[str]:
    return [f"{_EARLIER}: {note}" for note in model.fitted_.all_notes]


def _measured(found: Detection, new: Matrix | None = None) -> Detection:
    """Measure the scores on the label, if there is one, beside isolation forest."""
    if found.table.label is None:
        return found
    notes = found.further_notes
    try:
        compared = compare_with_forest(found.model, found.table, found.scores, new=new)
    except UserError as error:  # the label has one value alone
        return replace(found, further_notes=(*notes, f"Not measured: {error.what}."))
    if new is None and found.model.fitted_.marks:
        notes = (*notes, "The measures count all rows, those that are marked too.")
    return replace(found, compared=compared, further_notes=notes)


# files that are read in chunks


def detect_file(
    path: "str | PathLike[str]",
    output: "str | PathLike[str] | None" = None,
    *,
    model: MetaOD | None = None,
    flagged_only: bool = False,
    why: bool = False,
    reading: "Mapping[str, Any] | None" = None,
    progress: OnProgress | None = None,
    **options: Any,
) -> Detection:
    """Score the rows of a file that may be larger than memory, and write them with their scores.

    The file, Parquet or delimited text (also gzipped), is read in chunks. Types of columns,
    preparation and pick are learned from a sample of rows drawn over the whole file. Threshold,
    ranks and flags are those of all rows, whose scores take 8 bytes each.

    Parameters
    ----------
    path : path-like
        The file.
    output : path-like, optional
        The file to write: as the input with the columns score, rank and flag. It appears under
        its name when it is complete.
    model : MetaOD, optional
        A fitted estimator, or one of :func:`metaod.load`, that scores the rows. By default one is
        fitted to the sample.
    flagged_only : bool, default=False
        Whether to write only the flagged rows.
    why : bool, default=False
        Whether to write a column that tells why each flagged row is unusual.
    reading : mapping, optional
        Options of :func:`metaod.read_table`, beside those of a saved pick; ``label`` is not among
        them.
    progress : callable, optional
        Receives a :class:`metaod.selection.ProgressReport` after every chunk.
    **options
        ``top_n`` (flag exactly so many rows), ``sample_rows`` (rows of the sample, 100,000), and
        parameters of :class:`metaod.MetaOD` if no `model` is given.

    Returns
    -------
    Detection
        ``scores``, ``threshold``, ``flags``, ``model`` and ``notes``; ``top(n)`` returns the places
        of the most outlying rows, and ``rows(places)`` reads rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import metaod
    >>> folder = Path(tempfile.mkdtemp())
    >>> metaod.load_example().frame.to_parquet(folder / "table.parquet")
    >>> found = detect_file(folder / "table.parquet", folder / "scored.parquet", top_n=5)
    >>> found.top(2).tolist(), int(found.flags.sum())
    ([208, 543], 5)
    """
    target = None if output is None else output_path(output, [path], owner="detect_file")
    roles = {name: options[name] for name in Roles.declared().keys() & options}
    named = roles if model is None else roles_of(model)
    unused = Roles.of(named, owner="detect_file").is_unused
    kept = getattr(model, "reading_", {})
    stream = stream_table(path, unused=unused, **{**kept, **(reading or {})})
    scoring = progress
    if target is not None:
        check_target(target, stream)
        scoring = part_of(_reporting(progress, seconds_left=None), 0.0, _SCORE_SHARE)
    found = detect(stream, model=model, progress=scoring, **options)
    if target is not None:
        writing = part_of(progress, _SCORE_SHARE, 1.0)
        write_scored(found, target, flagged_only=flagged_only, why=why, progress=writing)
    return found


def _draw(stream: TableStream, sample_rows: int, seed: int, tracker: Tracker) -> None:
    if not Whole(2).allows(sample_rows):
        raise BadParameter("detect", "sample_rows", str(Whole(2)), sample_rows)

    def report(n_rows: int, total: int | None) -> None:
        tracker.stage("read", f"{n_rows:,}" + (" rows" if total is None else f" of {total:,}"))

    tracker.stage("read", "and drawing a sample")
    stream.draw(sample_rows, seed, report)


def _scored_stream(
    model: MetaOD, stream: TableStream, tracker: Tracker, *, is_new: bool
) -> Detection:
    threshold, ties = model.threshold_, None
    wrong = None
    record = model.preparation_.record_
    if is_new and stream.covers_all:
        scores = model.decision_scores_
        wrong = None if model.cells_ is None else model.cells_.found
    else:
        if not is_new:
            record = model.preparation_.transform(stream.sample).record
        scores, wrong, record = _score_rows(model, stream, record, tracker, is_new=is_new)
    if is_new:
        share = check_contamination(model.contamination)
        found = automatic_share(scores) if share == "auto" else share
        threshold = threshold_of(scores, found)
        ties = ties_note(int(np.count_nonzero(scores > threshold)), len(scores), found)
        # a saved pick flags as the stream does
        model._set_scores(replace(model.fitted_, threshold=threshold))  # noqa: SLF001 - one room
        model._n_rows = stream.n_rows  # noqa: SLF001
    stream.check_unchanged()
    own = model.fitted_.notes if is_new else _earlier_notes(model)
    notes: tuple[str | Message, ...] = table_notes(record, fitted=is_new)
    counted = stream.misfits()
    notes = (*notes, *own, *counted)
    table = stream.sample if is_new else _as_fitted(model, stream.sample)
    if counted:  # the sample's notes count its rows alone
        kept = [note for note in table.warnings if note.code != counted[0].code]
        table = replace(table, warnings=tuple(kept))
    if not stream.covers_all:
        sampled = (
            "The file was read in chunks; types of columns, preparation and pick are those of a "
            f"sample of {len(stream.rows):,} of its {stream.n_rows:,} rows, and notes on how "
            "cells were read count those of the sample."
        )
        notes = (sampled, *notes)
    if wrong is not None and wrong.n_dropped:
        listed = f"the {len(wrong.cells):,} most certain ones are listed"
        notes = (*notes, f"{wrong.n_findings:,} cells are probably wrong; {listed}.")
    return Detection(
        model, table, scores, threshold, record, is_new, notes, ties, stream=stream, wrong=wrong
    )


def _score_rows(
    model: MetaOD, stream: TableStream, record: PreparationRecord, tracker: Tracker, *, is_new: bool
) -> tuple[Scores, WrongCells | None, PreparationRecord]:
    """Score all rows and find their wrong cells; also count gaps of all rows.

    Rows of the sample have the scores and findings of fitting, if the pick is new.
    """
    preparation, cells = model.preparation_, model.cells_
    checked = set() if cells is None else set(cells.names)
    needed = [
        plan.record.name
        for plan in preparation.columns_
        if plan.record.is_used or plan.record.counts_gaps or plan.record.name in checked
    ]
    scores = np.empty(stream.n_rows)
    wrong = Collector(stream.n_rows, MOST_FINDINGS)
    if cells is not None and is_new:
        wrong.add(stream.rows, cells.found)
    counts = np.zeros((len(record.columns), 3), dtype=np.int64)
    start = 0
    report = tracker.counting("score", stream.n_rows)
    for chunk in stream.chunks(needed):
        prepared = preparation.transform(chunk)
        stop = start + len(prepared.X)
        others = np.ones(len(prepared.X), dtype=np.bool_)
        if is_new:
            first, last = np.searchsorted(stream.rows, [start, stop])
            places = stream.rows[first:last]
            others[places - start] = False
            scores[places] = model.decision_scores_[first:last]
        if others.any():
            errors = None
            if cells is not None:
                new = np.flatnonzero(others)
                found = cells.find(chunk.take(new), is_later=not is_new)
                wrong.add(start + new, found)
                errors = found.of_rows()
            scores[start:stop][others] = model.fitted_.score(prepared.X[others], errors=errors)
        counts += [[own.n_missing, own.n_infinite, own.n_unseen] for own in prepared.record.columns]
        start = stop
        report(start)
    columns = tuple(
        replace(column, n_missing=missing, n_infinite=infinite, n_unseen=unseen)
        for column, (missing, infinite, unseen) in zip(record.columns, counts.tolist(), strict=True)
    )
    result = None if cells is None else wrong.result()
    return scores, result, replace(record, n_rows=stream.n_rows, columns=columns)
