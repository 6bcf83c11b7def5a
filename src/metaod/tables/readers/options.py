"""What a caller may say about a table that is to be read."""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from metaod.errors import BadParameter

__all__ = ["DEFAULT_MAX_BYTES", "ReadOptions", "as_names", "as_words", "is_delimiter"]

DEFAULT_MAX_BYTES = 8 * 2**30


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    r"""What a caller may say about a table; what is left out is decided by looking.

    Parameters
    ----------
    label : str, optional
        The column that says which rows are outliers; in MATLAB, NPZ and HDF5 files it may be
        another array of the file. It leaves the table.
    delimiter : str, optional
        One ASCII character between the fields of delimited text (``"\\t"`` spelled out is a tab).
        Between blanks (``" "``) any run of spaces and tabs counts as one.
    encoding : str, optional
        Encoding of delimited text or ARFF, by Python's names.
    decimal : {".", ","}, optional
        The decimal mark of delimited text.
    na : tuple of str
        Words that mean a missing value, beside the usual ones; see `as_words` for numbers.
    header : bool, optional
        Whether the first line of delimited text, or the first row of a sheet, holds names.
    text : tuple of str
        Columns to be taken as text whatever they look like.
    sheet : str or int, optional
        Sheet of a workbook, by name or counted from 0.
    variable : str, optional
        Array of a MATLAB, NPZ or HDF5 file.
    max_bytes : int
        The most memory that a file may claim, decompressed; 8 GiB unless told.

    Examples
    --------
    >>> ReadOptions(delimiter=";", decimal=",").given()
    ('delimiter', 'decimal')
    """

    label: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    header: bool | None = None
    text: tuple[str, ...] = ()
    sheet: str | int | None = None
    variable: str | None = None
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        self._check_types()
        if self.delimiter == "\\t":  # as shells pass it
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and not is_delimiter(self.delimiter):
            raise BadParameter(
                "read_table",
                "delimiter",
                "one ASCII character that is no letter, digit, quote or line end",
                self.delimiter,
            )
        if self.decimal not in (None, ".", ","):
            raise BadParameter("read_table", "decimal", (".", ","), self.decimal)
        if self.decimal is not None and self.decimal == self.delimiter:
            raise BadParameter(
                "read_table", "decimal", "another character than the delimiter", self.decimal
            )
        if self.encoding is not None and not _is_text_encoding(self.encoding):
            raise BadParameter(
                "read_table",
                "encoding",
                "a text encoding known to Python, such as 'utf-8', 'cp1252' or 'utf-16'",
                self.encoding,
            )

    def _check_types(self) -> None:
        for name in ("label", "delimiter", "encoding", "variable"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise BadParameter("read_table", name, "a str or None", value)
        if self.header is not None and not isinstance(self.header, bool):
            raise BadParameter("read_table", "header", "True, False or None", self.header)
        is_place = isinstance(self.sheet, str | int) and not isinstance(self.sheet, bool)
        if self.sheet is not None and not is_place:
            raise BadParameter("read_table", "sheet", "a str, an int or None", self.sheet)
        is_count = isinstance(self.max_bytes, int) and not isinstance(self.max_bytes, bool)
        if not is_count or self.max_bytes < 1:
            raise BadParameter(
                "read_table", "max_bytes", "an int in the range [1, inf)", self.max_bytes
            )

    def given(self) -> tuple[str, ...]:
        """Names of the options that differ from their defaults."""
        return tuple(
            option.name for option in fields(self) if getattr(self, option.name) != option.default
        )


def as_words(na: object) -> tuple[str, ...]:
    """Write what means a missing value, one or several words or numbers, as words.

    Examples
    --------
    >>> as_words("unknown"), as_words([-999, 1.5, -1.0])
    (('unknown',), ('-999', '1.5', '-1'))
    """
    several = isinstance(na, Iterable) and not isinstance(na, str | bytes)
    given = tuple(na) if isinstance(na, Iterable) and several else (na,)
    words = []
    for value in given:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, bool) or not isinstance(plain, str | int | float):
            raise BadParameter("read_table", "na", "a str, a number or an iterable of them", na)
        whole = isinstance(plain, float) and plain.is_integer()
        words.append(str(int(plain) if whole else plain))
    return tuple(words)


def as_names(text: object) -> tuple[str, ...]:
    """Check the name or names of columns to be taken as text."""
    names = tuple(text) if isinstance(text, Iterable) and not isinstance(text, str) else (text,)
    if not all(isinstance(name, str) for name in names):
        raise BadParameter("read_table", "text", "a column's name or an iterable of names", text)
    return tuple(map(str, names))


def is_delimiter(delimiter: str) -> bool:
    """Whether a string can stand between fields."""
    return (
        len(delimiter) == 1
        and delimiter.isascii()
        and not delimiter.isalnum()
        and delimiter not in '"\r\n\0'
    )


def _is_text_encoding(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
        b" ".decode(encoding, errors="ignore")  # refuses what encodes no text, such as 'hex'
    except (LookupError, ValueError, TypeError):
        return False
    return True
