"""``metaod.check``: whether later rows are like those of a fitted table, by a promise."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from metaod.detection._conformal import CONFIDENCE, Calibration, discovery_limit, least_discoveries
from metaod.detection._detect import apply
from metaod.detection._estimator import MetaOD
from metaod.detection._formats import json_values
from metaod.detection._inputs import checked_table, is_plain, read_rows
from metaod.detection._loading import load
from metaod.detection._patterns import patterns_of
from metaod.detection._result import Detection
from metaod.detection._schema import SchemaChange, changed_names, changed_types
from metaod.errors import Message, Setting, UserError, counted, worded
from metaod.models import Matrix, Scores
from metaod.options import Checking, document
from metaod.selection import OnProgress, Tracker, table_notes
from metaod.tables import Drift, Table
from metaod.wrong_cells import CERTAIN, CONFIDENT, Finding, Pattern

USUAL_SHARE = 0.01
"""The promised share of ordinary rows that are flagged, if none is asked for."""

LEVEL = 0.01
"""A check fails for its rows if so many unusual ones are less probable in a clean table."""

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Check:
    """Whether later rows are like those of a fitted table: flagged rows, drift, changed columns.

    Parameters
    ----------
    table : Table
        The later rows.
    found : Detection or None
        Their scores and findings; None if a column is missing without which there are none.
    schema : tuple of SchemaChange
        Columns that are missing, of another type, new or in another order.
    p_values : ndarray of float
        For each row, the share of ordinary rows that are as unusual; empty if there are no scores.
    by_answer : ndarray of float, shape (rows, 1 or 2)
        The same by the score alone, and by the probability of a wrong cell alone.
    limit : float
        Rows whose p-value does not exceed it are flagged.
    promise : Checking
        The promise that is kept, and how many flagged rows a clean table may have, if given.
    n_compared : int
        Held-out rows of the fitted table that the rows were compared with.
    chance : float
        How probable so many unusual rows are in a clean table.
    notes : tuple of str or Message
        What is worth knowing about the promise and the rows.
    """

    table: Table
    found: Detection | None
    schema: tuple[SchemaChange, ...]
    p_values: Scores
    by_answer: Matrix
    limit: float
    promise: Checking
    n_compared: int
    chance: float = 1.0
    notes: tuple[str | Message, ...] = ()

    @cached_property
    def flags(self) -> npt.NDArray[np.bool_]:
        """Whether each row is flagged: by the promise, or for a cell that is certainly wrong."""
        return (self.p_values <= self.limit) | self.certain

    @cached_property
    def certain(self) -> npt.NDArray[np.bool_]:
        """Which rows have a cell that is almost certainly wrong, however many the first table has.

        These are beyond the promise: if the first table has such errors, rows with errors are
        like its rows.
        """
        wrong = None if self.found is None else self.found.wrong
        nothing = np.zeros(len(self.p_values), dtype=np.bool_)
        return nothing if wrong is None else wrong.flags(CERTAIN)

    @cached_property
    def rows(self) -> Places:
        """Places of the flagged rows, the most unusual first."""
        flagged = np.flatnonzero(self.flags)
        return flagged[np.argsort(self.p_values[flagged], kind="stable")]

    @property
    def n_flagged(self) -> int:
        """Flagged rows."""
        return len(self.rows)

    @property
    def drift(self) -> tuple[Drift, ...]:
        """Columns in which more rows are unusual than chance explains."""
        return () if self.found is None else self.found.record.drift

    @cached_property
    def findings(self) -> dict[int, tuple[Finding, ...]]:
        """What is probably wrong in flagged rows, by their places; at least what they flag."""
        if self.found is None or self.found.wrong is None:
            return {}
        flagged = set(np.flatnonzero(self.flags).tolist())
        by_cells = (self.by_answer[:, -1] <= self.limit) | self.certain
        for_cells = set(np.flatnonzero(by_cells).tolist())
        cells: dict[int, list[Finding]] = {}
        for own in self.found.wrong.findings(0.0):  # the most certain first
            is_first = own.row in for_cells and own.row not in cells
            if own.row in flagged and (own.score >= CONFIDENT or is_first):
                cells.setdefault(own.row, []).append(own)
        return {row: tuple(own) for row, own in cells.items()}

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """Findings that several flagged rows share, those that hold most errors first."""
        if self.found is None:
            return ()
        own = [finding for findings in self.findings.values() for finding in findings]
        return tuple(own for own in patterns_of(self.found, own) if len(own.rows) > 1)

    @property
    def has_excess(self) -> bool:
        """Whether more rows are flagged than a clean table may have."""
        most = self.promise.max_findings
        if most is None and self.promise.false_discoveries is None:
            return self.chance < LEVEL or bool(self.certain.any())
        return self.n_flagged > (most or 0)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the check fails; empty if it passes."""
        columns = [own.sentence() for own in self.schema if own.is_finding]
        rows = [self._rows_text()] if self.has_excess else []
        return (*columns, *rows, *(own.sentence() for own in self.drift))

    @property
    def passed(self) -> bool:
        """Whether there are no `problems`."""
        return not self.problems

    @property
    def summary(self) -> str:
        """The result in one line, for logs."""
        rows = "the rows were not judged" if self.found is None else self._rows_text()
        drift = len({own.column for own in self.drift})
        columns = sum(own.is_finding for own in self.schema)
        parts = [rows, f"drift in {counted(drift, 'column')}"] if drift else [rows]
        parts += [f"{counted(columns, 'column')} missing or of another type"] if columns else []
        verdict = "clean" if self.passed else "findings"
        return f"{verdict}: {self.table.source}: {'; '.join(parts)}"

    def _rows_text(self) -> str:
        text = f"{self.n_flagged:,} of {counted(len(self.p_values), 'row')} flagged"
        if self.promise.max_findings is not None:
            text += f" ({self.promise.max_findings:,} allowed)"
        if n_certain := int(self.certain.sum()):
            return f"{text}, {n_certain:,} with a cell that is almost certainly wrong"
        if self.promise.max_findings is not None or self.promise.false_discoveries is not None:
            return text
        return f"{text}, {'' if self.has_excess else 'no '}more than chance explains"

    def promise_text(self) -> str:
        """Say what is promised."""
        compared = f"compared with {counted(self.n_compared, 'row')} of the first table"
        discoveries = self.promise.false_discoveries
        if discoveries is not None:
            share = f"{100 * float(discoveries):.3g}% of the flagged rows"
            return f"on average at most {share} are ordinary; {compared}"
        share = f"{100 * float(self.promise.false_alarms or 0):.3g}% of ordinary rows"
        return f"at most {share} are flagged, with {CONFIDENCE:.0%} confidence; {compared}"

    def to_dict(self, *, progress: OnProgress | None = None) -> dict[str, Any]:
        """Convert to plain data; rows are counted from 1."""
        return {
            "source": self.table.source,
            "passed": self.passed,
            "summary": self.summary,
            "problems": list(self.problems),
            "promise": asdict(self.promise),
            "n_compared": self.n_compared,
            "chance": self.chance,
            "n_rows": self.table.n_rows,
            "n_flagged": self.n_flagged,
            "patterns": [own.to_dict() for own in self.patterns],
            "rows": self._row_documents(progress),
            "drift": [asdict(own) for own in self.drift],
            "schema": [{**asdict(own), "is_finding": own.is_finding} for own in self.schema],
            "notes": [worded(note) for note in self.notes],
        }

    def _row_documents(self, progress: OnProgress | None) -> list[dict[str, Any]]:
        if self.found is None:
            return []
        documents = self.found.row_documents(self.rows, progress=progress)
        for place, own in zip(self.rows.tolist(), documents, strict=True):
            wrong = [json_values(finding.to_dict()) for finding in self.findings.get(place, ())]
            own |= {"is_flagged": True, "p_value": float(self.p_values[place]), "wrong": wrong}
        return documents


