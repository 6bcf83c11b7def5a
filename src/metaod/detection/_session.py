"""A review of a result: answers about its rows, and the result that has learned from them."""

from dataclasses import asdict
from functools import cached_property
from typing import Any

from metaod.detection._estimator import Review
from metaod.detection._result import Detection
from metaod.errors import UserError
from metaod.review import TableMarks

Answers = dict[int, bool | None]  # by row, counted from 0


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
        if self._found is None and self.answers:
            self._found = self.first.learned(self.review.detector())
        return self._found or self.first

    def to_dict(self) -> dict[str, Any]:
        """Describe as plain data how far the review has come."""
        answers = list(self.answers.values())
        return {
            "n_answered": len(answers),
            "n_found": answers.count(True),
            "n_unsure": answers.count(None),
            "left": asdict(self.review.expected_left),
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
        self._groups = [kept for group in self._groups if (kept := _without(group, rows))]
        self.new.difference_update(rows)
        self._found = None

    def back(self) -> list[int]:
        """Take the last answers back and return their rows; none if there are no answers."""
        rows = self._groups[-1] if self._groups else []
        if rows:
            self.forget(rows)
        return rows


def _without(group: list[int], rows: list[int]) -> list[int]:
    return [row for row in group if row not in rows]
