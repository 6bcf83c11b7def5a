"""The result of a preparation: the matrix, and a record of every column."""

import datetime as dt
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import Message, Setting, Word, counted, listed, percent, quoted

# fmt: off
ColumnKind = Literal[
    "numeric", "boolean", "category", "text", "date", "duration", "identifier", "constant", "empty",
    "ignored",
]
# fmt: on
Cause = Literal["", "id", "file", "unrelated", "context"]
UNUSED_DATES = Message("unused-dates", "dates are not used without {time}", time=Setting("time"))

_TOO_FAR = (pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta, OverflowError)
IN_CONTEXT = "distances in context"  # an action
_LONGEST_NUMBER = 12  # as in the file: 1,234,567.89 fits
UNRELATED = "it is unrelated to every other column"  # a reason
_EVIDENCE = {"gaps": "missing values", "combinations": "unusual combinations"}
_ACTION_TEXTS = {"kept": "kept as it is", "dropped": "left out"}


@dataclass(frozen=True)
class ColumnRecord:
    """What was done to one column of the table.

    Parameters
    ----------
    name : str
        The column.
    kind : ColumnKind
        Such as 'numeric', 'category' or 'identifier'.
    action : str
        What it is written as, such as 'kept', 'surprisal' or 'dropped'.
    outputs : tuple of str
        The columns that it became.
    n_missing, n_infinite : int
        Missing and infinite values in these rows.
    n_unseen : int
        Rows with a category that was not in the fitted rows.
    n_levels : int
        Distinct values of a category or text, in the fitted rows.
    fill : float or None
        The replacement of missing and infinite numbers.
    reason : str
        The reason, if the kind and the action do not imply it.
    cause : {"", "id", "file", "unrelated", "context"}
        Why a column is not used, if programs need to know it.
    """

    name: str
    kind: ColumnKind
    action: str
    outputs: tuple[str, ...] = ()
    n_missing: int = 0
    n_infinite: int = 0
    n_unseen: int = 0
    n_levels: int = 0
    fill: float | None = None
    reason: str = ""
    cause: Cause = ""

    def __post_init__(self) -> None:
        if min(self.n_missing, self.n_infinite, self.n_unseen, self.n_levels) < 0:
            raise ValueError(f"column {self.name!r} has a negative count")

    @property
    def is_used(self) -> bool:
        """Whether the matrix contains the column's values."""
        return self.action != "dropped"

    @property
    def counts_gaps(self) -> bool:
        """Whether a gap in the column is evidence: not if its values say nothing."""
        return self.role not in {"id", "ignored"} and self.cause not in {"unrelated", "context"}

    @property
    def role(self) -> str:
        """'used', 'id' (named by the user), 'ignored' or 'not used'."""
        if self.is_used:
            return "used"
        if self.cause in ("id", "file"):
            return "id"
        return "ignored" if self.kind == "ignored" else "not used"

    @property
    def is_checked(self) -> bool:
        """Whether cells may be wrong: not if the user ignores it, or it names the file."""
        return self.role != "ignored" and self.cause != "file"

    def in_own_units(self, values: Any) -> Any:
        """Return numbers of a matrix as the user has them: dates, durations, true and false."""
        if self.kind == "date":
            try:
                return pd.Timestamp(0) + pd.to_timedelta(values, unit="D")
            except _TOO_FAR:
                return pd.to_datetime(_whole_seconds(np.multiply(values, 86_400.0), "M8[s]"))
        if self.kind == "duration":
            try:
                return pd.to_timedelta(values, unit="s")
            except _TOO_FAR:
                return pd.to_timedelta(_whole_seconds(values, "m8[s]"))
        return values > 0.5 if self.kind == "boolean" else values

    def summary(self, word: Word = str) -> dict[str, Any]:
        """Describe the column as plain data, as front ends show it; `word` writes options."""
        return {
            "name": self.name,
            "kind": self.kind,
            "role": self.role,
            "is_used": self.is_used,
            "n_missing": self.n_missing,
            "preparation": self.description(word),
        }

    def sentence(self) -> str:
        """Describe the column in one sentence.

        Examples
        --------
        >>> print(ColumnRecord("id", "identifier", "dropped", reason="all distinct").sentence())
        'id' (identifier) was left out: all distinct.
        """
        return f"{self.name!r} ({self.kind}) was {self.description()}."

    def why(self, word: Word = str) -> str:
        """Return the reason, with options as a front end writes them."""
        return UNUSED_DATES.worded(word) if self.reason == str(UNUSED_DATES) else self.reason

    def description(self, word: Word = str) -> str:
        """Describe what was done, without the column's name; `word` writes options."""
        text = _ACTION_TEXTS.get(self.action, f"written as {self.action}")
        if self.action == "surprisal":
            text = f"replaced by how rare each of its {counted(self.n_levels, 'value')} is"
        text += f": {self.why(word)}" if self.reason else ""
        unseen = f"{counted(self.n_unseen, 'row')} with a value not seen before"
        clauses = (text, self._gaps(), unseen if self.n_unseen else "")
        return "; ".join(clause for clause in clauses if clause)

    def _gaps(self) -> str:
        numbers = {"missing": self.n_missing, "infinite": self.n_infinite}
        met = [f"{number:,} {kind}" for kind, number in numbers.items() if number]
        if not met or self.action == "dropped":
            return ""
        n_gaps = self.n_missing + self.n_infinite
        gaps = f"{' and '.join(met)} {'value' if n_gaps == 1 else 'values'}"
        if self.fill is None:
            return f"{gaps} taken as a separate value"
        usual = "more frequent value" if self.kind == "boolean" else "median"
        shown = date_text(self.fill) if self.kind == "date" else number_text(self.fill)
        return f"{gaps} filled with the {usual} ({shown})"


