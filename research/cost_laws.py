"""Laws of a family's cost through measured times: of its rows, columns, work and models.

``research measure-costs`` measures, and writes what these give.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import least_squares

from metaod.models import ModelSpec, model_space
from research.shipped import final_origins, shipped_cells, shipped_datasets

Matrix = npt.NDArray[np.float64]

HARD = 5
"""How many times what its shape lets expect a hard problem takes."""

FLOOR = 1e-3
"""Seconds below which a cell of the matrix is mostly the clock's and the interpreter's."""

LINEAR_FROM = {"KDE": 20_000}
"""Rows from which on the time of a family grows with the rows alone: KDE's centres are so many at
most."""


def fit_law(name: str, times: pd.DataFrame, *, most_rows: float = 3.0) -> dict[str, float | None]:
    """Fit log seconds = offset + work * log(work) + log(start + n_rows**rows * n_columns**columns).

    Every detector looks at every row, so that ``rows`` is at least 1: what seems to grow more
    slowly is a start that does not depend on the table. The law is that of z-scored tables;
    another scaling is an offset of the model's. ``most_rows`` is the largest power of the rows.
    """
    times = times[~times["model"].str.contains("scaling=")]
    n, d, w, t = (
        np.log(times[column].to_numpy(float))
        for column in ("n_rows", "n_columns", "work", "seconds")
    )
    varies = float(np.ptp(w) > 0)
    linear_from = LINEAR_FROM.get(name) if most_rows > 1 else None
    curved = np.minimum(n, np.log(linear_from or np.inf))

    def residuals(p: Matrix) -> Matrix:
        size = p[3] * curved + (n - curved) + p[4] * d
        return np.asarray(p[0] + varies * p[1] * w + np.logaddexp(p[2], size) - t)

    fitted = least_squares(
        residuals,
        x0=[-14, 0.3, 5, min(1.2, most_rows), 0.3],
        bounds=([-40, 0, -5, 1 - 1e-9, 0], [5, 3, 20, most_rows + 1e-9, 2]),
        loss="soft_l1",
    )
    offset, work, start, rows, columns = (float(value) for value in fitted.x)
    return {
        "offset": offset,
        "work": varies * work,
        "start": float(np.exp(start)),
        "rows": rows,
        "columns": columns,
        "linear_from": linear_from,
    }


def by_law(law: dict[str, Any], times: pd.DataFrame) -> Matrix:
    """Log seconds by a family's law."""
    n, d, w = (times[name].to_numpy(float) for name in ("n_rows", "n_columns", "work"))
    curved = np.minimum(n, law["linear_from"] or np.inf)
    size = law["start"] + curved ** law["rows"] * (n / curved) * d ** law["columns"]
    return np.asarray(law["offset"] + law["work"] * np.log(w) + np.log(size))


def model_offsets(name: str, law: dict[str, Any], times: pd.DataFrame) -> dict[str, float]:
    """What a family's law leaves out of each model of the spaces, in log seconds.

    A model that was not measured takes the offset of its measured neighbours: linear between
    values of its numeric hyperparameters, the mean over what was not varied.
    """
    left = np.log(times["seconds"]) - by_law(law, times)
    measured = left.groupby(times["model"]).median()
    if name == "OCSVM":
        measured += hard_problems(left - times["model"].map(measured), times["model"])
    known = [(ModelSpec.parse(model), value) for model, value in measured.items()]
    offsets = {}
    for spec in model_space("all", detectors=name):
        scaled = [(other, value) for other, value in known if other.scaling == spec.scaling]
        chosen = scaled or known
        alike = [(other, value) for other, value in chosen if _same_words(other, spec)]
        pairs = [(dict(other.params), value) for other, value in alike or chosen]
        offsets[spec.id] = round(_interpolated(dict(spec.params), pairs), 3)
    return offsets


def hard_problems(left: "pd.Series[float]", models: "pd.Series[str]") -> "pd.Series[float]":
    """What badly conditioned problems add to the mean seconds of an OCSVM, in log seconds.

    LIBSVM takes some hundred times as long for them. How much is measured; how often, which a few
    generated tables cannot tell, is the share of the matrix's cells that took HARD times the law.
    """
    found: dict[str, float] = {}
    all_ratios = pd.Series(np.exp(left.to_numpy()), index=left.index)
    for kernel, ratios in all_ratios.groupby(models.str.extract(r"kernel=(\w+)")[0]):
        cells = cells_of("OCSVM")
        cells = cells[cells["model"].str.contains(f"kernel={kernel}", regex=False)]
        y, Z = _logs(cells)
        slopes, offsets = _robust(y, Z, cells["model"])
        share = np.mean(y - offsets.reindex(cells["model"]).to_numpy() - Z @ slopes > np.log(HARD))
        hard = ratios[ratios > HARD]
        added = float(np.log1p(share * (hard.mean() - 1))) if len(hard) else 0.0
        print(f"OCSVM {kernel}: hard {share:.2%} of tables, {len(hard)} of {len(ratios)} fits")
        found |= dict.fromkeys(models[ratios.index], added)
    return pd.Series(found, dtype=float)


