"""Tables that were scored, kept in memory with the answers about their rows."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from metaod.detection import Detection, Review, UsedMarks
from metaod.errors import UserError

MOST_SESSIONS = 8


@dataclass
class Session:
    """A scored table, and a review of it once one has begun.

    Parameters
    ----------
    name : str
        What a client calls it.
    path : str
        The file, as the client named it.
    first : Detection
        The result without answers.
    id_columns : list of str
        Columns that name the rows.
    """

    name: str
    path: str
    first: Detection
    id_columns: list[str] = field(default_factory=list)
    _strategy: str = "found"
    _review: Review | None = None
    _found: Detection | None = None

    @property
    def review(self) -> Review:
        """The review of the table, begun when it is first asked for."""
        if self._review is None:
            assert self.first.model is not None  # noqa: S101 - detect_table sets it
            self._review = self.first.model.review(strategy=self._strategy)
        return self._review

    def ask(self, n: int, strategy: str) -> list[int]:
        """Return the rows to ask about, counted from 0; none if all have answers."""
        if strategy != self._strategy:
            answers = self.answers
            self._strategy, self._review = strategy, None
            self.review.tell_many(answers)
        n_left = self.review.n_rows - len(self.answers)
        return list(self.review.ask(min(n, n_left))) if n_left else []

    @property
    def answers(self) -> dict[int, bool | None]:
        """The answers by row, counted from 0."""
        return {} if self._review is None else self._review.marks

    @property
    def found(self) -> Detection:
        """The result that has learned the answers."""
        if not self.answers:
            return self.first
        if self._found is None:
            model = self.review.detector()
            self._found = replace(
                self.first,
                scores=model.decision_scores_,
                threshold=model.threshold_,
                marks=UsedMarks(self.answers),
                explain=model.explain_rows,
                model=model,
            )
        return self._found

    def tell(self, answers: dict[int, bool | None]) -> None:
        """Take answers."""
        self.review.tell_many(answers)
        self._found = None

    def forget(self, rows: list[int]) -> None:
        """Take answers back; either all or none."""
        for row in rows:
            if row not in self.answers:
                remedy = "review_list names the rows that have one"
                raise UserError(f"row {row + 1} has no answer", where=self.name, remedy=remedy)
        for row in dict.fromkeys(rows):
            self.review.forget(row)
        self._found = None


class Sessions:
    """The sessions of one server, the last used last.

    Parameters
    ----------
    most : int
        How many are kept. A further one replaces the one that was not used for the longest time
        and has no answers.
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._kept: OrderedDict[str, Session] = OrderedDict()

    def make_room(self) -> None:
        """Close a session if there are too many; raise an error if all have answers."""
        while len(self._kept) >= self._most:
            idle = next((name for name, own in self._kept.items() if not own.answers), None)
            if idle is None:
                what = f"there are {self._most} sessions already, and all have answers"
                raise UserError(what, remedy="close one with close_session")
            del self._kept[idle]

    def add(self, path: str, found: Detection, id_columns: list[str]) -> Session:
        """Keep a result."""
        self.make_room()
        name = f"s-{secrets.token_hex(4)}"
        self._kept[name] = Session(name, path, found, id_columns)
        return self._kept[name]

    def __getitem__(self, name: str) -> Session:
        if name not in self._kept:
            what = "there is no such session, or it was closed"
            raise UserError(what, where=repr(name), remedy="begin one with detect_outliers")
        self._kept.move_to_end(name)
        return self._kept[name]

    def close(self, name: str) -> None:
        """Forget a session."""
        self[name]
        del self._kept[name]
