"""What identifies a row of a table: a hash of its cells, and the value of its key column."""

import datetime as dt
import hashlib
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from metaod.errors import BadColumn
from metaod.tables import Table

_EXACT_DIGITS = 15  # every number of that many digits is a double of its own
_EXACT = 10**_EXACT_DIGITS
_DIGEST_BYTES = 8
_BLOCK = 50_000  # rows whose cells are text in memory at once
_BEGIN_OF_NUMBER = frozenset("+-.0123456789")


@dataclass(frozen=True)
class RowContents:
    """Hashes of all rows of a table, and their keys if key columns were named."""

    hashes: tuple[str, ...]
    keys: tuple[str, ...] | None = None

    @classmethod
    def of(cls, table: Table, key: "str | Sequence[str] | None" = None) -> "RowContents":
        """Read the cells as the file has them, so that options for reading change no hash.

        Parameters
        ----------
        table : Table
            The table.
        key : sequence of str, optional
            The columns whose values together are the key.
        """
        key = [key] if isinstance(key, str) else key
        if table.original is None:
            cells, decimal = table.frame, "."
        else:
            table.original.check_unchanged()
            cells = table.original.read()
            decimal = table.original.raw.decimal if table.original.raw is not None else "."
        hashes: list[str] = []
        keys: list[str] = []
        for start in range(0, max(len(cells), 1), _BLOCK):
            columns = {
                name: [cell_text(value, decimal) for value in values]
                for name, values in _columns(_block(cells, start))
            }
            for name in key or ():
                if name not in columns:
                    raise BadColumn(name, "is not in the table", path=table.source)
            names = sorted(columns)
            rows = zip(*(columns[name] for name in names), strict=True)
            hashes += (_hash(names, row) for row in rows)
            parts = zip(*(columns[name] for name in key or ()), strict=True)
            keys += (" / ".join(map(_printable, values)) for values in parts)
        return cls(tuple(hashes), tuple(keys) if key else None)

    def key(self, row: int) -> str:
        """Return the key of a row, counted from 0; empty if there are no keys."""
        return "" if self.keys is None else self.keys[row]


def _block(cells: Any, start: int) -> Any:
    is_arrow = hasattr(cells, "column_names")
    return cells.slice(start, _BLOCK) if is_arrow else cells.iloc[start : start + _BLOCK]


def _columns(cells: Any) -> list[tuple[str, list[Any]]]:
    """Return the names and values of the columns of an Arrow table or a frame."""
    if hasattr(cells, "column_names"):
        values = (column.to_pylist() for column in cells.columns)
        return list(zip(map(str, cells.column_names), values, strict=True))
    return [
        (str(name), cells.iloc[:, place].astype(object).tolist())
        for place, name in enumerate(cells.columns)
    ]


def cell_text(value: Any, decimal: str = ".") -> str:
    """Write a cell so that 3, 3.0, '3' and ' 3.00' are the same; missing cells are empty.

    >>> [cell_text(value) for value in (3, "3.00", 2.5, "2,5", None, " north")]
    ['3.0', '3.0', '2.5', '2,5', '', 'north']
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return _text_cell(value.strip(), decimal)
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    is_name = isinstance(value, bool) or (isinstance(value, int) and abs(value) >= _EXACT)
    is_number = not is_name and isinstance(value, numbers.Real | Decimal)
    return repr(float(value)) if is_number else str(value).strip()


def _text_cell(text: str, decimal: str) -> str:
    if text[:1] not in _BEGIN_OF_NUMBER or len(text) > _EXACT_DIGITS:
        return text
    try:
        return repr(float(text if decimal == "." else text.replace(decimal, ".")))
    except ValueError:
        return text


def _hash(names: Sequence[str], texts: Sequence[str]) -> str:
    """Hash the cells that are not empty, each with its column's name; the letter h comes first.

    Without a letter, spreadsheets would read some hashes as numbers.
    """
    # a cell that holds the separators could only resemble another row of the same table
    cells = [f"{name}\x1e{text}" for name, text in zip(names, texts, strict=True) if text]
    whole = "\x1f".join(cells).encode(errors="surrogatepass")
    return f"h{hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).hexdigest()}"


def _printable(text: str) -> str:
    """Write control characters as escapes, so that a key is one line."""
    text = text.removesuffix(".0") if text.removesuffix(".0").lstrip("-").isdigit() else text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
