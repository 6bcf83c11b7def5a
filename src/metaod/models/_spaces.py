"""Model spaces: named, ordered sets of models to select from."""

from collections.abc import Iterable, Iterator
from itertools import product

from metaod.errors import BadParameter
from metaod.models._extended import extended_models
from metaod.models._family import Family, registered_families
from metaod.models._paper import PAPER_FAMILIES
from metaod.models._spec import ModelSpec

__all__ = ["SPACES", "model_space", "specs_of"]

SPACES = ("paper", "extended", "all")
"""Names of the model spaces: the paper's 302; fewer models of more families and scalings; both of
these with the grid of every registered family."""


def specs_of(family: Family) -> tuple[ModelSpec, ...]:
    """The models of one family's grid.

    Examples
    --------
    >>> from metaod.models import family
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
    """The models of a named space, family by family.

    Parameters
    ----------
    name : {"paper", "extended", "all"}, default="paper"
        ``paper`` is the paper's 302 models, all on z-scored columns. ``extended`` has few settings
        of more families, some on several scalings of the columns. ``all`` is both of these, with
        every registered family's grid.
    detectors : iterable of str, optional
        Only these families.

    Examples
    --------
    >>> len(model_space("paper"))
    302
    >>> model_space("extended", detectors="KDE")[2]
    KDE(gamma_scale=0.3, scaling=robust)
    """
    if name not in SPACES:
        raise BadParameter("model_space", "name", SPACES, name)
    chosen = list(dict.fromkeys(_models(name)))
    if detectors is not None:
        wanted = [detectors] if isinstance(detectors, str) else list(detectors)
        legal = list(dict.fromkeys(spec.detector for spec in chosen))
        for detector in wanted:
            if detector not in legal:
                raise BadParameter("model_space", "detectors", legal, detector)
        chosen = [spec for spec in chosen if spec.detector in wanted]
    return tuple(chosen)


def _models(name: str) -> Iterator[ModelSpec]:
    if name in {"paper", "all"}:
        for item in PAPER_FAMILIES:
            yield from specs_of(item)
    if name in {"extended", "all"}:
        yield from extended_models()
    if name == "all":
        for item in registered_families().values():
            yield from specs_of(item)
