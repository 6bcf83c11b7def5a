"""A model: a detector, its hyperparameters and the scaling of the columns before it."""

from typing import TYPE_CHECKING, Any

from metaod.errors import BadParameter
from metaod.models._family import ALL_ROWS_UP_TO, FEW_ROWS, Family, family
from metaod.models._model_id import ModelId
from metaod.models._parameters import check_contamination
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
        params = self.family.canonical_params(dict(self.params))
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
        from metaod.models._detector import (  # noqa: PLC0415 - needs PyOD, which is slow to import
            AverageDetector,
            SpecDetector,
        )

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
