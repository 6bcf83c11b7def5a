"""A fitted column as plain values, for JSON, and back.

Nothing is unpickled: what was saved is numbers and texts, checked as they are read.
"""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any, cast, get_args

from metaod.tables.preparation.decisions import FittedColumn
from metaod.tables.preparation.encoders import (
    Drop,
    Encoder,
    Frequency,
    KeepNumbers,
    MarkMissing,
    OneHot,
)
from metaod.tables.preparation.forms import NumberKind
from metaod.tables.preparation.record import Action, ColumnKind, ColumnRecord

__all__ = ["column_from_dict", "column_to_dict", "read_count", "read_texts"]


def column_to_dict(column: FittedColumn) -> dict[str, Any]:
    """Write a fitted column as plain values."""
    encoder = {"encoder": column.encoder.tag, **asdict(cast("Any", column.encoder))}
    return {"record": asdict(column.record), "note": column.note, "encoder": encoder}


def column_from_dict(saved: Mapping[str, Any]) -> FittedColumn:
    """Read a fitted column back.

    Raises
    ------
    KeyError, TypeError or ValueError
        Where it is not what `column_to_dict` wrote.
    """
    column = FittedColumn(
        _read_record(saved["record"]), _read_encoder(saved["encoder"]), _read_text(saved["note"])
    )
    n_outputs = len(column.encoder.output_names(column.record.name))
    if len(column.record.outputs) != n_outputs:
        raise ValueError(f"column {column.record.name!r} should have {n_outputs} outputs")
    return column


def read_count(value: object) -> int:
    """Check a number of things."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    """Check a sequence of texts."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_read_text(text) for text in value)


def _read_record(saved: Mapping[str, Any]) -> ColumnRecord:
    fill, indicator = saved["fill"], saved["indicator"]
    return ColumnRecord(
        name=_read_text(saved["name"]),
        kind=cast("ColumnKind", _read_choice(saved["kind"], ColumnKind)),
        action=cast("Action", _read_choice(saved["action"], Action)),
        outputs=read_texts(saved["outputs"]),
        n_missing=read_count(saved["n_missing"]),
        n_infinite=read_count(saved["n_infinite"]),
        n_unseen=read_count(saved["n_unseen"]),
        fill=None if fill is None else _read_number(fill),
        indicator=None if indicator is None else _read_text(indicator),
        reason=_read_text(saved["reason"]),
    )


def _read_encoder(saved: Mapping[str, Any]) -> Encoder:
    tag = saved["encoder"]
    if tag == KeepNumbers.tag:
        kind = cast("NumberKind", _read_choice(saved["kind"], NumberKind))
        return KeepNumbers(kind, _read_number(saved["fill"]), _read_flag(saved["marks_missing"]))
    if tag == OneHot.tag:
        return OneHot(read_texts(saved["categories"]), _read_flag(saved["marks_missing"]))
    if tag == Frequency.tag:
        categories = read_texts(saved["categories"])
        shares = tuple(_read_number(share) for share in saved["shares"])
        if len(shares) != len(categories):
            raise ValueError(f"{len(categories)} categories with {len(shares)} shares")
        marks_missing = _read_flag(saved["marks_missing"])
        return Frequency(categories, shares, _read_number(saved["missing_share"]), marks_missing)
    if tag == MarkMissing.tag:
        return MarkMissing()
    if tag == Drop.tag:
        return Drop()
    raise ValueError(f"{tag!r} is not an encoder")


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value


def _read_number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _read_choice(value: object, choices: Any) -> str:
    text = _read_text(value)
    if text not in get_args(choices):
        raise ValueError(f"{text!r} is not one of {', '.join(get_args(choices))}")
    return text
