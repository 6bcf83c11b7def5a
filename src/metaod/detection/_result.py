"""The result of a detection: scores, threshold, flags, ranks, reasons and notes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metaod.detection._cells import flagged
from metaod.detection._formats import frame_of, json_rows, json_values
from metaod.detection._patterns import cell_patterns, row_patterns
from metaod.detection._reasons import RowReasons
from metaod.detection._threshold import RULES, Rule, clear_gap, threshold_below
from metaod.errors import Message, worded
from metaod.models import Scores
from metaod.report import sketch_scores
from metaod.review import UsedMarks
from metaod.selection import OnProgress, Selection, Tracker, table_notes
from metaod.tables import PreparationRecord, PreparedTable, Table, TableStream
from metaod.wrong_cells import Finding, Pattern, WrongCells

if TYPE_CHECKING:
    from metaod.detection._comparison import Compared
    from metaod.detection._estimator import MetaOD

_MOST_LISTED = 10_000  # flagged rows of a file that is read in chunks, as plain data
_MOST_EXPLAINED = 100  # of them with reasons
_MAPPED_TOP, _MAPPED_SAMPLE = 1_000, 4_000  # rows of such a file on the map

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Detection:
    """A table, the scores of its rows, and the fitted estimator that gave them.

    Parameters
    ----------
    model : MetaOD
        The fitted estimator.
    table : Table
        The table; of a file that is read in chunks, the sample that was drawn from it.
    scores : ndarray of float
        Scores of all rows; higher is more outlying.
    threshold : float
        Rows that score above it are flagged, unless `top_n` is given.
    record : PreparationRecord
        How the columns were prepared.
    is_new : bool
        Whether the estimator was fitted to this table, rather than to an earlier one.
    further_notes : tuple of str or Message
        Notes, except that on ties.
    ties : str or None
        A note if far fewer rows are flagged than meant.
    top_n : int or None
        Flag exactly so many rows.
    compared : tuple of Compared
        Measures on the label, if there is one.
    stream : TableStream or None
        The file, if it is read in chunks.
    wrong : WrongCells or None
        What is probably wrong in the rows; None if it was not looked for.
    """

    model: "MetaOD"
    table: Table
    scores: Scores
    threshold: float
    record: PreparationRecord
    is_new: bool = True
    further_notes: tuple[str | Message, ...] = ()
    ties: str | None = None
    top_n: int | None = None
    compared: "tuple[Compared, ...]" = ()
    stream: TableStream | None = None
    wrong: WrongCells | None = None
    _explained: dict[int, RowReasons] = field(default_factory=dict, repr=False)
    _written: dict[tuple[int, str], str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: "MetaOD", table: Table) -> "Detection":
        """Return the result of an estimator for the table that it was fitted to."""
        return cls(
            model,
            table,
            model.decision_scores_,
            model.threshold_,
            model.preparation_.record_,
            further_notes=(*table_notes(model.preparation_.record_), *model.fitted_.notes),
            ties=model.fitted_.ties,
            wrong=None if model.cells_ is None else model.cells_.found,
        )

    def learned(self, model: "MetaOD") -> "Detection":
        """Return the result of an estimator that has learned marks of this table's rows."""
        return replace(
            self,
            model=model,
            scores=model.decision_scores_,
            threshold=model.threshold_,
            compared=(),
            _explained={},
        )

    def flagging(self, top_n: int | None) -> "Detection":
        """Return the result that flags so many rows, the most outlying ones; None for itself."""
        if top_n is None:
            return self
        return replace(self, top_n=top_n, threshold=threshold_below(self._rising, top_n))

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.scores)

    @cached_property
    def n_flagged(self) -> int:
        """Flagged rows."""
        return int(np.count_nonzero(self.flags))

    @cached_property
    def n_unusual(self) -> int:
        """Rows that are flagged for their scores."""
        above = int(np.count_nonzero(self.scores > self.threshold))
        return above if self.top_n is None else self.top_n

    @property
    def weights(self) -> dict[str, float]:
        """The ids of the fitted models, and their weights in the average."""
        return self.model.fitted_.weights

    @property
    def selection(self) -> Selection | None:
        """How the models were picked; None for a saved pick."""
        return self.model.selection_ if self.is_new else None

    @property
    def marks(self) -> UsedMarks | None:
        """The marks that the estimator has learned from."""
        return self.model.marks_

    @property
    def notes(self) -> tuple[str | Message, ...]:
        """What is worth knowing about the table and its scores."""
        own = () if self.marks is None else self.marks.notes
        ties = self.ties if self.top_n is None else self._ties_at(self.top_n)
        notes = (*self.table.warnings, *own, *self.further_notes, *filter(None, [ties]))
        return tuple(note for note in dict.fromkeys(notes) if note not in self.warnings)

    @property
    def warnings(self) -> tuple[str | Message, ...]:
        """Why the pick may be unreliable, and how new rows differ from those of a saved pick."""
        own = () if self.selection is None else self.selection.trust.warnings
        return (*own, *self.record.drift_warnings())

    @cached_property
    def flags(self) -> npt.NDArray[np.int8]:
        """1 for rows that are flagged, 0 for the others: see :func:`flagged`."""
        if self.top_n is None:
            above = self.scores > self.threshold
            if self.wrong is not None:
                marks = self.model.fitted_.marks if self.is_new else None
                share = self.model.contamination
                above = flagged(above, self.wrong.flags(), share, marks)
            return above.astype(np.int8)
        flags = np.zeros(self.n_rows, dtype=np.int8)
        flags[self.top(self.top_n)] = 1
        return flags

    @cached_property
    def gap(self) -> tuple[int, float, float] | None:
        """Rows above a clear gap in the scores, and the scores at its ends; or None.

        Marked outliers are far above all other rows, so with marks a gap tells nothing.
        """
        n_above = None if self.marks is not None else clear_gap(self.scores)
        if n_above is None:
            return None
        return n_above, self.score_at(n_above), self.score_at(n_above + 1)

    @property
    def rule(self) -> Rule:
        """What decides how many rows are flagged for their scores: a key of `RULES`."""
        if self.top_n is not None:
            return "number"
        if not self.is_new:
            return "saved"
        if self.model.contamination != "auto":
            return "share"
        if self.marks is not None:
            marked = self.model.fitted_.marked
            return "before" if marked is not None and marked.left is None else "answers"
        return "few" if self.gap is None else "gap"

    @property
    def rule_text(self) -> str:
        """What decides how many rows are flagged for their scores, as people read it."""
        return RULES[self.rule]

    @cached_property
    def order(self) -> Places:
        """Places of the rows, the most outlying first; equal scores as in the table."""
        return (-self.scores).argsort(kind="stable")

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """1 for the most outlying row; equal scores share the smallest of their ranks."""
        return self.ranks_of(slice(None))

    def top(self, number: int) -> Places:
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

    def ranks_of(self, places: Any) -> npt.NDArray[np.int64]:
        """Return the ranks of some rows."""
        n_lower = np.searchsorted(self._rising, self.scores[places], side="right")
        return np.asarray(1 + self.n_rows - n_lower, dtype=np.int64)

    def rows(self, places: Places) -> Table:
        """Return some rows of the table."""
        return self.table.take(places) if self.stream is None else self.stream.take(places)

    def texts(self, places: Places) -> dict[str, list[str]]:
        """Return the cells of some rows by column, as a file of delimited text has them."""
        original = self.table.original
        return {} if original is None else original.texts(places.tolist())

    def cells(self, places: Places | None = None) -> Any:
        """Return the user's cells of some rows or all, as an Arrow table or a frame."""
        if self.table.original is not None:
            return self.table.original.read_numbers(places)
        cells = frame_of(self.table)
        return cells if places is None else cells.iloc[places]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is probably wrong, the most certain first, with the cells as the file has them."""
        found, known = () if self.wrong is None else self.wrong.findings(), self._written
        cells = {(own.row, own.column) for own in found if not isinstance(own.value, str)}
        new = sorted({row for row, _ in cells - known.keys()})
        for name, texts in (self.texts(np.array(new)) if new else {}).items():
            own = {(row, name): text for row, text in zip(new, texts, strict=True)}
            known.update({cell: own[cell] for cell in own.keys() & cells})
        return tuple(replace(own, written=known.get((own.row, own.column), "")) for own in found)

    @cached_property
    def _by_row(self) -> dict[int, list[Finding]]:
        rows: dict[int, list[Finding]] = {}
        for own in self.findings:
            rows.setdefault(own.row, []).append(own)
        return rows

    def findings_of(self, place: int) -> tuple[Finding, ...]:
        """Return what is probably wrong in a row, the most certain first."""
        return tuple(self._by_row.get(place, ()))

    @cached_property
    def cell_patterns(self) -> tuple[Pattern, ...]:
        """Patterns of wrong cells and single ones, those that hold most errors first."""
        return cell_patterns(self)

    def row_patterns(self, *, progress: OnProgress | None = None) -> tuple[Pattern, ...]:
        """Return patterns of the most unusual rows without wrong cells, which are explained."""
        return row_patterns(self, progress=progress)

    def patterns(self, *, progress: OnProgress | None = None) -> tuple[Pattern, ...]:
        """Return patterns of two rows or more: of wrong cells, then of unusual rows."""
        of_cells = (own for own in self.cell_patterns if len(own.rows) > 1)
        return (*of_cells, *self.row_patterns(progress=progress))

    def explain(
        self, places: "Sequence[int] | Places", *, progress: OnProgress | None = None
    ) -> list[RowReasons]:
        """Name the columns that set rows apart; each row is explained once."""
        wanted = [int(place) for place in places]
        new = np.array([row for row in wanted if row not in self._explained], dtype=np.intp)
        if len(new):
            rows = new if self.is_new and self.stream is None else self.rows(new)
            found = self.model.explain_rows(rows, progress=progress)
            pairs = zip(new.tolist(), found, strict=True)
            self._explained.update({place: replace(own, row=place) for place, own in pairs})
        return [self._explained[place] for place in wanted]

    def explain_flagged(self, *, progress: OnProgress | None = None) -> dict[int, str]:
        """Describe what sets each flagged row apart, by its place."""
        flagged = np.flatnonzero(self.flags)
        if self.stream is None:
            explained = self.explain(flagged, progress=progress)
            pairs = zip(flagged.tolist(), explained, strict=True)
            return {place: reasons.main_text() for place, reasons in pairs}
        texts: dict[int, str] = {}
        report, first = Tracker(progress).counting("explain", self.n_rows), 0
        for chunk in self.stream.chunks():
            places = flagged[slice(*np.searchsorted(flagged, [first, first + chunk.n_rows]))]
            own = self.model.explain_rows(chunk.take(places - first)) if len(places) else []
            texts |= {p: found.main_text() for p, found in zip(places.tolist(), own, strict=True)}
            first += chunk.n_rows
            report(first)
        return texts

    def sketch(self) -> dict[str, Any]:
        """Describe the scores, and the thresholds that can be chosen, for a figure."""
        gap = None if self.gap is None else self.gap[0]
        return sketch_scores(
            self.scores, n_flagged=self.n_unusual, threshold=self.threshold, gap=gap
        )

    def mapped(self) -> tuple[PreparedTable, Places]:
        """Return the prepared rows that a map of the table shows, and their places."""
        if self.stream is not None:
            others = self.stream.rows[:: max(1, len(self.stream.rows) // _MAPPED_SAMPLE)]
            places = np.union1d(self.top(_MAPPED_TOP), others)
            return self.model.preparation_.transform(self.stream.take(places)), places
        if self.selection is not None:
            return self.selection.prepared, np.arange(self.n_rows)
        return self.model.preparation_.transform(self.table), np.arange(self.n_rows)

    def to_dict(self, *, progress: OnProgress | None = None) -> dict[str, Any]:
        """Convert to plain data: the pick, what to expect, and the flagged rows."""
        most = self.n_flagged if self.stream is None else min(self.n_flagged, _MOST_LISTED)
        rows = self.row_documents(self.top(most), progress=progress)
        patterns = [own.to_dict() for own in self.patterns()]
        return {**self.outline(), "patterns": patterns, "flagged": rows}

    def outline(self) -> dict[str, Any]:
        """Describe the result as plain data, without its rows."""
        gap = self.gap
        return {
            "source": self.table.source,
            "n_rows": self.n_rows,
            "n_columns": self.table.n_columns,
            "pick": self.weights,
            "expected": None if self.selection is None else self.selection.trust.to_dict(),
            "warnings": [worded(text) for text in self.warnings],
            "notes": [worded(text) for text in self.notes],
            "drift": [asdict(drift) for drift in self.record.drift],
            "marks": None if self.marks is None else self.marks.to_dict(),
            "threshold": self.threshold,
            "rule": self.rule,
            "gap": gap and dict(zip(("n_above", "above", "below"), gap, strict=True)),
            "wrong": self._wrong_document(),
            "measured": [row.to_dict() for row in self.compared] or None,
            "n_flagged": self.n_flagged,
        }

    def _wrong_document(self) -> dict[str, Any] | None:
        if self.wrong is None:
            return None
        return {
            "n_cells": self.wrong.n_findings,
            "n_rows": int(np.count_nonzero(self.wrong.flags())),
            "cells": [json_values(own.to_dict()) for own in self.findings],
        }

    def row_documents(
        self, places: Places, *, progress: OnProgress | None = None
    ) -> list[dict[str, Any]]:
        """Describe rows as plain data, the first ones with what sets them apart."""
        explained = self.explain(places[:_MOST_EXPLAINED], progress=progress)
        why = (own.to_dict()["reasons"] for own in explained)
        cells = json_rows(self.cells(places))
        ranks, scores = self.ranks_of(places).tolist(), self.scores[places].tolist()
        return [
            {
                "row": place + 1,
                "rank": rank,
                "score": score,
                "is_flagged": bool(self.flags[place]),
                "cells": own,
                "why": next(why, None),
            }
            for place, rank, score, own in zip(places.tolist(), ranks, scores, cells, strict=True)
        ]

    def _ties_at(self, top_n: int) -> str | None:
        """Say that rows share the last score that is flagged, if they do."""
        if top_n == 0:
            return None
        last = self.score_at(top_n)
        n_tied = int((self.scores == last).sum())
        n_above = int((self.scores > last).sum())
        if n_above + n_tied == top_n:
            return None
        tied = f"{n_tied:,} rows share the score of rank {n_above + 1:,}"
        return f"{tied}; the first {top_n - n_above:,} of them in the table are flagged."

    @cached_property
    def _rising(self) -> Scores:
        return np.sort(self.scores)
