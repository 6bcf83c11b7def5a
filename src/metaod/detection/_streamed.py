"""Tables larger than memory: fit to a sample of the file, then score its rows chunk by chunk.

Scores stay in memory, 8 bytes a row, so that threshold, ranks and flags are those of all rows.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.detection._detect import flag, share_of
from metaod.detection._detection import Detection, detection_of
from metaod.detection._estimator import MetaOD
from metaod.detection._inputs import seed_of
from metaod.detection._reasons import RowReasons
from metaod.detection._stream_writing import check_stream_target, write_streamed
from metaod.detection._threshold import (
    TOO_MANY_TIES,
    Contamination,
    check_contamination,
    estimated_share,
    threshold_of,
    ties_note,
)
from metaod.detection._writing import Choice, check_output
from metaod.errors import BadParameter, Message, UserError
from metaod.models import Scores
from metaod.selection import OnProgress, Tracker, part_of, table_notes
from metaod.tables import (
    ROLE_NAMES,
    PreparationRecord,
    PreparedTable,
    Roles,
    Table,
    TableStream,
    stream_table,
)

SAMPLE_ROWS = 100_000
"""Rows of the sample from which types, preparation and pick are learned."""

_MOST_LISTED = 10_000  # flagged rows in a document
_SCORE_SHARE = 0.7  # of the work, if the rows are written too
_MAPPED_TOP, _MAPPED_SAMPLE = 1_000, 4_000


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedDetection(Detection):
    """The scores of a file that is read in chunks; `table` is the sample that was drawn from it."""

    stream: TableStream

    @cached_property
    def flags(self) -> npt.NDArray[Any]:
        """1 for outliers, 0 for the other rows."""
        if self.top_n is None:
            return (self.scores > self.threshold).astype(np.int8)
        flags = np.zeros(self.n_rows, dtype=np.int8)
        flags[self.top(self.top_n)] = 1
        return flags

    def top(self, number: int) -> npt.NDArray[np.intp]:
        """Return the places of the most outlying rows, in their order."""
        number = min(number, self.n_rows)
        if number == 0:
            return np.empty(0, dtype=np.intp)
        last = self.score_at(number)
        above = np.flatnonzero(self.scores > last)
        tied = np.flatnonzero(self.scores == last)[: number - len(above)]
        above = above[np.argsort(-self.scores[above], kind="stable")]
        return np.concatenate([above, tied])

    def score_at(self, number: int) -> float:
        """Return the score that so many rows, counted in their order, reach."""
        return float(self._rising[-number])

    def ranks_of(self, places: npt.NDArray[np.intp]) -> list[int]:
        """Return the ranks of some rows."""
        return [int(rank) for rank in self.ranks_of_scores(self.scores[places])]

    def ranks_of_scores(self, scores: Scores) -> npt.NDArray[np.int64]:
        """Return the ranks that rows with these scores have."""
        return 1 + self.n_rows - np.searchsorted(self._rising, scores, side="right")

    def rows(self, places: npt.NDArray[np.intp]) -> Table:
        """Read some rows of the file."""
        return self.stream.take(places)

    def listed(self) -> npt.NDArray[np.intp]:
        """Return the flagged rows that a document lists, the most outlying first."""
        return self.top(min(int(self.flags.sum()), _MOST_LISTED))

    def mapped(self) -> tuple[PreparedTable, npt.NDArray[np.intp]]:
        """Return the most outlying rows and some of the sample, prepared, and their places."""
        assert self.model is not None  # noqa: S101 - for the type checker
        others = self.stream.rows[:: max(1, len(self.stream.rows) // _MAPPED_SAMPLE)]
        places = np.union1d(self.top(_MAPPED_TOP), others)
        return self.model.preparation_.transform(self.stream.take(places)), places

    @cached_property
    def _rising(self) -> Scores:
        return np.sort(self.scores)


def detect_file(
    path: "str | PathLike[str]",
    output: "str | PathLike[str] | None" = None,
    *,
    model: MetaOD | None = None,
    top_n: int | None = None,
    flagged_only: bool = False,
    why: bool = False,
    sample_rows: int = SAMPLE_ROWS,
    reading: "Mapping[str, Any] | None" = None,
    progress: OnProgress | None = None,
    **options: Any,
) -> StreamedDetection:
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
    top_n : int, optional
        Flag exactly so many rows.
    flagged_only : bool, default=False
        Whether to write only the flagged rows.
    why : bool, default=False
        Whether to write a column that tells what sets each flagged row apart.
    sample_rows : int, default=100,000
        Rows of the sample.
    reading : mapping, optional
        Options of :func:`metaod.read_table`; ``label`` is not among them.
    progress : callable, optional
        Receives a :class:`metaod.detection.ProgressReport` after every chunk.
    **options
        Parameters of :class:`metaod.MetaOD`, if no `model` is given.

    Returns
    -------
    StreamedDetection
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
    ([329, 208], 5)
    """
    target = None if output is None else check_output(output, path)
    if model is not None and options:
        legal = "absent, because the estimator is fitted already"
        name, value = next(iter(options.items()))
        raise BadParameter("detect_file", name, legal, value)
    roles = options if model is None else model.get_params(deep=False)
    unused = Roles.of({name: roles.get(name) for name in ROLE_NAMES}, owner="detect_file").is_unused
    stream = open_stream(path, unused=unused, **(reading or {}))
    choice = Choice(flagged_only=flagged_only, why=why)
    scoring = progress
    if target is not None:
        check_stream_target(target, stream.raw is not None, choice)
        scoring = part_of(_without_time(progress), 0.0, _SCORE_SHARE)
    found = detect_stream(
        stream, model=model, top_n=top_n, sample_rows=sample_rows, progress=scoring, **options
    )
    if target is not None:
        write_streamed(found, target, choice, progress=part_of(progress, _SCORE_SHARE, 1.0))
    return found


