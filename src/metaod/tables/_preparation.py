"""The preparation of tables: fitted to one table, applied to it and to later rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from inspect import signature
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.options import Names
from metaod.tables._column_plans import (
    ColumnPlan,
    PlanRules,
    as_fitted,
    leave_out,
    name_outputs,
    plan_column,
)
from metaod.tables._column_types import ColumnTyper
from metaod.tables._drift import find_drift
from metaod.tables._encoders import Surprisal
from metaod.tables._evidence import check_evidence, find_evidence, gap_surprisal, name_evidence
from metaod.tables._frames import as_frame, missing_words, naming_file, written_in
from metaod.tables._objects import row_name
from metaod.tables._record import ColumnRecord, PreparationRecord, PreparedTable, listed
from metaod.tables._relations import Pair, combinations
from metaod.tables._roles import ROLE_NAMES, Roles, earlier_output
from metaod.tables._saved_plans import (
    pair_from_dict,
    plan_from_dict,
    plan_to_dict,
    read_count,
    read_texts,
)
from metaod.tables._table import Table
from metaod.tables._text_values import MISSING_WORDS

Preparable = Table | pd.DataFrame | npt.NDArray[Any]

_VERSION = 4
_GIBIBYTE = 2**30


class Preparation:
    """Turns a table into a finite float matrix, and later rows in the same way.

    Numbers are kept, booleans become 0 and 1, durations seconds. Text and categories become their
    surprisal: -log of the share of rows with the same value, so that a text column counts no more
    than a number, whatever it holds. Text that is unrelated to every other column is not used. Text
    in a frame or array that spells only numbers, truth values, ISO dates or times of day (HH:MM)
    is read as these; in a table from `read_table` this is already done.

    Columns without a value, constants, text that is nearly all distinct, and integers that are
    all distinct in a column named as an identifier or that count the rows are dropped, and so are
    dates: later rows have later dates. The columns score, rank and flag of an earlier output are
    dropped too, unless they are named in `only`.

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
    ignore : str or iterable of str, optional
        Columns that are not used.
    only : str or iterable of str, optional
        The columns that may be used; all others are not.
    id : str or iterable of str, optional
        Columns that name the rows. They are not used; outputs show them first.
    category : str or iterable of str, optional
        Columns whose values are names, although they look like numbers or dates. They are used
        even if they are unrelated to every other column.
    date : str or iterable of str, optional
        Columns that hold dates although they look like numbers: years, 20240131, days of Excel,
        or seconds or milliseconds since 1970. Dates are not used unless named in `time`.
    time : str or iterable of str, optional
        Date columns to use, as days since 1970-01-01 (UTC if no zone is given). Rows of a later
        time than the first table's then look unusual.

    Attributes
    ----------
    columns_ : tuple of ColumnPlan
        How every column is encoded.
    record_ : PreparationRecord
        What was done, with the counts of the fitted rows.
    names_ : tuple of str
        The matrix's columns.
    fixed_ : ndarray of bool or None
        Which of them are in fixed units; None if none is.
    pairs_ : tuple of Pair
        The pairs of a category and a number of which combinations are measured.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31.0, None, 44.0, 29.0], "height": [1.7, 1.6, 1.8, 1.7]})
    >>> prepared = Preparation().fit_transform(frame)
    >>> prepared.names
    ('age', 'height', 'gaps')
    >>> prepared.X[1].round(2).tolist()
    [31.0, 1.6, 1.39]
    """

    columns_: tuple[ColumnPlan, ...]
    record_: PreparationRecord
    names_: tuple[str, ...]
    fixed_: npt.NDArray[np.bool_] | None
    pairs_: tuple[Pair, ...]

    def __init__(
        self,
        *,
        max_bytes: int | None = 8 * _GIBIBYTE,
        distinct_share: float = 0.95,
        ignore: Names = None,
        only: Names = None,
        id: Names = None,  # noqa: A002 - a role, as on the command line
        category: Names = None,
        date: Names = None,
        time: Names = None,
    ) -> None:
        self.max_bytes = max_bytes
        self.distinct_share = distinct_share
        self.ignore = ignore
        self.only = only
        self.id = id
        self.category = category
        self.date = date
        self.time = time

    def fit(self, table: Preparable) -> Self:
        """Plan how every column is encoded.

        Parameters
        ----------
        table : Table, pandas.DataFrame or numpy.ndarray
            Two rows or more. An array's columns are called x1, x2, ...
        """
        rules, roles = self._rules(), self._roles()
        with naming_file(table):
            return self._fit(table, rules, roles)

    def _fit(self, table: Preparable, rules: PlanRules, roles: Roles) -> Self:
        frame, source = as_frame(table)
        roles.check_names(list(frame.columns), source)
        if len(frame) == 1:
            remedy = "give the rows to compare it with"
            raise UserError("the table has only one row", where=source, remedy=remedy)
        typer = ColumnTyper(
            MISSING_WORDS, name_row=partial(row_name, frame.index), written=written_in(table)
        )
        missing = missing_words(table)
        earlier = [name for name in earlier_output(frame) if roles.may_leave_out(name)]
        planned: dict[str, ColumnPlan] = {}
        for name in chain(frame.columns, typer.columns_to_repeat(frame.columns)):
            planned[name] = (
                leave_out(frame[name], "ignored", "written by metaod before", missing)
                if name in earlier
                else plan_column(frame[name], rules, roles, missing, typer)
            )
        if missing:
            typer.report()
        n_outputs = sum(plan.n_outputs for plan in planned.values())
        self._check_bytes(len(frame), n_outputs, source)
        plans, pairs = find_evidence(
            list(planned.values()), frame, written_in(table), missing, roles
        )
        plans = name_outputs(plans)
        messages = []
        if earlier:
            messages.append(
                f"Columns of an earlier output of metaod are not used: {listed(earlier)} "
                "(name them in 'only' to use them)."
            )
        messages += [f"{warning[0].upper()}{warning[1:]}." for warning in typer.warnings]
        messages += [_column_note(plan.record.name, plan.note) for plan in plans if plan.note]
        if not any(plan.record.outputs for plan in plans):
            raise NothingToScore([plan.record for plan in plans], source)
        self._set_fitted(plans, pairs, len(frame), messages, name_evidence(plans, pairs))
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
        self._check_fitted()
        with naming_file(table):
            return self._transform(table)

    def _transform(self, table: Preparable) -> PreparedTable:
        known = [plan.record.name for plan in self.columns_]
        frame, source = as_frame(table, fitted_names=known)
        positions = {str(name): position for position, name in enumerate(frame.columns)}
        self._check_columns(positions)
        self._check_bytes(len(frame), len(self.names_), source)
        X = np.empty((len(frame), len(self.names_)), dtype=np.float64)
        missing, written = missing_words(table), written_in(table)
        records, messages = [], []
        unknown = sorted(set(positions) - set(known))
        if unknown:
            messages.append(
                f"Columns that the first table does not have were ignored: {listed(unknown)}."
            )
        gaps = np.zeros(len(frame))
        paired = {name for pair in self.pairs_ for name in (pair.category, pair.number)}
        labels, numbers = {}, {}
        start = 0
        for plan in self.columns_:
            stop = start + len(plan.record.outputs)
            record = plan.record
            if record.name not in positions:  # an unused column may be absent
                record = replace(record, n_missing=0, n_infinite=0)
            else:
                column = frame[plan.record.name]
                column, note = as_fitted(column, plan, written, missing)
                messages += [_column_note(plan.record.name, note)] if note else []
                found = plan.encoder.encode(column, X[:, start:stop], missing)
                gaps += found.gaps * gap_surprisal(plan, self.record_.n_rows)
                record = found.counted(record)
                if plan.record.name in paired and isinstance(plan.encoder, Surprisal):
                    labels[plan.record.name] = plan.encoder.read(column, missing)
                elif plan.record.name in paired:
                    numbers[plan.record.name] = np.where(found.gaps, np.nan, X[:, start])
                if found.note:
                    messages.append(_column_note(plan.record.name, found.note))
            records.append(record)
            start = stop
        evidence = self.record_.evidence
        if len(evidence) > len(self.pairs_[:1]):
            X[:, start] = gaps
        if self.pairs_:
            X[:, -1] = combinations(self.pairs_, labels, numbers)
        done = PreparationRecord(len(frame), tuple(records), tuple(messages), evidence=evidence)
        usual = [plan.usual for plan in self.columns_]
        done = replace(done, drift=find_drift(usual, self.record_, done, X))
        return PreparedTable(X, self.names_, frame.index, done, source, self.fixed_)

    def fit_transform(self, table: Preparable) -> PreparedTable:
        """Fit to a table, and prepare it."""
        return replace(self.fit(table).transform(table), record=self.record_)

    def to_dict(self) -> dict[str, Any]:
        """Write the fitted preparation as plain values, for JSON; floats are kept exactly."""
        self._check_fitted()
        roles = {name: list(named) or None for name, named in asdict(self._roles()).items()}
        return {
            "preparation": _VERSION,
            "parameters": {
                # JSON does not know numpy's numbers, which are legal parameters
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in (self._parameters() | roles).items()
            },
            "n_rows": self.record_.n_rows,
            "messages": list(self.record_.messages),
            "evidence": list(self.record_.evidence),
            "pairs": [asdict(pair) for pair in self.pairs_],
            "columns": [plan_to_dict(plan) for plan in self.columns_],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; raise UserError if it is something else."""
        try:
            if saved["preparation"] != _VERSION:
                raise ValueError(f"version {saved['preparation']!r} is not known")
            preparation = cls(**saved["parameters"])
            preparation._rules()
            preparation._roles()
            plans = [plan_from_dict(plan) for plan in saved["columns"]]
            n_rows, messages = read_count(saved["n_rows"]), read_texts(saved["messages"])
            if n_rows == 0 or not any(plan.record.outputs for plan in plans):
                raise ValueError("it is empty")
            evidence = read_texts(saved["evidence"])
            pairs = tuple(map(pair_from_dict, saved["pairs"]))
            check_evidence(plans, pairs, evidence)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this is not a saved preparation: {error}",
                remedy="give what Preparation.to_dict wrote, with the version that wrote it",
            ) from error
        preparation._set_fitted(plans, pairs, n_rows, messages, evidence)
        return preparation

    def __repr__(self) -> str:
        changed = {
            name: value
            for name, value in self._parameters().items()
            if name not in ROLE_NAMES or value is not None
        }
        given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        return f"Preparation({given})"

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in signature(Preparation).parameters}

    def _rules(self) -> PlanRules:
        # checked by fit and not by __init__, as in scikit-learn
        given = self._parameters()
        return PlanRules(**{name: given[name] for name in given if name not in ROLE_NAMES})

    def _roles(self) -> Roles:
        return Roles.of({name: getattr(self, name) for name in ROLE_NAMES})

    def _set_fitted(
        self,
        plans: Sequence[ColumnPlan],
        pairs: tuple[Pair, ...],
        n_rows: int,
        messages: Sequence[str],
        evidence: tuple[str, ...],
    ) -> None:
        self.columns_ = tuple(plans)
        self.pairs_ = pairs
        records = tuple(plan.record for plan in plans)
        self.record_ = PreparationRecord(n_rows, records, tuple(messages), evidence=evidence)
        self.names_ = self.record_.names
        fixed = [plan.encoder.fixed for plan in plans for _ in plan.record.outputs]
        fixed += [True] * len(evidence)
        self.fixed_ = np.array(fixed) if any(fixed) else None

    def _check_fitted(self) -> None:
        if not hasattr(self, "columns_"):
            raise UserError("this Preparation is not fitted yet", remedy="call fit first")

    def _check_columns(self, given: Mapping[str, int]) -> None:
        absent = [
            plan.record.name
            for plan in self.columns_
            if plan.record.outputs and plan.record.name not in given
        ]
        if absent:
            more = f", nor are {listed(absent[1:])}" if len(absent) > 1 else ""
            what = f"is not in the table{more}, but was used in the first table"
            remedy = f"add or rename columns; the table has {listed(list(given), most=10)}"
            raise BadColumn(absent[0], what, remedy=remedy)

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
    'id' (identifier) was dropped: its name says so and all its values are distinct.
    'speed' (numeric) was kept as it is.
    'wheels' (constant) was dropped: the same value in every row.
    """
    legal = tuple(signature(Preparation).parameters)
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
            f"nothing is left to score: {_reasons(columns)}",
            where=where,
            remedy="add columns of measurements whose values differ from row to row",
        )


def _column_note(name: str, note: str) -> str:
    return f"Column {name!r}: {note}."


def _reasons(records: Sequence[ColumnRecord]) -> str:
    records = sorted(records, key=lambda record: record.kind == "ignored")  # known to the user
    shown = "; ".join(f"{record.name!r} ({record.kind}): {record.reason}" for record in records[:5])
    more = f"; and {len(records) - 5} more" if len(records) > 5 else ""
    return f"{shown}{more}"
