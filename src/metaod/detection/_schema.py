"""How the columns of later rows differ from those of the fitted table."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import pandas as pd

from metaod.errors import listed, quoted
from metaod.tables import Preparation, PreparationRecord, Table

_ALIKE = 0.7  # names of columns, in difflib's measure


@dataclass(frozen=True)
class SchemaChange:
    """A column that is not as in the fitted table.

    Parameters
    ----------
    kind : {"missing", "type", "new", "order"}
        It is absent; most of its values have another type; it was not there before; or it is the
        first of those that stand in another order.
    column : str
        The column.
    detail : str
        What is known beside the kind.
    """

    kind: Literal["missing", "type", "new", "order"]
    column: str
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether the check fails: later rows are read by name, so that the others do no harm."""
        return self.kind in ("missing", "type")

    def sentence(self) -> str:
        """Describe the change.

        Examples
        --------
        >>> print(SchemaChange("missing", "amount", "is 'Amount' the same?").sentence())
        column 'amount' is missing: is 'Amount' the same?
        """
        what = {
            "missing": "is missing",
            "type": "has another type",
            "new": "is new, and not checked",
            "order": "stands in another place",
        }[self.kind]
        return f"column {quoted(self.column)} {what}" + (f": {self.detail}" if self.detail else "")


def changed_names(preparation: Preparation, table: Table) -> Iterator[SchemaChange]:
    """Yield columns that are missing, new or in another order; not those that are not checked."""
    ignored = {own.name for own in preparation.record_.columns if not own.is_checked}
    if table.file_column is not None:
        ignored.add(table.file_column)
    before = [own.name for own in preparation.record_.columns if own.name not in ignored]
    now = [str(name) for name in table.frame.columns if str(name) not in ignored]
    absent, new = ([n for n in a if n not in set(b)] for a, b in ((before, now), (now, before)))
    plain = {name.casefold(): name for name in reversed(new)}
    for name in absent:
        alike = get_close_matches(name.casefold(), plain, n=1, cutoff=_ALIKE)
        detail = f"is {plain[alike[0]]!r} the same?" if alike else ""
        yield SchemaChange("missing", name, detail)
    yield from (SchemaChange("new", name) for name in new)
    common = [[name for name in names if name in set(other)]
              for names, other in ((before, now), (now, before))]  # fmt: skip
    moved = [name for name, other in zip(*common, strict=True) if name != other]
    if moved:
        others = f"so do {listed(moved[1:])}" if moved[1:] else ""
        yield SchemaChange("order", moved[0], others)


def changed_types(
    preparation: Preparation, table: Table, record: PreparationRecord
) -> Iterator[SchemaChange]:
    """Yield columns that are mostly not what they were; the record is that of the rows."""
    misfits = preparation.read(table).misfits
    for fitted, now in zip(preparation.columns_, record.columns, strict=True):
        own = misfits.get(fitted.name)
        if own is not None and not own.are_few:
            detail = f"{len(own.rows):,} of {own.n_values:,} values are "
            written = table.written.get(fitted.name)
            if written is None:
                detail += f"no {own.what}"
            else:
                detail += f"{written.notation.words()}, and were not in the first table"
            yield SchemaChange("type", fitted.name, detail)
        elif (
            fitted.kind is None
            and 2 * now.n_unseen > record.n_rows
            and pd.api.types.is_numeric_dtype(table.frame[fitted.name].dtype)
        ):
            yield SchemaChange("type", fitted.name, "it held text, and holds numbers")
