"""Errors and messages.

A :class:`UserError` is an error that the caller can fix: it says what is wrong, where, and what to
do, in one line. Any other exception is a defect of MetaOD. The command line prints a `UserError`
without a traceback and exits with code 2.

Errors and notes are data: a code, values and a place. The text comes last: a front end words the
options that a message names, as ``na='x'`` in Python or ``--na x`` on the command line.
"""

import copyreg
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

if (Path(__file__).parent / "version.py").exists():
    # a file of the original implementation, which installs into the same folder
    raise ImportError(
        "the original 'metaod' distribution (0.0.6) is installed in the same folder as "
        "'metaod-next', and each overwrites files of the other; run 'pip uninstall -y metaod "
        "metaod-next', then 'pip install metaod-next'"
    )

__all__ = [
    "BadColumn",
    "BadFile",
    "BadParameter",
    "Message",
    "MetaODError",
    "MissingExtra",
    "Setting",
    "UserError",
]

HIDDEN = "***"
_LONGEST_NAME = 60

DISTRIBUTION = "metaod-next"
"""The name that ``pip install`` takes, for messages."""


def hide_password(text: str) -> str:
    """Return an address, or a text with one, without its password.

    Examples
    --------
    >>> hide_password("postgresql://me:secret@host/db?sslpassword=x&port=1")
    'postgresql://me:***@host/db?sslpassword=***&port=1'
    """
    text = re.sub(r"(://[^:/?@]*:).*@", rf"\1{HIDDEN}@", text, flags=re.DOTALL)
    return re.sub(r"(?i)(password=)[^&]*", rf"\1{HIDDEN}", text)


def counted(number: int, thing: str) -> str:
    """Return the number with the noun, for messages.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Write a share, a tiny one with two digits.

    Examples
    --------
    >>> percent(0.108), percent(7 / 20_000), percent(0.0)
    ('10.8%', '0.035%', '0.0%')
    """
    return f"{100 * share:.2g}%" if 0 < share < 0.001 else f"{share:.1%}"


def cut_name(name: str) -> str:
    """Return the name of a column for messages; a long one is cut in its middle."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:40]}…{name[-19:]}"


def quoted(name: object) -> str:
    """Return the name of a column in quotes for messages, cut if it is long.

    Examples
    --------
    >>> print(quoted("age"), quoted("x" * 500 + "1")[-8:])
    'age' xxxxxx1'
    """
    return repr(cut_name(name) if isinstance(name, str) else name)


def listed(names: Sequence[str], most: int = 5) -> str:
    """List columns in a message, the first few by name.

    Examples
    --------
    >>> print(listed(["a", "b", "c"], most=2))
    'a', 'b' and 1 more
    """
    shown = ", ".join(map(quoted, names[:most]))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


@dataclass(frozen=True)
class Setting:
    """An option that a message names, with or without a value; front ends word it.

    Examples
    --------
    >>> str(Setting("decimal", ",")), str(Setting("skip_rows"))
    ("decimal=','", "'skip_rows'")
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return repr(self.name) if self.value is None else f"{self.name}={self.value!r}"

    def advice(self, template: str) -> "Message":
        """Return a message that names the option at ``{set}``."""
        return Message(self.name, template, set=self)


Word = Callable[[Setting], str]
"""How a front end writes a setting."""


class Message:
    """A sentence as data: a code that programs compare, a template and its values.

    Parameters
    ----------
    code : str
        What the message is about, such as ``"ambiguous-decimal"``.
    template : str
        The sentence, with ``{name}`` for each value.
    **values
        Numbers, texts, :class:`Setting` objects and other messages.

    Examples
    --------
    >>> note = Message("decimal", "if the comma is a decimal mark, set {set}",
    ...                set=Setting("decimal", ","))
    >>> str(note)
    "if the comma is a decimal mark, set decimal=','"
    >>> note.worded(lambda setting: f"--{setting.name} {setting.value}")
    'if the comma is a decimal mark, set --decimal ,'
    """

    def __init__(self, code: str, template: str, **values: object) -> None:
        self.code = code
        self.template = template
        self.values = values

    def worded(self, word: Word = str) -> str:
        """Return the sentence, with settings as a front end writes them."""
        texts = {}
        for name, value in self.values.items():
            texts[name] = word(value) if isinstance(value, Setting) else value
            if name == "column" and isinstance(value, str):
                texts[name] = cut_name(value)
            if isinstance(value, Message):
                texts[name] = value.worded(word)
        return self.template.format_map(texts)

    def __str__(self) -> str:
        return self.worded()

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Message) and self.code == other.code
        return same and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.code, str(self)))


def worded(text: str | Message, word: Word = str) -> str:
    """Return the text of a message, or a text as it is."""
    return text.worded(word) if isinstance(text, Message) else text


class MetaODError(Exception):
    """Base of every exception that MetaOD raises on purpose."""


