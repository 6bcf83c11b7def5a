"""Detector families by name: those of this package, registered ones, and those of packages."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import metadata
from pkgutil import resolve_name
from typing import Any

from metaod._legal import Whole
from metaod.errors import BadParameter
from metaod.models._family import FEW_ROWS, Family, Grid, Params, Rule, Settings, always_applies
from metaod.models._model_id import ModelId

ENTRY_POINTS = "metaod.families"
"""Group of entry points through which an installed package offers its own families."""

_bad = partial(BadParameter, "register_family")

_PATHS = {
    "KDE": "metaod.models.families.kde:FAMILY",
    "KNN": "metaod.models.families.knn:FAMILY",
    "LOF": "metaod.models.families.lof:FAMILY",
    "OCSVM": "metaod.models.families.ocsvm:FAMILY",
    "COF": "metaod.models.families.cof:FAMILY",
    "ABOD": "metaod.models.families.abod:FAMILY",
    "IForest": "metaod.models.families.iforest:FAMILY",
    "HBOS": "metaod.models.families.hbos:FAMILY",
    "LODA": "metaod.models.families.loda:FAMILY",
    "SCiForest": "metaod.models.families.oblique:SCIFOREST_FAMILY",
    "ExtendedIForest": "metaod.models.families.oblique:EXTENDEDIFOREST_FAMILY",
    "MCD": "metaod.models.families.mcd:FAMILY",
    "PCA": "metaod.models.families.pca:FAMILY",
    "ECOD": "metaod.models.families.ecod:ECOD_FAMILY",
    "COPOD": "metaod.models.families.ecod:COPOD_FAMILY",
    "CBLOF": "metaod.models.families.cblof:FAMILY",
}
"""The package's own families, in the order of the spaces; each is imported when it is used."""

_REGISTRY: dict[str, Family] = {}  # those that were registered, and own ones that were used


def registered_families() -> dict[str, Family]:
    """Return all families by name: built-in ones first, then registered ones."""
    _load_entry_points()
    return {name: family(name) for name in dict.fromkeys([*_PATHS, *_REGISTRY])}


def find_family(name: str) -> Family | None:
    """Return the family of that name; None if there is none."""
    if name in _PATHS and name not in _REGISTRY:
        _REGISTRY[name] = replace(resolve_name(_PATHS[name]), builtin=True)
    if name not in _REGISTRY:
        _load_entry_points()
    return _REGISTRY.get(name)


def family(name: str) -> Family:
    """Return the family of that name.

    Examples
    --------
    >>> family("KNN").size
    36
    """
    found = find_family(name)
    if found is None:
        known = [*dict.fromkeys([*_PATHS, *_REGISTRY])]
        by_lower = {name.lower(): name for name in known}
        near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
        hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
        remedy = f"{hint}Your own family is added with metaod.register_family"
        raise BadParameter("ModelSpec", "detector", known, name, remedy=remedy)
    return found


def register_family(
    name: str,
    detector: type | str,
    grid: Grid | None = None,
    *,
    random: bool = False,
    rule: Rule | None = None,
    canonical: Callable[[Params], Params] | None = None,
    learned_rows: int = FEW_ROWS,
    replace: bool = False,
) -> Family:
    """Add your own detector family; it is then used like a built-in one.

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
        Maps hyperparameters to those that represent all with the same scores.
    learned_rows : int, default=5000
        Rows that a single model learns from in a table of more than 20,000; the other rows are
        scored as new ones.
    replace : bool, default=False
        Whether a family that was registered under this name before may be replaced.

    Notes
    -----
    ``metaod.testing.detector_contract(name)`` lists checks of a registered family.

    Examples
    --------
    >>> from pyod.models.ecod import ECOD
    >>> _ = register_family("Mine", ECOD)
    >>> from metaod.models import ModelSpec
    >>> ModelSpec("Mine").to_pyod().fit([[0, 1], [1, 0], [2, 2], [9, 9]]).decision_scores_.argmax()
    np.int64(3)
    >>> unregister_family("Mine")
    """
    added = Family(
        name, detector, grid or {}, random=random, rule=rule or always_applies,
        canonical=canonical or dict, learned_rows=learned_rows,
    )  # fmt: skip
    added = _checked(added)
    if name in _PATHS:
        raise _bad("name", "none of the package's own families", name)
    if name in _REGISTRY and not replace:
        raise _bad("name", "a new name", name, remedy="Pass replace=True to replace it")
    _REGISTRY[name] = added
    return added


