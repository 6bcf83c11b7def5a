"""Model spaces: named, ordered sets of models to select from."""

from collections.abc import Iterable
from itertools import product

from metaod.detectors.families import Family, families
from metaod.detectors.paper import PAPER_FAMILIES
from metaod.detectors.spec import ModelSpec
from metaod.errors import BadParameter

__all__ = ["SPACES", "model_space", "specs_of"]

SPACES = ("paper", "all")
"""Names of the model spaces: the paper's 302, and these with every registered family's grid."""


def specs_of(family: Family) -> tuple[ModelSpec, ...]:
    """The models of one family's grid.

    Examples
    --------
    >>> from metaod.detectors import family
    >>> specs_of(family("COF"))[:2]
    (COF(n_neighbors=3), COF(n_neighbors=5))
    """
    names = list(family.grid)
    return tuple(
        ModelSpec(family.name, dict(zip(names, values, strict=True)))
        for values in product(*family.grid.values())
    )


def model_space(
    name: str = "paper", *, detectors: Iterable[str] | None = None
) -> tuple[ModelSpec, ...]:
    """The models of a named space, in the paper's order of families.

    Parameters
    ----------
    name : {"paper", "all"}, default="paper"
        ``paper`` is the paper's 302 models; ``all`` adds every registered family's grid.
    detectors : iterable of str, optional
        Only these families.

    Examples
    --------
    >>> len(model_space("paper"))
    302
    """
    if name not in SPACES:
        raise BadParameter("model_space", "name", SPACES, name)
    chosen = list(PAPER_FAMILIES if name == "paper" else families().values())
    if detectors is not None:
        wanted = [detectors] if isinstance(detectors, str) else list(detectors)
        legal = [item.name for item in chosen]
        for detector in wanted:
            if detector not in legal:
                raise BadParameter("model_space", "detectors", legal, detector)
        chosen = [item for item in chosen if item.name in wanted]
    return tuple(spec for item in chosen for spec in specs_of(item))
