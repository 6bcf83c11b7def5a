"""A review whose answers are kept in a marks file."""

from metaod.detection._estimator import MetaOD, Review
from metaod.review import Mark, MarksFile, Matched, RowContents

Answers = dict[int, bool | None]  # by row, counted from 0


class ReviewSession:
    """A review whose answers are on disk before it learns from them.

    Parameters
    ----------
    model : MetaOD
        Fitted to the table, without marks.
    file : MarksFile
        Takes the answers.
    matched : Matched
        The marks that it holds, by row.
    contents : RowContents
        Of the table.
    strategy : {"found", "learn"}, default="found"
        What questions are for, as in :class:`metaod.Review`.
    """

    def __init__(
        self,
        model: MetaOD,
        file: MarksFile,
        matched: Matched,
        contents: RowContents,
        strategy: str = "found",
    ) -> None:
        self.review: Review = model.review(strategy=strategy)
        self.review.tell_many(matched.answers)
        self.new: set[int] = set()  # rows that were answered in this session
        self._file = file
        self._contents = contents
        self._marks: dict[int, Mark] = dict(matched.rows)
        self._groups = [[row] for row in self._marks]  # rows that were answered together

    def answer(self, answers: Answers) -> None:
        """Take answers."""
        marks = {
            row: Mark(row + 1, answer, self._contents.key(row), self._contents.hashes[row])
            for row, answer in answers.items()
        }
        self._file.add(list(marks.values()))
        self.review.tell_many(answers)
        self._marks.update(marks)
        self._groups.append(list(answers))
        self.new.update(answers)

    def back(self) -> list[int]:
        """Take the last answers back and return their rows; none if there are no answers."""
        if not self._groups:
            return []
        rows = self._groups.pop()
        self._file.withdraw([self._marks.pop(row) for row in rows])
        for row in rows:
            self.review.forget(row)
        self.new.difference_update(rows)
        return rows

    def ask(self, n: int) -> list[int]:
        """Return the next rows; none if all are answered."""
        n_left = self.review.n_rows - len(self.review.marks)
        return list(self.review.ask(min(n, n_left))) if n_left else []

    def count(self) -> str:
        """Say how far the review has come."""
        left = self.review.expected_left
        return (
            f"answered {len(self.review.marks)}, outliers {self.review.found}, "
            f"about {left.estimate:.0f} left ({left.low:.0f} to {left.high:.0f})"
        )
