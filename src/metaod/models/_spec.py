"""A model: a detector, its hyperparameters and the scaling of the columns before it."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering
from typing import TYPE_CHECKING, Any, cast

from metaod.errors import BadParameter
from metaod.models._family import Family, family

if TYPE_CHECKING:
    from metaod.models._averaging import AverageDetector
    from metaod.models._detector import SpecDetector

__all__ = ["DEFAULT_SCALING", "ModelSpec", "Value"]

Value = bool | int | float | str | None

DEFAULT_SCALING = "zscore"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# strings that may stand unquoted: a word that cannot be taken for a number, a truth value or none
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_WORDS = {"true": True, "false": False, "none": None}
_NOT_PLAIN = {*_WORDS, "nan", "inf", "infinity"}
# narrower than Python's own int() and float(), which also take 1_0 and the digits of other scripts
_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ITEM = re.compile(
    r"""\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*
        (?P<value>"(?:[^"\\]|\\.)*"|[^,()"\s]+)\s*(?P<end>,|$)""",
    re.VERBOSE,
)
_RANKS: dict[type, int] = {type(None): 0, bool: 1, int: 2, float: 2, str: 3}


@total_ordering
@dataclass(frozen=True, eq=False, repr=False)
class ModelSpec:
    """A detector, its hyperparameters and a scaling: one column of the performance matrix.

    Frozen, hashable and ordered. Two specs are equal when their ids are; the id does not depend
    on the order in which hyperparameters are given.

    Parameters
    ----------
    detector : str
        Name of a detector family: one of the package's own or a registered one.
    params : mapping or iterable of pairs, optional
        Hyperparameters: booleans, integers, finite floats, strings or None.
    scaling : str, default="zscore"
        Scaling of the columns before the detector sees them. The paper z-scores for every model,
        so this scaling is left out of the id.

    Examples
    --------
    >>> spec = ModelSpec("LOF", {"metric": "euclidean", "n_neighbors": 20})
    >>> spec
    LOF(n_neighbors=20, metric=euclidean)
    >>> ModelSpec.parse(spec.id) == spec
    True
    >>> spec.why_not(n_rows=15, n_columns=4)
    'n_neighbors=20 needs at least 21 rows, the table has 15'
    """

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
                raise BadParameter(
                    "ModelSpec", "params", "named by identifiers other than 'scaling'", name
                )
            if name in named:
                raise BadParameter("ModelSpec", "params", "named once each", name)
            named[name] = _plain(name, value)
        for what, text in (("detector", detector), ("scaling", scaling)):
            if not isinstance(text, str) or not _WORD.fullmatch(text):
                raise BadParameter("ModelSpec", what, "a name made of letters and digits", text)
        ordered = tuple(sorted(named.items(), key=lambda item: _order(item[0])))
        object.__setattr__(self, "detector", detector)
        object.__setattr__(self, "params", ordered)
        object.__setattr__(self, "scaling", scaling)
        object.__setattr__(self, "id", _write(detector, ordered, scaling))

    # identity and order

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, ModelSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ModelSpec):
            return NotImplemented
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[Any, ...]:
        values = tuple(
            (name, _RANKS[type(value)], 0 if value is None else value, isinstance(value, float))
            for name, value in self.params
        )
        return (self.detector.lower(), self.detector, values, self.scaling)

    def __repr__(self) -> str:
        return self.id

    # text and JSON

    @classmethod
    def parse(cls, text: str) -> "ModelSpec":
        """Read a spec from its id.

        Examples
        --------
        >>> ModelSpec.parse("IForest(max_features=0.5, n_estimators=100)")
        IForest(n_estimators=100, max_features=0.5)
        """
        legal = "of the form DETECTOR(name=value, ...)"
        if not isinstance(text, str):
            raise BadParameter("ModelSpec.parse", "text", legal, text)
        form = re.fullmatch(r"\s*([A-Za-z_][A-Za-z0-9_.\-]*)\s*\((.*)\)\s*", text, re.DOTALL)
        if form is None:
            raise BadParameter("ModelSpec.parse", "text", legal, text)
        inside, params, scalings, position = form[2].rstrip(), [], [], 0
        while position < len(inside):
            item = _ITEM.match(inside, position)
            if item is None or (item["end"] == "," and item.end() == len(inside)):
                raise BadParameter("ModelSpec.parse", "text", legal, text)
            if item["name"] == "scaling":
                # a name as it stands: the scaling 'none' is not the value none
                scalings.append(item["value"])
            else:
                params.append((item["name"], _read(item["value"], text)))
            position = item.end()
        if len(scalings) > 1:
            raise BadParameter("ModelSpec.parse", "text", "with one scaling at most", text)
        return cls(form[1], params, *scalings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; :meth:`from_dict` reads it back."""
        return {"detector": self.detector, "params": dict(self.params), "scaling": self.scaling}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ModelSpec":
        """Read a spec from :meth:`to_dict`'s form."""
        known = {"detector", "params", "scaling"}
        if not isinstance(data, Mapping) or "detector" not in data or not known.issuperset(data):
            raise BadParameter(
                "ModelSpec.from_dict",
                "data",
                "a mapping with the keys detector, params and scaling",
                data,
            )
        return cls(data["detector"], data.get("params", {}), data.get("scaling", DEFAULT_SCALING))

    def to_json(self) -> str:
        """The spec as a JSON object."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> "ModelSpec":
        """Read a spec from :meth:`to_json`'s text."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadParameter("ModelSpec.from_json", "text", "a JSON object", text) from error
        if not isinstance(data, dict):
            raise BadParameter("ModelSpec.from_json", "text", "a JSON object", text)
        return cls.from_dict(data)

    # what its family knows

    @property
    def family(self) -> Family:
        """The family that the detector's name stands for."""
        return family(self.detector)

    @property
    def is_random(self) -> bool:
        """Whether scores depend on a seed, so that several trials are run."""
        return any(member.family.random for member in self._members())

    @property
    def equivalence(self) -> "ModelSpec":
        """The spec that stands for all those with the same scores; computed once for all.

        Examples
        --------
        >>> ModelSpec("LOF", {"n_neighbors": 5, "metric": "minkowski"}).equivalence
        LOF(n_neighbors=5, metric=euclidean)
        """
        if self._members() != (self,):
            return self
        return ModelSpec(
            self.detector, self.family.canonical_params(dict(self.params)), self.scaling
        )

    def why_not(self, n_rows: int, n_columns: int) -> str | None:
        """Why the model does not apply to a table of that size; None where it does.

        An average applies where all of its members do; the first reason is told. Constant columns,
        which every scaling drops, are not to be counted.
        """
        for member in self._members():
            reason = member.family.why_not(dict(member.params), n_rows, n_columns)
            if reason is None:
                reason = _why_not_scaled(member.scaling, n_rows, n_columns)
            if reason is not None:
                return reason
        return None

    def applies(self, n_rows: int, n_columns: int) -> bool:
        """Whether the model applies to a table of that size."""
        return self.why_not(n_rows, n_columns) is None

    def to_pyod(
        self, *, random_state: int | None = None, contamination: float = 0.1
    ) -> "SpecDetector | AverageDetector":
        """Build a detector with PyOD's interface that applies the spec's scaling itself.

        Parameters
        ----------
        random_state : int or None, default=None
            Seed; without effect on a detector that is not random.
        contamination : float, default=0.1
            Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
        """
        # late: PyOD is slow to import and most uses of a spec do without it
        from metaod.models._averaging import AverageDetector  # noqa: PLC0415
        from metaod.models._detector import SpecDetector, check_contamination  # noqa: PLC0415
        from metaod.models._scaling import SCALINGS  # noqa: PLC0415 - imports numpy

        members = self._members()
        for member in members:
            if member.scaling not in SCALINGS:
                raise BadParameter("ModelSpec", "scaling", SCALINGS, member.scaling)
            member.family.check_params(dict(member.params))
        share = check_contamination(contamination)
        if members != (self,):
            return AverageDetector(members, random_state=random_state, contamination=share)
        return SpecDetector(self, random_state=random_state, contamination=share)

    def _members(self) -> "tuple[ModelSpec, ...]":
        from metaod.models._averages import members_of  # noqa: PLC0415 - it imports this class

        return members_of(self)


