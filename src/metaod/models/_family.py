"""Detector families: everything known about a detector's name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from metaod.errors import BadParameter
from metaod.models._model_id import DEFAULT_SCALING

if TYPE_CHECKING:
    from metaod.models._scaling import FittedScaling

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


def more_rows_than(name: str, default: int) -> Rule:
    """Return the rule that a table has more rows than a hyperparameter's value."""

    def rule(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
        value = params.get(name, default)
        if isinstance(value, int) and value >= n_rows:
            return f"{name}={value} needs at least {value + 1} rows, the table has {n_rows}"
        return None

    return rule


def always_applies(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
    """Allow every model on every table."""
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
    canonical : callable
        Maps hyperparameters to those that represent all with the same scores.
    builtin : bool
        Whether it belongs to the package and cannot be replaced.
    extended : sequence of Settings
        The family's models in the extended space.
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
    rule: Rule = always_applies
    canonical: Callable[[Params], Params] = dict
    builtin: bool = False
    extended: Sequence[Settings] = ()
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
        loaded: type = resolve_name(self.detector)
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
