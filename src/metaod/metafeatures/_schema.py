"""What a meta-feature is, and the named, versioned lists of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from metaod.errors import BadParameter

__all__ = ["SCHEMAS", "SCHEMA_VERSIONS", "Feature", "Schema", "schema"]

SCHEMA_VERSIONS: Mapping[str, int] = {"paper": 1, "scores": 1}
"""Present version of each schema, here so that it is known without what computes the features;
count it up whenever a feature's value may change."""

SCHEMAS = tuple(SCHEMA_VERSIONS)
"""Names of the schemas."""


@dataclass(frozen=True)
class Feature:
    """A named number that describes a table.

    Parameters
    ----------
    name : str
        Its name, unique over all schemas.
    group : str
        What it belongs to, such as 'correlation' or 'iForest'.
    definition : str
        What it is, in one line.
    formula : str
        The same as a formula, in plain text.
    in_paper : bool
        Whether the paper lists it; otherwise it is an addition of this library.
    scale_free : bool
        Whether it stays the same when all values are multiplied by one positive number.
    constant : bool
        Whether its definition makes it the same for every table with as many rows and columns. It
        is computed all the same, and kept out of learning.
    """

    name: str
    group: str
    definition: str
    formula: str = ""
    in_paper: bool = True
    scale_free: bool = False
    constant: bool = False


@dataclass(frozen=True)
class Schema:
    """A named list of meta-features.

    Parameters
    ----------
    name : str
        The schema's name.
    version : int
        Counted up whenever a feature's value may change; vectors of two versions do not mix.
    features : tuple of Feature
        The features, in the order of a vector.

    Examples
    --------
    >>> size = Schema("size", 1, (Feature("n_rows", "size", "number of rows", "n"),))
    >>> size.names, size.index("n_rows")
    (('n_rows',), 0)
    """

    name: str
    version: int
    features: tuple[Feature, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in the order of a vector."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def groups(self) -> Mapping[str, tuple[Feature, ...]]:
        """The features by group, in the order in which they first come."""
        groups: dict[str, tuple[Feature, ...]] = {}
        for feature in self.features:
            groups[feature.group] = (*groups.get(feature.group, ()), feature)
        return groups

    @cached_property
    def learned(self) -> tuple[str, ...]:
        """Names of the features that learning may use: all but those constant by definition."""
        return tuple(feature.name for feature in self.features if not feature.constant)

    def index(self, name: str) -> int:
        """Place of a feature in a vector."""
        try:
            return self._places[name]
        except KeyError:
            raise BadParameter(
                "Schema", "name", f"a feature of schema {self.name!r}", name
            ) from None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}


@cache
def schema(name: str) -> Schema:
    """Look a schema up by its name.

    Examples
    --------
    >>> schema("paper").names[:2]
    ('n_rows', 'n_columns')
    """
    # late: each list stands beside the code that computes it, and that code needs this module
    if name == "paper":
        from metaod.metafeatures._paper_features import PAPER_FEATURES  # noqa: PLC0415

        return Schema(name, SCHEMA_VERSIONS[name], PAPER_FEATURES)
    if name == "scores":
        from metaod.metafeatures._score_features import SCORE_FEATURES  # noqa: PLC0415

        return Schema(name, SCHEMA_VERSIONS[name], SCORE_FEATURES)
    raise BadParameter("schema", "name", SCHEMAS, name)
