"""Models: a detector, its hyperparameters and a scaling; averages of models, and model spaces.

An average is a :class:`ModelSpec` whose id contains the ids of its members: the mean of their
standardised scores.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from metaod.errors import BadParameter
from metaod.models._estimator import check_contamination
from metaod.models._family import ALL_ROWS_UP_TO, FEW_ROWS, Family, Settings
from metaod.models._model_id import AVERAGE, MEMBER_SEPARATOR, ModelId
from metaod.models._registry import family, registered_families
from metaod.models._scaling import SCALINGS, FittedScaling, why_not_scaled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaod.models._detector import AverageDetector, SpecDetector


class ModelSpec(ModelId):
    """A detector, its hyperparameters and a scaling: one column of the performance matrix.

    Frozen, hashable and ordered. Two specs are equal when their ids are; the id does not depend
    on the order in which hyperparameters are given.

    Parameters
    ----------
    detector : str
        Name of a detector family, built-in or registered.
    params : mapping or iterable of pairs, optional
        Hyperparameters: booleans, integers, finite floats, strings or None.
    scaling : str, default="zscore"
        Scaling of the columns; the paper's, z-scores, is left out of the id.

    Examples
    --------
    >>> spec = ModelSpec("LOF", {"metric": "euclidean", "n_neighbors": 20})
    >>> spec
    LOF(n_neighbors=20, metric=euclidean)
    >>> ModelSpec.parse(spec.id) == spec
    True
    >>> spec.why_not(n_rows=15, n_columns=4)
    'n_neighbors=20 needs at least 21 rows, the table has 15'
    """

    @property
    def family(self) -> Family:
        """The family of the detector's name."""
        return family(self.detector)

    @property
    def is_builtin(self) -> bool:
        """Whether it is a single model of one of the package's own families."""
        return not self.is_average and self.family.builtin

    @property
    def is_random(self) -> bool:
        """Whether scores depend on a seed."""
        return any(member.family.random for member in self.members)

    @property
    def equivalence(self) -> "ModelSpec":
        """The model that represents all models with the same scores.

        Examples
        --------
        >>> ModelSpec("LOF", {"n_neighbors": 5, "metric": "minkowski"}).equivalence
        LOF(n_neighbors=5, metric=euclidean)
        """
        if self.is_average:
            return self
        params = self.family.canonical(dict(self.params))
        return ModelSpec(self.detector, params, self.scaling)

    def learned_rows(self, n_rows: int) -> int:
        """Return from how many rows of a table it learns, or each member of an average.

        Examples
        --------
        >>> [ModelSpec(name).learned_rows(1_000_000) for name in ("KDE", "ECOD")]
        [5000, 100000]
        """
        if n_rows <= ALL_ROWS_UP_TO:
            return n_rows
        return FEW_ROWS if self.is_average else min(n_rows, self.family.learned_rows)

    def why_not(self, n_rows: int, n_columns: int) -> str | None:
        """Return why the model does not apply to a table of that size; None if it does.

        An average applies if all of its members do. Do not count constant columns.
        """
        for member in self.members:
            reason = member.family.why_not(dict(member.params), n_rows, n_columns)
            reason = reason or why_not_scaled(member.scaling, n_rows, n_columns)
            if reason is not None:
                return reason
        return None

    def applies(self, n_rows: int, n_columns: int) -> bool:
        """Return whether the model applies to a table of that size."""
        return self.why_not(n_rows, n_columns) is None

    def build(self, random_state: int, scaling: FittedScaling) -> Any:
        """Build the family's detector for a scaled table."""
        params = dict(self.params)
        self.family.check_params(params)
        return self.family.build(params, random_state, scaling)

    def to_pyod(
        self,
        *,
        random_state: int | None = None,
        contamination: float = 0.1,
        fixed: "npt.NDArray[np.bool_] | None" = None,
    ) -> "SpecDetector | AverageDetector":
        """Build a detector with PyOD's interface; parameters as of :class:`SpecDetector`."""
        from metaod.models._detector import AverageDetector, SpecDetector  # noqa: PLC0415 - needs PyOD, which is slow to import

        for member in self.members:
            if member.scaling not in SCALINGS:
                raise BadParameter("ModelSpec", "scaling", SCALINGS, member.scaling)
            member.family.check_params(dict(member.params))
        share = check_contamination(contamination)
        if self.is_average:
            return AverageDetector(
                self.members, random_state=random_state, contamination=share, fixed=fixed
            )
        return SpecDetector(self, random_state=random_state, contamination=share, fixed=fixed)


