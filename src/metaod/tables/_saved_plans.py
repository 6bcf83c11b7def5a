"""Write column plans as plain values for JSON, and read them back with checks."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any, TypeVar, cast, get_args

from metaod.tables._column_plans import ColumnPlan
from metaod.tables._column_values import NumberKind
from metaod.tables._drift import Usual
from metaod.tables._encoders import Drop, Encoder, Frequency, KeepNumbers, MarkMissing, OneHot
from metaod.tables._notations import notation_from_dict, notation_to_dict
from metaod.tables._record import Action, ColumnKind, ColumnRecord

_T = TypeVar("_T")
_ENDS = ("low", "high")  # of the usual range


def plan_to_dict(plan: ColumnPlan) -> dict[str, Any]:
    encoder = {"encoder": plan.encoder.tag, **asdict(cast("Any", plan.encoder))}
    return {
        "record": asdict(plan.record),
        "note": plan.note,
        "encoder": encoder,
        "notation": notation_to_dict(plan.notation),
        "usual": None if plan.usual is None else asdict(plan.usual),
    }


def plan_from_dict(saved: Mapping[str, Any]) -> ColumnPlan:
    """Read a column plan; raise KeyError, TypeError or ValueError for any other dict."""
    record, encoder = _read_record(saved["record"]), _read_encoder(saved["encoder"])
    notation = notation_from_dict(saved.get("notation"))
    usual = _read_usual(saved.get("usual"))
    plan = ColumnPlan(record, encoder, _read(saved["note"], str), notation=notation, usual=usual)
    if len(record.outputs) != plan.n_outputs:
        raise ValueError(f"column {record.name!r} should have {plan.n_outputs} outputs")
    return plan


def read_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_read(text, str) for text in value)


def _read_record(saved: Mapping[str, Any]) -> ColumnRecord:
    fill, indicator = saved["fill"], saved["indicator"]
    return ColumnRecord(
        name=_read(saved["name"], str),
        kind=cast("ColumnKind", _read_choice(saved["kind"], ColumnKind)),
        action=cast("Action", _read_choice(saved["action"], Action)),
        outputs=read_texts(saved["outputs"]),
        n_missing=read_count(saved["n_missing"]),
        n_infinite=read_count(saved["n_infinite"]),
        n_unseen=read_count(saved["n_unseen"]),
        fill=None if fill is None else _read_number(fill),
        indicator=None if indicator is None else _read(indicator, str),
        reason=_read(saved["reason"], str),
    )


def _read_usual(saved: Mapping[str, Any] | None) -> Usual | None:
    if saved is None:  # a file of an earlier version
        return None
    low, high = (None if saved[end] is None else _read_number(saved[end]) for end in _ENDS)
    return Usual(low, high, read_count(saved["n_outside"]), read_count(saved["n_alone"]))


def _read_encoder(saved: Mapping[str, Any]) -> Encoder:
    tag = saved["encoder"]
    if tag == KeepNumbers.tag:
        kind = cast("NumberKind", _read_choice(saved["kind"], NumberKind))
        return KeepNumbers(kind, _read_number(saved["fill"]), _read(saved["marks_missing"], bool))
    if tag == OneHot.tag:
        return OneHot(read_texts(saved["categories"]), _read(saved["marks_missing"], bool))
    if tag == Frequency.tag:
        categories = read_texts(saved["categories"])
        shares = tuple(_read_number(share) for share in saved["shares"])
        if len(shares) != len(categories):
            raise ValueError(f"{len(categories)} categories with {len(shares)} shares")
        marks_missing = _read(saved["marks_missing"], bool)
        return Frequency(categories, shares, _read_number(saved["missing_share"]), marks_missing)
    if tag == MarkMissing.tag:
        return MarkMissing()
    if tag == Drop.tag:
        return Drop()
    raise ValueError(f"{tag!r} is not an encoder")


def _read(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _read_number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _read_choice(value: object, choices: Any) -> str:
    text = _read(value, str)
    if text not in get_args(choices):
        raise ValueError(f"{text!r} is not one of {', '.join(get_args(choices))}")
    return text
