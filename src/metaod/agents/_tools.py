"""The tools: read, pick, detect, explain and review, with small results, for any protocol."""

import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np

from metaod.agents._access import Access, clipped
from metaod.detection import (
    Detection,
    ReviewSession,
    check_target,
    describe_findings,
    detect,
    output_path,
    write_scored,
)
from metaod.errors import BadFile, UserError, worded
from metaod.options import Columns, Picking, Reading
from metaod.review import ANSWERS, TableMarks
from metaod.selection import OnProgress, ProgressReport, select
from metaod.tables import Roles, Table, prepare, read_table

_MEMORY_PER_BYTE, _LEAST_MEMORY = 20, 2**27
_MOST_SESSIONS = 8
_MOST_FILES = 200
_MOST_COLUMNS = 100
_MOST_CELLS = 12  # of a row
_MOST_LISTED = 50  # rows of a pattern
_MOST_ANSWERS = 200
_MOST_NOTES = 20
_MOST_CHARACTERS = 30_000  # of the rows of a result
_LONGEST_NOTE = 500

Document = dict[str, Any]


class Session(ReviewSession):
    """A scored table.

    Parameters
    ----------
    path : str
        The file, as the client named it.
    first : Detection
        The result without answers.
    id_columns : iterable of str
        Columns that name the rows.
    """

    def __init__(self, path: str, first: Detection, id_columns: Iterable[str]) -> None:
        super().__init__(first)
        self.path = path
        self.id_columns = list(id_columns)

    def places(self, rows: Iterable[int]) -> list[int]:
        """Return the places of rows, which clients count from 1."""
        self._refuse_above(self.first.n_rows, rows, "row")
        return [row - 1 for row in rows]

    def pattern_places(self, numbers: Iterable[int]) -> list[int]:
        """Return the places of the rows without an answer of patterns, by their numbers."""
        self._refuse_above(len(self.patterns), numbers, "pattern")
        return [row for number in numbers for row in self.left_of(self.patterns[number - 1])]

    def _refuse_above(self, most: int, numbers: Iterable[int], thing: str) -> None:
        for number in numbers:
            if number > most:
                what, remedy = f"there is no {thing} {number}", f"there are {most} {thing}s"
                raise UserError(what, where=self.path, remedy=remedy, code=f"no-{thing}")


