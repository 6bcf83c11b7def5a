"""The text identity of a model: its id, order and JSON form, and the members of an average."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, partial, total_ordering
from typing import Any, Self, cast

from metaod.errors import BadParameter

Value = bool | int | float | str | None

DEFAULT_SCALING = "zscore"

AVERAGE = "ZAverage"
"""Replaces the detector's name in the id of an average."""
MEMBER_SEPARATOR = " + "

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# strings that need no quotes: words that cannot be read as a number, a truth value or none
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_CONSTANTS = {"true": True, "false": False, "none": None}
_RESERVED = {*_CONSTANTS, "nan", "inf", "infinity"}
# stricter than float(), which also accepts 1_0 and digits of other scripts
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ID = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.\-]*)\s*\((.*)\)\s*", re.DOTALL)
_ITEM = re.compile(
    r"""\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*
        (?P<value>"(?:[^"\\]|\\.)*"|[^,()"\s]+)\s*(?P<end>,|$)""",
    re.VERBOSE,
)
# a separator within quotes belongs to a member
_MEMBER_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"| \+ |.', re.DOTALL)
_LEGAL_MEMBERS = "two or more different models that are no averages, written A + B + ..."
_bad_text = partial(BadParameter, "ModelSpec.parse", "text")
_TYPE_RANKS: dict[type, int] = {type(None): 0, bool: 1, int: 2, float: 2, str: 3}


@total_ordering
@dataclass(frozen=True, eq=False, repr=False)
class ModelId:
    """A detector's name, its hyperparameters and a scaling, as text: see :class:`ModelSpec`."""

    detector: str
    params: tuple[tuple[str, Value], ...] = ()
    scaling: str = DEFAULT_SCALING
    id: str = field(init=False)

    def __init__(
        self,
        detector: str,
        params: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        scaling: str = DEFAULT_SCALING,
    ) -> None:
        named = {}
        for name, value in _pairs(params):
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "scaling":
                legal = "named by identifiers other than 'scaling'"
                raise BadParameter("ModelSpec", "params", legal, name)
            if name in named:
                raise BadParameter("ModelSpec", "params", "named once each", name)
            named[name] = _plain(name, value)
        for what, text in (("detector", detector), ("scaling", scaling)):
            if not isinstance(text, str) or not _WORD.fullmatch(text):
                raise BadParameter("ModelSpec", what, "a name of letters and digits", text)
        # sizes (n_neighbors, n_bins, ...) come first, then the others, each in alphabetical order
        names = sorted(named, key=lambda name: (not name.startswith("n_"), name))
        ordered = tuple((name, named[name]) for name in names)
        object.__setattr__(self, "detector", detector)
        object.__setattr__(self, "params", ordered)
        object.__setattr__(self, "scaling", scaling)
        object.__setattr__(self, "id", _write(detector, ordered, scaling))

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, ModelId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ModelId):
            return NotImplemented
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[Any, ...]:
        values = tuple(
            (name, _TYPE_RANKS[type(value)], 0 if value is None else value, type(value) is float)
            for name, value in self.params
        )
        return (self.detector.lower(), self.detector, values, self.scaling)

    def __repr__(self) -> str:
        return self.id

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a spec from its id."""
        legal = "of the form DETECTOR(name=value, ...)"
        found = _ID.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise _bad_text(legal, text)
        inside, params, scalings, position = found[2].rstrip(), [], [], 0
        while position < len(inside):
            item = _ITEM.match(inside, position)
            if item is None or (item["end"] == "," and item.end() == len(inside)):
                raise _bad_text(legal, text)
            if item["name"] == "scaling":
                # kept as text: the scaling 'none' is not the value none
                scalings.append(item["value"])
            else:
                params.append((item["name"], _read_value(item["value"], text)))
            position = item.end()
        if len(scalings) > 1:
            raise _bad_text("with one scaling at most", text)
        return cls(found[1], params, *scalings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {"detector": self.detector, "params": dict(self.params), "scaling": self.scaling}

    @property
    def is_average(self) -> bool:
        """Whether it is the average of other models."""
        return self.detector == AVERAGE

    @property
    def members(self) -> tuple[Self, ...]:
        """The models that an average combines; any other model is its own only member."""
        if not self.is_average:
            return (self,)
        return cast("tuple[Self, ...]", _members(cast("Any", type(self)), self.id))


@lru_cache(maxsize=4096)
def _members(cls: type[ModelId], average: str) -> tuple[ModelId, ...]:
    spec = cls.parse(average)
    text = dict(spec.params).get("members")
    if not isinstance(text, str) or spec != cls(AVERAGE, {"members": text}):
        # each member has its own scaling
        raise BadParameter(AVERAGE, "params", "'members' alone, without a scaling", average)
    ids = [""]
    for token in _MEMBER_TOKEN.findall(text):
        if token == MEMBER_SEPARATOR:
            ids.append("")
        else:
            ids[-1] += token
    try:
        members = tuple(map(cls.parse, ids))
    except BadParameter as error:
        raise BadParameter(AVERAGE, "members", _LEGAL_MEMBERS, text) from error
    if len(set(members)) < max(2, len(members)) or any(m.is_average for m in members):
        raise BadParameter(AVERAGE, "members", _LEGAL_MEMBERS, text)
    return members


def _pairs(params: object) -> list[tuple[Any, Any]]:
    pairs = params.items() if isinstance(params, Mapping) else params
    try:
        return [(name, value) for name, value in cast("Iterable[Any]", pairs)]
    except (TypeError, ValueError):
        legal = "a mapping, or pairs of a name and a value"
        raise BadParameter("ModelSpec", "params", legal, params) from None


def _plain(name: str, value: object) -> Value:
    """Convert numpy scalars and enums to Python's own types; refuse what text cannot hold."""
    if isinstance(value, Enum):
        value = value.value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
    if value is None or isinstance(value, bool):
        return value
    # subclasses may define other orders and texts, so only the plain value is kept
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise BadParameter("ModelSpec", name, "a bool, an int, a finite float, a str or None", value)


def _write(detector: str, params: tuple[tuple[str, Value], ...], scaling: str) -> str:
    items = [f"{name}={_write_value(value)}" for name, value in params]
    if scaling != DEFAULT_SCALING:
        items.append(f"scaling={scaling}")
    return f"{detector}({', '.join(items)})"


def _write_value(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        plain = _WORD.fullmatch(value) and value.lower() not in _RESERVED
        return value if plain else json.dumps(value)
    return repr(value)


def _read_value(text: str, whole: str) -> Value:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.lower() in _RESERVED:
        legal = "finite numbers, words and strings, with true, false and none in lower case"
        remedy = f'A string that looks like one of these is quoted: "{text}"'
        raise _bad_text(legal, whole, remedy=remedy)
    try:
        if text.startswith('"'):
            return str(json.loads(text))
        if _NUMBER.fullmatch(text):
            return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:  # also of an integer that has too many digits for Python
        raise _bad_text("of shorter numbers, and of strings quoted as in JSON", whole) from None
    if not _WORD.fullmatch(text):
        raise _bad_text("of numbers, words and strings", whole)
    return text