def check(
    X: Any,
    pick: "MetaOD | str | PathLike[str]",
    *,
    false_alarms: float | str | None = None,
    false_discoveries: float | str | None = None,
    max_findings: int | None = None,
    reading: "Mapping[str, Any] | None" = None,
    progress: OnProgress | None = None,
) -> Check:
    """Check later rows against a fitted table: unusual rows, wrong cells, drift, changed columns.

    Rows of the fitted table were held out when it was fitted again, and judged as later rows are.
    A row is flagged if few of these are as unusual. On rows like those of the fitted table at most
    the promised share is flagged: see docs/guides/pipeline.md.

    Parameters
    ----------
    X : DataFrame, array, path, Table or what else :func:`metaod.read_table` takes
        The later rows.
    pick : MetaOD or path-like
        A fitted estimator, or the file in which one was saved.
    options : Checking
        The promise.
    reading : mapping, optional
        Options of :func:`metaod.read_table` for a file, beside those of the pick.
    progress : callable, optional
        Receives a :class:`metaod.selection.ProgressReport` at every stage.

    Returns
    -------
    Check
        ``passed``, ``summary``, ``flags``, ``p_values``, ``findings``, ``drift``, ``schema`` and
        ``to_dict()``.

    Examples
    --------
    >>> import metaod
    >>> frame = metaod.load_example().frame
    >>> first, later = frame.iloc[:400], frame.iloc[400:].reset_index(drop=True)
    >>> later.loc[7, "pressure_bar"] *= 1000
    >>> found = metaod.check(later, metaod.MetaOD().fit(first))
    >>> bool(found.flags[7]), [cell.column for cell in found.findings[7]], found.schema
    (True, ['pressure_bar'], ())
    """
    promise = Checking(
        false_alarms=false_alarms, false_discoveries=false_discoveries, max_findings=max_findings
    ).checked("check")
    model = pick if isinstance(pick, MetaOD) else load(pick, progress=progress)
    check_is_fitted(model)
    calibration = model.calibration()
    if calibration is None:
        what = "the pick has no held-out rows to compare with"
        remedy = "save it again from its table, unless this has too few rows"
        raise UserError(what, where="check", remedy=remedy, code="no-calibration")
    promise, notes = _possible(promise, calibration)
    table, schema = _read(X, model, reading or {})
    needed = set(model.preparation_.needed)
    if any(own.kind == "missing" and own.column in needed for own in schema):
        nothing, notes = np.empty(0), (*notes, *table.warnings)
        unknown = schema, nothing, nothing, 0.0, promise, calibration.n_rows
        return Check(table, None, *unknown, notes=notes)
    found, by_answer = _judged(model, table, calibration, progress)
    notes = (*notes, *_notes_on(found))
    p_values = by_answer.min(axis=1)
    if promise.false_discoveries is None:
        limit = calibration.limit(float(promise.false_alarms or 0))
    else:
        share = float(promise.false_discoveries)
        limit = discovery_limit(p_values, share)
        least = least_discoveries(calibration, len(p_values), share)
        if limit == 0 and least > 1:
            what = f"Fewer than {least:,} flagged rows cannot be told from ordinary ones here."
            notes = (what, *notes)
    schema += tuple(changed_types(model.preparation_, table, found.record))
    own = p_values, by_answer, limit, promise, calibration.n_rows
    chance = calibration.chance(p_values, limit)
    return Check(table, found, schema, *own, chance, notes)