class Tools:
    """What a server offers, over the files that the user has allowed.

    Every tool takes a callable that receives reports of progress, and its options.

    Parameters
    ----------
    access : Access
        The files.
    max_seconds : float
        The longest expected time of a fit.
    """

    def __init__(self, access: Access, max_seconds: float) -> None:
        self._access = access
        self._max_seconds = max_seconds
        self._sessions: OrderedDict[str, Session] = OrderedDict()  # the last used last

    def list_files(self, _: OnProgress) -> Document:
        """List the files."""
        found = [{"path": path, "n_bytes": size} for path, size in self._access.files()]
        n_left_out = max(0, len(found) - _MOST_FILES)
        may_write = self._access.writable is not None
        return {"files": found[:_MOST_FILES], "n_left_out": n_left_out, "may_write": may_write}

    def inspect_table(self, progress: OnProgress, path: str, **options: Any) -> Document:
        """Describe the columns of a table."""
        table = self._read(progress, path, options)
        progress(ProgressReport("prepare"))
        record = prepare(table, **_part(options, Columns)).record
        columns = [column.summary() for column in record.columns[:_MOST_COLUMNS]]
        return {
            "path": path,
            "n_rows": table.n_rows,
            "n_columns": table.n_columns,
            "columns": _small(columns),
            "n_columns_left_out": len(record.columns) - len(columns),
            "warnings": _notes((*table.warnings, *record.messages)),
        }

    def select_model(self, progress: OnProgress, path: str, show: int, **options: Any) -> Document:
        """Pick a model without fitting it, as 'metaod select --json' does."""
        table = self._read(progress, path, options)
        prepared = prepare(table, **_part(options, Columns))
        found = select(prepared, progress=progress, **self._picking(options))
        plain = found.to_dict(top=show)
        plain["notes"] = _notes((*table.warnings, *plain["notes"]))
        n_left_out = len(found.ranking) - len(plain["ranking"])
        return {"path": path, **plain, "n_ranking_left_out": n_left_out}

    def detect_outliers(
        self, progress: OnProgress, path: str, show: int, top_n: int | None, **options: Any
    ) -> Document:
        """Score a table and keep it in a session."""
        self._make_room()
        table = self._read(progress, path, options)
        columns = _part(options, Columns)
        found = detect(
            table,
            contamination=options["contamination"],
            top_n=top_n,
            progress=progress,
            **self._picking(options),
            **columns,
        )
        name = f"s-{secrets.token_hex(4)}"
        self._sessions[name] = Session(path, found, columns["id"] or ())
        plain = found.outline()
        shown = {kind: _notes(plain[kind]) for kind in ("warnings", "notes")}
        listed = self.list_findings(progress, name, 0, show) | self.list_rows(
            progress, name, 0, show
        )
        return {"path": path, **plain, **shown, **listed}

    def list_findings(self, _: OnProgress, session: str, offset: int, show: int) -> Document:
        """List a part of the findings, in groups."""
        found = describe_findings(self._session(session).found, groups=slice(offset, offset + show))
        n_left_out = max(0, found["n_groups"] - offset - show) if found else 0
        return _in(session, wrong=_small(found), n_groups_left_out=n_left_out)

    def list_patterns(self, _: OnProgress, session: str, offset: int, show: int) -> Document:
        """List a part of the patterns, with their rows that have no answer."""
        found = self._session(session)
        shown = list(enumerate(found.patterns, 1))[offset : offset + show]
        patterns = []
        for number, own in shown:
            left = [row + 1 for row in found.left_of(own)]
            known = {"number": number, "sentence": own.sentence(), "kind": own.kind}
            patterns.append({**known, "n_rows": len(left), "rows": left[:_MOST_LISTED]})
        n_left_out = max(0, len(found.patterns) - offset - len(shown))
        return _in(session, patterns=_small(patterns), n_patterns_left_out=n_left_out)

    def list_rows(self, progress: OnProgress, session: str, offset: int, show: int) -> Document:
        """List a part of the ranking."""
        found = self._session(session)
        order = found.found.order
        rows = _rows(found, order[offset : offset + show], progress)
        n_left_out = max(0, len(order) - offset - len(rows))
        n_flagged = found.found.n_flagged
        return _in(session, rows=rows, n_rows_left_out=n_left_out, n_flagged=n_flagged)

    def explain_rows(self, progress: OnProgress, session: str, rows: list[int]) -> Document:
        """Explain rows."""
        found = self._session(session)
        shown = _rows(found, found.places(rows), progress)
        return _in(session, rows=shown, n_rows_left_out=len(rows) - len(shown))

    def review_ask(self, progress: OnProgress, session: str, n: int, strategy: str) -> Document:
        """Choose rows to ask about."""
        found = self._session(session)
        found.strategy = strategy
        return _in(session, **found.to_dict(), rows=_rows(found, found.ask(n), progress))

    def review_tell(self, _: OnProgress, session: str, **words: list[int]) -> Document:
        """Take answers."""
        found = self._session(session)
        given = []
        for name, numbers in words.items():
            word, _sep, is_of_patterns = name.partition("_")
            every = found.pattern_places(numbers) if is_of_patterns else found.places(numbers)
            given += [(place, word) for place in every]
        if len(dict(given)) < len(given):
            what, remedy = "a row has two answers in one call", "give one for each row"
            raise UserError(what, where="review_tell", remedy=remedy, code="two-answers")
        known = [
            place + 1
            for place, word in given
            if found.answers.get(place) not in (None, ANSWERS[word])
        ]
        if known:
            what, remedy = f"rows {known} have other answers", f"call review_forget(rows={known})"
            raise UserError(what, where="review_tell", remedy=f"{remedy} first", code="answered")
        found.tell({place: ANSWERS[word] for place, word in given})
        return _in(session, **found.to_dict())

    def review_list(self, _: OnProgress, session: str) -> Document:
        """List answers, the last ones in the order given."""
        found = self._session(session)
        words = {answer: word for word, answer in ANSWERS.items()}
        answers = [
            {"row": row + 1, "answer": words[answer]} for row, answer in found.answers.items()
        ]
        n_left_out = max(0, len(answers) - _MOST_ANSWERS)
        shown = answers[n_left_out:]
        return _in(session, **found.to_dict(), answers=shown, n_answers_left_out=n_left_out)

    def review_forget(self, _: OnProgress, session: str, rows: list[int]) -> Document:
        """Take answers back."""
        found = self._session(session)
        found.forget(found.places(rows))
        return _in(session, **found.to_dict())

    def close_session(self, _: OnProgress, session: str) -> Document:
        """Forget a session."""
        self._session(session)
        del self._sessions[session]
        return _in(session)

    def write_scored(
        self, progress: OnProgress, session: str, path: str, **choice: bool
    ) -> Document:
        """Write a scored table."""
        found = self._session(session).found
        target = self._access.target(path)
        output_path(target, owner="write_scored", name="path")
        check_target(target, found.table)
        write_scored(found, target, **choice, progress=progress)
        return {"path": str(target), "n_bytes": target.stat().st_size}

    def save_marks(self, _: OnProgress, session: str, path: str) -> Document:
        """Write a marks file."""
        found = self._session(session)
        target = self._access.target(path)
        if target.suffix.lower() != ".csv":
            raise BadFile(path, "does not end in .csv", remedy="add the ending", code="format")
        if not found.answers:
            what, remedy = "there are no answers", "give some with review_tell"
            raise UserError(what, where=session, remedy=remedy, code="no-answer")
        with TableMarks(target, found.first.table, found.id_columns) as marks:
            marks.add(found.answers)
        return {"path": str(target), "n_bytes": target.stat().st_size}

    def _read(self, progress: OnProgress, name: str, options: dict[str, Any]) -> Table:
        path = self._access.table(name)
        progress(ProgressReport("read"))
        unused = Roles.of(_part(options, Columns)).is_unused
        unpacked = max(_LEAST_MEMORY, _MEMORY_PER_BYTE * self._access.max_bytes)
        limit = min(unpacked, Reading().memory_limit)
        return read_table(path, **_part(options, Reading), unused=unused, max_bytes=limit)

    def _picking(self, options: dict[str, Any]) -> dict[str, Any]:
        limit = self._max_seconds
        own = _part(options, Picking)
        return {**own, "max_seconds": min(own["max_seconds"] or limit, limit)}

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            what, remedy = "there is no such session, or it was closed", "use detect_outliers"
            raise UserError(what, where=repr(name[:40]), remedy=remedy, code="no-session")
        self._sessions.move_to_end(name)
        return self._sessions[name]

    def _make_room(self) -> None:
        """Close the session without answers that was not used for the longest time."""
        while len(self._sessions) >= _MOST_SESSIONS:
            idle = next((name for name, own in self._sessions.items() if not own.answers), None)
            if idle is None:
                what = f"there are {_MOST_SESSIONS} sessions already, and all have answers"
                remedy = "close one with close_session"
                raise UserError(what, remedy=remedy, code="many-sessions")
            del self._sessions[idle]


