"""What can go wrong, in one small tree.

A :class:`UserError` is something that the person who called us can mend: its message names what
was wrong, where, and what to do next, in one line. Everything else that escapes is a defect of
ours. The command line prints the first kind without a traceback and exits with code 2.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

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
    "MetaODError",
    "MissingExtra",
    "UnavailableDataset",
    "UserError",
]

DISTRIBUTION = "metaod-next"
"""The name that ``pip install`` takes, for messages."""


def counted(number: int, thing: str) -> str:
    """Return the number with the noun, for messages.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


class MetaODError(Exception):
    """Base of every exception that MetaOD raises on purpose."""


class UserError(MetaODError):
    """Something the caller can mend: the message says what, where and how.

    Parameters
    ----------
    what : str
        What was wrong.
    where : str, optional
        The file, line, column or parameter it concerns.
    remedy : str, optional
        What to do next.

    Examples
    --------
    >>> print(UserError("no rows", where="empty.csv", remedy="check the export"))
    empty.csv: no rows; check the export
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.remedy:
            text = f"{text}; {self.remedy}"
        return " ".join(text.split())

    def __reduce__(self) -> tuple[object, ...]:
        # exceptions cross process boundaries when a build runs in parallel
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(
    kind: type[UserError], args: tuple[object, ...], state: dict[str, object]
) -> UserError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


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
    >>> print(BadFile("t.csv", "3 fields where the header has 2", line=7, remedy="mend the line"))
    t.csv, line 7: 3 fields where the header has 2; mend the line
    """

    def __init__(
        self,
        path: "str | PathLike[str]",
        what: str,
        *,
        line: int | None = None,
        column: int | str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = str(path)
        self.line = line
        self.column = column
        where = self.path
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {column!r}" if isinstance(column, str) else f", column {column}"
        super().__init__(what, where=where, remedy=remedy)


class BadColumn(UserError):
    """A column is missing, unusable or not what the caller said it was.

    Examples
    --------
    >>> print(BadColumn("age", "is not in the table", remedy="columns are: height, weight"))
    column 'age': is not in the table; columns are: height, weight
    """

    def __init__(
        self,
        column: object,
        what: str,
        *,
        remedy: str | None = None,
        path: "str | PathLike[str] | None" = None,
    ) -> None:
        self.column = column
        where = f"column {column!r}"
        if path is not None:
            where = f"{path}, {where}"
        super().__init__(what, where=where, remedy=remedy)


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

    def __init__(
        self,
        owner: str,
        name: str,
        legal: "str | Iterable[object]",
        got: object,
        *,
        remedy: str | None = None,
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
        )

    def __str__(self) -> str:
        text = f"{self.what} {self.remedy}." if self.remedy else self.what
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

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{needed_for} needs {package}",
            remedy=f'install it with: pip install "{DISTRIBUTION}[{extra}]"',
        )


class UnavailableDataset(UserError):
    """A catalogued dataset can neither be found in the given folder nor downloaded."""
