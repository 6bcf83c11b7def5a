"""Columns of an ARFF file, typed as declared, filled a chunk of rows at a time."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadFile
from metaod.tables.readers.arff_header import Attribute

__all__ = ["ArffColumn"]


class ArffColumn:
    """One column under construction.

    Parameters
    ----------
    attribute : Attribute
        What it was declared as.
    source : str
        The file.
    """

    def __init__(self, attribute: Attribute, source: str) -> None:
        self.attribute = attribute
        self.source = source
        self._chunks: list[npt.NDArray[Any]] = []
        self._codes = {value: code for code, value in enumerate(attribute.values)}
        self._convert = {
            "numeric": self._floats,
            "integer": self._floats,
            "nominal": self._nominal,
            "string": self._strings,
            "date": self._dates,
        }[attribute.kind]

    def add(self, values: Sequence[str | None], lines: Sequence[int]) -> None:
        """Take values, None for a missing one, that stand on the given lines."""
        try:
            self._chunks.append(self._convert(values))
        except (ValueError, KeyError) as error:
            raise self._fault(values, lines) from error

    def series(self) -> "pd.Series[Any]":
        """Return the whole column."""
        values = np.concatenate(self._chunks)
        if self.attribute.kind == "nominal":
            # code -1, a missing value, takes the None at the end
            return pd.Series(np.array([*self.attribute.values, None], dtype=object)[values])
        if self.attribute.kind == "integer" and np.all(np.abs(values) < 2**53):
            whole = values.astype(np.int64)
            return pd.Series(whole if (whole == values).all() else values)
        return pd.Series(values)

    def _floats(self, values: Sequence[str | None]) -> npt.NDArray[Any]:
        if "_" in "".join([value for value in values if value is not None]):
            raise ValueError("Python would read 1_000 as a number")
        return np.array([np.nan if value is None else float(value) for value in values])

    def _nominal(self, values: Sequence[str | None]) -> npt.NDArray[Any]:
        codes = self._codes
        return np.array([-1 if value is None else codes[value] for value in values], dtype=np.int32)

    def _strings(self, values: Sequence[str | None]) -> npt.NDArray[Any]:
        return np.array(values, dtype=object)

    def _dates(self, values: Sequence[str | None]) -> npt.NDArray[Any]:
        read = [None if value is None else self._date(value) for value in values]
        return np.array(read, dtype="datetime64[us]")

    def _date(self, value: str) -> dt.datetime:
        written = self.attribute.date_format
        read = dt.datetime.strptime(value, written)  # noqa: DTZ007 - the next line sees to zones
        return read.astimezone(dt.UTC).replace(tzinfo=None) if read.tzinfo else read

    def _fault(self, values: Sequence[str | None], lines: Sequence[int]) -> BadFile:
        """Find the value that could not be taken."""
        position = next(i for i, value in enumerate(values) if not self._takes(value))
        value, line = values[position], lines[position]
        name, kind = self.attribute.name, self.attribute.kind
        should = {"nominal": "one of the declared values", "date": "a date of the declared format"}
        shown = value if value is None or len(value) <= 40 else value[:37] + "..."
        return BadFile(
            self.source,
            f"{shown!r} is not {should.get(kind, 'a number')}",
            line=line,
            column=name,
            remedy=f"mend it, name it as missing: na={shown!r} (--na {shown!r}), or take the "
            f"column as text: text={name!r} (--text {name!r})",
        )

    def _takes(self, value: str | None) -> bool:
        try:
            self._convert([value])
        except (ValueError, KeyError):
            return False
        return True
