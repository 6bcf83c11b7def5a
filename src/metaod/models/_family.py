"""Detector families: what a detector's name stands for, and the register that users extend."""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module, metadata
from typing import Any

from metaod.errors import BadParameter

__all__ = [
    "ENTRY_POINTS",
    "Family",
    "family",
    "register_family",
    "registered_families",
    "unregister_family",
]

ENTRY_POINTS = "metaod.families"
"""Group of entry points through which an installed package offers its own families."""

Params = dict[str, Any]


def _applies(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's form
    return None


@dataclass(frozen=True)
class Family:
    """A detector class, the grid of hyperparameters to try, and what is known about it.

    Parameters
    ----------
    name : str
        Its name in ids.
    detector : type or str
        The class, or ``"package.module:Class"`` to be imported when first needed. It has PyOD's
        ``fit(X)`` and, once fitted, ``decision_scores_`` (higher is more outlying).
    grid : mapping of str to sequence
        Values of each hyperparameter; the models are their Cartesian product.
    random : bool
        Whether scores depend on ``random_state``.
    rule : callable
        ``rule(params, n_rows, n_columns)`` says in words why a model does not apply to a table
        of that size, or returns None.
    canonical : callable or None
        Maps hyperparameters onto those that stand for all with the same scores.
    builtin : bool
        Whether it is one of the package's own, which cannot be replaced.
    """

    name: str
    detector: type | str
    grid: Mapping[str, Sequence[Any]]
    random: bool = False
    rule: Callable[[Params, int, int], str | None] = _applies
    canonical: Callable[[Params], Params] | None = None
    builtin: bool = False

    @property
    def size(self) -> int:
        """Number of models in the grid."""
        count = 1
        for values in self.grid.values():
            count *= len(values)
        return count

    def load(self) -> type:
        """The detector class."""
        if isinstance(self.detector, type):
            return self.detector
        module, _, name = self.detector.partition(":")
        loaded: type = getattr(import_module(module), name)
        return loaded

    def accepts(self) -> frozenset[str]:
        """Names that the class's constructor spells out."""
        return _constructor_names(self.load())[0]

    def takes(self, name: str) -> bool:
        """Whether the class's constructor takes that name, be it through ``**kwargs``."""
        names, takes_any = _constructor_names(self.load())
        return takes_any or name in names

    def check_params(self, params: Params) -> None:
        """Refuse hyperparameters that the class does not take, and those that are not models'."""
        for name in params:
            if name in _NOT_HYPERPARAMETERS or not self.takes(name):
                legal = sorted(self.accepts() - _NOT_HYPERPARAMETERS)
                raise BadParameter(self.name, "params", legal, name)

    def canonical_params(self, params: Params) -> Params:
        """Hyperparameters that stand for all with the same scores."""
        return params if self.canonical is None else self.canonical(params)

    def why_not(self, params: Params, n_rows: int, n_columns: int) -> str | None:
        """Why a model does not apply to a table of that size; None where it does."""
        if n_rows < 2:
            return f"needs at least 2 rows, the table has {n_rows}"
        if n_columns < 1:
            return "needs at least 1 column, the table has none"
        return self.rule(params, n_rows, n_columns)


# set by SpecDetector for every model
_NOT_HYPERPARAMETERS = frozenset({"random_state", "contamination"})


@cache
def _constructor_names(detector: type) -> tuple[frozenset[str], bool]:
    """Names that can be given by keyword, and whether any other can."""
    parameters = inspect.signature(detector).parameters.values()
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = frozenset(item.name for item in parameters if item.kind in by_keyword)
    return names, any(item.kind == inspect.Parameter.VAR_KEYWORD for item in parameters)


_REGISTER: dict[str, Family] = {}


def registered_families() -> dict[str, Family]:
    """All known families by name: the package's own first, then registered ones."""
    _load_builtin()
    _load_entry_points()
    return dict(_REGISTER)


def family(name: str) -> Family:
    """The family of that name.

    Examples
    --------
    >>> family("KNN").size
    36
    """
    _load_builtin()
    if name not in _REGISTER:
        _load_entry_points()
    if name not in _REGISTER:
        by_lower = {known.lower(): known for known in _REGISTER}
        near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
        hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
        raise BadParameter(
            "ModelSpec",
            "detector",
            list(_REGISTER),
            name,
            remedy=f"{hint}Your own family is added with metaod.register_family",
        )
    return _REGISTER[name]


def register_family(
    name: str,
    detector: type | str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    random: bool = False,
    rule: Callable[[Params, int, int], str | None] | None = None,
    canonical: Callable[[Params], Params] | None = None,
    replace: bool = False,
) -> Family:
    """Add a detector family of your own; it is then a family like the package's own.

    Parameters
    ----------
    name : str
        Its name in ids.
    detector : type or str
        A class with PyOD's ``fit`` and ``decision_scores_``, or ``"package.module:Class"``.
    grid : mapping of str to sequence, optional
        Values of each hyperparameter; one model with the class's defaults when left out.
    random : bool, default=False
        Whether scores depend on a seed. The class must then take ``random_state``.
    rule : callable, optional
        ``rule(params, n_rows, n_columns)`` returns why a model does not apply, or None.
    canonical : callable, optional
        Maps hyperparameters onto those that stand for all with the same scores.
    replace : bool, default=False
        Whether a family that was registered under this name before may be replaced.

    Returns
    -------
    Family
        What was registered. ``metaod.testing.detector_contract(name)`` lists checks for it.

    Examples
    --------
    >>> from pyod.models.ecod import ECOD
    >>> _ = register_family("Mine", ECOD)
    >>> from metaod.models import ModelSpec
    >>> ModelSpec("Mine").to_pyod().fit([[0, 1], [1, 0], [2, 2], [9, 9]]).decision_scores_.argmax()
    np.int64(3)
    >>> unregister_family("Mine")
    """
    _load_builtin()
    _check_name(name)
    known = _REGISTER.get(name)
    if known is not None and known.builtin:
        raise BadParameter("register_family", "name", "none of the package's own families", name)
    if known is not None and not replace:
        raise BadParameter(
            "register_family", "name", "a new name", name, remedy="Pass replace=True to replace it"
        )
    added = _checked(
        Family(
            name=name,
            detector=detector,
            grid={} if grid is None else grid,
            random=random,
            rule=_applies if rule is None else rule,
            canonical=canonical,
        )
    )
    _REGISTER[name] = added
    return added


def unregister_family(name: str) -> None:
    """Take back a family that was registered before."""
    if family(name).builtin:
        raise BadParameter("unregister_family", "name", "a registered family's", name)
    del _REGISTER[name]


def _checked(added: Family) -> Family:
    """The family as it enters the register, once everything that it will be asked for works."""
    _check_name(added.name)
    _check_class(added)
    if not isinstance(added.random, bool):
        raise BadParameter("register_family", "random", "a bool", added.random)
    if not callable(added.rule):
        raise BadParameter("register_family", "rule", "callable or None", added.rule)
    if added.canonical is not None and not callable(added.canonical):
        raise BadParameter("register_family", "canonical", "callable or None", added.canonical)
    added = replace(added, grid=_checked_grid(added.grid), builtin=False)
    added.check_params(dict(added.grid))
    if added.random and not added.takes("random_state"):
        raise BadParameter(
            "register_family", "random", "False for a class that takes no random_state", True
        )
    from metaod.models._spaces import specs_of  # noqa: PLC0415 - it imports Family from here

    # a value that no model can have would otherwise break the whole space, and only later
    if len(set(specs_of(added))) < added.size:
        raise BadParameter("register_family", "grid", "without duplicate values", dict(added.grid))
    return added


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", name):
        raise BadParameter("register_family", "name", "made of letters, digits, _, . and -", name)


def _check_class(added: Family) -> None:
    legal = "a class, or 'package.module:Class' that can be imported"
    detector = added.detector
    if isinstance(detector, str) and re.fullmatch(r"\w+(\.\w+)*:\w+", detector):
        try:
            detector = added.load()
        except Exception as error:  # a foreign module may raise anything
            raise BadParameter(
                "register_family",
                "detector",
                legal,
                detector,
                remedy=f"Importing it failed: {error}",
            ) from error
    elif not isinstance(detector, type):
        raise BadParameter("register_family", "detector", legal, detector)
    if not isinstance(detector, type) or not callable(getattr(detector, "fit", None)):
        raise BadParameter(
            "register_family", "detector", "a class with a fit method", added.detector
        )
    try:
        added.accepts()
    except (TypeError, ValueError) as error:
        raise BadParameter(
            "register_family",
            "detector",
            "a class whose constructor has a signature",
            added.detector,
        ) from error


def _checked_grid(grid: object) -> dict[str, tuple[Any, ...]]:
    legal = "a mapping of names to non-empty sequences of values"
    if not isinstance(grid, Mapping) or not all(isinstance(name, str) for name in grid):
        raise BadParameter("register_family", "grid", legal, grid)
    checked = {}
    for name, values in grid.items():
        # a string would fall apart into letters; an array is a sequence though not by its type
        in_order = hasattr(values, "__getitem__") and hasattr(values, "__len__")
        if not in_order or isinstance(values, str | bytes | Mapping) or len(values) == 0:
            raise BadParameter("register_family", "grid", legal, dict(grid))
        checked[name] = tuple(values)
    return checked


@cache
def _load_builtin() -> None:
    # the package's own families are data; importing them here keeps this file general
    from metaod.models._extended import EXTENDED_FAMILIES  # noqa: PLC0415 - imports from here
    from metaod.models._paper import PAPER_FAMILIES  # noqa: PLC0415 - it imports Family from here

    for item in (*PAPER_FAMILIES, *EXTENDED_FAMILIES):
        _REGISTER[item.name] = item


@cache
def _load_entry_points() -> None:
    for point in metadata.entry_points(group=ENTRY_POINTS):
        # one broken plug-in must not take the others, or the command, down with it
        try:
            item = point.load()
            item = item() if callable(item) else item
            if not isinstance(item, Family):
                raise TypeError(f"it gives {type(item).__name__}, not a Family")
            if item.name not in _REGISTER:
                _REGISTER[item.name] = _checked(item)
        except Exception as error:  # foreign code may raise anything
            warnings.warn(
                f"the detector family {point.name!r} of {point.value!r} is left out: {error}",
                stacklevel=2,
            )
