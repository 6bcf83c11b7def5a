"""The columns of a table as plain data and arrays, and the checked way back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from metaod._state import decode, encode
from metaod.tables._column_types import Written
from metaod.tables._misfits import Misfits
from metaod.tables._notations import Notation
from metaod.tables._objects import Labels, text_of
from metaod.tables._table import Table

_TYPES: dict[str, Any] = {
    "boolean": np.bool_,
    "integer": np.int64,
    "number": np.float64,
    "time": "M8[us]",
}


def save_table(table: Table) -> list[dict[str, Any]]:
    """Return the columns as dictionaries of arrays and texts; values of other types as text."""
    saved = [{"name": str(name), **_saved(column)} for name, column in table.frame.items()]
    for column in saved:
        own = table.misfits.get(column["name"])
        if own is not None:
            column["misfits"] = asdict(own)
        known = table.written.get(column["name"])
        if known is not None:
            column["written"] = _saved(known.labels.to_series())
            column["notation"] = encode(known.notation)
    return saved


def _saved(column: "pd.Series[Any]") -> dict[str, Any]:
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind in "bi":
        return {"kind": "boolean" if kind == "b" else "integer", "values": column.to_numpy()}
    if kind in "uf" or (kind != "M" and pd.api.types.is_numeric_dtype(column.dtype)):
        return {"kind": "number", "values": column.to_numpy(np.float64, na_value=np.nan)}
    if kind == "M":
        return {"kind": "time", "values": column.to_numpy("M8[us]").view(np.int64)}
    codes, texts = pd.factorize(column.astype(object))
    return {"kind": "text", "values": codes.astype(np.int64), "texts": [*map(text_of, texts)]}


def saved_table(saved: Sequence[Mapping[str, Any]], source: str) -> Table:
    """Return the table of saved columns; KeyError, TypeError or ValueError for anything else."""
    columns, misfits, written = {}, {}, {}
    for own in saved:
        name, kind, values = own["name"], own["kind"], own["values"]
        wanted = "if" if kind in ("number", "time") else "b" if kind == "boolean" else "i"
        if not isinstance(name, str) or not isinstance(values, np.ndarray) or values.ndim != 1:
            raise TypeError("a column without a name or values")
        if values.dtype.kind not in wanted or name in columns:
            raise ValueError(f"the values of column {name!r:.40}")
        if "misfits" in own:
            misfits[name] = _misfits(own["misfits"], len(values))
        if "written" in own:
            labels = _labels(own["written"], name, len(values))
            written[name] = Written(labels, decode(Notation, own["notation"]))
        if kind != "text":
            values = values.astype(np.int64) if kind == "time" else values
            columns[name] = values.astype(_TYPES[kind])
            continue
        columns[name] = _labels(own, name, len(values)).to_series().to_numpy()
    return Table(pd.DataFrame(columns), source=source, typed=True, misfits=misfits, written=written)


def _labels(saved: Mapping[str, Any], name: str, n_rows: int) -> Labels:
    codes, texts = np.asarray(saved["values"], dtype=np.intp), [*map(str, saved["texts"])]
    if codes.shape != (n_rows,) or ((codes < -1) | (codes >= len(texts))).any():
        raise ValueError(f"the texts of column {name!r:.40}")
    return Labels(codes, texts)


def _misfits(saved: Mapping[str, Any], n_rows: int) -> Misfits:
    rows, texts = np.asarray(saved["rows"], dtype=np.intp), [*map(str, saved["texts"])]
    steps = np.diff(rows, prepend=-1, append=n_rows)
    if len(rows) != len(texts) or (steps <= 0).any():
        raise ValueError("cells that are not of their column's type")
    return Misfits(rows, texts, str(saved["what"]), int(saved["n_values"]))
