"""Which setting each motherset has in the testbeds; written down in ``settings.json``."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from metaod.lab.childsets.recipe import Recipe

__all__ = ["Setting", "StandIn", "settings"]


@dataclass(frozen=True)
class StandIn:
    """A motherset that takes another's place.

    Parameters
    ----------
    motherset, origin : str
        Its name and origin.
    number : int
        Of the first sibling.
    reason : str
        Why it is needed.
    """

    motherset: str
    origin: str
    number: int
    reason: str


@dataclass(frozen=True)
class Setting:
    """A motherset and the setting of its childsets.

    Parameters
    ----------
    motherset, origin : str
        The motherset's name and origin.
    number : int
        Of the first sibling in the benchmark's numbering; it holds the recipe.
    shape : tuple of int
        Rows, columns and outliers of that sibling in the paper's ST table.
    must_agree : bool
        Whether a childset made here must have that shape.
    normal_at_least : float, optional
        Where the motherset's regression target is normal, if not up to its median.
    stand_in : StandIn, optional
        What takes its place where it cannot be had.
    """

    motherset: str
    origin: str
    number: int
    shape: tuple[int, int, int]
    must_agree: bool = False
    normal_at_least: float | None = None
    stand_in: StandIn | None = None

    @property
    def recipe(self) -> Recipe:
        """The setting itself."""
        return Recipe.from_number(self.number)


@cache
def settings() -> tuple[Setting, ...]:
    """Give the settings of the 20 mothersets, in the paper's order.

    Examples
    --------
    >>> len(settings()), settings()[0].recipe.name
    (20, 'any-0.05-scattered-1.5')
    """
    text = resources.files(__package__).joinpath("settings.json").read_text("utf-8")
    return tuple(_parse(record) for record in json.loads(text)["settings"])


def _parse(record: dict[str, Any]) -> Setting:
    rows, columns, outliers = record["shape"]
    stand_in = record.get("stand_in")
    return Setting(
        **{
            **record,
            "shape": (rows, columns, outliers),
            "stand_in": None if stand_in is None else StandIn(**stand_in),
        }
    )