def average_of(*members: ModelSpec) -> ModelSpec:
    """Return the average of two or more different models, in any order; none is an average itself.

    Examples
    --------
    >>> average_of(ModelSpec("MCD"), ModelSpec("ECOD"))
    ZAverage(members="ECOD() + MCD()")
    """
    ids = sorted(member.id for member in members)
    average = ModelSpec(AVERAGE, {"members": MEMBER_SEPARATOR.join(ids)})
    _ = average.members  # raises if the members are not legal
    return average


def averages_of(models: Iterable[ModelSpec]) -> tuple[ModelSpec, ...]:
    """Return all averages of two or three of the models."""
    different = list(dict.fromkeys(models))
    groups = (*combinations(different, 2), *combinations(different, 3))
    return tuple(average_of(*members) for members in groups)


def member_ids(model: str) -> tuple[str, ...]:
    """Return the ids of an average's members; of any other model, its own id.

    Examples
    --------
    >>> member_ids('ZAverage(members="ECOD() + MCD()")')
    ('ECOD()', 'MCD()')
    """
    # a column of a learner need not be named by a model's id
    if not model.startswith(f"{AVERAGE}("):
        return (model,)
    return tuple(member.id for member in ModelSpec.parse(model).members)


REPRESENTATIVES = tuple(
    ModelSpec.parse(model)
    for model in (
        "IForest(n_estimators=200, max_features=1.0)",
        "IForest(n_estimators=200, max_features=1.0, scaling=signedlog)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=robust)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "SCiForest(n_dims=2, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=robust)",
        "KDE(gamma_scale=1.0, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=whitened)",
        "KNN(n_neighbors=300, method=largest, scaling=robust)",
        "KNN(n_neighbors=300, method=largest, scaling=signedlog)",
        "KNN(n_neighbors=300, method=largest, scaling=whitened)",
        "MCD(scaling=robust)",
        "MCD(core=0.75, scaling=robust)",
        "PCA(weighted=false, scaling=signedlog)",
    )
)
"""The models of the extended space that averages combine: one or a few of each family."""

COMMITTEE = tuple(REPRESENTATIVES[i] for i in (1, 3, 6, 7, 8, 12, 13))
"""One model of each kind: their average seldom wins by much and seldom loses by much."""


def candidate_averages(models: Iterable[ModelSpec] = REPRESENTATIVES) -> tuple[ModelSpec, ...]:
    """Return the averages that can be picked: of two or three representatives, and the committee.

    All members are among ``models``.

    Examples
    --------
    >>> len(candidate_averages(REPRESENTATIVES[:3]))
    4
    """
    available = set(models)
    averages = averages_of(spec for spec in REPRESENTATIVES if spec in available)
    if available.issuperset(COMMITTEE):
        averages = (*averages, average_of(*COMMITTEE))
    return averages


SPACES = ("paper", "extended", "all")
"""Names of the model spaces, see :func:`model_space`."""

_PAPER = ("LOF", "KNN", "OCSVM", "COF", "ABOD", "IForest", "HBOS", "LODA")
"""The paper's families in the paper's order. Their grids are those that its authors ran and that
give 302 models; the appendix has slips (ABOD has 12 values, HBOS varies ``alpha``, the two lists of
LODA are swapped)."""


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
            yield from _models(item, [Settings(item.grid)])
    if name in {"extended", "all"}:
        for item in registered_families().values():
            yield from _models(item, item.extended)
    if name == "all":
        for item in registered_families().values():
            yield from _models(item, [Settings(item.grid)])


def _models(item: Family, settings: Iterable[Settings]) -> Iterator[ModelSpec]:
    for part in settings:
        for params, scaling in part.combinations():
            yield ModelSpec(item.name, params, scaling)