class UserError(MetaODError):
    """An error that the caller can fix: the message says what is wrong, where, and what to do.

    Parameters
    ----------
    what : str or Message
        What is wrong.
    where : str, optional
        The file, line, column or parameter.
    remedy : str or Message, optional
        What to do next.
    code : str, optional
        For programs and tests; by default the code of `what`, or that of the class.

    Examples
    --------
    >>> print(UserError("no rows", where="empty.csv", remedy="check the export"))
    empty.csv: no rows; check the export
    """

    code = "user-error"

    def __init__(
        self,
        what: str | Message,
        *,
        where: str | None = None,
        remedy: str | Message | None = None,
        code: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        if code is not None or isinstance(what, Message):
            self.code = code or what.code  # type: ignore[union-attr]  # a Message if code is None
        super().__init__(str(what))

    def worded(self, word: Word = str) -> str:
        """Return the error in one line, with settings as a front end writes them."""
        what = worded(self.what, word)
        text = f"{self.where}: {what}" if self.where else what
        if self.remedy:
            text = f"{text}; {worded(self.remedy, word)}"
        return " ".join(text.split())

    def __str__(self) -> str:
        return self.worded()

    def __reduce__(self) -> tuple[object, ...]:
        # exceptions cross process boundaries when a build runs in parallel
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # typeshed lacks it


class BadFile(UserError):
    """A file cannot be read as a table.

    Parameters
    ----------
    path : path-like
        The file.
    what : str
        What was wrong with it.
    line, column : int or str, optional
        Where in the file; lines are counted from 1, columns are named or counted from 1.
    remedy : str, optional
        What to do next.

    Examples
    --------
    >>> print(BadFile("t.csv", "3 fields where the header has 2", line=7, remedy="fix the line"))
    t.csv, line 7: 3 fields where the header has 2; fix the line
    """

    code = "bad-file"

    def __init__(
        self,
        path: "str | PathLike[str]",
        what: str | Message,
        *,
        line: int | None = None,
        column: int | str | None = None,
        remedy: str | Message | None = None,
        code: str | None = None,
    ) -> None:
        self.path = hide_password(str(path))
        self.line = line
        self.column = column
        where = self.path
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {quoted(column)}"
        super().__init__(what, where=where, remedy=remedy, code=code)


class BadColumn(UserError):
    """A column is missing, unusable or not what the caller said it was.

    Examples
    --------
    >>> print(BadColumn("age", "is not in the table", remedy="columns are: height, weight"))
    column 'age': is not in the table; columns are: height, weight
    """

    code = "bad-column"

    def __init__(
        self,
        column: object,
        what: str | Message,
        *,
        remedy: str | Message | None = None,
        path: "str | PathLike[str] | None" = None,
        code: str | None = None,
    ) -> None:
        self.column = column
        where = f"column {quoted(column)}"
        if path is not None:
            where = f"{path}, {where}"
        super().__init__(what, where=where, remedy=remedy, code=code)


class BadParameter(UserError, ValueError):
    """A parameter or option has a value outside its legal set; worded as scikit-learn words it.

    Parameters
    ----------
    owner : str
        The function, class or command whose parameter it is.
    name : str
        The parameter; with leading dashes the option.
    legal : str or iterable
        The legal set: a phrase, or the values themselves.
    got : object
        The value received.
    remedy : str, optional
        What to do next.

    Examples
    --------
    >>> print(BadParameter("HBOS", "n_bins", "an int in the range [2, inf)", 1))
    The 'n_bins' parameter of HBOS must be an int in the range [2, inf). Got 1 instead.
    """

    code = "bad-parameter"

    def __init__(
        self,
        owner: str,
        name: str,
        legal: "str | Iterable[object]",
        got: object,
        *,
        remedy: str | Message | None = None,
        code: str | None = None,
    ) -> None:
        self.owner = owner
        self.name = name
        self.got = got
        if not isinstance(legal, str):
            legal = "one of {" + ", ".join(repr(value) for value in legal) + "}"
        self.legal = legal
        kind = "option" if name.startswith("-") else "parameter"
        shown = repr(got)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(
            f"The {name!r} {kind} of {owner} must be {legal}. Got {shown} instead.",
            remedy=remedy,
            code=code,
        )

    def worded(self, word: Word = str) -> str:
        """Return the error as scikit-learn words it, with the remedy as a sentence."""
        what = worded(self.what, word)
        text = f"{what} {worded(self.remedy, word)}." if self.remedy else what
        return " ".join(text.split())


class MissingExtra(UserError, ImportError):
    """An optional dependency is needed and not installed.

    Parameters
    ----------
    package : str
        The library that cannot be imported.
    extra : str
        The extra of this distribution that installs it.
    needed_for : str
        What the user wanted to do.

    Examples
    --------
    >>> print(MissingExtra("openpyxl", extra="excel", needed_for="reading XLSX workbooks"))
    reading XLSX workbooks needs openpyxl; install it with: pip install "metaod-next[excel]"
    """

    code = "missing-extra"

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs {package}",
            remedy=f'install it with: pip install "{DISTRIBUTION}[{extra}]"',
        )


def required(module: str, *, extra: str, needed_for: str) -> Any:
    """Return a module of an optional dependency; MissingExtra if it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        raise MissingExtra(package, extra=extra, needed_for=needed_for) from error