def _whole_seconds(values: Any, dtype: str) -> Any:
    most = np.nextafter(2.0**63, 0)
    return np.clip(np.rint(values), -most, most).astype(np.int64).astype(dtype)


def date_text(days: float) -> str:
    """Write days since 1970-01-01 as a date."""
    try:
        stamp = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=days)
    except OverflowError:  # a year beyond 9999
        return f"day {days:g}"
    return f"{stamp:%Y-%m-%d}" if days.is_integer() else f"{stamp:%Y-%m-%d %H:%M}"


def number_text(value: float) -> str:
    """Write a number to be read: six digits, but all of a whole part, and two decimals at least.

    Examples
    --------
    >>> [number_text(number) for number in (3185730.55, 0.1 + 0.2, 1 / 3, 2e15)]
    ['3185730.55', '0.3', '0.333333', '2e+15']
    """
    size = abs(value)
    if not 1e-4 <= size < 1e15:  # also 0, NaN and infinities
        return f"{value:g}"
    text = f"{value:.{max(2, 5 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".")


def cell_text(value: Any, text: str = "") -> str:
    """Return a cell as people read it: as in the file, unless it is a number of many digits."""
    text = text.strip()
    is_number = isinstance(value, float) and not pd.isna(value)
    if text and (len(text) <= _LONGEST_NUMBER or not is_number):
        return text
    if pd.isna(value):
        return ""
    shown = number_text(value) if isinstance(value, float) else str(value)
    # a date without a time of day
    return shown.removesuffix(" 00:00:00") if isinstance(value, pd.Timestamp) else shown


DriftKind = Literal["range", "categories", "gaps", "shares"]
_MOST_DRIFTS = 5  # that are described


@dataclass(frozen=True)
class Drift:
    """How a column of new rows differs from that of the fitted rows.

    Parameters
    ----------
    column : str
        The column.
    kind : {"range", "categories", "gaps", "shares"}
        Values outside the usual range, unseen categories, missing and infinite values, or other
        shares of usual values: those up to `high`, or those that are `value`.
    n_rows : int
        The new rows concerned.
    share : float
        Their share of the new rows.
    expected : float
        The share that is expected from the fitted rows.
    low, high : float, str or None
        The usual range: that of the central 98 % of the fitted rows; text for dates.
    is_used : bool
        Whether the column is used for scores; new categories are reported of unused ones too.
    usual : str
        The usual range in the notation of the new rows, if that is not how Python writes it.
    value : str
        The category whose share has changed most.
    """

    column: str
    kind: DriftKind
    n_rows: int
    share: float
    expected: float
    low: float | str | None = None
    high: float | str | None = None
    is_used: bool = True
    usual: str = ""
    value: str = ""

    def sentence(self) -> str:
        """Describe the drift.

        Examples
        --------
        >>> print(Drift("price", "range", 70, 0.7, 0.02, low=1.5, high=99.0).sentence())
        drift in 'price': 70.0% of the rows are outside 1.5 to 99 (expected: 2.0%)
        """
        what = {"categories": "have a value that is new", "gaps": "have no value"}.get(self.kind)
        ends = [
            number_text(end) if isinstance(end, float) else str(end)
            for end in (self.low, self.high)
            if end is not None
        ]
        usual = self.usual or " to ".join(ends)
        if self.kind == "shares":
            what = f"are {self.value!r}" if self.value else f"are {usual} or less"
            what = what if self.value or usual else "are low in their context"
        elif self.kind == "range":
            what = f"are outside {usual}" if usual else "are unusual in their context"
        shown = what
        shares = f"{percent(self.share)} of the rows {shown} (expected: {percent(self.expected)})"
        column = quoted(self.column) + ("" if self.is_used else " (not used)")
        return f"drift in {column}: {shares}"