def _part(options: dict[str, Any], kind: type[Reading | Columns | Picking]) -> dict[str, Any]:
    """Return the options of one group."""
    return {name: options[name] for name in kind.declared() if name in options}


# small results


def _small(plain: Any) -> Any:
    """Shorten the texts of a document."""
    if isinstance(plain, dict):
        return {_small(name): _small(value) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_small(value) for value in plain]
    return clipped(plain) if isinstance(plain, str) else plain


def _notes(texts: Iterable[Any]) -> list[str]:
    """Return different texts, not too many and not too long."""
    different = list(dict.fromkeys(map(worded, texts)))
    shown = [clipped(text, _LONGEST_NOTE) for text in different[:_MOST_NOTES]]
    n_more = len(different) - len(shown)
    return [*shown, f"... and {n_more} more"] if n_more else shown


def _in(session: str, **document: Any) -> Document:
    return {"session": session, **document}


def _rows(session: Session, places: Any, progress: OnProgress) -> list[Document]:
    """Describe rows with what sets them apart, as many as are not too long together."""
    wanted = np.asarray(places, dtype=np.intp)
    kept: list[Document] = []
    n_characters = 0
    for row in session.found.row_documents(wanted, progress=progress) if len(wanted) else ():
        cells = row["cells"]
        first = (*session.id_columns, *(reason["column"] for reason in row["why"]), *cells)
        names = list(dict.fromkeys(first))[:_MOST_CELLS]
        row["cells"] = {name: cells[name] for name in names}
        small = _small({**row, "n_cells_left_out": len(cells) - len(names)})
        n_characters += len(json.dumps(small))
        if kept and n_characters > _MOST_CHARACTERS:
            break
        kept.append(small)
    return kept
