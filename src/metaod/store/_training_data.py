"""Training data for learners, read from a store."""

from collections.abc import Sequence

import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, REFERENCE, TrainingData
from metaod.metafeatures import SCHEMAS, schema
from metaod.store._matrix import datasets_frame, metafeature_matrix, performance_matrix
from metaod.store._store import Store

__all__ = ["training_data"]


def training_data(
    store: Store, schemas: Sequence[str] = ("paper",), *, measure: str = "ap"
) -> TrainingData:
    """Read a store; a dataset without performance or meta-features is left out.

    Parameters
    ----------
    store : Store
        Where the evaluations are.
    schemas : sequence of {"paper", "scores"}, default=("paper",)
        The meta-features, of their present versions; several are put side by side.
    measure : {"ap", "roc_auc", "precision_at_n"}, default="ap"
        The measure in P.
    """
    if measure not in MEASURES:
        raise BadParameter("TrainingData", "measure", MEASURES, measure)
    for name in schemas:
        if name not in SCHEMAS:
            raise BadParameter("TrainingData", "schemas", SCHEMAS, name)
    if len(set(schemas)) != len(schemas):
        raise BadParameter("TrainingData", "schemas", "different schemas", list(schemas))
    P = performance_matrix(store, measure)
    if not P.notna().to_numpy().any():
        raise UserError(
            "holds no performance yet",
            where=str(store),
            remedy="evaluate models on labelled datasets with: metaod build",
        )
    datasets = datasets_frame(store).set_index("fingerprint")
    metafeatures = {name: _metafeatures(store, name) for name in schemas}
    reference = _reference(store, measure)
    return TrainingData.from_frames(P, metafeatures, datasets, reference=reference, measure=measure)


def _reference(store: Store, measure: str) -> "pd.Series[float] | None":
    try:
        return performance_matrix(store, measure, models=[REFERENCE])[REFERENCE]
    except BadParameter:
        # a store may have been built without references
        return None


def _metafeatures(store: Store, name: str) -> pd.DataFrame:
    version = schema(name).version
    try:
        return metafeature_matrix(store, name, version)
    except BadParameter as error:
        raise UserError(
            f"holds no meta-features of schema {name!r}, version {version}",
            where=str(store),
            remedy=f"extract them with: metaod build --schema {name}",
        ) from error