def _why_not_scaled(scaling: str, n_rows: int, n_columns: int) -> str | None:
    if scaling != "whitened":
        return None
    from metaod.models._scaling import why_not_whitened  # noqa: PLC0415 - imports numpy

    return why_not_whitened(n_rows, n_columns)


def _order(name: str) -> tuple[bool, str]:
    # sizes first (n_neighbors, n_bins, ...), then the others, each by alphabet
    return (not name.startswith("n_"), name)


def _pairs(params: object) -> list[tuple[Any, Any]]:
    pairs = params.items() if isinstance(params, Mapping) else params
    try:
        return [(name, value) for name, value in cast("Iterable[Any]", pairs)]
    except (TypeError, ValueError):
        raise BadParameter(
            "ModelSpec", "params", "a mapping, or pairs of a name and a value", params
        ) from None


def _plain(name: str, value: object) -> Value:
    """Reduce numpy scalars and enums to Python's own types; refuse what text cannot hold."""
    if isinstance(value, Enum):
        value = value.value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
    if value is None or isinstance(value, bool):
        return value
    # subclasses have orders and texts of their own, so that only the plain value is kept
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
        plain = _WORD.fullmatch(value) and value.lower() not in _NOT_PLAIN
        return value if plain else json.dumps(value)
    return repr(value)


def _read(text: str, whole: str) -> Value:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except json.JSONDecodeError:
            raise BadParameter(
                "ModelSpec.parse", "text", "with strings quoted as in JSON", whole
            ) from None
    if text in _WORDS:
        return _WORDS[text]
    if text.lower() in _NOT_PLAIN:
        raise BadParameter(
            "ModelSpec.parse",
            "text",
            "made of finite numbers, words and strings, with true, false and none in lower case",
            whole,
            remedy=f'A string that looks like one of these is quoted: "{text}"',
        )
    try:
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    except ValueError:  # Python reads integers of some thousand digits at most
        raise BadParameter("ModelSpec.parse", "text", "made of shorter numbers", whole) from None
    if not _WORD.fullmatch(text):
        raise BadParameter("ModelSpec.parse", "text", "made of numbers, words and strings", whole)
    return text