def _notes_on(found: Detection) -> tuple[str | Message, ...]:
    """Return the notes on the rows; new columns are told as changes of columns."""
    own = (*found.table.warnings, *table_notes(found.record, fitted=False))
    return tuple(note for note in own if getattr(note, "code", "") != "unknown-columns")


def _possible(
    promise: Checking, calibration: Calibration
) -> tuple[Checking, tuple[str | Message, ...]]:
    """Return the promise to keep: if no share was asked for, one that so few rows can promise."""
    least, share = calibration.least_share, promise.false_alarms
    if promise.false_discoveries is not None:
        if share is not None:
            both = {"alarms": Setting("false_alarms"), "found": Setting("false_discoveries")}
            what = Message("two-promises", "{alarms} and {found} are two promises", **both)
            raise UserError(what, where="check", remedy="leave one of them out")
        return promise, ()
    wanted = float(share or USUAL_SHARE)
    if wanted >= least:
        return replace(promise, false_alarms=wanted), ()
    needed = math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - wanted))
    what = Message(
        "few-rows",
        "{held} can promise at most {least} of false alarms, and {wanted} needs {needed}",
        held=f"the {calibration.n_rows:,} rows of the first table",
        least=f"{least:.2%}",
        wanted=f"{wanted:.2%}",
        needed=f"{needed:,}",
    )
    if share is None:
        return replace(promise, false_alarms=least), (what,)
    rounded = math.ceil(1000 * least) / 1000
    remedy = Message(
        "few-rows", "use {set} or fit to more rows", set=Setting("false_alarms", rounded)
    )
    raise UserError(what, where="check", remedy=remedy)


def _read(
    X: Any, model: MetaOD, reading: Mapping[str, Any]
) -> tuple[Table, tuple[SchemaChange, ...]]:
    """Read rows, and compare names of columns; arrays are taken by position."""
    if is_plain(X) or not hasattr(model, "feature_names_in_"):
        return checked_table(model, X, reset=False), ()
    table = read_rows(model, X, typed=False, reading=reading)
    return table, tuple(changed_names(model.preparation_, table))


def _judged(
    model: MetaOD, table: Table, calibration: Calibration, progress: OnProgress | None
) -> tuple[Detection, Matrix]:
    """Score rows as those that were held out; also return p-values by each answer.

    The wrong cells are those of all rows together, in which equal errors have more support.
    """
    tracker = Tracker(progress)
    found = apply(model, table, tracker, calibration.n_block)
    errors = [] if found.wrong is None else [found.wrong.row_scores]
    if model.cells_ is not None and table.n_rows > calibration.n_block:
        found = replace(found, wrong=model.cells_.find(table))
    tracker.finish("score")
    return found, calibration.p_values(np.column_stack([found.scores, *errors]))


document(check, options=Checking.declared())