def unregister_family(name: str) -> None:
    """Remove a family that was registered before."""
    if family(name).builtin:
        raise BadParameter("unregister_family", "name", "a registered family's", name)
    del _REGISTRY[name]


def _checked(added: Family) -> Family:
    """Return the family to be registered; refuse it if a later use of it would fail."""
    name = added.name
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", name):
        raise _bad("name", "made of letters, digits, _, . and -", name)
    _check_class(added)
    if not isinstance(added.random, bool):
        raise _bad("random", "a bool", added.random)
    for what, function in (("rule", added.rule), ("canonical", added.canonical)):
        if not callable(function):
            raise _bad(what, "callable or None", function)
    if not Whole(2).allows(added.learned_rows):
        raise _bad("learned_rows", str(Whole(2)), added.learned_rows)
    added = replace(added, grid=_checked_grid(added.grid), builtin=False)
    added.check_params(dict(added.grid))
    if added.random and not added.takes("random_state"):
        raise _bad("random", "False for a class that takes no random_state", True)
    # a value that no model can have would otherwise break the whole space later
    ids = {ModelId(added.name, params) for params, _ in Settings(added.grid).combinations()}
    if len(ids) < added.size:
        raise _bad("grid", "without duplicate values", dict(added.grid))
    return added


def _check_class(added: Family) -> None:
    legal = "a class, or 'package.module:Class' that can be imported"
    detector = added.detector
    if isinstance(detector, str) and re.fullmatch(r"\w+(\.\w+)*:\w+", detector):
        try:
            detector = added.load()
        except Exception as error:  # another package's module may raise anything
            remedy = f"Importing it failed: {error}"
            raise _bad("detector", legal, detector, remedy=remedy) from error
    elif not isinstance(detector, type):
        raise _bad("detector", legal, detector)
    if not isinstance(detector, type) or not callable(getattr(detector, "fit", None)):
        raise _bad("detector", "a class with a fit method", added.detector)
    try:
        added.accepts()
    except (TypeError, ValueError) as error:
        legal = "a class whose constructor has a signature"
        raise _bad("detector", legal, added.detector) from error


def _checked_grid(grid: object) -> dict[str, tuple[Any, ...]]:
    legal = "a mapping of names to non-empty sequences of values"
    if not isinstance(grid, Mapping) or not all(isinstance(name, str) for name in grid):
        raise _bad("grid", legal, grid)
    for values in grid.values():
        # an array is a sequence but not an instance of Sequence; a string would become letters
        in_order = hasattr(values, "__getitem__") and hasattr(values, "__len__")
        if not in_order or isinstance(values, str | bytes | Mapping) or len(values) == 0:
            raise _bad("grid", legal, dict(grid))
    return {name: tuple(values) for name, values in grid.items()}


@cache
def _load_entry_points() -> None:
    for point in metadata.entry_points(group=ENTRY_POINTS):
        # a broken plug-in must not break the others or the command
        try:
            item = point.load()
            item = item() if callable(item) else item
            if not isinstance(item, Family):
                raise TypeError(f"it gives {type(item).__name__}, not a Family")
            if item.name not in {*_PATHS, *_REGISTRY}:
                _REGISTRY[item.name] = _checked(item)
        except Exception as error:  # another package's code may raise anything
            left_out = f"the detector family {point.name!r} of {point.value!r} is left out"
            warnings.warn(f"{left_out}: {error}", stacklevel=2)
