"""Detector families: everything known about a detector's name, and the registry of families."""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module, metadata
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from metaod.errors import BadParameter
from metaod.models._model_id import DEFAULT_SCALING, ModelId

if TYPE_CHECKING:
    from metaod.models._costs import CostLaw
    from metaod.models._scaling import FittedScaling

ENTRY_POINTS = "metaod.families"
"""Group of entry points through which an installed package offers its own families."""

ALL_ROWS_UP_TO = 20_000
"""Most rows of a table from which models learn all; of a larger one they learn from a sample."""

FEW_ROWS, MORE_ROWS, MANY_ROWS = 5_000, 20_000, 100_000
"""Sizes of the sample: of averages and most families, of those that search neighbours fast, and of
those whose time grows with the rows alone."""

Params = dict[str, Any]
Grid = Mapping[str, Sequence[Any]]
Rule = Callable[[Params, int, int], str | None]

# SpecDetector sets these for every model
_NOT_HYPERPARAMETERS = frozenset({"random_state", "contamination"})

_bad = partial(BadParameter, "register_family")


def _always_applies(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
    return None


class Settings(NamedTuple):
    """A grid of hyperparameters, tried on each of some scalings."""

    grid: Grid
    scalings: Sequence[str] = (DEFAULT_SCALING,)

    def combinations(self) -> list[tuple[Params, str]]:
        """Return the hyperparameters and the scaling of each model, scaling by scaling."""
        return [
            (dict(zip(self.grid, values, strict=True)), scaling)
            for scaling, *values in product(self.scalings, *self.grid.values())
        ]


@dataclass(frozen=True)
class Family:
    """A detector class, the hyperparameters to try, and facts about the detector.

    Parameters
    ----------
    name : str
        Its name in ids.
    detector : type or str
        A class with PyOD's ``fit`` and ``decision_scores_``, or ``"package.module:Class"``; of the
        package's own families a subclass of :class:`Estimator`.
    grid : mapping of str to sequence
        Values of each hyperparameter; the models are their Cartesian product.
    title : str
        Its name for readers; the name in ids unless given.
    random : bool
        Whether scores depend on ``random_state``.
    rule : callable
        ``rule(params, n_rows, n_columns)`` returns why a model does not apply, or None.
    canonical : callable or None
        Maps hyperparameters to those that represent all with the same scores.
    builtin : bool
        Whether it belongs to the package and cannot be replaced.
    extended : sequence of Settings
        The family's models in the extended space.
    cost : CostLaw or None
        Time and memory of a fit; not needed if ``costs.json`` has a law for the name.
    learned_rows : int
        Rows that its models learn from in a table of more than :data:`ALL_ROWS_UP_TO`.
    landmarker : callable or None
        ``landmarker(Z, seed)`` runs the detector on z-scores, to describe the table by its results.
    """

    name: str
    detector: type | str
    grid: Grid
    title: str = ""
    random: bool = False
    rule: Rule = _always_applies
    canonical: Callable[[Params], Params] | None = None
    builtin: bool = False
    extended: Sequence[Settings] = ()
    cost: "CostLaw | None" = field(default=None, repr=False)
    learned_rows: int = FEW_ROWS
    landmarker: Callable[[Any, int], Any] | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of models in the grid."""
        return prod(len(values) for values in self.grid.values())

    def load(self) -> type:
        """Return the detector class."""
        if isinstance(self.detector, type):
            return self.detector
        module, _, name = self.detector.partition(":")
        loaded: type = getattr(import_module(module), name)
        return loaded

    def accepts(self) -> frozenset[str]:
        """Return the named parameters of the class's constructor."""
        return _constructor_names(self.load())[0]

    def takes(self, name: str) -> bool:
        """Return whether the class's constructor takes that name, also through ``**kwargs``."""
        names, takes_any = _constructor_names(self.load())
        return takes_any or name in names

    def check_params(self, params: Params) -> None:
        """Refuse hyperparameters that the class does not take, and those that callers set."""
        for name in params:
            if name in _NOT_HYPERPARAMETERS or not self.takes(name):
                legal = sorted(self.accepts() - _NOT_HYPERPARAMETERS)
                raise BadParameter(self.name, "params", legal, name)

    def build(
        self, params: Params, random_state: int | None, scaling: "FittedScaling", **options: Any
    ) -> Any:
        """Build a detector for a scaled table; it gets the options that its constructor names."""
        given = params | {name: options[name] for name in options if name in self.accepts()}
        if self.random:
            given["random_state"] = random_state
        detector = self.load()(**given)
        if self.builtin:
            detector.n_fixed, detector.fixed_unit = scaling.fixed.size, scaling.fixed_unit
        return detector

    def canonical_params(self, params: Params) -> Params:
        """Return the hyperparameters that represent all with the same scores."""
        return params if self.canonical is None else self.canonical(params)

    def why_not(self, params: Params, n_rows: int, n_columns: int) -> str | None:
        """Return why a model does not apply to a table of that size; None if it does."""
        if n_rows < 2:
            return f"needs at least 2 rows, the table has {n_rows}"
        if n_columns < 1:
            return "needs at least 1 column, the table has none"
        return self.rule(params, n_rows, n_columns)


@cache
def _constructor_names(detector: type) -> tuple[frozenset[str], bool]:
    """Return the names that can be given by keyword, and whether any other can."""
    parameters = inspect.signature(detector).parameters.values()
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = frozenset(item.name for item in parameters if item.kind in by_keyword)
    return names, any(item.kind == inspect.Parameter.VAR_KEYWORD for item in parameters)


_REGISTRY: dict[str, Family] = {}


def registered_families() -> dict[str, Family]:
    """Return all families by name: built-in ones first, then registered ones."""
    _load_entry_points()
    return dict(_REGISTRY)


def family(name: str) -> Family:
    """Return the family of that name.

    Examples
    --------
    >>> family("KNN").size
    36
    """
    if name not in _REGISTRY:
        _load_entry_points()
    if name not in _REGISTRY:
        by_lower = {known.lower(): known for known in _REGISTRY}
        near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
        hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
        remedy = f"{hint}Your own family is added with metaod.register_family"
        raise BadParameter("ModelSpec", "detector", list(_REGISTRY), name, remedy=remedy)
    return _REGISTRY[name]


def add_builtin(added: Family) -> Family:
    """Add one of the package's own families."""
    _REGISTRY[added.name] = replace(added, builtin=True)
    return _REGISTRY[added.name]


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
    _check_name(name)
    known = _REGISTRY.get(name)
    if known is not None and known.builtin:
        raise _bad("name", "none of the package's own families", name)
    if known is not None and not replace:
        raise _bad("name", "a new name", name, remedy="Pass replace=True to replace it")
    added = Family(
        name, detector, grid or {}, random=random, rule=rule or _always_applies,
        canonical=canonical, learned_rows=learned_rows,
    )  # fmt: skip
    _REGISTRY[name] = _checked(added)
    return _REGISTRY[name]


def unregister_family(name: str) -> None:
    """Remove a family that was registered before."""
    if family(name).builtin:
        raise BadParameter("unregister_family", "name", "a registered family's", name)
    del _REGISTRY[name]


def _checked(added: Family) -> Family:
    """Return the family to be registered; refuse it if a later use of it would fail."""
    _check_name(added.name)
    _check_class(added)
    if not isinstance(added.random, bool):
        raise _bad("random", "a bool", added.random)
    if not callable(added.rule):
        raise _bad("rule", "callable or None", added.rule)
    if added.canonical is not None and not callable(added.canonical):
        raise _bad("canonical", "callable or None", added.canonical)
    rows = added.learned_rows
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 2:
        raise _bad("learned_rows", "an int in the range [2, inf)", rows)
    added = replace(added, grid=_checked_grid(added.grid), builtin=False)
    added.check_params(dict(added.grid))
    if added.random and not added.takes("random_state"):
        raise _bad("random", "False for a class that takes no random_state", True)
    # a value that no model can have would otherwise break the whole space later
    ids = {ModelId(added.name, params) for params, _ in Settings(added.grid).combinations()}
    if len(ids) < added.size:
        raise _bad("grid", "without duplicate values", dict(added.grid))
    return added


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", name):
        raise _bad("name", "made of letters, digits, _, . and -", name)


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
            if item.name not in _REGISTRY:
                _REGISTRY[item.name] = _checked(item)
        except Exception as error:  # another package's code may raise anything
            left_out = f"the detector family {point.name!r} of {point.value!r} is left out"
            warnings.warn(f"{left_out}: {error}", stacklevel=2)