def _same_words(measured: ModelSpec, spec: ModelSpec) -> bool:
    mine = dict(spec.equivalence.params)
    return all(
        mine[key] == value for key, value in measured.params if isinstance(value, str | bool)
    )


def _interpolated(params: dict[str, Any], known: list[tuple[dict[str, Any], float]]) -> float:
    names = [
        key
        for key, value in params.items()
        if not isinstance(value, str | bool)
        # where only some models name it, the others' value is not known
        and all(key in other for other, _ in known)
        and len({other[key] for other, _ in known}) > 1
    ]
    # one numeric hyperparameter after the other: the fit is additive in them
    mean = float(np.mean([value for _, value in known]))
    total = mean
    for name in names:
        values = pd.Series([v for _, v in known], index=[other[name] for other, _ in known])
        effect = values.groupby(level=0).mean().sort_index() - mean
        places = np.log(effect.index.to_numpy(float))
        total += float(np.interp(np.log(params[name]), places, effect.to_numpy()))
    return total


# what real tables add


def cells_of(name: str) -> pd.DataFrame:
    """The matrix's scored cells of a family's models, with the tables' shapes."""
    datasets = shipped_datasets()
    datasets = datasets[~datasets["origin"].isin(final_origins())]
    cells = shipped_cells()
    cells = cells[(cells["state"] == "ok") & cells["model"].str.startswith(f"{name}(")]
    shapes = datasets[["n_rows", "n_columns", "origin"]]
    return cells.merge(shapes, left_on="dataset", right_index=True)


def _logs(cells: pd.DataFrame) -> tuple[Matrix, Matrix]:
    seconds = np.maximum(cells["seconds"].to_numpy(float), FLOOR)
    return np.log(seconds), np.log(cells[["n_rows", "n_columns"]].to_numpy(float))


def fit_matrix(name: str) -> dict[str, float] | None:
    """A power law with one offset a model through the matrix's seconds, and what it leaves.

    ``error`` is the median absolute log error on datasets of origins that were left out of the
    fit, ``mean`` the mean of actual over lawful seconds there, ``high`` its 95 % quantile. None
    where the shipped matrix does not have the family.
    """
    cells = cells_of(name)
    if cells.empty:
        return None
    codes, _ = pd.factorize(cells["origin"], sort=True)
    fold = np.random.default_rng(0).permutation(codes.max() + 1)[codes] % 5
    y, Z = _logs(cells)
    left = np.empty(len(cells))
    for k in range(5):
        train = fold != k
        slopes, offsets = _robust(y[train], Z[train], cells["model"][train])
        expected = offsets.reindex(cells["model"][~train]).to_numpy() + Z[~train] @ slopes
        left[~train] = y[~train] - expected
    slopes, _ = _robust(y, Z, cells["model"])
    return {
        "rows": round(float(slopes[0]), 3),
        "columns": round(float(slopes[1]), 3),
        "error": round(float(np.median(np.abs(left))), 3),
        "mean": round(float(np.exp(left).mean()), 3),
        "high": round(float(np.quantile(np.exp(left), 0.95)), 3),
    }


def _robust(y: Matrix, Z: Matrix, models: "pd.Series[str]") -> tuple[Matrix, "pd.Series[float]"]:
    """Slopes by soft-L1 least squares within models, then each model's median offset."""
    frame = pd.DataFrame(Z).assign(y=y, model=models.to_numpy())
    centred = (frame.drop(columns="model") - frame.groupby("model").transform("mean")).to_numpy()

    def residuals(p: Matrix) -> Matrix:
        return np.asarray(centred[:, :2] @ p - centred[:, 2])

    fitted = least_squares(residuals, x0=[1.0, 0.3], loss="soft_l1")
    slopes = np.asarray(fitted.x)
    return slopes, pd.Series(y - Z @ slopes).groupby(models.to_numpy()).median()
