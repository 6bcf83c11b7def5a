"""The four properties that define a childset, as Emmott et al. control them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal, Self, get_args

from metaod.errors import BadParameter

Difficulty = Literal["any", "easy", "medium", "hard", "very hard"]
Clusteredness = Literal["any", "scattered", "clustered"]

DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
CLUSTEREDNESS: tuple[Clusteredness, ...] = get_args(Clusteredness)
_FREQUENCIES: tuple[float | Literal["any"], ...] = ("any", 0.001, 0.005, 0.01, 0.05, 0.1)
_IRRELEVANCES = (1.0, 1.2, 1.5, 2.0)

SIBLINGS = 5
"""Replicates of one setting in the benchmark's numbering."""


@dataclass(frozen=True)
class Recipe:
    """The setting of a childset; replicates of one setting are siblings.

    Parameters
    ----------
    difficulty : {"any", "easy", "medium", "hard", "very hard"}, default="any"
        How similar an outlier is to normal rows: its P(normal | x) by a kernel classifier.
    frequency : float or "any", default="any"
        The share of outliers, above 0 and at most 0.5; "any" keeps the motherset's own.
    clusteredness : {"any", "scattered", "clustered"}, default="any"
        How outliers lie relative to each other; "any" draws them at random.
    irrelevance : float, default=1.0
        r: irrelevant columns are appended until there are ⌊d·r²⌋ columns; from 1 to 10.

    Examples
    --------
    >>> recipe = Recipe("hard", 0.05, "scattered", 1.5)
    >>> recipe.name
    'hard-0.05-scattered-1.5'
    >>> Recipe.from_number(1411) == recipe
    True
    """

    difficulty: Difficulty = "any"
    frequency: float | Literal["any"] = "any"
    clusteredness: Clusteredness = "any"
    irrelevance: float = 1.0

    def __post_init__(self) -> None:
        if self.difficulty not in DIFFICULTIES:
            raise BadParameter("Recipe", "difficulty", DIFFICULTIES, self.difficulty)
        if self.clusteredness not in CLUSTEREDNESS:
            raise BadParameter("Recipe", "clusteredness", CLUSTEREDNESS, self.clusteredness)
        if self.frequency != "any":
            frequency = _number(self.frequency)
            if frequency is None or not 0 < frequency <= 0.5:
                legal = '"any" or a share in (0, 0.5]'
                raise BadParameter("Recipe", "frequency", legal, self.frequency)
            object.__setattr__(self, "frequency", frequency)
        irrelevance = _number(self.irrelevance)
        if irrelevance is None or not 1 <= irrelevance <= 10:
            raise BadParameter("Recipe", "irrelevance", "a number in [1, 10]", self.irrelevance)
        object.__setattr__(self, "irrelevance", irrelevance)

    @property
    def name(self) -> str:
        """The four properties in one string; equal recipes have equal names."""
        return "-".join(
            value.replace(" ", "") if isinstance(value, str) else f"{value:.10g}"
            for value in astuple(self)
        )

    @property
    def share(self) -> Fraction | None:
        """The frequency as an exact decimal fraction; None for "any"."""
        return None if self.frequency == "any" else Fraction(str(self.frequency))

    def columns(self, n_columns: int) -> int:
        """Count the columns of a childset whose motherset has `n_columns`.

        Examples
        --------
        >>> Recipe(irrelevance=1.2).columns(18)
        25
        """
        # exact decimals: 25 · 1.2² is 36, and 35.99… in binary
        return math.floor(n_columns * Fraction(str(self.irrelevance)) ** 2)

    def number(self, replicate: int) -> int:
        """Return the benchmark's number, 1 to 1800, of a replicate (1 to 5) of this setting."""
        if self not in _GRID:
            raise BadParameter("Recipe.number", "recipe", "a setting of the benchmark", self.name)
        if not 1 <= replicate <= SIBLINGS:
            raise BadParameter("Recipe.number", "replicate", "from 1 to 5", replicate)
        return _GRID[self] * SIBLINGS + replicate

    @classmethod
    def from_number(cls, number: int) -> "Recipe":
        """Return the setting of a childset's number, such as 661 of ``wave_0661``.

        The benchmark numbers its childsets from 1 to 1800 for each motherset: frequency, then
        difficulty, clusteredness, irrelevance and replicate, the last running fastest. This was
        derived from the paper's ST table: frequency and irrelevance of all its 20 childsets agree.
        That "any" comes first, and difficulty before clusteredness, is the order in which the
        table's short sets are those of the hardest outliers; the shapes do not prove it.

        Examples
        --------
        >>> Recipe.from_number(661).name
        'easy-0.005-any-1'
        """
        if not 1 <= number <= len(_GRID) * SIBLINGS:
            raise BadParameter("Recipe.from_number", "number", "from 1 to 1800", number)
        return list(_GRID)[(number - 1) // SIBLINGS]

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make a recipe from plain values; unknown properties are an error."""
        legal = set(cls.__dataclass_fields__)
        unknown = sorted(set(values) - legal)
        if unknown:
            raise BadParameter("Recipe", unknown[0], f"left out; it has {sorted(legal)}", "it")
        return cls(**values)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


_GRID: dict[Recipe, int] = {
    Recipe(difficulty, frequency, clusteredness, irrelevance): index
    for index, (frequency, difficulty, clusteredness, irrelevance) in enumerate(
        product(_FREQUENCIES, DIFFICULTIES, CLUSTEREDNESS, _IRRELEVANCES)
    )
}