@dataclass(frozen=True)
class PreparationRecord:
    """What was done to a table.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    columns : tuple of ColumnRecord
        One for every column that the preparation was fitted with, in the table's order.
    messages : tuple of Message
        Messages about the table as a whole, and about columns that may surprise.
    drift : tuple of Drift
        How new rows differ from the fitted ones, the largest difference first.
    evidence : tuple of str
        Columns of the matrix that come from several columns: 'gaps' and 'combinations'.
    """

    n_rows: int
    columns: tuple[ColumnRecord, ...]
    messages: tuple[Message, ...] = ()
    drift: tuple[Drift, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The matrix's columns."""
        return (*(name for column in self.columns for name in column.outputs), *self.evidence)

    def words(self) -> dict[str, str]:
        """Return what people call the matrix's columns: the user's column, or the evidence."""
        own = {output: column.name for column in self.columns for output in column.outputs}
        return own | {name: _EVIDENCE[name.partition(" (")[0]] for name in self.evidence}

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns, at most two, that identify rows: named by the user, else detected."""
        named = [column.name for column in self.columns if column.role == "id"]
        found = [column.name for column in self.columns if column.kind == "identifier"]
        return tuple((named or found)[:2])

    @property
    def categorical_share(self) -> float:
        """Share of the table's columns that hold categories or text."""
        categorical = sum(column.kind in {"category", "text"} for column in self.columns)
        return categorical / len(self.columns)

    @property
    def imputed_share(self) -> float:
        """Share of the table's cells that were missing or infinite in a column in use."""
        imputed = sum(
            column.n_missing + column.n_infinite for column in self.columns if column.is_used
        )
        return imputed / (self.n_rows * len(self.columns))

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence per column, then the messages."""
        return (*(column.sentence() for column in self.columns), *map(str, self.messages))

    def drift_warnings(self) -> tuple[str, ...]:
        """Describe the largest drifts, and say what to do."""
        lines = [drift.sentence() for drift in self.drift[:_MOST_DRIFTS]]
        if len(self.drift) > _MOST_DRIFTS:
            lines.append(f"drift in {listed([d.column for d in self.drift[_MOST_DRIFTS:]])}")
        if lines:
            lines[-1] += "; fit again if such rows are normal now"
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Write the record as plain values, for JSON."""
        return {
            "n_rows": self.n_rows,
            "categorical_share": self.categorical_share,
            "imputed_share": self.imputed_share,
            "evidence": list(self.evidence),
            "columns": [{**asdict(column), "role": column.role} for column in self.columns],
            "messages": list(map(str, self.messages)),
            "drift": [asdict(drift) for drift in self.drift],
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences())


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table as a finite matrix, with the record of its preparation.

    Parameters
    ----------
    X : numpy.ndarray of float64
        Finite, C-contiguous, a row for every row of the table, in its order.
    names : tuple of str
        The matrix's columns.
    index : pandas.Index
        The table's index, with which scores can be joined back.
    record : PreparationRecord
        What was done to every column of the table.
    source : str
        The source of the table.
    fixed : numpy.ndarray of bool or None
        Columns of the matrix in fixed units, which models must not rescale (surprisal, gaps and
        combinations); None if there are none.
    """

    X: npt.NDArray[np.float64]
    names: tuple[str, ...]
    index: "pd.Index[Any]"
    record: PreparationRecord
    source: str = "table"
    fixed: npt.NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        return f"PreparedTable({self.source!r}: {n_rows:,} rows × {n_columns:,} columns)"
