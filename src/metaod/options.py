"""The options of reading, of columns and of picking: each is declared here, and nowhere else.

To add one, add a field here and use it where tables are read, prepared or scored. The command
line, the page, the tools for agents, the checks and the documentation follow: see CONTRIBUTING.md.
"""

import codecs
import shlex
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from metaod._legal import Number
from metaod._memory import free_memory
from metaod._option import Option, Options, as_names, document, option, takes
from metaod.errors import BadParameter, Setting

if TYPE_CHECKING:
    from metaod.artifacts import Artifact
    from metaod.models import ModelSpec

__all__ = [
    "BadValues",
    "Building",
    "Checking",
    "Columns",
    "Fitting",
    "Names",
    "Option",
    "Options",
    "Pick",
    "Picking",
    "Reading",
    "Writing",
    "as_flags",
    "command_words",
    "document",
    "option",
    "takes",
]

BadValues = Literal["finding", "missing", "text", "error"]
Names = str | Iterable[str] | None
Pick = Literal["learned", "learned-single", "committee"]
Words = str | float | Iterable[str | float]


_MOST_BYTES, _MOST_SHARE = 8 * 2**30, 0.5  # of a table: at most, and of the free memory

# conversions: ValueError or TypeError for what is not legal


def _words(given: Any) -> tuple[str, ...]:
    """Convert one or several words or numbers to words, those of a column to COLUMN=WORD."""
    if isinstance(given, Mapping):
        if not all(isinstance(name, str) and name.strip("=") == name for name in given):
            raise TypeError
        return tuple(f"{name}={word}" for name, words in given.items() for word in _words(words))
    is_one = isinstance(given, str | bytes) or not isinstance(given, Iterable)
    values = (given,) if is_one else given
    words = []
    for value in values:
        plain = value.item() if hasattr(value, "item") else value  # a number of numpy
        if isinstance(plain, bool) or not isinstance(plain, str | int | float):
            raise TypeError
        whole = isinstance(plain, float) and plain.is_integer()
        words.append(str(int(plain) if whole else plain))
    return tuple(words)


def _space(given: Any) -> Any:
    if isinstance(given, Sized) and not len(given):
        raise ValueError
    return _models(given)


def _models(given: Any) -> Any:
    """Return one model instead of a list of one; None for an empty list."""
    several = isinstance(given, list | tuple) and len(given) < 2
    return next(iter(given), None) if several else given


def _seed(given: Any) -> int:
    seed = index(given)
    if isinstance(given, bool) or not 0 <= seed < 2**32:
        raise ValueError
    return seed


def _share(given: Any) -> float:
    """Convert a number or text, also a percentage, to a share."""
    if isinstance(given, str):
        number = float(given.strip().removesuffix("%"))
        given = number / 100 if given.strip().endswith("%") else number
    if not Number(0, 0.5, "(]").allows(given):
        raise ValueError
    return float(given)


def _share_or_auto(given: Any) -> Any:
    return given if isinstance(given, str) and given == "auto" else _share(given)


def _jobs(given: Any) -> int:
    if isinstance(given, bool) or index(given) == 0:
        raise ValueError
    return index(given)


def _delimiter(given: Any) -> str:
    if given == "\\t":  # as shells pass it
        return "\t"
    if not is_delimiter(given):
        raise ValueError
    return str(given)


def is_delimiter(text: str) -> bool:
    """Whether a text can separate fields."""
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in '"\r\n\0'


def _schemas(given: Any) -> tuple[str, ...]:
    names = as_names(given)
    return () if names == ("none",) else names