def open_stream(path: "str | PathLike[str]", **reading: Any) -> TableStream:
    """Open a file to score it in chunks; an error if that cannot be done."""
    if reading.get("label") is not None:
        what = "the label measures tables that are read at once, not in chunks"
        remedy = (
            "leave the label out and ignore its column: ignore= (--ignore), or read the table at "
            "once: read_table (--no-stream)"
        )
        raise UserError(what, where=fspath(path), remedy=remedy)
    stream = stream_table(path, **reading)
    if stream is None:
        what = "cannot be read in chunks; only Parquet and delimited text in a file can"
        remedy = "read it at once: read_table (--no-stream), or convert it"
        raise UserError(what, where=fspath(path), remedy=remedy)
    return stream


def detect_stream(
    stream: TableStream,
    *,
    model: MetaOD | None = None,
    contamination: Contamination = "auto",
    top_n: int | None = None,
    sample_rows: int = SAMPLE_ROWS,
    progress: OnProgress | None = None,
    **options: Any,
) -> StreamedDetection:
    """Score the rows of an open file as :func:`detect_file` does."""
    tracker = Tracker(progress)
    seed = seed_of(options.get("random_state", 0)) if model is None else model.fitted_.seed
    tracker.stage("read", "and drawing a sample")
    stream.draw(
        sample_rows,
        seed,
        lambda n, total: tracker.stage("read", _rows_text(n, total)),
    )
    table = stream.sample
    if top_n is not None:
        contamination = share_of(top_n, stream.n_rows, owner="detect_file")
    if model is None:
        own = MetaOD(contamination=contamination, **{**options, "random_state": seed})
        own.fit(table, progress=None if progress is None else _without_fraction(progress))
        found = _fitted(own, stream, tracker)
    else:
        found = _applied(model, stream, tracker)
    found = flag(found, top_n)
    stream.check_unchanged()
    tracker.finish("score")
    return found


def _fitted(model: MetaOD, stream: TableStream, tracker: Tracker) -> StreamedDetection:
    record = model.preparation_.record_
    if stream.covers_all:
        scores = model.decision_scores_
    else:
        scores, record = _score_rows(model, stream, model.decision_scores_, record, tracker)
    share = check_contamination(model.contamination)
    found = estimated_share(scores) if share == "auto" else share
    threshold = threshold_of(scores, found)
    notes = [note for note in model.fitted_.notes if TOO_MANY_TIES not in note]
    ties = ties_note(int(np.count_nonzero(scores > threshold)), len(scores), found)
    notes += [] if ties is None else [ties]
    # a saved pick flags as the stream does
    model._set_scores(replace(model.fitted_, threshold=threshold))  # noqa: SLF001 - one room
    return _detection(model, stream, scores, threshold, record, notes)


