"""Why a row has its score: the reasons, and their words."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from metaod.tables import cell_text

_LEAST_SHOWN = 0.1  # of the score: what explains less is not shown first
_LONGEST_TEXT = 40  # characters of a category


@dataclass(frozen=True)
class Reason:
    """A column that sets a row apart.

    Parameters
    ----------
    column : str
        The user's column.
    value : float, str, bool, Timestamp, Timedelta or None
        The row's value in the user's units; None if it is missing.
    share : float
        The part of the score above the table's median score that is lost with a usual value
        in its place, from 0 to 1; if several values are unusual, the most that is lost when some
        of the others have usual values already. Shares need not add up to 1: of two values that
        are rare together, either explains the score.
    usual : str
        What other rows have: a range, or how many have the same value. If ``together`` is not
        empty, the range of similar rows; of a category nothing.
    together : tuple of str
        Another column and its value, with which this one is rare; each of them is usual alone.
    is_odd : bool, default=True
        Whether few rows have such a value: of all rows, or of similar ones. The value of another
        column is common by itself, and unusual in combination with the other cells.
    side : str
        Whether the value is "high" or "low" beside those of similar rows, or "missing"; empty of
        a category.
    written : str
        The value in the notation of the table, as 1.234,50 €, if that is not how Python writes it.
    """

    column: str
    value: Any
    share: float
    usual: str
    together: tuple[str, ...] = ()
    is_odd: bool = True
    side: str = ""
    written: str = ""

    @property
    def value_text(self) -> str:
        """The value as people write it."""
        if self.value is None and not self.written:
            return "missing"
        text = self.written or cell_text(self.value)
        text = text.removesuffix(" 00:00:00") if not isinstance(self.value, str) else text
        return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."

    @property
    def usual_text(self) -> str:
        """What other rows have, and the value of another column with which this one is rare."""
        context = f" with {' and '.join(self.together)}" if self.together else ""
        rest = "" if self.is_odd else ", unusual in combination"
        return f"{self.usual or 'rare'}{context}{rest}"

    def text(self, value: str = "") -> str:
        """Describe the reason; the value may be written as in the user's file."""
        return f"{self.column} {value or self.value_text} ({self.usual_text})"

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        plain = self.value is None or isinstance(self.value, str | bool)
        if isinstance(self.value, float) and np.isfinite(self.value):
            plain = True
        value = self.value if plain else self.value_text
        return {**asdict(self), "value": value, "together": list(self.together)}


@dataclass(frozen=True)
class RowReasons:
    """Why a row has its score.

    Parameters
    ----------
    row : int
        Position of the row, from 0, in the training table or among the rows given.
    score : float
        Its score; higher is more outlying.
    reasons : tuple of Reason
        The columns that set it apart, the most important first; may be empty.
    """

    row: int
    score: float
    reasons: tuple[Reason, ...]

    def main_reasons(self, most: int = 3) -> tuple[Reason, ...]:
        """Return unusual values that explain a tenth of the score; else the first reason."""
        main = [reason for reason in self.reasons if reason.is_odd and reason.share >= _LEAST_SHOWN]
        return tuple(main[:most]) or self.reasons[:1]

    def main_text(self) -> str:
        """Describe the main reasons."""
        return "; ".join(map(str, self.main_reasons())) or str(self)

    def __str__(self) -> str:
        return "; ".join(map(str, self.reasons)) or "no single value explains the score"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        reasons = [reason.to_dict() for reason in self.reasons]
        return {"row": self.row, "score": self.score, "reasons": reasons}
