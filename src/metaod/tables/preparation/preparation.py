"""The preparation: fitted to a table, applied to it and to later rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables._table import Table
from metaod.tables.preparation.decisions import FittedColumn, decide
from metaod.tables.preparation.encoders import Counts
from metaod.tables.preparation.growth import limit_width, name_outputs
from metaod.tables.preparation.intake import take_in
from metaod.tables.preparation.prepared import PreparedTable
from metaod.tables.preparation.record import ColumnRecord, PreparationRecord, listed
from metaod.tables.preparation.rules import Rules
from metaod.tables.preparation.state import column_from_dict, column_to_dict, read_count, read_texts

__all__ = ["Preparation", "prepare"]

Preparable = Table | pd.DataFrame | npt.NDArray[Any]

_VERSION = 1
_GIBIBYTE = 2**30


class Preparation:
    """Makes a finite float matrix of a table, and does the same to later rows.

    Numbers stay as they are and booleans become 0 and 1. Text and categories become a column of
    0 and 1 per category where they have few, and else the share of rows with the same value.
    Dates become days since 1970-01-01 (UTC where no zone is given), durations seconds. Text that
    spells nothing but numbers, ISO dates or times of day (HH:MM, as seconds) is taken as such.

    Dropped are columns without a value, constants, text that is nearly all distinct, and integers
    (or text of integers) that are all distinct under a name that says identifier. Missing and
    infinite numbers become the column's median, and a column of 0 and 1 tells where, if they are
    many; missing text and booleans are a category of their own. Numbers too large for a float
    count as infinite. Nothing is scaled: that belongs to the model.

    Later rows need the columns that are in use, in any order. Categories not seen before are 0
    throughout; missing values get the fills of the first table; columns not known are ignored,
    and the record says so; text where numbers or dates were is parsed.

    Parameters
    ----------
    max_categories : int, default=20
        The most categories that are one-hot encoded.
    max_columns : int, default=1000
        The most columns to which one-hot encoding may lead: beyond it, the widest columns are
        encoded by frequency instead. Columns of numbers are never left out for it.
    max_bytes : int or None, default=8 GiB
        The largest matrix; a larger one is an error, raised before any of it is allocated. None
        for no limit.
    indicator_share : float, default=0.05
        Missing and infinite values are many where they are more than this share of the rows.
    distinct_share : float, default=0.95
        Text is an identifier where its distinct values are at least this share of the rows that
        have one.

    Attributes
    ----------
    columns_ : tuple of FittedColumn
        What is done to every column, and what does it.
    record_ : PreparationRecord
        What is done, in words, with the counts of the fitted rows.
    names_ : tuple of str
        The matrix's columns.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31.0, None, 44.0, 29.0], "sex": ["f", "m", "f", "f"]})
    >>> prepared = Preparation().fit_transform(frame)
    >>> prepared.names
    ('age', 'age=missing', 'sex=f', 'sex=m')
    >>> prepared.X[1].tolist()
    [31.0, 1.0, 0.0, 1.0]
    """

    columns_: tuple[FittedColumn, ...]
    record_: PreparationRecord
    names_: tuple[str, ...]

    def __init__(
        self,
        *,
        max_categories: int = 20,
        max_columns: int = 1000,
        max_bytes: int | None = 8 * _GIBIBYTE,
        indicator_share: float = 0.05,
        distinct_share: float = 0.95,
    ) -> None:
        self.max_categories = max_categories
        self.max_columns = max_columns
        self.max_bytes = max_bytes
        self.indicator_share = indicator_share
        self.distinct_share = distinct_share

    def fit(self, table: Preparable) -> Self:
        """Decide what to do with every column.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            The rows to decide from. An array's columns are called x1, x2, ...

        Raises
        ------
        BadColumn
            Where two columns have one name, or a cell holds what cannot be prepared.
        BadParameter
            Where a parameter, or what was given for a table, is not legal.
        UserError
            Where there is no row or a single one, or nothing would be left.
        """
        rules = self._rules()
        frame, source = take_in(table)
        if len(frame) == 1:
            raise UserError(
                "the table has only one row",
                where=source,
                remedy="give the rows among which it may stand out",
            )
        decided = [decide(frame.iloc[:, place], rules) for place in range(frame.shape[1])]
        limited, messages = limit_width(decided, self.max_columns)
        columns = name_outputs(limited)
        messages += [_noted(column.record.name, column.note) for column in columns if column.note]
        if not any(column.record.outputs for column in columns):
            raise UserError(
                f"nothing is left to score: {_reasons([column.record for column in columns])}",
                where=source,
                remedy="add columns of measurements whose values differ from row to row",
            )
        self._settle(columns, len(frame), messages)
        return self

    def transform(self, table: Preparable) -> PreparedTable:
        """Prepare rows as decided.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            The rows. An array's columns are taken in the fitted order.

        Returns
        -------
        PreparedTable
            The matrix, which shares no memory with `table`, and the record of these rows.

        Raises
        ------
        BadColumn
            Where columns are missing, or hold another type of values than they did.
        UserError
            Where there is no row, or the matrix would be larger than `max_bytes`.
        """
        self._check_fitted()
        known = [column.record.name for column in self.columns_]
        frame, source = take_in(table, fitted_names=known)
        places = {str(name): place for place, name in enumerate(frame.columns)}
        self._check_columns(places)
        self._check_bytes(len(frame), source)
        X = np.empty((len(frame), len(self.names_)), dtype=np.float64)
        records, messages = [], _ignored(places, known)
        start = 0
        for column in self.columns_:
            stop = start + len(column.record.outputs)
            # an unused column may be absent
            place = places.get(column.record.name)
            counts = Counts()
            if place is not None:
                counts = column.encoder.encode(frame.iloc[:, place], X[:, start:stop])
            records.append(_counted(column.record, counts))
            if counts.note:
                messages.append(_noted(column.record.name, counts.note))
            start = stop
        record = PreparationRecord(len(frame), tuple(records), tuple(messages))
        return PreparedTable(X, self.names_, frame.index, record, source)

    def fit_transform(self, table: Preparable) -> PreparedTable:
        """Decide what to do with every column, and do it."""
        prepared = self.fit(table).transform(table)
        return replace(prepared, record=self.record_)

    def to_dict(self) -> dict[str, Any]:
        """Write the fitted preparation as plain values, for JSON; floats are kept exactly."""
        self._check_fitted()
        return {
            "preparation": _VERSION,
            "parameters": {
                # numpy's numbers are welcome as parameters, and unknown to JSON
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self._parameters().items()
            },
            "n_rows": self.record_.n_rows,
            "messages": list(self.record_.messages),
            "columns": [column_to_dict(column) for column in self.columns_],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises
        ------
        UserError
            Where it is something else.
        """
        try:
            if saved["preparation"] != _VERSION:
                raise ValueError(f"version {saved['preparation']!r} is not known")
            preparation = cls(**saved["parameters"])
            preparation._rules()
            columns = [column_from_dict(column) for column in saved["columns"]]
            n_rows, messages = read_count(saved["n_rows"]), read_texts(saved["messages"])
            if n_rows == 0 or not any(column.record.outputs for column in columns):
                raise ValueError("it is empty")
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this is not a saved preparation: {error}",
                remedy="give what Preparation.to_dict wrote, with the version that wrote it",
            ) from error
        preparation._settle(columns, n_rows, messages)
        return preparation

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._parameters().items())
        return f"Preparation({given})"

    def _parameters(self) -> dict[str, Any]:
        return {
            "max_categories": self.max_categories,
            "max_columns": self.max_columns,
            "max_bytes": self.max_bytes,
            "indicator_share": self.indicator_share,
            "distinct_share": self.distinct_share,
        }

    def _rules(self) -> Rules:
        # checked here and not before, as scikit-learn has it
        return Rules(**self._parameters())

    def _settle(
        self, columns: Sequence[FittedColumn], n_rows: int, messages: Sequence[str]
    ) -> None:
        self.columns_ = tuple(columns)
        records = tuple(column.record for column in columns)
        self.record_ = PreparationRecord(n_rows, records, tuple(messages))
        self.names_ = self.record_.names

    def _check_fitted(self) -> None:
        if not hasattr(self, "columns_"):
            raise UserError("this Preparation is not fitted yet", remedy="call fit first")

    def _check_columns(self, places: Mapping[str, int]) -> None:
        absent = [
            column.record.name
            for column in self.columns_
            if column.record.outputs and column.record.name not in places
        ]
        if not absent:
            return
        what = "is not in the table"
        if len(absent) > 1:
            what += f", nor are {', '.join(map(repr, absent[1:]))}"
        raise BadColumn(
            absent[0], what, remedy="give the columns that the preparation was fitted with"
        )

    def _check_bytes(self, n_rows: int, source: str) -> None:
        n_bytes = n_rows * len(self.names_) * np.dtype(np.float64).itemsize
        if self.max_bytes is not None and n_bytes > self.max_bytes:
            raise UserError(
                f"a matrix of {n_rows:,} rows × {len(self.names_):,} columns takes "
                f"{n_bytes / _GIBIBYTE:,.2f} GiB, and max_bytes allows "
                f"{self.max_bytes / _GIBIBYTE:,.2f} GiB",
                where=source,
                remedy="raise max_bytes, or give fewer rows or columns",
            )


