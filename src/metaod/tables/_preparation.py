"""The preparation of tables: fitted to one table, applied to it and to later rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._legal import Number, Whole, check_parameters, parameters
from metaod._state import decode, encode
from metaod.errors import BadColumn, BadParameter, Message, Setting, UserError, listed, quoted
from metaod.options import Columns, Names, document
from metaod.tables._column_types import ColumnTyper
from metaod.tables._column_values import Cells
from metaod.tables._columns import (
    Column,
    Encoded,
    fit_column,
    leave_out,
    n_outputs_of,
    name_outputs,
)
from metaod.tables._context import Context, Given
from metaod.tables._drift import find_drift
from metaod.tables._misfits import misfit_notes, misfits_error
from metaod.tables._notations import ERROR_WORDS, MISSING_WORDS
from metaod.tables._past import order_notes
from metaod.tables._record import (
    UNUSED_DATES,
    ColumnRecord,
    Drift,
    PreparationRecord,
    PreparedTable,
)
from metaod.tables._relations import (
    Pair,
    check_evidence,
    combinations,
    find_evidence,
    gap_surprisal,
    name_evidence,
)
from metaod.tables._roles import ROLE_NAMES, Roles, earlier_output
from metaod.tables._styles import Style
from metaod.tables._table import Rows, Table

Preparable = Table | pd.DataFrame | npt.NDArray[Any]

_VERSION = 7
_GIBIBYTE = 2**30
_LEGAL = parameters(max_bytes=Whole(1, optional=True), distinct_share=Number(0, 1, "[]"))
_NOT_TYPED = ("ignore", "id", "category", "by")  # roles of columns whose text stays as it is


class Preparation:
    """Turns a table into a finite float matrix, and later rows in the same way.

    Numbers are kept, booleans become 0 and 1, durations seconds. Text and categories become their
    surprisal: -log of the share of rows with the same value, so that a text column counts no more
    than a number, whatever it holds. Text that is unrelated to every other column is not used. Text
    in a frame or array that spells only numbers, truth values, ISO dates or times of day (HH:MM)
    is read as these; in a table from `read_table` this is already done.

    Columns without a value, constants, text that is nearly all distinct, and integers that (but for
    very few) are distinct in a column named as an identifier or count the rows are dropped, and so
    are dates: later rows have later dates. The columns score, rank and flag of an earlier output
    are dropped too, unless they are named in `only`.

    Missing and infinite numbers become the column's median; missing text is a separate value. Up to
    two columns of evidence follow: `gaps`, the summed surprisal of a row's gaps, if there are any,
    and `combinations`, how unusual the row's numbers are for its categories. Surprisal and evidence
    are in fixed units, which models do not rescale. Nothing else is scaled: models do that.

    Later rows need the columns in use, in any order. An unseen category counts as one that is
    in a single row, missing values get the fills of the first table, and unknown columns are
    ignored.

    Parameters
    ----------
    max_bytes : int or None, default=8 GiB
        A larger matrix is an error, raised before it is allocated; None for no limit.
    distinct_share : float, default=0.95
        Text is an identifier if its distinct values are at least this share of those present.
    roles : options of columns

    Attributes
    ----------
    columns_ : tuple of Column
        The fitted columns, which encode rows.
    record_ : PreparationRecord
        What was done, with the counts of the fitted rows.
    names_ : tuple of str
        The matrix's columns.
    fixed_ : ndarray of bool or None
        Which of them are in fixed units; None if none is.
    pairs_ : tuple of Pair
        The pairs of a category and a number of which combinations are measured.
    context_ : Context or None
        What is usual in each row's context, if the user named one.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31.0, None, 44.0, 29.0], "height": [1.7, 1.6, 1.8, 1.7]})
    >>> prepared = Preparation().fit_transform(frame)
    >>> prepared.names
    ('age', 'height', 'gaps')
    >>> prepared.X[1].round(2).tolist()
    [31.0, 1.6, 1.39]
    """

    columns_: tuple[Column, ...]
    record_: PreparationRecord
    names_: tuple[str, ...]
    fixed_: npt.NDArray[np.bool_] | None
    pairs_: tuple[Pair, ...]
    context_: Context | None

    def __init__(
        self,
        *,
        max_bytes: int | None = 8 * _GIBIBYTE,
        distinct_share: float = 0.95,
        **roles: Names,
    ) -> None:
        self.max_bytes = max_bytes
        self.distinct_share = distinct_share
        self.roles = Columns(**roles)

    def fit(self, table: Preparable) -> Self:
        """Plan how every column is encoded.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            Two rows or more. An array's columns are called x1, x2, ...
        """
        roles = self._checked()
        rows = Rows.of(table)
        roles.check_names(list(rows.frame.columns), rows.source)
        if len(rows) == 1:
            remedy = "give the rows to compare it with"
            raise UserError("the table has only one row", where=rows.source, remedy=remedy)
        messages: list[Message] = []
        earlier = [name for name in earlier_output(rows.frame) if roles.may_leave_out(name)]
        if earlier:
            messages.append(_earlier_note(earlier))
        rows, reasons = _typed(rows, roles, earlier, messages)
        file_column = rows.file_column
        if file_column is not None and not roles.may_leave_out(file_column):
            file_column = None
        fitted = [
            leave_out(rows.cells(name), "ignored", "written by metaod before")
            if name in earlier
            else leave_out(rows.cells(name), "identifier", "names the file", cause="file")
            if name == file_column
            else fit_column(rows.cells(name), roles, self.distinct_share, reasons.get(name, ""))
            for name in rows.frame.columns
        ]
        rows, _ = _as_fitted(fitted, rows)
        self.context_, given = Context.fit(fitted, rows, roles)
        messages += [] if self.roles.over else order_notes(fitted, rows)
        if self.context_ is not None and given is not None:
            messages += [self.context_.note(), *self.context_.notes(given, rows)]
            rows, fitted = given.applied(rows), self.context_.columns(fitted, given)
        n_outputs = sum(n_outputs_of(column) for column in fitted)
        self._check_bytes(len(rows), n_outputs, rows.source)
        columns, pairs = find_evidence(fitted, rows, roles)
        columns = name_outputs(columns)
        messages += [_column_note(column.name, column.note) for column in columns if column.note]
        if not any(column.record.outputs for column in columns):
            raise NothingToScore([column.record for column in columns], rows.source)
        self._set_fitted(columns, pairs, len(rows), messages, name_evidence(columns, pairs))
        return self

    def transform(self, table: Preparable) -> PreparedTable:
        """Prepare rows as planned.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            The rows. An array's columns are taken in the fitted order.

        Returns
        -------
        PreparedTable
            The matrix, which shares no memory with `table`, and the record of these rows.
        """
        rows, X, notes = self.rows_of(table)
        given = self.given(rows)
        known = {column.name for column in self.columns_}
        unknown = sorted(set(rows.frame.columns) - known)
        what = "Columns that the first table does not have were ignored: {columns}."
        messages = [Message("unknown-columns", what, columns=listed(unknown))] if unknown else []
        counts = {name: own.count for name, own in rows.misfits.items()}
        messages += misfit_notes(counts, "finding")
        messages += [_column_note(name, note) for name, note in notes.items()]
        if given is not None:
            messages += given.context.notes(given, rows)
            rows = given.applied(rows)
        gaps = np.zeros(len(rows))
        paired = {name for pair in self.pairs_ for name in (pair.category, pair.number)}
        records, labels, numbers, filled = [], {}, {}, {}
        for column, start, found in self.encode(rows, X):
            if found is None:
                records.append(replace(column.record, n_missing=0, n_infinite=0))
                continue
            gaps += found.gaps * gap_surprisal(column, self.record_.n_rows)
            records.append(found.counted(column.record))
            if column.record.outputs and found.gaps.any():
                filled[column.name] = found.gaps
            messages += [_column_note(column.name, note) for note in found.notes]
            if found.labels is not None:
                labels[column.name] = found.labels
            elif column.name in paired:
                numbers[column.name] = np.where(found.gaps, np.nan, X[:, start])
        gaps_at, combinations_at = self.evidence_places()
        if gaps_at is not None:
            X[:, gaps_at] = gaps
        if combinations_at is not None:
            X[:, combinations_at] = combinations(self.pairs_, labels, numbers)
        evidence = self.record_.evidence
        done = PreparationRecord(len(rows), tuple(records), tuple(messages), evidence=evidence)
        usual = [column.usual for column in self.columns_]
        is_known = None if given is None else given.is_known
        drift = find_drift(usual, self.record_, done, X, labels, filled, is_known)
        if isinstance(table, Table):
            drift = tuple(_in_style(own, table.style(own.column)) for own in drift)
        done = replace(done, drift=drift)
        return PreparedTable(X, self.names_, rows.frame.index, done, rows.source, self.fixed_)

    def read(self, table: Preparable) -> Table:
        """Return rows with the types that the fitted columns have.

        Cells that are not what their column is, as a word in a column of numbers, are missing in
        the frame, and are listed in ``misfits``.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            The rows: those that the preparation was fitted to, or later ones.
        """
        rows, _, _ = self.rows_of(table)
        texts: dict[str, Cells] = {}
        for column in self.columns_ if rows.missing else ():
            if column.kind is None and column.name in rows.frame:
                cells = rows.cells(column.name)
                with suppress(UserError):  # the values of an unused column are of no use
                    labels = cells.labels(getattr(column, "categories", ()))
                    series = labels.to_series().set_axis(rows.frame.index)
                    texts[column.name] = replace(cells, series=series)
        rows = rows.replaced(texts)
        return replace(rows, typed=True)

    def given(self, rows: Rows) -> Given | None:
        """Return what is usual for rows of the fitted types in their context, if there is one."""
        return None if self.context_ is None else self.context_.given(rows)

    def rows_of(self, table: Preparable) -> tuple[Rows, npt.NDArray[np.float64], dict[str, str]]:
        """Return rows to encode, with the fitted types, a matrix for them, and notes by column."""
        self._check_fitted()
        rows = Rows.of(table, fitted_names=[column.name for column in self.columns_])
        self._check_columns(rows)
        self._check_bytes(len(rows), len(self.names_), rows.source)
        rows, notes = _as_fitted(self.columns_, rows)
        return rows, np.empty((len(rows), len(self.names_)), dtype=np.float64), notes

    def encode(
        self, rows: Rows, X: npt.NDArray[np.float64]
    ) -> Iterator[tuple[Column, int, Encoded | None]]:
        """Write each column's part of the matrix; yield its place, and what was found in it.

        An unused column may be absent: then nothing is found.
        """
        start, known = 0, set(rows.frame.columns)
        for column in self.columns_:
            stop = start + len(column.record.outputs)
            found = None
            if column.name in known:
                found = column.encode(rows.cells(column.name), X[:, start:stop])
            yield column, start, found
            start = stop

    def evidence_places(self) -> tuple[int | None, int | None]:
        """Return the matrix's columns of gaps and of combinations, None if there are none."""
        n_columns, has_pairs = len(self.names_), bool(self.pairs_)
        has_gaps = len(self.record_.evidence) > has_pairs
        gaps_at = n_columns - 1 - has_pairs if has_gaps else None
        return gaps_at, n_columns - 1 if has_pairs else None

    def counted_in(self, table: Preparable) -> Self:
        """Return a preparation with the same decisions on columns, and the counts of these rows.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            Rows of the table that it was fitted to.
        """
        rows, _, _ = self.rows_of(table)
        given = self.given(rows)
        rows = rows if given is None else given.applied(rows)
        columns = [column.counted_in(rows.cells(column.name)) for column in self.columns_]
        messages, evidence = self.record_.messages, self.record_.evidence
        again = copy(self)
        again._set_fitted(columns, self.pairs_, len(rows), messages, evidence)  # noqa: SLF001 - a copy
        return again

    def fit_transform(self, table: Preparable) -> PreparedTable:
        """Fit to a table, and prepare it."""
        return replace(self.fit(table).transform(table), record=self.record_)

    def to_dict(self) -> dict[str, Any]:
        """Write the fitted preparation as plain values, for JSON; floats are kept exactly."""
        self._check_fitted()
        checked = self._checked()
        roles = {name: list(checked.named(name)) or None for name in ROLE_NAMES}
        return {
            "preparation": _VERSION,
            "parameters": {
                # JSON does not know numpy's numbers, which are legal parameters
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in (self._parameters() | roles).items()
            },
            "n_rows": self.record_.n_rows,
            "messages": [[message.code, str(message)] for message in self.record_.messages],
            "evidence": list(self.record_.evidence),
            "pairs": encode(self.pairs_),
            "context": encode(self.context_ and self.context_.saved()),
            "columns": encode(self.columns_),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; raise UserError if it is something else."""
        try:
            if saved["preparation"] != _VERSION:
                raise ValueError(f"version {saved['preparation']!r} is not known")
            preparation = cls(**saved["parameters"])
            preparation._checked()
            columns = decode(tuple[Column, ...], saved["columns"])
            n_rows = decode(int, saved["n_rows"])
            if n_rows < 1 or not any(column.record.outputs for column in columns):
                raise ValueError("it is empty")
            for column in columns:
                if len(column.record.outputs) != len(column.output_names()):
                    raise ValueError(f"column {column.name!r} has other outputs")
            evidence = decode(tuple[str, ...], saved["evidence"])
            pairs = decode(tuple[Pair, ...], saved["pairs"])
            check_evidence(columns, pairs, evidence)
            preparation.context_ = decode(Context | None, saved["context"])
            messages = decode(tuple[tuple[str, ...], ...], saved["messages"])
            notes = [Message(code, "{text}", text=text) for code, text in messages]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this is not a saved preparation: {error}",
                remedy="give what Preparation.to_dict wrote, with the version that wrote it",
            ) from error
        preparation._set_fitted(columns, pairs, n_rows, notes, evidence)
        return preparation

    def __repr__(self) -> str:
        shown = self._parameters().items()
        given = (f"{k}={v!r}" for k, v in shown if k not in ROLE_NAMES or v is not None)
        return f"Preparation({', '.join(given)})"

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _LEGAL} | vars(self.roles)

    def _checked(self) -> Roles:
        """Check the parameters, as in scikit-learn not before they are used; return the roles."""
        check_parameters(self, _LEGAL)
        return Roles.of(vars(self.roles))

    def _set_fitted(
        self,
        columns: Sequence[Column],
        pairs: tuple[Pair, ...],
        n_rows: int,
        messages: Sequence[Message],
        evidence: tuple[str, ...],
    ) -> None:
        self.columns_ = tuple(columns)
        self.pairs_ = pairs
        records = tuple(column.record for column in columns)
        self.record_ = PreparationRecord(n_rows, records, tuple(messages), evidence=evidence)
        self.names_ = self.record_.names
        fixed = [column.is_fixed for column in columns for _ in column.record.outputs]
        fixed += [True] * len(evidence)
        self.fixed_ = np.array(fixed) if any(fixed) else None

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that rows must have, in the order of the fitted table."""
        context = frozenset[str]() if self.context_ is None else self.context_.needed
        return tuple(own.name for own in self.columns_ if own.record.outputs or own.name in context)

    def _check_fitted(self) -> None:
        if not hasattr(self, "columns_"):
            raise UserError("this Preparation is not fitted yet", remedy="call fit first")

    def _check_columns(self, rows: Rows) -> None:
        given = [str(name) for name in rows.frame.columns]
        known = set(given)
        absent = [name for name in self.needed if name not in known]
        if absent:
            more = f", nor are {listed(absent[1:])}" if len(absent) > 1 else ""
            what = f"is not in the table{more}, but was used in the first table"
            remedy = f"add or rename columns; the table has {listed(given, most=10)}"
            raise BadColumn(absent[0], what, remedy=remedy, path=rows.place.path)

    def _check_bytes(self, n_rows: int, n_columns: int, source: str) -> None:
        n_bytes = n_rows * n_columns * np.dtype(np.float64).itemsize
        if self.max_bytes is not None and n_bytes > self.max_bytes:
            raise UserError(
                f"a matrix of {n_rows:,} rows × {n_columns:,} columns takes "
                f"{n_bytes / _GIBIBYTE:,.2f} GiB, more than the "
                f"{self.max_bytes / _GIBIBYTE:,.2f} GiB allowed",
                where=source,
                remedy="give fewer rows or columns (in Python: or a larger max_bytes)",
            )


document(Preparation, roles=Columns.declared())


def prepare(table: Preparable, **options: Any) -> PreparedTable:
    """Turn a table into a finite float matrix, with a record of what was done to it.

    Parameters
    ----------
    table : Table, pandas.DataFrame or numpy.ndarray
        The table.
    **options
        Parameters of `Preparation`.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "speed": [1.5, 2.5, 0.5], "wheels": [4, 4, 4]})
    >>> print(prepare(frame).record)
    'id' (identifier) was left out: its name says so and all its values are distinct.
    'speed' (numeric) was kept as it is.
    'wheels' (constant) was left out: the same value in every row.
    """
    legal = (*_LEGAL, *ROLE_NAMES)
    for name, value in options.items():
        if name not in legal:
            remedy = f"Parameters are: {', '.join(legal)}"
            raise BadParameter("prepare", name, "left out", value, remedy=remedy)
    return Preparation(**options).fit_transform(table)


class NothingToScore(UserError):
    """Every column of a table is left out.

    Parameters
    ----------
    columns : sequence of ColumnRecord
        What was found of each.
    where : str or None
        The table.
    """

    def __init__(self, columns: Sequence[ColumnRecord], where: str | None) -> None:
        self.columns = columns
        super().__init__(
            Message("nothing-to-score", "nothing is left to score: {why}", why=_reasons(columns)),
            where=where,
            remedy="add columns of measurements whose values differ from row to row",
        )


def _in_style(drift: Drift, style: Style) -> Drift:
    """Name the usual range as the new rows have their values."""
    known = [own for own in (drift.low, drift.high) if own is not None]
    if style.is_plain or not known:
        return drift
    ends = (pd.Timestamp(own) if isinstance(own, str) else own for own in known)
    return replace(drift, usual=" to ".join(style.text(own) for own in ends))


def _typed(
    rows: Rows, roles: Roles, earlier: Sequence[str], messages: list[Message]
) -> tuple[Rows, dict[str, str]]:
    """Decide the types of columns of text where no reader did; also say what each became."""
    if not rows.missing:
        return rows, {}
    typer = ColumnTyper(MISSING_WORDS, ERROR_WORDS, name_row=rows.place.row, keeps_durations=True)
    kept = {name for name in rows.frame.columns if roles.role_of(name) in _NOT_TYPED}
    frame = typer.type_frame(rows.frame, (), left={*kept, *earlier})
    messages += typer.warnings
    reasons = {name: f"its text is all {own.words()}" for name, own in typer.notations.items()}
    return replace(rows, frame=frame, written=typer.written, misfits=typer.misfits), reasons


def _as_fitted(columns: Sequence[Column], rows: Rows) -> tuple[Rows, dict[str, str]]:
    """Return rows with the types of fitted columns, and notes by column."""
    changed: dict[str, Cells] = {}
    notes: dict[str, str] = {}
    known = set(rows.frame.columns)
    for column in columns:
        if column.name in known:
            before = rows.cells(column.name)
            cells, note = column.typed(before)
            notes |= {column.name: note} if note else {}
            changed |= {column.name: cells} if cells is not before else {}
    found = {name: own.misfits for name, own in changed.items() if own.misfits is not None}
    if found and rows.bad_values in ("text", "error"):
        raise misfits_error(found, rows.place.path, rows.place.row, None, None)
    return rows.replaced(changed), notes


def _column_note(name: str, note: str) -> Message:
    return Message("column", "Column {column!r}: {note}.", column=name, note=note)


def _earlier_note(names: Sequence[str]) -> Message:
    return Message(
        "earlier-output",
        "Columns of an earlier output of metaod are not used: {columns} (name them in {only} to "
        "use them).",
        columns=listed(names),
        only=Setting("only"),
    )


def _reasons(records: Sequence[ColumnRecord]) -> Message:
    """Say why columns are not used, the first five."""
    records = sorted(records, key=lambda record: record.kind == "ignored")  # known to the user
    texts = {
        f"column{i}": f"{quoted(own.name)} ({own.kind}): " for i, own in enumerate(records[:5])
    }
    reasons = {
        f"why{i}": UNUSED_DATES if own.kind == "date" else own.reason
        for i, own in enumerate(records[:5])
    }
    template = "; ".join(f"{{column{i}}}{{why{i}}}" for i in range(len(texts)))
    more = f"; and {len(records) - 5} more" if len(records) > 5 else ""
    return Message("reasons", template + more, **texts, **reasons)
