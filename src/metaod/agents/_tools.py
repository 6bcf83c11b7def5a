"""The tools: read, pick, detect, explain and review, with small results. They know no protocol."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from metaod.agents import _messages as m
from metaod.agents._access import Access
from metaod.agents._sessions import Session, Sessions
from metaod.detection import (
    ENDINGS,
    Choice,
    Detection,
    OnProgress,
    ProgressReport,
    RowReasons,
    check_target,
    detect_table,
    ending_of,
    with_why,
    write_scored,
)
from metaod.errors import BadFile, UserError
from metaod.review import ANSWERS, TableMarks
from metaod.selection import select, table_notes
from metaod.tables import Roles, Table, cell_text, prepare, read_table

_MOST_FILES = 200
_MEMORY_PER_BYTE, _LEAST_MEMORY = 20, 2**27
_MOST_COLUMNS = 100
_MOST_CELLS = 12  # of a row
_MOST_ANSWERS = 200
_MOST_NOTES = 20
_MOST_CHARACTERS = 30_000  # of the rows of a result

Shown = TypeVar("Shown", bound=BaseModel)


class Tools:
    """What a server offers, over the files that the user has allowed.

    Every tool takes its arguments and a callable that receives reports of progress.

    Parameters
    ----------
    access : Access
        The files.
    max_seconds : float
        The longest expected time of a fit.
    """

    def __init__(self, access: Access, max_seconds: float = m.MAX_SECONDS) -> None:
        self._access = access
        self._max_seconds = max_seconds
        self._sessions = Sessions()

    def list_files(self, _: m.ListFiles, __: OnProgress) -> m.Files:
        """List the files."""
        found = [m.File(path=path, n_bytes=size) for path, size in self._access.files()]
        return m.Files(
            files=found[:_MOST_FILES],
            n_left_out=max(0, len(found) - _MOST_FILES),
            may_write=self._access.writable is not None,
        )

    def inspect_table(self, asked: m.InspectTable, progress: OnProgress) -> m.Inspected:
        """Describe the columns of a table."""
        table = self._read(asked, progress)
        progress(ProgressReport("prepare"))
        record = prepare(table, **_given(asked.columns)).record
        columns = [
            m.Column(
                name=m.clipped(column.name),
                kind=column.kind,
                role=column.role,
                n_missing=column.n_missing,
                preparation=m.clipped(column.description()),
            )
            for column in record.columns[:_MOST_COLUMNS]
        ]
        return m.Inspected(
            path=asked.path,
            n_rows=table.n_rows,
            n_columns=table.n_columns,
            columns=columns,
            n_columns_left_out=len(record.columns) - len(columns),
            warnings=_texts((*table.warnings, *record.messages)),
        )

    def select_model(self, asked: m.SelectModel, progress: OnProgress) -> m.Selected:
        """Pick a model without fitting it."""
        table = self._read(asked, progress)
        prepared = prepare(table, **_given(asked.columns))
        found = select(prepared, progress=progress, **self._picking(asked))
        rows = found.ranking.head(asked.show).to_dict("records")
        return m.Selected(
            path=asked.path,
            pick=list(found.members),
            confidence=found.trust.summary(),
            warnings=_texts(found.trust.warnings),
            notes=_texts((*table.warnings, *table_notes(prepared.record))),
            ranking=[
                m.Ranked(
                    model=str(row["model"]),
                    expected=_number(row["predicted"]),
                    seconds=_number(row["seconds"]),
                )
                for row in rows
            ],
            n_ranking_left_out=len(found.ranking) - len(rows),
            why=m.clipped(str(found.explain()), 3000),
        )

    def detect_outliers(self, asked: m.DetectOutliers, progress: OnProgress) -> m.Detected:
        """Score a table and keep it in a session."""
        self._sessions.make_room()
        if asked.top_n is not None and asked.contamination is not None:
            what = "top_n and contamination both say how many rows to flag"
            raise UserError(what, where="detect_outliers", remedy="leave one of them out")
        table = self._read(asked, progress)
        columns = _given(asked.columns)
        found = detect_table(
            table,
            contamination=asked.contamination or "auto",
            top_n=asked.top_n,
            progress=progress,
            **self._picking(asked),
            **columns,
        )
        session = self._sessions.add(asked.path, found, columns.get("id", []))
        rows = _rows_found(session, found.order[: asked.show])
        return m.Detected(
            session=session.name,
            path=asked.path,
            n_rows=table.n_rows,
            n_columns=table.n_columns,
            pick=list(found.weights),
            confidence="" if found.selection is None else found.selection.trust.summary(),
            threshold=found.threshold,
            n_flagged=int(found.flags.sum()),
            has_clear_gap=found.gap is not None,
            warnings=_texts(found.warnings),
            notes=_texts((*table.warnings, *found.notes)),
            rows=rows,
            n_rows_left_out=table.n_rows - len(rows),
        )

    def list_rows(self, asked: m.ListRows, _: OnProgress) -> m.RowList:
        """List a part of the ranking."""
        session = self._sessions[asked.session]
        found = session.found
        places = found.order[asked.offset : asked.offset + asked.show]
        rows = _rows_found(session, places)
        return m.RowList(
            session=session.name,
            rows=rows,
            n_rows_left_out=max(0, len(found.order) - asked.offset - len(rows)),
            n_flagged=int(found.flags.sum()),
        )

    def explain_rows(self, asked: m.ExplainRows, progress: OnProgress) -> m.Explained:
        """Explain rows."""
        session = self._sessions[asked.session]
        found = session.found
        places = _places(session, asked.rows)
        assert found.model is not None  # noqa: S101 - detect_table sets it
        explained = found.model.explain_rows(places, top=asked.top, progress=progress)
        rows = _within_limit(
            m.RowExplained(
                row=place + 1,
                rank=int(found.ranks[place]),
                score=float(found.scores[place]),
                is_flagged=bool(found.flags[place]),
                reasons=[
                    m.ReasonFound(
                        column=m.clipped(reason.column),
                        value=m.clipped(reason.value_text),
                        share=reason.share,
                        usual=m.clipped(reason.usual),
                        text=m.clipped(str(reason), 500),
                    )
                    for reason in reasons.reasons
                ],
            )
            for place, reasons in zip(places, explained, strict=True)
        )
        n_left_out = len(places) - len(rows)
        return m.Explained(session=session.name, rows=rows, n_rows_left_out=n_left_out)

    def review_ask(self, asked: m.ReviewAsk, _: OnProgress) -> m.Question:
        """Choose rows to ask about."""
        session = self._sessions[asked.session]
        session.strategy = asked.strategy
        places = session.ask(asked.n)
        return m.Question(state=_state(session), rows=_rows_found(session, places))

    def review_tell(self, asked: m.ReviewTell, _: OnProgress) -> m.ReviewState:
        """Take answers."""
        session = self._sessions[asked.session]
        places = _places(session, [answer.row for answer in asked.answers])
        answers = [ANSWERS[answer.answer] for answer in asked.answers]
        if len(set(places)) < len(places):
            what = "a row has two answers in one call"
            raise UserError(what, where="review_tell", remedy="give one for each row")
        session.tell(dict(zip(places, answers, strict=True)))
        return _state(session)

    def review_list(self, asked: m.ReviewList, _: OnProgress) -> m.Answers:
        """List answers."""
        session = self._sessions[asked.session]
        given = list(session.answers.items())
        words = {answer: word for word, answer in ANSWERS.items()}
        answers = [
            m.GivenAnswer.model_validate({"row": row + 1, "answer": words[answer]})
            for row, answer in given[-_MOST_ANSWERS:]
        ]
        n_left_out = len(given) - len(answers)
        return m.Answers(state=_state(session), answers=answers, n_answers_left_out=n_left_out)

    def review_forget(self, asked: m.ReviewForget, _: OnProgress) -> m.ReviewState:
        """Take answers back."""
        session = self._sessions[asked.session]
        session.forget(_places(session, asked.rows))
        return _state(session)

    def close_session(self, asked: m.CloseSession, _: OnProgress) -> m.Closed:
        """Forget a session."""
        self._sessions.close(asked.session)
        return m.Closed(session=asked.session)

    def write_scored(self, asked: m.WriteScored, progress: OnProgress) -> m.Written:
        """Write a scored table."""
        session = self._sessions[asked.session]
        target = self._access.target(asked.path)
        if ending_of(target) not in ENDINGS:
            remedy = f"use one of {', '.join(ENDINGS)}"
            raise BadFile(asked.path, "this format cannot be written", remedy=remedy)
        found = session.found
        check_target(target, found.table)
        if asked.why:
            found = with_why(found, progress=progress)
        write_scored(found, target, Choice(sort=asked.sort, flagged_only=asked.flagged_only))
        return m.Written(path=str(target), n_bytes=target.stat().st_size)

    def save_marks(self, asked: m.SaveMarks, _: OnProgress) -> m.Written:
        """Write a marks file."""
        session = self._sessions[asked.session]
        target = self._access.target(asked.path)
        if target.suffix.lower() != ".csv":
            raise BadFile(asked.path, "does not end in .csv", remedy="add the ending")
        if not session.answers:
            remedy = "give some with review_tell"
            raise UserError("there are no answers", where=session.name, remedy=remedy)
        with TableMarks(target, session.first.table, session.id_columns) as marks:
            marks.add(session.answers)
        return m.Written(path=str(target), n_bytes=target.stat().st_size)

    def _read(self, asked: m.InspectTable, progress: OnProgress) -> Table:
        path = self._access.table(asked.path)
        progress(ProgressReport("read"))
        unused = Roles.of(_given(asked.columns)).is_unused
        limit = max(_LEAST_MEMORY, _MEMORY_PER_BYTE * self._access.max_bytes)  # once unpacked
        return read_table(path, **_given(asked.reading), unused=unused, max_bytes=limit)

    def _picking(self, asked: m.SelectModel) -> dict[str, Any]:
        limit = self._max_seconds
        return {
            "pick": asked.pick,
            "exclude": asked.exclude,
            "max_seconds": min(asked.max_seconds or limit, limit),
            "random_state": asked.seed,
        }


def _given(options: BaseModel) -> dict[str, Any]:
    return options.model_dump(exclude_none=True)


def _texts(texts: Sequence[str]) -> list[str]:
    """Return different texts, not too many and not too long."""
    different = list(dict.fromkeys(texts))
    shown = [m.clipped(text, 500) for text in different[:_MOST_NOTES]]
    n_more = len(different) - len(shown)
    return [*shown, f"... and {n_more} more"] if n_more else shown


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _places(session: Session, rows: Sequence[int]) -> list[int]:
    """Return the places of rows, which clients count from 1."""
    n_rows = session.first.table.n_rows
    for row in rows:
        if row > n_rows:
            remedy = f"rows are 1 to {n_rows}"
            raise UserError(f"there is no row {row}", where=session.path, remedy=remedy)
    return [row - 1 for row in rows]


def _state(session: Session) -> m.ReviewState:
    answers, left = session.answers, session.review.expected_left
    return m.ReviewState(
        session=session.name,
        n_answers=len(answers),
        n_outliers=sum(answer is True for answer in answers.values()),
        expected_left=m.Left(estimate=left.estimate, low=left.low, high=left.high),
    )


def _rows_found(session: Session, places: Any) -> list[m.RowFound]:
    """Return rows with what sets them apart, and their cells as the file has them."""
    places = np.asarray(places, dtype=np.intp)
    if not len(places):
        return []
    found = session.found
    original = found.table.original
    texts = {} if original is None else original.texts(places.tolist())
    frame = found.table.frame.iloc[places]
    rows = []
    for i, explained in enumerate(found.explain(places)):
        place = int(places[i])
        names = _first_columns(found, session, explained)
        cells = [
            m.Cell(
                column=m.clipped(name),
                value=m.clipped(
                    cell_text(frame[name].iloc[i], texts[name][i] if name in texts else "")
                ),
            )
            for name in names[:_MOST_CELLS]
        ]
        rows.append(
            m.RowFound(
                row=place + 1,
                rank=int(found.ranks[place]),
                score=float(found.scores[place]),
                is_flagged=bool(found.flags[place]),
                why=[m.clipped(str(reason), 300) for reason in explained.main_reasons()],
                cells=cells,
                n_cells_left_out=len(names) - len(cells),
            )
        )
    return _within_limit(rows)


def _first_columns(found: Detection, session: Session, explained: RowReasons) -> list[str]:
    """Order the columns of a row: those that name it, its reasons, the others."""
    reasons = (reason.column for reason in explained.reasons)
    others = map(str, found.table.frame.columns)
    return list(dict.fromkeys((*session.id_columns, *reasons, *others)))


def _within_limit(rows: Iterable[Shown]) -> list[Shown]:
    """Return the first rows, as many as are not too long together."""
    kept: list[Shown] = []
    n_characters = 0
    for row in rows:
        n_characters += len(row.model_dump_json())
        if kept and n_characters > _MOST_CHARACTERS:
            break
        kept.append(row)
    return kept
