"""A model: a detector, its hyperparameters and the scaling of the columns before it."""

from typing import TYPE_CHECKING

from metaod.errors import BadParameter
from metaod.models._family import Family, family
from metaod.models._model_id import AVERAGE, ModelId
from metaod.models._parameters import check_contamination
from metaod.models._scaling import SCALINGS, why_not_scaled

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
        if self.members != (self,):
            return self
        params = self.family.canonical_params(dict(self.params))
        return ModelSpec(self.detector, params, self.scaling)

    @property
    def work_unit(self) -> tuple[object, ...]:
        """What names the computation that the model shares with others of its family.

        Models of different units can be scored apart without repeating more than a scaling and a
        neighbour search.

        Examples
        --------
        >>> ModelSpec("OCSVM", {"kernel": "rbf", "nu": 0.5}).work_unit
        ('OCSVM', 'zscore', 'rbf')
        """
        representative = self.equivalence
        shared = None if self.detector == AVERAGE else self.family.shared_scorer
        if shared is None or not shared.serves(representative):
            return (self.detector, self.scaling, representative.id)
        params = dict(representative.params)
        return (self.detector, self.scaling, *map(params.get, self.family.separable))

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

    def to_pyod(
        self,
        *,
        random_state: int | None = None,
        contamination: float = 0.1,
        fixed: "npt.NDArray[np.bool_] | None" = None,
    ) -> "SpecDetector | AverageDetector":
        """Build a detector with PyOD's interface; parameters as of :class:`SpecDetector`."""
        from metaod.models._detector import (  # noqa: PLC0415 - needs PyOD, which is slow to import
            AverageDetector,
            SpecDetector,
        )

        for member in self.members:
            if member.scaling not in SCALINGS:
                raise BadParameter("ModelSpec", "scaling", SCALINGS, member.scaling)
            member.family.check_params(dict(member.params))
        share = check_contamination(contamination)
        if self.detector == AVERAGE:
            return AverageDetector(
                self.members, random_state=random_state, contamination=share, fixed=fixed
            )
        return SpecDetector(self, random_state=random_state, contamination=share, fixed=fixed)
