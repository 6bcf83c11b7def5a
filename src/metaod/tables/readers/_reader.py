"""What a file format declares, and what its reader takes and returns."""

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.tables._column_types import BadValues, row_number
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._source import Source


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options of ``read_table``; those left at their defaults are decided from the content."""

    label: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    header: bool | None = None
    text: tuple[str, ...] = ()
    dayfirst: bool | None = None
    bad_values: BadValues = "error"
    skip_rows: int | None = None
    skip_footer: int | None = None
    sheet: str | int | None = None
    variable: str | None = None
    unused: Callable[[str], bool] | None = None
    max_bytes: int = 8 * 2**30

    def __post_init__(self) -> None:
        for name in ("label", "delimiter", "encoding", "variable"):
            self._require(name, isinstance(getattr(self, name), str | None), "a str or None")
        self._require("header", isinstance(self.header, bool | None), "True, False or None")
        self._require("dayfirst", isinstance(self.dayfirst, bool | None), "True, False or None")
        legal_values = get_args(BadValues)
        self._require("bad_values", self.bad_values in legal_values, legal_values)
        for name in ("skip_rows", "skip_footer"):
            value = getattr(self, name)
            is_legal = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            self._require(name, is_legal or value is None, "an int in the range [0, inf) or None")
        is_sheet = isinstance(self.sheet, str | int | None) and not isinstance(self.sheet, bool)
        self._require("sheet", is_sheet, "a str, an int or None")
        is_count = isinstance(self.max_bytes, int) and not isinstance(self.max_bytes, bool)
        self._require("max_bytes", is_count and self.max_bytes >= 1, "an int in the range [1, inf)")
        if self.delimiter == "\\t":  # as shells pass it
            object.__setattr__(self, "delimiter", "\t")
        is_legal = self.delimiter is None or is_delimiter(self.delimiter)
        legal = "one ASCII character that is no letter, digit, quote or line end"
        self._require("delimiter", is_legal, legal)
        self._require("decimal", self.decimal in (None, ".", ","), (".", ","))
        is_legal = self.decimal is None or self.decimal != self.delimiter
        self._require("decimal", is_legal, "another character than the delimiter")
        is_legal = self.encoding is None or _is_text_encoding(self.encoding)
        legal = "the name of a text encoding, such as 'utf-8', 'cp1252' or 'utf-16'"
        self._require("encoding", is_legal, legal)

    @classmethod
    def of(cls, *, na: object = (), text: object = (), **given: Any) -> "ReadOptions":
        """Check options as the user gives them."""
        return cls(na=as_missing_words(na), text=as_column_names(text), **given)

    def _require(self, name: str, is_legal: bool, legal: str | Iterable[str]) -> None:
        if not is_legal:
            raise BadParameter("read_table", name, legal, getattr(self, name))

    def given(self) -> tuple[str, ...]:
        """Return the names of the options that differ from their defaults."""
        return tuple(item.name for item in fields(self) if getattr(self, item.name) != item.default)


@dataclass(frozen=True)
class Content:
    """A table as a reader returns it, with the label still among its columns."""

    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()
    label_values: npt.NDArray[Any] | None = None  # if the label is not a column but another array
    locate: Callable[[int], str] = row_number  # describes the place of a row, counted from 0
    line_of: Callable[[int], int] | None = None  # the line of a row of delimited text
    decimal: str = "."
    declares_types: bool = False
    may_hold_index: bool = False  # a first column without a name is the row index
    raw: RawText | None = None  # of delimited text: its records as the file has them
    missing: Mapping[str, int] = field(default_factory=dict)  # how many cells each word made empty
    read_cells: Callable[[], Any] | None = None  # an Arrow table with more digits than the frame
    types: Mapping[str, Any] = field(default_factory=dict)  # Arrow's, of delimited text


@dataclass(frozen=True)
class FileKind:
    """A kind of file, recognised by the file and its first 64 KiB."""

    kind: str
    endings: tuple[str, ...]  # messages recommend the first
    recognise: Callable[[Source, bytes], bool]


@dataclass(frozen=True)
class Reader(FileKind):
    """A kind of file that can be read, listed in ``metaod.tables.readers.READERS``."""

    read: Callable[[Source, ReadOptions], Content]
    options: frozenset[str] = frozenset()  # those of read_table that only some kinds take


def begins_with(*starts: bytes) -> Callable[[Source, bytes], bool]:
    """Make a recogniser of files that begin with one of these byte strings."""
    return lambda source, head: head.startswith(starts)  # noqa: ARG005 - a recogniser gets both


def as_missing_words(na: object) -> tuple[str, ...]:
    """Convert the ``na`` option, one or several words or numbers, to words."""
    values = na if isinstance(na, Iterable) and not isinstance(na, str | bytes) else (na,)
    words = []
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, bool) or not isinstance(plain, str | int | float):
            raise BadParameter("read_table", "na", "a str, a number or an iterable of them", na)
        whole = isinstance(plain, float) and plain.is_integer()
        words.append(str(int(plain) if whole else plain))
    return tuple(words)


def as_column_names(text: object) -> tuple[str, ...]:
    """Convert the ``text`` option, one or several names of columns, to a tuple."""
    names = tuple(text) if isinstance(text, Iterable) and not isinstance(text, str) else (text,)
    if not all(isinstance(name, str) for name in names):
        raise BadParameter("read_table", "text", "a column's name or an iterable of names", text)
    return tuple(map(str, names))


def is_delimiter(delimiter: str) -> bool:
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