def _encoding(given: Any) -> str:
    codecs.lookup(given)
    b" ".decode(given, errors="ignore")  # refuses what encodes no text, such as 'hex'
    return str(given)


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How a table is read; what is left at its default is decided from the content."""

    title: ClassVar[str] = "Reading the table"

    label: str | None = option(
        None,
        "Column (or array) with known outliers; used only to measure the result.",
        details="It is removed from the table. It holds two values: 0/1, -1/1 (-1 is the outlier, "
        "as in scikit-learn), false/true, no/yes, n/y, n/o, inlier/outlier, normal/anomaly, "
        "normal/outlier or normal/abnormal.",
        metavar="NAME",
    )
    delimiter: str | None = option(
        None,
        "Field delimiter of text files; detected by default.",
        details='A delimiter of ``" "`` is any run of blanks.',
        metavar="C",
        legal="one ASCII character that is no letter, digit, quote or line end",
        convert=_delimiter,
        label="Delimiter",
        choices={
            None: "detect it",
            ",": "comma",
            ";": "semicolon",
            "\t": "tab",
            "|": "bar",
            " ": "blanks",
        },
    )
    encoding: str | None = option(
        None,
        "Text encoding; detected by default.",
        metavar="NAME",
        legal="the name of a text encoding, such as 'utf-8', 'cp1252' or 'utf-16'",
        convert=_encoding,
        label="Encoding",
        choices={None: "detect it"},
    )
    decimal: Literal[".", ","] | None = option(
        None,
        "Decimal mark, '.' or ','; detected by default.",
        details="It also counts in the text of sheets and of tables in memory.",
        metavar="C",
        is_kept=True,
        label="Decimal mark",
        choices={None: "detect it", ".": "point", ",": "comma"},
    )
    na: Words = option(
        (),
        "Another word for a missing value; COLUMN=WORD applies to one column.",
        details="The usual words in text are known (empty, NA, NaN, null, None, ?, - and similar). "
        'Numbers are compared by value: ``"-999"`` is also -999.0. ``"q3=99"`` or ``{"q3": 99}`` '
        "counts in the column q3 alone; before a word of all columns that contains = stands one "
        'more: ``"=a=b"``.',
        metavar="WORD",
        legal="a str, a number, an iterable of them, or a dict of them by column",
        convert=_words,
        is_kept=True,
        label="A word for missing values",
        choices={None: "none more"},
    )
    header: bool | None = option(
        None,
        "Whether the first line names the columns; detected by default.",
        details="By default it does if it has a word above a column of values, or only words. "
        "Columns without names are ``x1``, ``x2``, ...",
        flags=("--header", "--no-header"),
        label="First line",
        choices={None: "detect it", True: "holds the names of columns", False: "is a row"},
    )
    text: Names = option(
        (),
        "A column to read as text.",
        metavar="COLUMN",
        legal="a column's name or an iterable of names",
        is_kept=True,
    )
    dayfirst: bool | None = option(
        None,
        "Read dates such as 03/04/2024 as day first or month first, if the column does not show "
        "which.",
        flags=("--dayfirst", "--monthfirst"),
        is_kept=True,
        label="Dates such as 03/04/2024",
        choices={None: "detect them", True: "day first: 3 April", False: "month first: March 4"},
    )
    bad_values: BadValues | None = option(
        None,
        "What to do with values that do not fit a column of numbers or dates: finding (default: "
        "missing, listed as wrong), missing, text (read the column as text) or error. In a file "
        "read in chunks, 'text' is an error for values outside the sample.",
        metavar="KIND",
        is_kept=True,
        label="Values that do not fit a column",
        choices={
            None: "list them as wrong",
            "missing": "take them as missing",
            "text": "read the column as text",
            "error": "stop and name them",
        },
    )
    skip_rows: int | None = option(
        None,
        "Lines to skip above the table; titles are detected by default.",
        details="Of delimited text and sheets.",
        metavar="N",
        minimum=0,
        label="Lines above the table",
        choices={None: "detect them"},
    )
    skip_footer: int | None = option(
        None,
        "Rows to skip below the table, such as totals.",
        details="Of delimited text and sheets. By default, a last row that begins with a word such "
        "as Total and holds sums of the rows above is left out, with a warning.",
        metavar="N",
        minimum=0,
        label="Rows at the end to leave out, as totals",
        choices={None: "detect them"},
    )
    sheet: str | int | None = option(
        None,
        "Sheet of a workbook: its name, or its number from 0.",
        details="By default the first with a table.",
        metavar="NAME",
        label="Sheet of a workbook",
        choices={None: "the first with a table"},
    )
    variable: str | None = option(
        None,
        "Array to take from a .mat, .h5 or .npz file, or list of records from a .json file.",
        details="By default ``X`` or the only matrix of numbers.",
        metavar="NAME",
    )
    query: str | None = option(
        None,
        "Rows of a database: a query in SQL, or the name of a table.",
        details="By default the only table.",
        metavar="SQL",
        label="Query in SQL, or a table of a database",
        choices={None: "the only table"},
    )
    shown_as: str | None = option(
        None,
        "What messages call the file, if not by its path.",
        only_python=True,
    )
    unused: Callable[[str], bool] | None = option(
        None,
        "Tells by the name whether a column will not be used: its text then stays as it is, and no "
        "value of it is a mistake.",
        only_python=True,
    )
    max_bytes: int | None = option(
        None,
        "Most memory that the file may take, in bytes; by default 8 GiB, or half of what is free.",
        metavar="N",
        minimum=1,
    )

    @property
    def memory_limit(self) -> int:
        """The option `max_bytes`, or what it is by default now."""
        if self.max_bytes is not None:
            return self.max_bytes
        return int(min(_MOST_BYTES, _MOST_SHARE * free_memory()))

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The words of the option `na` for all columns."""
        return tuple(
            word.removeprefix("=") if "=" in word[1:] else word
            for word in _words(self.na)
            if word.startswith("=") or "=" not in word
        )

    @property
    def column_words(self) -> tuple[str, ...]:
        """The words of the option `na` for single columns, as COLUMN=WORD."""
        return tuple(word for word in _words(self.na) if "=" in word and word[0] != "=")

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The option `text`, once it is checked."""
        return as_names(self.text)

    def checked(self, owner: str) -> Self:
        """Return them as the code uses them; errors name the owner."""
        found = super().checked(owner)
        if found.decimal is not None and found.decimal == found.delimiter:
            raise BadParameter(
                owner, "decimal", "another character than the delimiter", self.decimal
            )
        return found


_ROLE = {"metavar": "COLUMN", "legal": "a column's name, an iterable of names or None"}


@dataclass(frozen=True, kw_only=True)
class Columns(Options):
    """The roles of columns."""

    title: ClassVar[str] = "Columns"

    ignore: Names = option(None, "A column that is not used.", **_ROLE)
    only: Names = option(None, "Use only this column.", **_ROLE)
    id: Names = option(None, "A column that names the rows: shown first and not used.", **_ROLE)
    category: Names = option(
        None,
        "A column whose numbers are codes, not amounts.",
        details="It is used even if it is unrelated to every other column.",
        **_ROLE,
    )
    date: Names = option(
        None,
        "A column of dates (not used for scores), also written as 20240131 or seconds since 1970.",
        details="Years, days of Excel and milliseconds since 1970 are dates, too. Those named in "
        "`time` are used for scores.",
        **_ROLE,
    )
    time: Names = option(
        None,
        "A date column to use for scores: later dates will look unusual.",
        details="It is used as days since 1970-01-01 (UTC if no zone is given).",
        **_ROLE,
    )
    by: Names = option(
        None,
        "A column of groups: compare each row with its own group.",
        details="Of several columns each combination is a group. What is usual in a small group is "
        "partly that of the whole; a row of a new group is judged by the whole.",
        **_ROLE,
    )
    over: Names = option(
        None,
        "A time or number that orders the rows: compare each row with the rows before it.",
        details="Hours, weekdays and months count if the numbers depend on them, and a number that "
        "stays the same for too long is unusual. With `by` the past is that of the row's group.",
        **_ROLE,
    )
    target: Names = option(
        None,
        "The numeric column to judge; the other columns predict it.",
        **_ROLE,
    )
    high: Names = option(None, "A numeric column: only unusually high values of it count.", **_ROLE)
    low: Names = option(None, "A numeric column: only unusually low values of it count.", **_ROLE)


@dataclass(frozen=True, kw_only=True)
class Picking(Options):
    """How a model is picked."""

    title: ClassVar[str] = "Picking the model"

    learner: "str | PathLike[str] | Artifact" = option(
        "default",
        "The learner that chooses: default, metaod (the paper's), or a file that 'metaod train' "
        "wrote.",
        metavar="NAME",
    )
    pick: Pick = option(
        "learned",
        "learned: the learner picks a model or an average of a few; learned-single: it picks one "
        "model; committee: a fixed average of seven models.",
        metavar="KIND",
    )
    exclude: "str | ModelSpec | Iterable[str | ModelSpec] | None" = option(
        None,
        "Leave out this family or model, also from averages.",
        metavar="MODEL",
        convert=_models,
    )
    space: "str | ModelSpec | Iterable[str | ModelSpec] | None" = option(
        None,
        "Pick only from this space, family or model.",
        metavar="MODEL",
        legal="a space, or families and ids of models (at least one), or None for all",
        convert=_space,
    )
    max_seconds: float | None = option(
        None,
        "Pick only models (or averages) that are expected to fit in this time.",
        metavar="S",
        above=0,
        legal="a number above 0",
    )
    max_bytes: float | Literal["auto"] | None = option(
        "auto",
        "The most expected memory beyond the table.",
        details="None for no limit, ``auto`` for the larger of 2 GiB and four times the table.",
        above=0,
        legal="a number above 0",
        only_python=True,
    )
    random_state: int = option(
        0,
        "Seed of all random parts.",
        metavar="N",
        flags=("--seed",),
        minimum=0,
        maximum=2**32 - 1,
        legal="an int in the range [0, 2**32)",
        convert=_seed,
    )
    progress: Callable[[Any], None] | None = option(
        None,
        "Receives a :class:`metaod.selection.ProgressReport` at every stage.",
        only_python=True,
    )


@dataclass(frozen=True, kw_only=True)
class Fitting(Options):
    """How a pick is fitted, and how many rows it flags."""

    contamination: float | Literal["auto"] = option(
        "auto",
        "Share of rows to flag, such as 5% or 0.05. auto: rows with wrong cells, and rows above a "
        "clear gap in the scores or, without a gap, the top 1% (at most 100).",
        metavar="SHARE",
        legal="'auto' or a number in the range (0, 0.5], as 0.05 or 5%",
        convert=_share_or_auto,
    )
    rows_only: bool = option(False, "Look for unusual rows only, not for wrong cells.")
    n_jobs: int | None = option(
        None,
        "Threads that score the rows; -1 for one per core. The scores do not depend on it.",
        metavar="N",
        flags=("--jobs", "-j"),
        legal="an int other than 0, or None",
        convert=_jobs,
        only_python=True,  # elsewhere as many as there are cores
    )


@dataclass(frozen=True, kw_only=True)
class Checking(Options):
    """What a check promises, and when it fails."""

    false_alarms: float | str | None = option(
        None,
        "Flag at most this share of ordinary rows, such as 1% or 0.01. Default: 1%, or for a "
        "small first table the smallest share that it allows.",
        metavar="SHARE",
        legal="a number in the range (0, 0.5], as 0.01 or 1%",
        convert=_share,
    )
    false_discoveries: float | str | None = option(
        None,
        "Instead of false alarms: at most this share of the flagged rows is ordinary, on average.",
        metavar="SHARE",
        legal="a number in the range (0, 0.5], as 0.05 or 5%",
        convert=_share,
    )
    max_findings: int | None = option(
        None,
        "The check passes with up to N flagged rows. Default: as many as chance explains; 0 with "
        "false discoveries.",
        metavar="N",
        minimum=0,
    )


@dataclass(frozen=True, kw_only=True)
class Writing(Options):
    """How a scored table is written."""

    title: ClassVar[str] = "Writing the table"

    sort: bool = option(False, "Write the most outlying rows first.")
    flagged_only: bool = option(False, "Write only the rows that are flagged.")
    why: bool = option(False, "Write a column why: why each flagged row is unusual.")
    no_formulas: bool = option(
        False, "Write a ' before cells that a spreadsheet would run as formulas (=, +, -, @)."
    )


@dataclass(frozen=True, kw_only=True)
class Building(Options):
    """What a build computes on each dataset."""

    title: ClassVar[str] = "What is computed"

    space: str = option("paper", "Model space: paper, extended, or all.", metavar="NAME")
    detectors: Iterable[str] = option(
        (),
        "Only this family.",
        details="The Mega Ensemble, which needs all families, is then left out.",
        metavar="NAME",
        flags=("--family",),
    )
    averages: bool = option(False, "Also evaluate the averages that may be picked.")
    trials: int = option(
        5, "Trials of a random model.", details="Trial t uses seed t.", metavar="N", minimum=1
    )
    references: bool = option(
        True,
        "Evaluate the reference models too.",
        flags=("--references", "--no-references"),
    )
    schemas: Iterable[str] = option(
        ("paper", "scores"),
        "Meta-features: paper, scores, none.",
        metavar="NAME",
        flags=("--schema",),
        convert=_schemas,
    )
    retry: Iterable[str] = option(
        (), "Repeat trials in this state: failed, 'over budget'.", metavar="STATE"
    )


_ALL = {
    name: item
    for kind in (Writing, Fitting, Picking, Columns, Reading)
    for name, item in kind.declared().items()
}


def command_words(name: str, value: Any = None) -> list[str]:
    """Return an option with its value as the words of a command.

    Examples
    --------
    >>> command_words("na", ["-999", "unknown"]), command_words("dayfirst", False)
    (['--na', '-999', '--na', 'unknown'], ['--monthfirst'])
    >>> command_words("random_state", 1), command_words("bad_values")
    (['--seed', '1'], ['--bad-values'])
    """
    return _ALL.get(name, Option("", name=name)).words(value)


def as_flags(setting: Setting) -> str:
    """Write an option of a message as the command line takes it.

    >>> as_flags(Setting("decimal", ",")), as_flags(Setting("header", False))
    ('--decimal ,', '--no-header')
    """
    return shlex.join(command_words(setting.name, setting.value))
