"""Model spaces: named, ordered sets of models to select from, listed from the families."""

from collections.abc import Iterable, Iterator

from metaod.errors import BadParameter
from metaod.models._family import Family, Settings, family, registered_families
from metaod.models._spec import ModelSpec

SPACES = ("paper", "extended", "all")
"""Names of the model spaces, see :func:`model_space`."""

_PAPER = ("LOF", "KNN", "OCSVM", "COF", "ABOD", "IForest", "HBOS", "LODA")
"""The paper's families in the paper's order. Their grids are those that its authors ran and that
give 302 models; the appendix has slips (ABOD has 12 values, HBOS varies ``alpha``, the two lists of
LODA are swapped)."""


def specs_of(family: Family) -> tuple[ModelSpec, ...]:
    """Return the models of one family's grid.

    Examples
    --------
    >>> from metaod.models import family
    >>> specs_of(family("COF"))[:2]
    (COF(n_neighbors=3), COF(n_neighbors=5))
    """
    return tuple(_models(family, [Settings(family.grid)]))


def model_space(
    name: str = "paper", *, detectors: Iterable[str] | None = None
) -> tuple[ModelSpec, ...]:
    """Return the models of a named space, family by family.

    Parameters
    ----------
    name : {"paper", "extended", "all"}, default="paper"
        ``paper`` has the paper's 302 models, all on z-scored columns. ``extended`` has few settings
        of more families, some on several scalings. ``all`` has both and every registered grid.
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
    chosen = list(dict.fromkeys(_space(name)))
    if detectors is not None:
        wanted = [detectors] if isinstance(detectors, str) else list(detectors)
        legal = list(dict.fromkeys(spec.detector for spec in chosen))
        for detector in wanted:
            if detector not in legal:
                raise BadParameter("model_space", "detectors", legal, detector)
        chosen = [spec for spec in chosen if spec.detector in wanted]
    return tuple(chosen)


def _space(name: str) -> Iterator[ModelSpec]:
    if name in {"paper", "all"}:
        for item in map(family, _PAPER):
            yield from specs_of(item)
    if name in {"extended", "all"}:
        for item in registered_families().values():
            yield from _models(item, item.extended)
    if name == "all":
        for item in registered_families().values():
            yield from specs_of(item)


def _models(item: Family, settings: Iterable[Settings]) -> Iterator[ModelSpec]:
    for part in settings:
        for params, scaling in part.combinations():
            yield ModelSpec(item.name, params, scaling)
