"""A model: a detector, its hyperparameters and the scaling of the columns before it."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from metaod.detectors.families import Family, family
from metaod.errors import BadParameter

if TYPE_CHECKING:
    from metaod.detectors.detector import SpecDetector

__all__ = ["DEFAULT_SCALING", "ModelSpec", "Value"]

Value = bool | int | float | str | None

DEFAULT_SCALING = "zscore"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# strings that may stand unquoted: a word that cannot be taken for a number, a truth value or none
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_WORDS = {"true": True, "false": False, "none": None}
_NOT_PLAIN = {*_WORDS, "nan", "inf", "infinity"}
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
        Name of a detector family: one of the paper's eight or a registered one.
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
        pairs = params.items() if isinstance(params, Mapping) else params
        named = {}
        for name, value in pairs:
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
        form = re.fullmatch(r"\s*([A-Za-z_][A-Za-z0-9_.\-]*)\s*\((.*)\)\s*", text, re.DOTALL)
        legal = "of the form DETECTOR(name=value, ...)"
        if form is None:
            raise BadParameter("ModelSpec.parse", "text", legal, text)
        inside, params, position = form[2].rstrip(), [], 0
        while position < len(inside):
            item = _ITEM.match(inside, position)
            if item is None or (item["end"] == "," and item.end() == len(inside)):
                raise BadParameter("ModelSpec.parse", "text", legal, text)
            params.append((item["name"], _read(item["value"], text)))
            position = item.end()
        scaling = DEFAULT_SCALING
        if params and params[-1][0] == "scaling":
            scaling = str(params.pop()[1])
        return cls(form[1], params, scaling)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; :meth:`from_dict` reads it back."""
        return {"detector": self.detector, "params": dict(self.params), "scaling": self.scaling}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ModelSpec":
        """Read a spec from :meth:`to_dict`'s form."""
        unknown = set(data) - {"detector", "params", "scaling"}
        if unknown or "detector" not in data:
            raise BadParameter(
                "ModelSpec.from_dict",
                "data",
                "a mapping with the keys detector, params and scaling",
                dict(data),
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
        except json.JSONDecodeError as error:
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
        return self.family.random

    @property
    def equivalence(self) -> "ModelSpec":
        """The spec that stands for all those with the same scores; computed once for all.

        Examples
        --------
        >>> ModelSpec("LOF", {"n_neighbors": 5, "metric": "minkowski"}).equivalence
        LOF(n_neighbors=5, metric=euclidean)
        """
        return ModelSpec(
            self.detector, self.family.canonical_params(dict(self.params)), self.scaling
        )

    def why_not(self, n_rows: int, n_columns: int) -> str | None:
        """Why the model does not apply to a table of that size; None where it does."""
        return self.family.why_not(dict(self.params), n_rows, n_columns)

    def applies(self, n_rows: int, n_columns: int) -> bool:
        """Whether the model applies to a table of that size."""
        return self.why_not(n_rows, n_columns) is None

    def to_pyod(
        self, *, random_state: int | None = None, contamination: float = 0.1
    ) -> "SpecDetector":
        """Build a detector with PyOD's interface that applies the spec's scaling itself.

        Parameters
        ----------
        random_state : int or None, default=None
            Seed; without effect on a detector that is not random.
        contamination : float, default=0.1
            Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
        """
        # late: PyOD is slow to import and most uses of a spec do without it
        from metaod.detectors.detector import SpecDetector  # noqa: PLC0415

        self.family.check_params(dict(self.params))
        return SpecDetector(self, random_state=random_state, contamination=contamination)


def _order(name: str) -> tuple[bool, str]:
    # sizes first (n_neighbors, n_bins, ...), then the others, each by alphabet
    return (not name.startswith("n_"), name)


def _plain(name: str, value: object) -> Value:
    """Reduce numpy scalars to Python's own types and refuse what text cannot hold."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise BadParameter(
        "ModelSpec", name, "a bool, an int, a finite float, a str or None", value
    ) from None


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
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if not _WORD.fullmatch(text):
        raise BadParameter("ModelSpec.parse", "text", "made of numbers, words and strings", whole)
    return text