def prepare(table: Preparable, **options: Any) -> PreparedTable:
    """Make a finite float matrix of a table, with a record of what was done to it.

    Parameters
    ----------
    table : Table, pandas.DataFrame or numpy.ndarray
        What to prepare.
    **options
        Parameters of `Preparation`.

    Returns
    -------
    PreparedTable
        The matrix, its columns' names, the table's index and the record.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "speed": [1.5, 2.5, 0.5], "wheels": [4, 4, 4]})
    >>> print(prepare(frame).record)
    'id' (identifier) was dropped: its name says so and all its values are distinct.
    'speed' (numeric) was kept as it is.
    'wheels' (constant) was dropped: the same value in every row.
    """
    legal = tuple(signature(Preparation).parameters)
    for name, value in options.items():
        if name not in legal:
            raise BadParameter(
                "prepare", name, "left out", value, remedy=f"Parameters are: {', '.join(legal)}"
            )
    return Preparation(**options).fit_transform(table)


def _counted(record: ColumnRecord, counts: Counts) -> ColumnRecord:
    return replace(
        record,
        n_missing=counts.n_missing,
        n_infinite=counts.n_infinite,
        n_unseen=counts.n_unseen,
    )


def _noted(name: str, note: str) -> str:
    return f"Column {name!r}: {note}."


def _ignored(given: Iterable[str], known: Iterable[str]) -> list[str]:
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return []
    return [f"Ignored, for the preparation does not know them: {listed(unknown)}."]


def _reasons(records: Sequence[ColumnRecord]) -> str:
    shown = "; ".join(f"{record.name!r} ({record.kind}): {record.reason}" for record in records[:5])
    more = f"; and {len(records) - 5} more" if len(records) > 5 else ""
    return f"{shown}{more}"
