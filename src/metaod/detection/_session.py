"""A review of a result: answers about its rows, and the result that has learned from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from metaod.detection._cells_file import suggested
from metaod.detection._estimator import Review
from metaod.detection._patterns import cell_patterns
from metaod.detection._result import Detection
from metaod.errors import UserError
from metaod.review import TableMarks
from metaod.wrong_cells import Finding, Pattern

Answers = dict[int, bool | None]  # by row, counted from 0
Cell = tuple[int, str]  # row, counted from 0, and column


@dataclass(frozen=True)
class CellAnswer:
    """A person's answer about findings.

    Parameters
    ----------
    cells : sequence of (int, str, str or None)
        Their rows, counted from 0, their columns, and what the cells should hold if it is known.
    is_wrong : bool
        Whether the cells are wrong.
    marked : sequence of int
        Rows that the answer marked as outliers.
    """

    cells: Sequence[tuple[int, str, str | None]]
    is_wrong: bool
    marked: Sequence[int] = ()


class ReviewSession:
    """A review of a result, which every front end uses.

    Parameters
    ----------
    first : Detection
        The result without answers, with its model.
    marks : TableMarks, optional
        The file of the answers: each is in it before the review learns from it, and those that it
        holds count. By default answers are in memory alone.
    strategy : {"found", "learn"}, default="found"
        What questions are for, as in :class:`metaod.Review`; it can be set at any time.
    """

    def __init__(
        self, first: Detection, marks: TableMarks | None = None, strategy: str = "found"
    ) -> None:
        self.first = first
        self.strategy = strategy
        self.answers: Answers = {} if marks is None else dict(marks.used.answers)
        self.new: set[int] = set()  # rows that were answered in this session
        self._marks = marks
        self._groups = [[row] for row in self.answers]  # rows that were answered together
        self.cell_answers: list[CellAnswer] = []
        self._found: Detection | None = None

    @cached_property
    def review(self) -> Review:
        """The review with the answers, begun when it is first needed."""
        review = self.first.model.review(strategy=self.strategy)
        review.tell_many(self.answers)
        return review

    @property
    def found(self) -> Detection:
        """The result that has learned the answers."""
        if self._found is None:
            found = self.first.learned(self.review.detector()) if self.answers else self.first
            if found.wrong is not None and self.cell_answers:
                found = replace(found, wrong=found.wrong.taught(self.judged))
            self._found = found
        return self._found

    @property
    def judged(self) -> dict[Cell, bool]:
        """Whether cells are wrong, as the last answer about each says."""
        answers = self.cell_answers
        return {(row, name): own.is_wrong for own in answers for row, name, _ in own.cells}

    @property
    def corrections(self) -> dict[Cell, str]:
        """What wrong cells should hold, as far as it is known."""
        last = {(row, name): text for own in self.cell_answers for row, name, text in own.cells}
        return {cell: text for cell, text in last.items() if text is not None}

    def kept_answers(self) -> list[dict[str, Any]]:
        """Return the answers about findings as plain data."""
        return [asdict(own) for own in self.cell_answers]

    def restore(self, answers: Iterable[Mapping[str, Any]]) -> None:
        """Take the answers about findings that were kept."""
        self.cell_answers += [CellAnswer(**own) for own in answers]
        self._found = None

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """What rows have in common that are wrong or unusual, without answers."""
        return self.first.patterns()

    def left_of(self, pattern: Pattern) -> list[int]:
        """Return the rows of a pattern that have no answer yet."""
        return sorted(row for row in pattern.rows if row not in self.answers)

    def pattern_of(self, row: int) -> Pattern | None:
        """Return the pattern of a row in which other rows have no answer yet, if there is one."""
        found = next((own for own in self.patterns if row in own.rows), None)
        return found if found is not None and {*self.left_of(found)} - {row} else None

    def alike(self, finding: Finding) -> tuple[Finding, ...]:
        """Return the findings of a finding's pattern that are not answered yet, itself included."""
        patterns = cell_patterns(self.found, self.judged.keys() - {(finding.row, finding.column)})
        return next(own.findings for own in patterns if finding in own.findings)

    def judge(
        self, findings: Iterable[Finding], is_wrong: bool, correction: str | None = None
    ) -> None:
        """Take an answer about findings that have none.

        Wrong cells mark their rows as outliers, and get the correction or what each finding
        suggests.
        """
        cells = []
        for own in findings:
            text = suggested(own, self.first.table) if correction is None else correction
            cells.append((own.row, own.column, text if is_wrong else None))
        new = [row for row, _, _ in cells if is_wrong and row not in self.answers]
        marked: Answers = dict.fromkeys(new, True)
        if marked:
            self.tell(marked)
        self.cell_answers.append(CellAnswer(cells, is_wrong, list(marked)))
        self._found = None

    def take_back(self) -> list[Cell]:
        """Take the last answer about findings back and return its cells; none without answers."""
        if not self.cell_answers:
            return []
        last = self.cell_answers.pop()
        self.forget([row for row in last.marked if row in self.answers])
        self._found = None
        return [(row, name) for row, name, _ in last.cells]

    def to_dict(self) -> dict[str, Any]:
        """Describe as plain data how far the review has come."""
        answers, left = list(self.answers.values()), self.review.expected_left
        return {
            "n_answered": len(answers),
            "n_found": answers.count(True),
            "n_unsure": answers.count(None),
            "left": None if left is None else asdict(left),
        }

    def ask(self, n: int) -> list[int]:
        """Return the next rows to ask about; none if all are answered."""
        n_left = self.review.n_rows - len(self.answers)
        self.review.strategy = self.strategy
        return list(self.review.ask(min(n, n_left))) if n_left else []

    def tell(self, answers: Answers) -> None:
        """Take answers."""
        self.review.check(answers)
        if self._marks is not None:
            self._marks.add(answers)
        self.review.tell_many(answers)
        self.answers.update(answers)
        self._groups.append(list(answers))
        self.new.update(answers)
        self._found = None

    def forget(self, rows: list[int]) -> None:
        """Take answers back; either all or none."""
        for row in rows:
            if row not in self.answers:
                what = f"row {row + 1} has no answer"
                raise UserError(what, remedy="list the answers", code="no-answer")
        rows = list(dict.fromkeys(rows))
        if self._marks is not None:
            self._marks.withdraw(rows)
        for row in rows:
            self.review.forget(row)
            del self.answers[row]
        left = ([row for row in group if row not in rows] for group in self._groups)
        self._groups = [group for group in left if group]
        self.new.difference_update(rows)
        self._found = None

    def back(self) -> list[int]:
        """Take the last answers back and return their rows; none if there are no answers."""
        rows = self._groups[-1] if self._groups else []
        if rows:
            self.forget(rows)
        return rows
