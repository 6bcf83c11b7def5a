"""What a caller may say about a table that is to be read."""

import codecs
from dataclasses import dataclass, fields

from metaod.errors import BadParameter

__all__ = ["DEFAULT_MAX_BYTES", "ReadOptions", "is_delimiter"]

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
        Words that mean a missing value, beside the usual ones.
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
        if self.max_bytes < 1:
            raise BadParameter(
                "read_table", "max_bytes", "an int in the range [1, inf)", self.max_bytes
            )

    def given(self) -> tuple[str, ...]:
        """Names of the options that differ from their defaults."""
        return tuple(
            option.name for option in fields(self) if getattr(self, option.name) != option.default
        )


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
