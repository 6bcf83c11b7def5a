"""What the process of a table does: detect, describe the result, review, and write files.

Results are plain data. Rows are counted from 1 in them, without the header, as in messages.
"""

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from metaod.detection import (
    Correction,
    Detection,
    ReviewSession,
    describe_finding,
    describe_findings,
    detect,
    scored_name,
    summarise,
    write_cells,
    write_corrected,
    write_report,
    write_scored,
)
from metaod.errors import worded
from metaod.report import shown
from metaod.review import ANSWERS, RowCell, RowView, TableMarks
from metaod.selection import ProgressReport, part_of
from metaod.tables import cell_text
from metaod.web._inspection import UploadedTable, cut
from metaod.web._problems import page_word, refused
from metaod.web._uploads import MARKS_FILE

_WORDS = {answer: word for word, answer in ANSWERS.items()}
_CELLS_FILE = "cells.json"  # the answers about findings
_FIT_SHARE = 0.7  # of a detection; the rest explains rows
_SHOWN_ROWS = 20  # of the ranking beside a question
_MOST_CELLS = 100  # of a row
_MOST_NOTES = 30
_LONGEST_NAME = 60  # characters of a column's name before its value


class TableWork:
    """An uploaded table that is scored and reviewed.

    Parameters
    ----------
    uploaded : UploadedTable
        The table.
    """

    _first: Detection  # without answers
    _estimated: Detection  # with answers
    _found: Detection  # with answers, and as many flags as the user wants

    def __init__(self, uploaded: UploadedTable) -> None:
        self._uploaded = uploaded
        self._n_flagged: int | None = None  # so many, if the user says so
        self._summary: dict[str, Any] | None = None  # with as many flags as estimated
        self._marks: TableMarks | None = None
        self._session: ReviewSession | None = None
        self._question: int | None = None

    def detection(
        self, reading: dict[str, Any], roles: dict[str, Any], **fitting: Any
    ) -> dict[str, Any]:
        """Pick a model, fit it and score every row; return how many are flagged."""
        table = self._uploaded.read(reading, roles)
        self._close_review()
        self._report(ProgressReport("prepare"))
        report = part_of(self._report, 0.0, _FIT_SHARE)
        self._n_flagged = None
        self._first = detect(table, progress=report, **fitting, **roles)
        self._view = RowView(self._first.table, self._first.record)
        # answers that were given before the table was scored again
        if Path(MARKS_FILE).exists() or Path(_CELLS_FILE).exists():
            self._reviewed()
        self._update()
        self._summary = summarise(self._estimated, progress=part_of(self._report, _FIT_SHARE, 1.0))
        return {"n_flagged": self._found.n_flagged}

    def _report(self, report: ProgressReport) -> None:
        done, left = report.fraction, report.seconds_left
        self._uploaded.progress({"stage": report.text, "done": done, "seconds_left": left})

    def _close_review(self) -> None:
        if self._marks is not None:
            self._marks.close()
        self._marks = self._session = self._question = None

    # the result

    def _update(self) -> None:
        """Take scores from the review, if there is one, and flags as the user wants."""
        self._estimated = self._first if self._session is None else self._session.found
        self._found = self._estimated.flagging(self._n_flagged)

    def result(self) -> dict[str, Any]:
        """Describe the result as plain data, with the current answers and number of flags."""
        found = self._found
        self._summary = self._summary or summarise(self._estimated)
        return {
            **self._summary,
            "warnings": [worded(text, page_word) for text in found.warnings[:_MOST_NOTES]],
            "notes": [worded(text, page_word) for text in found.notes[:_MOST_NOTES]],
            "scores": found.sketch(),
            "wrong": self.findings(),
            "n_flagged": found.n_flagged,
            "is_estimated": found.top_n is None,
            "has_answers": found.marks is not None,
        }

    def flag(self, n_flagged: int | None) -> dict[str, Any]:
        """Flag so many rows, the most outlying ones; None flags as many as are estimated."""
        if n_flagged is not None and n_flagged > self._found.n_rows:
            raise refused("many-flags", where="n_flagged")
        self._n_flagged = n_flagged
        self._update()
        return {"n_flagged": self._found.n_flagged, "threshold": self._found.threshold}

    # findings

    def findings(self) -> dict[str, Any] | None:
        """Describe what is probably wrong and not answered yet, and count the answers."""
        judged, corrections = self._judgements
        document = describe_findings(self._found, judged)
        if document is None:
            return None
        n_wrong = sum(judged.values())
        counts = {"n_wrong": n_wrong, "n_right": len(judged) - n_wrong}
        has_answers = self._found.marks is not None  # about rows
        return {
            **document,
            **counts,
            "n_corrected": len(corrections),
            "has_answers": has_answers,
        }

    def judge(
        self,
        row: int,
        column: str,
        answer: str,
        correction: str | None = None,
        alike: bool = False,
    ) -> dict[str, Any] | None:
        """Take an answer about a finding, or about all of its group that have none.

        Another answer for a cell that has one is refused.
        """
        session, place = self._reviewed(), self._place(row)
        if (place, column) in session.judged:
            raise refused("answered", where=f"row {row}")
        own = [own for own in self._found.findings_of(place) if own.column == column]
        if not own:
            raise refused("no-finding", where=f"row {row}")
        session.judge(session.alike(own[0]) if alike else own, answer == "wrong", correction)
        return self._judged()

    def take_back(self) -> dict[str, Any] | None:
        """Take the last answer about findings back, and name its first cell."""
        cells = self._reviewed().take_back()
        if not cells:
            raise refused("no-answer")
        found, (place, name) = self._judged(), cells[0]
        return found and {**found, "taken_back": {"row": place + 1, "name": name}}

    def _judged(self) -> dict[str, Any] | None:
        """Keep the answers about findings in a file, and return what is left."""
        answers = self._reviewed().kept_answers()
        reading, _ = self._uploaded.given
        Path(_CELLS_FILE).write_text(json.dumps({"reading": reading, "answers": answers}))
        self._learned(None)
        return self.findings()

    @property
    def _judgements(self) -> tuple[dict[tuple[int, str], bool], dict[tuple[int, str], str]]:
        """Whether cells are wrong, and their correct values, as far as they are answered."""
        session = self._session
        return ({}, {}) if session is None else (session.judged, session.corrections)

    def row(self, row: int) -> dict[str, Any]:
        """Describe a row: its cells, the suspicious ones first."""
        place = self._place(row)
        return {"row": row, "names": self._names(place), "cells": self._cells(place)}

    def _place(self, row: int) -> int:
        if not 0 < row <= self._found.n_rows:
            raise refused("no-row", where="row")
        return row - 1

    # the review

    def question(self) -> dict[str, Any]:
        """Describe the row to look at next, how far the review has come, and the ranking."""
        session = self._reviewed()
        if self._question is None:
            self._question = next(iter(session.ask(1)), None)
        place = self._question
        return {
            "row": None if place is None else place + 1,
            "names": [] if place is None else self._names(place),
            "cells": [] if place is None else self._cells(place),
            "pattern": None if place is None else self._pattern(place),
            **session.to_dict(),
            "n_flagged": self._found.n_flagged,
            "ranking": [self._ranked(int(place)) for place in self._found.order[:_SHOWN_ROWS]],
        }

    def _pattern(self, place: int) -> dict[str, Any] | None:
        """Describe the pattern of a row, if other rows of it have no answer."""
        session = self._reviewed()
        found = session.pattern_of(place)
        if found is None:
            return None
        rows = [row + 1 for row in session.left_of(found)]
        return {"sentence": cut(found.sentence()), "rows": rows[:_MOST_CELLS], "n_rows": len(rows)}

    def answer(self, row: int, answer: str, alike: bool = False) -> dict[str, Any]:
        """Take an answer, for all rows of its pattern if they are alike.

        Another answer for a row that has one is refused.
        """
        session = self._reviewed()
        place = self._place(row)
        if place in session.answers:
            raise refused("answered", where=f"row {row}")
        found = session.pattern_of(place) if alike else None
        rows = [place] if found is None else session.left_of(found)
        session.tell(dict.fromkeys(rows, ANSWERS[answer]))
        self._learned(None)
        return self.question()

    def back(self) -> dict[str, Any]:
        """Take the last answer back; its row is asked about again."""
        rows = self._reviewed().back()
        if not rows:
            raise refused("no-answer")
        self._learned(rows[0])
        return self.question()

    def _learned(self, asked: int | None) -> None:
        """Take what the answers have changed; the next question is about a row, if one is named."""
        self._question, self._summary = asked, None
        self._update()

    def _reviewed(self) -> ReviewSession:
        """Start the review when it is first needed; answers that the file holds count."""
        if self._session is None:
            _, roles = self._uploaded.given
            self._marks = TableMarks(MARKS_FILE, self._first.table, roles.get("id"))
            self._session = ReviewSession(self._first, self._marks)
            if Path(_CELLS_FILE).exists():
                kept = json.loads(Path(_CELLS_FILE).read_text())
                if kept["reading"] == self._uploaded.given[0]:  # else rows may be others
                    self._session.restore(kept["answers"])
                    self._update()
        return self._session

    def _cells(self, place: int) -> list[dict[str, Any]]:
        found = self._found
        described = (describe_finding(own, found.table) for own in found.findings_of(place))
        findings = {own["name"]: own for own in described}
        judged, corrections = self._judgements
        texts = {name: text for name, [text] in found.texts(np.array([place])).items()}
        cells = sorted(self._view.cells(place), key=lambda cell: cell.name not in findings)
        return [
            {
                "name": cell.name,
                "value": cut(_written(cell, texts)) or None,
                "usual": cell.usual,
                "sets_apart": cell.sets_apart,
                "is_unusual": cell.is_unusual,
                "finding": findings.get(cell.name),
                "is_wrong": judged.get((place, cell.name)),
                "correction": corrections.get((place, cell.name)),
            }
            for cell in cells[:_MOST_CELLS]
        ]

    def _names(self, place: int) -> list[str]:
        """Return the cells of a row that identify it, in columns named by the user or detected."""
        row = self._found.table.frame.iloc[place]
        return [cut(cell_text(row[name])) for name in self._found.record.naming]

    def _ranked(self, place: int) -> dict[str, Any]:
        unusual = []
        for cell in self._view.cells(place)[:2]:
            if cell.is_unusual:
                value = cell_text(cell.value, cell.text) or "missing"
                unusual.append(cut(f"{shown(cell.name, _LONGEST_NAME)} {value}"))
        answers = self._reviewed().answers
        return {
            "row": place + 1,
            "names": self._names(place),
            "rank": int(self._found.ranks_of(place)),
            "is_flagged": bool(self._found.flags[place]),
            "answer": _WORDS[answers[place]] if place in answers else None,
            "unusual": unusual,
        }

    # files

    def write_scored(
        self,
        format: str = "same",  # noqa: A002 - its name in the API
        **choice: Any,
    ) -> dict[str, str]:
        """Write the table with its scores; return the file, and a name to save it under."""
        is_same = format == "same"
        made = _download(
            scored_name(self._uploaded.name) if is_same else self._named("-scored.csv")
        )
        write_scored(self._found, Path(made["file"]), **choice)
        return made

    def write_corrected(self, log: bool = False) -> dict[str, str]:
        """Write the table with the accepted corrections, and their log; return one of them."""
        made = _download(scored_name(self._uploaded.name, "corrected"))
        file = Path(made["file"])
        accepted = [Correction(*cell, text) for cell, text in self._judgements[1].items()]
        if not accepted:
            raise refused("no-correction")
        written = write_corrected(self._found.table, accepted, file, no_formulas=True)
        if log:
            file.unlink()
            return {"file": str(written), "name": f"{made['name']}.log.csv"}
        written.unlink()
        return made

    def write_cells(self) -> dict[str, str]:
        """Write the findings with the accepted corrections, for ``metaod detect --accept``."""
        made = _download(self._named("-cells.csv"))
        write_cells(self._found, made["file"], self._judgements[1])
        return made

    def write_report(self) -> dict[str, str]:
        """Write the report."""
        made = _download(self._named("-report.html"))
        write_report(self._found, Path(made["file"]), self._given())
        return made

    def write_marks(self) -> dict[str, str]:
        """Write the answers."""
        if self._found.marks is None:
            raise refused("no-answer")
        made = _download(self._named(".marks.csv"))
        shutil.copyfile(MARKS_FILE, made["file"])
        return made

    def _named(self, ending: str) -> str:
        return f"{_stem(self._uploaded.name)}{ending}"

    def _given(self) -> dict[str, Any]:
        """Return what makes the same result at the command line, with the files that are saved."""
        marks = None if self._found.marks is None else self._named(".marks.csv")
        reading, _ = self._uploaded.given
        if self._uploaded.is_example and reading == {"label": "fault"}:
            return {"file": "--example", "marks": marks}
        return {**reading, "file": self._uploaded.name, "marks": marks}


def _written(cell: RowCell, texts: Mapping[str, str]) -> str:
    """Return a cell as the file has it, of text with the blanks around it."""
    is_text = isinstance(cell.value, str)
    return cell_text(cell.value, cell.text if is_text else texts.get(cell.name, cell.text))


def _download(name: str) -> dict[str, str]:
    """Return a new file of the table's folder, and the name to save it under."""
    return {"file": f"{secrets.token_hex(8)}{name[len(_stem(name)) :]}", "name": name}


def _stem(name: str) -> str:
    return name.removesuffix(".gz").rpartition(".")[0] or name
