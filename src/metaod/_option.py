"""What an option is: its help text, its limits, and what is derived from them.

Options are fields of a dataclass, see ``metaod.options``. From them come the checks and the
documentation of Python functions, the options of the command line, and JSON schemas.
"""

import inspect
import textwrap
from collections import abc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, update_wrapper
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from metaod.errors import BadParameter, UserError

P = ParamSpec("P")
Kind = TypeVar("Kind", bound="Options")
Result = TypeVar("Result")

# a plain type: its numbers in the widest sense, its name in JSON, and how messages call it
_PLAIN: dict[Any, tuple[Any, str, str]] = {
    str: (str, "string", "a str"),
    int: (Integral, "integer", "an int"),
    float: (Real, "number", "a number"),
    bool: (bool, "boolean", "True, False"),
    NoneType: (NoneType, "null", "None"),
}


@dataclass(frozen=True)
class Option:
    """An option: what a front end shows, takes and refuses.

    Parameters
    ----------
    help : str
        One sentence or two, for every front end.
    details : str
        What follows in Python's documentation.
    metavar : str
        What the command line's help calls the value.
    label : str
        What the form of the page calls it; the form has options with a label.
    choices : dict
        What the form calls values; None stands for the default, and comes first.
    flags : tuple of str
        How the command line writes it, if not as its name; two for a switch and its opposite.
    minimum, maximum, above : float, optional
        Limits of a number; it lies above `above`.
    legal : str
        The legal set, if the type and the limits do not say it.
    convert : callable, optional
        Returns the value as the code uses it; ValueError or TypeError if it is not legal. By
        default several values become a tuple of names.
    is_kept : bool
        Whether a saved pick keeps it, because later rows are read with it, too.
    only_python : bool
        Whether other front ends have no such option.
    name, hint, default
        Of the field.
    """

    help: str
    details: str = ""
    metavar: str = ""
    label: str = ""
    choices: Mapping[Any, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    legal: str = ""
    convert: Callable[[Any], Any] | None = None
    is_kept: bool = False
    only_python: bool = False
    name: str = ""
    hint: Any = None
    default: Any = None

    @cached_property
    def types(self) -> tuple[Any, ...]:
        """The plain types that a value may have."""
        return tuple(kind for kind in _members(self.hint) if kind in _PLAIN)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The legal words, if the type lists them."""
        found = (get_args(kind) for kind in _members(self.hint) if get_origin(kind) is Literal)
        return tuple(value for values in found for value in values)

    @cached_property
    def is_many(self) -> bool:
        """Whether several values can be given."""
        return any(get_origin(kind) is abc.Iterable for kind in _members(self.hint))

    @property
    def is_required(self) -> bool:
        """Whether it must be given: its default is none of its values."""
        return self.default is None and NoneType not in self.types

    def checked(self, value: Any, owner: str) -> Any:
        """Return the value as the code uses it; BadParameter, which names the owner, if illegal."""
        try:
            convert = self.convert or (as_names if self.is_many else None)
            if convert is not None and (value is not None or self.is_many):
                return convert(value)
        except (AttributeError, LookupError, TypeError, ValueError):
            pass
        else:
            if self._is_legal(value):
                return value
        raise BadParameter(owner, self.name, self.legal or self.values or self._legal_set(), value)

    def _is_legal(self, value: Any) -> bool:
        kinds = (get_origin(kind) or kind for kind in _members(self.hint))
        if any(kind not in (*_PLAIN, Literal, abc.Iterable) for kind in kinds):
            return True  # what has the type checks the value
        if isinstance(value, str) and value in self.values:
            return True
        if value is None or isinstance(value, bool):
            return type(value) in self.types
        if not isinstance(value, tuple(_PLAIN[kind][0] for kind in self.types)):
            return False
        number: Any = value if isinstance(value, Real) else None
        return number is None or (
            (self.minimum is None or number >= self.minimum)
            and (self.maximum is None or number <= self.maximum)
            and (self.above is None or number > self.above)
        )

    def _legal_set(self) -> str:
        texts = [_PLAIN[kind][2] for kind in self.types]
        if self.above is not None:
            texts[0] += f" above {self.above}"
        elif self.minimum is not None:
            most = "inf)" if self.maximum is None else f"{self.maximum}]"
            texts[0] += f" in the range [{self.minimum}, {most}"
        return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its values."""
        types = [_PLAIN[kind][1] for kind in self.types]
        found: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
        if self.values:
            words = {"enum": [*self.values, *([None] if "null" in types else [])]}
            found = {"anyOf": [found, words]} if set(types) - {"null"} else words
        if self.is_many:
            [of] = (get_args(kind)[0] for kind in _members(self.hint) if get_args(kind))
            found = {"type": "array", "items": {"type": "integer" if of is int else "string"}}
        limits = {
            "minimum": self.minimum,
            "maximum": self.maximum,
            "exclusiveMinimum": self.above,
        }
        found |= {name: limit for name, limit in limits.items() if limit is not None}
        return {**found, "description": self.help}

    def form_field(self) -> dict[str, Any]:
        """Return its field in the form of the page."""
        values = ("" if value is None else value for value in self.choices)
        texts = (str(value).lower() if isinstance(value, bool) else value for value in values)
        kinds = self.schema().get("type", "string")
        kind = kinds if isinstance(kinds, str) else kinds[0]
        words = list(zip(texts, self.choices.values(), strict=True))
        return {"name": self.name, "label": self.label, "kind": kind, "choices": words}

    def documentation(self) -> str:
        """Return its part of the section Parameters of a docstring."""
        names = [kind.__name__ for kind in self.types if kind is not NoneType]
        names += [f"{{{', '.join(map(repr, self.values))}}}"] if self.values else []
        kind = " or ".join([*names, *(["iterable of str"] if self.is_many else [])])
        given = "optional" if self.default in (None, ()) else f"default={self.default!r}"
        text = textwrap.fill(f"{self.help} {self.details}".strip(), 96)
        return f"{self.name} : {kind or 'object'}, {given}\n{textwrap.indent(text, '    ')}"

    def words(self, value: Any = None) -> list[str]:
        """Return it with a value as the words of a command; several values repeat it."""
        flags = self.flags or (f"--{self.name.replace('_', '-')}",)
        if isinstance(value, bool):
            return [flags[0] if value else flags[1]]
        several = isinstance(value, Iterable) and not isinstance(value, str)
        values = value if several else () if value is None else (value,)
        return [word for one in values for word in (flags[0], str(one))] or [flags[0]]


def as_names(given: Any) -> tuple[str, ...]:
    """Convert one, several or no names to a tuple; TypeError for what is not names."""
    if given is None:
        return ()
    if isinstance(given, bytes | Mapping):
        raise TypeError
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def option(default: Any, help: str, **settings: Any) -> Any:  # noqa: A002 - its name everywhere
    """Return the field of an option with this default; the settings are those of `Option`."""
    return field(default=default, metadata={"option": Option(help, **settings)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of a group of options."""

    hidden: ClassVar[tuple[str, ...]] = ()  # those that a front end does not offer
    title: ClassVar[str] = ""  # of the group, in the help of the command line

    @classmethod
    @cache
    def declared(cls) -> dict[str, Option]:
        """Return the options by name."""
        # types of rooms are not imported here: what has them checks their values
        hints = get_type_hints(cls, localns={"Artifact": object, "ModelSpec": object})
        return {
            own.name: replace(
                own.metadata["option"], name=own.name, hint=hints[own.name], default=own.default
            )
            for own in fields(cls)
        }

    @classmethod
    def offered(cls) -> dict[str, Option]:
        """Return the options that front ends other than Python have."""
        declared = cls.declared().items()
        return {
            name: own for name, own in declared if not own.only_python and name not in cls.hidden
        }

    @classmethod
    def parse(cls, given: Mapping[str, Any], owner: str) -> dict[str, Any]:
        """Check options that a front end got as plain data; unknown ones are refused."""
        offered = cls.offered()
        for name in given:
            if name not in offered:
                remedy = f"use {', '.join(offered)}" if offered else "leave it out"
                what = f"there is no {name[:40]!r}"
                raise UserError(what, where=owner, remedy=remedy, code="unknown-option")
        checked = cls(**given).checked(owner)
        return {name: getattr(checked, name) for name in offered}

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of an object that holds them."""
        return {
            "type": "object",
            "properties": {name: own.schema() for name, own in cls.offered().items()},
            "required": [name for name, own in cls.offered().items() if own.is_required],
            "additionalProperties": False,
        }

    def checked(self, owner: str) -> Self:
        """Return them as the code uses them; errors name the owner."""
        values = {
            name: item.checked(getattr(self, name), owner) for name, item in self.declared().items()
        }
        return replace(self, **values)

    def given(self) -> dict[str, Any]:
        """Return those that differ from their defaults."""
        values = ((name, getattr(self, name), item) for name, item in self.declared().items())
        return {name: value for name, value, item in values if value not in (item.default, ())}


def _members(hint: Any) -> Iterator[Any]:
    """Return the types of a union."""
    if get_origin(hint) in (Union, UnionType):
        for kind in get_args(hint):
            yield from _members(kind)
    else:
        yield hint


def takes(
    kind: Callable[P, Kind],
) -> Callable[[Callable[[Any, Kind], Result]], Callable[Concatenate[Any, P], Result]]:
    """Let a function take options as keyword arguments; it gets them checked, as one object.

    Its signature lists them, and so does its docstring instead of the line ``options : ...``.
    """
    declared = kind.declared()  # type: ignore[attr-defined]  # mypy takes the class as a function

    def decorate(
        function: Callable[[Any, Kind], Result],
    ) -> Callable[Concatenate[Any, P], Result]:
        owner = function.__name__

        def call(source: Any, /, *args: P.args, **given: P.kwargs) -> Result:
            for name in given:
                if name not in declared:
                    raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}")
            return function(source, kind(*args, **given).checked(owner))

        update_wrapper(call, function)
        own = inspect.signature(function)
        first = next(iter(own.parameters.values()))
        others = inspect.signature(kind).parameters.values()
        call.__signature__ = own.replace(parameters=[first, *others])  # type: ignore[attr-defined]  # mypy does not know it
        document(call, options=declared)
        return call

    return decorate


def document(thing: Any, **groups: dict[str, Option]) -> None:
    """Describe options in a docstring, at the line ``name : ...`` of each group's name."""
    if thing.__doc__ is None:  # python -OO
        return
    lines = thing.__doc__.split("\n")
    for name, options in groups.items():
        place = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{name} : "))
        indent = lines[place][: -len(lines[place].lstrip())]
        text = "\n".join(item.documentation() for item in options.values())
        lines[place : place + 1] = textwrap.indent(text, indent).split("\n")
    thing.__doc__ = "\n".join(lines)