def _applied(model: MetaOD, stream: TableStream, tracker: Tracker) -> StreamedDetection:
    record = model.preparation_.transform(stream.sample).record
    scores, record = _score_rows(model, stream, None, record, tracker)
    notes = model.fitted_.earlier_notes()
    found = _detection(model, stream, scores, model.threshold_, record, notes)
    return replace(found, selection=None)


def _detection(
    model: MetaOD,
    stream: TableStream,
    scores: Scores,
    threshold: float,
    record: PreparationRecord,
    notes: Any,
) -> StreamedDetection:
    used = frozenset(column.name for column in record.columns if column.is_used)
    is_new = model.selection_ is not None
    own: list[str | Message] = [*stream.sample.warnings] if is_new else []
    own += [*table_notes(record, fitted=is_new), *notes, *stream.misfits(used)]
    if not stream.covers_all:
        own.insert(
            0,
            "The file was read in chunks; types of columns, preparation and pick are those of a "
            f"sample of {len(stream.rows):,} of its {stream.n_rows:,} rows, and notes on how "
            "cells were read count those of the sample.",
        )

    def explain(rows: Any, progress: OnProgress | None = None) -> list[RowReasons]:
        if len(rows) == 0:
            return []
        return model.explain_rows(stream.take(np.asarray(rows)), progress=progress)

    base = detection_of(model, stream.sample)
    return StreamedDetection(
        table=base.table,
        scores=scores,
        threshold=threshold,
        weights=base.weights,
        notes=tuple(own),
        record=record,
        selection=base.selection,
        explain=explain,
        model=model,
        stream=stream,
    )


def _score_rows(
    model: MetaOD,
    stream: TableStream,
    known: Scores | None,
    record: PreparationRecord,
    tracker: Tracker,
) -> tuple[Scores, PreparationRecord]:
    """Score all rows; those of the sample have the known scores. Also count gaps of all rows."""
    preparation = model.preparation_
    needed = [
        plan.record.name
        for plan in preparation.columns_
        if plan.record.is_used or plan.record.counts_gaps
    ]
    scores = np.empty(stream.n_rows)
    counts = np.zeros((len(record.columns), 3), dtype=np.int64)
    started = time.monotonic()
    start = 0
    tracker.stage("score", fraction=0.0)
    for chunk in stream.chunks(needed):
        prepared = preparation.transform(chunk)
        stop = start + len(prepared.X)
        is_new = np.ones(len(prepared.X), dtype=np.bool_)
        if known is not None:
            first, last = np.searchsorted(stream.rows, [start, stop])
            places = stream.rows[first:last]
            is_new[places - start] = False
            scores[places] = known[first:last]
        if is_new.any():
            scores[start:stop][is_new] = model.fitted_.score(prepared.X[is_new])
        counts += [[own.n_missing, own.n_infinite, own.n_unseen] for own in prepared.record.columns]
        start = stop
        left = (time.monotonic() - started) / start * (stream.n_rows - start)
        text = _rows_text(start, stream.n_rows)
        tracker.stage("score", text, fraction=start / stream.n_rows, seconds_left=left)
    columns = tuple(
        replace(column, n_missing=missing, n_infinite=infinite, n_unseen=unseen)
        for column, (missing, infinite, unseen) in zip(record.columns, counts.tolist(), strict=True)
    )
    return scores, replace(record, n_rows=stream.n_rows, columns=columns)


def _rows_text(n_rows: int, total: int | None) -> str:
    return f"{n_rows:,} rows" if total is None else f"{n_rows:,} of {total:,}"


def _without_time(progress: OnProgress | None) -> OnProgress | None:
    """Report a part of the work, whose time left is not that of the work."""
    if progress is None:
        return None
    return lambda report: progress(replace(report, seconds_left=None))


def _without_fraction(progress: OnProgress) -> OnProgress:
    """Report the stages of fitting, whose end is not that of the work."""

    def receive(report: Any) -> None:
        progress(replace(report, fraction=None, seconds_left=None, next_fraction=None))

    return receive
