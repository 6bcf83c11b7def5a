"""Write column plans as plain values for JSON, and read them back with checks."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any, TypeVar, cast, get_args

from metaod.tables._column_plans import ColumnPlan
from metaod.tables._column_values import NumberKind
from metaod.tables._drift import Usual
from metaod.tables._encoders import Drop, Encoder, KeepNumbers, Surprisal
from metaod.tables._notations import notation_from_dict, notation_to_dict
from metaod.tables._record import Action, ColumnKind, ColumnRecord
from metaod.tables._relations import Pair

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
    notation = notation_from_dict(saved["notation"])
    usual = _read_usual(saved["usual"])
    plan = ColumnPlan(record, encoder, _read(saved["note"], str), notation=notation, usual=usual)
    if len(record.outputs) != plan.n_outputs:
        raise ValueError(f"column {record.name!r} should have {plan.n_outputs} outputs")
    return plan


def pair_from_dict(saved: Mapping[str, Any]) -> Pair:
    """Read a pair of columns; raise KeyError, TypeError or ValueError for any other dict."""
    levels = read_texts(saved["levels"])
    middles = tuple(map(_read_number, saved["middles"]))
    spreads = tuple(map(_read_number, saved["spreads"]))
    middle, spread = _read_number(saved["middle"]), _read_number(saved["spread"])
    if not len(levels) == len(middles) == len(spreads) or min(spread, *spreads, 1.0) <= 0:
        raise ValueError("a pair of columns has no spread for each level")
    category, number = _read(saved["category"], str), _read(saved["number"], str)
    return Pair(category, number, levels, middles, spreads, middle, spread)


def read_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_read(text, str) for text in value)


def _read_record(saved: Mapping[str, Any]) -> ColumnRecord:
    fill = saved["fill"]
    return ColumnRecord(
        name=_read(saved["name"], str),
        kind=cast("ColumnKind", _read_choice(saved["kind"], ColumnKind)),
        action=cast("Action", _read_choice(saved["action"], Action)),
        outputs=read_texts(saved["outputs"]),
        n_missing=read_count(saved["n_missing"]),
        n_infinite=read_count(saved["n_infinite"]),
        n_unseen=read_count(saved["n_unseen"]),
        n_levels=read_count(saved["n_levels"]),
        fill=None if fill is None else _read_number(fill),
        reason=_read(saved["reason"], str),
    )


def _read_usual(saved: Mapping[str, Any] | None) -> Usual | None:
    if saved is None:  # an unused column
        return None
    low, high = (None if saved[end] is None else _read_number(saved[end]) for end in _ENDS)
    return Usual(low, high, read_count(saved["n_outside"]), read_count(saved["n_alone"]))


def _read_encoder(saved: Mapping[str, Any]) -> Encoder:
    tag = saved["encoder"]
    if tag == KeepNumbers.tag:
        kind = cast("NumberKind", _read_choice(saved["kind"], NumberKind))
        return KeepNumbers(kind, _read_number(saved["fill"]))
    if tag == Surprisal.tag:
        categories, n_rows = read_texts(saved["categories"]), read_count(saved["n_rows"])
        counts = tuple(map(read_count, saved["counts"]))
        if len(counts) != len(categories) or not 0 < sum(counts) <= n_rows:
            raise ValueError(f"{len(categories)} categories do not fit {n_rows} rows")
        return Surprisal(categories, counts, n_rows)
    if tag == Drop.tag:
        return Drop(_read(saved["numeric"], bool), read_texts(saved["categories"]))
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
