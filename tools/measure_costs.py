"""Measure what fitting a picked model costs, as a user runs it, and write the law of each family.

    python tools/measure_costs.py                    some minutes on one idle core
    python tools/measure_costs.py --measured FILE    fits again from times kept in FILE

Seconds come from two places. Fits of PyOD's own detectors on generated tables give each family's
law and each model's offset; the kernels that filled the performance matrix share work among models
and take another time altogether. The matrix's seconds tell
what generated tables cannot: how much the time differs between real tables of one shape, and how
often a problem is hard for OCSVM. Datasets of the final origins are left out.
Times and memory are of one core; set OMP_NUM_THREADS=1.
"""

import argparse
import inspect
import json
import multiprocessing
import platform
import warnings
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import least_squares, nnls

from metaod.detectors import ModelSpec, family, specs_of
from metaod.pretrained import final_origins, shipped_cells, shipped_datasets

COSTS = Path(__file__).parents[1] / "src/metaod/pretrained/costs.json"

Matrix = npt.NDArray[np.float64]

SIZES = ((300, 5), (1000, 10), (3000, 20), (6000, 10), (1500, 3), (1000, 50))
LARGE = (*SIZES, (500, 12), (2500, 14), (20_000, 10))
LARGEST = (*LARGE, (100_000, 6))
# by seed; the first three were looked at when the shapes above were chosen, the others were not
HELD_OUT = {1: ((700, 15), (2000, 8), (8000, 12)), 2: ((900, 7), (2200, 18), (7000, 11))}

# of each family: the hyperparameter that sets the amount of work, the sizes to measure on, and the
# models: values of that hyperparameter by values of the others
WORK = {
    "KNN": "n_neighbors",
    "LOF": "n_neighbors",
    "COF": "n_neighbors",
    "ABOD": "n_neighbors",
    "IForest": "n_estimators",
    "LODA": "n_random_cuts",
    "HBOS": "n_bins",
    "OCSVM": None,
}
SHAPES = {
    "KNN": LARGE,
    "LOF": LARGE,
    "COF": SIZES,
    "ABOD": SIZES,
    "IForest": LARGEST,
    "LODA": LARGEST,
    "HBOS": LARGEST,
    "OCSVM": SIZES,
}
MODELS: dict[str, dict[str, tuple[Any, ...]]] = {
    "KNN": {"n_neighbors": (1, 20, 100), "method": ("mean",)},
    "LOF": {"n_neighbors": (5, 20, 100), "metric": ("euclidean", "manhattan")},
    "COF": {"n_neighbors": (3, 10, 50)},
    "ABOD": {"n_neighbors": (3, 10, 50, 100)},
    "IForest": {"n_estimators": (10, 100), "max_features": (0.1, 0.9)},
    "LODA": {"n_bins": (5, 30), "n_random_cuts": (10, 100)},
    "HBOS": {"n_bins": (5, 30, 100), "alpha": (0.3,)},
    "OCSVM": {"nu": (0.1, 0.5, 0.9), "kernel": ("linear", "poly", "rbf", "sigmoid")},
}
MOST_WORK = {"ABOD": 3e6, "COF": 7e8, "OCSVM": 2e7}
"""Work beyond which a model is not measured: some seconds."""

HARD = 5
"""How many times what its shape lets expect a hard problem takes."""

FLOOR = 1e-3
"""Seconds below which a cell of the matrix is mostly the clock's and the interpreter's."""


# tables and fits


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> Matrix:
    """Three clusters of correlated columns, one row in twenty far from them."""
    rng = np.random.default_rng(seed)
    rank = max(1, n_columns // 2)
    centres = rng.normal(0, 2, (3, rank))
    latent = centres[rng.integers(0, 3, n_rows)] + rng.normal(size=(n_rows, rank))
    X = latent @ rng.normal(size=(rank, n_columns)) + 0.3 * rng.normal(size=(n_rows, n_columns))
    outlying = rng.random(n_rows) < 0.05
    X[outlying] += rng.normal(0, 3, (outlying.sum(), n_columns))
    return X


def models_of(name: str) -> list[ModelSpec]:
    """The models of a family that are measured."""
    grid = MODELS[name]
    return [
        ModelSpec(name, dict(zip(grid, values, strict=True))) for values in product(*grid.values())
    ]


def work_of(spec: ModelSpec) -> float:
    """Value of the hyperparameter that sets the amount of work."""
    params: dict[str, Any] = dict(spec.params)
    name = WORK[spec.detector]
    return 1.0 if name is None else float(params[name])


def default_work(name: str) -> float:
    """What the detector takes where the hyperparameter is not given."""
    work = WORK[name]
    if work is None:
        return 1.0
    return float(inspect.signature(family(name).load()).parameters[work].default)


def is_measured(spec: ModelSpec, n_rows: int, n_columns: int) -> bool:
    """Whether the model applies and a fit takes some seconds at most."""
    params: dict[str, Any] = dict(spec.params)
    amount = {
        "ABOD": n_rows * work_of(spec) ** 2,
        "COF": n_rows**2 * work_of(spec),
        "OCSVM": n_rows**2 * params.get("nu", 0.5),
    }.get(spec.detector, 0.0)
    limit = MOST_WORK.get(spec.detector, 1.0)
    return spec.applies(n_rows, n_columns) and amount <= limit


def seconds_of(spec: ModelSpec, X: Matrix) -> float:
    """Processor time of a fit on one core: the shortest of three where it is short.

    The processor's time, not the clock's, for others may share the machine.
    """
    times: list[float] = []
    while not times or (sum(times) < 0.1 and len(times) < 3):
        start = process_time()
        spec.to_pyod(random_state=0).fit(X)
        times.append(process_time() - start)
    return min(times)


def measure(shapes: Mapping[str, Iterable[tuple[int, int]]], seed: int) -> pd.DataFrame:
    """Seconds of every measured model on a table of every shape."""
    rows = []
    for name in MODELS:
        # the first fit of a family imports and compiles
        models_of(name)[0].to_pyod(random_state=0).fit(make_table(150, 4))
        for n_rows, n_columns in shapes[name]:
            X = make_table(n_rows, n_columns, seed)
            rows += [
                (name, spec.id, work_of(spec), n_rows, n_columns, seconds_of(spec, X))
                for spec in models_of(name)
                if is_measured(spec, n_rows, n_columns)
            ]
        print(name, len(rows), flush=True)
    columns = ["family", "model", "work", "n_rows", "n_columns", "seconds"]
    return pd.DataFrame(rows, columns=columns)


# laws of time


def fit_law(times: pd.DataFrame) -> dict[str, float]:
    """Fit log seconds = offset + work * log(work) + log(start + n_rows**rows * n_columns**columns).

    Every detector looks at every row, so that ``rows`` is at least 1: what seems to grow more
    slowly is a start that does not depend on the table.
    """
    n, d, w, t = (
        np.log(times[name].to_numpy(float)) for name in ("n_rows", "n_columns", "work", "seconds")
    )
    varies = float(np.ptp(w) > 0)

    def residuals(p: Matrix) -> Matrix:
        return np.asarray(p[0] + varies * p[1] * w + np.logaddexp(p[2], p[3] * n + p[4] * d) - t)

    fitted = least_squares(
        residuals,
        x0=[-14, 0.3, 5, 1.2, 0.3],
        bounds=([-40, 0, -5, 1, 0], [5, 3, 20, 3, 2]),
        loss="soft_l1",
    )
    offset, work, start, rows, columns = (float(value) for value in fitted.x)
    return {
        "offset": offset,
        "work": varies * work,
        "start": float(np.exp(start)),
        "rows": rows,
        "columns": columns,
    }


def by_law(law: dict[str, float], times: pd.DataFrame) -> Matrix:
    """Log seconds by a family's law."""
    n, d, w = (times[name].to_numpy(float) for name in ("n_rows", "n_columns", "work"))
    size = np.log(law["start"] + n ** law["rows"] * d ** law["columns"])
    return np.asarray(law["offset"] + law["work"] * np.log(w) + size)


def model_offsets(name: str, law: dict[str, float], times: pd.DataFrame) -> dict[str, float]:
    """What a family's law leaves out of each model of the paper, in log seconds.

    A model that was not measured takes the offset of its measured neighbours: linear between
    values of its numeric hyperparameters, the mean over what was not varied.
    """
    left = np.log(times["seconds"]) - by_law(law, times)
    measured = left.groupby(times["model"]).median()
    if name == "OCSVM":
        measured += hard_problems(left - times["model"].map(measured), times["model"])
    known = [(dict(ModelSpec.parse(model).params), value) for model, value in measured.items()]
    offsets = {}
    for spec in specs_of(family(name)):
        alike = [(params, value) for params, value in known if _same_words(params, spec)]
        chosen = alike or known
        offsets[spec.id] = round(_interpolated(dict(spec.params), chosen), 3)
    return offsets


def hard_problems(left: "pd.Series[float]", models: "pd.Series[str]") -> "pd.Series[float]":
    """What badly conditioned problems add to the mean seconds of an OCSVM, in log seconds.

    LIBSVM takes some hundred times as long for them. How much is measured; how often, which a few
    generated tables cannot tell, is the share of the matrix's cells that took HARD times the law.
    """
    found: dict[str, float] = {}
    all_ratios = pd.Series(np.exp(left.to_numpy()), index=left.index)
    for kernel, ratios in all_ratios.groupby(models.str.extract(r"kernel=(\w+)")[0]):
        cells = cells_of(f"kernel={kernel}")
        y, Z = _logs(cells)
        slopes, offsets = _robust(y, Z, cells["model"])
        share = np.mean(y - offsets.reindex(cells["model"]).to_numpy() - Z @ slopes > np.log(HARD))
        hard = ratios[ratios > HARD]
        added = float(np.log1p(share * (hard.mean() - 1))) if len(hard) else 0.0
        print(f"OCSVM {kernel}: hard {share:.2%} of tables, {len(hard)} of {len(ratios)} fits")
        found |= dict.fromkeys(models[ratios.index], added)
    return pd.Series(found, dtype=float)


def _same_words(params: dict[str, Any], spec: ModelSpec) -> bool:
    mine = dict(spec.equivalence.params)
    return all(mine[key] == value for key, value in params.items() if isinstance(value, str))


def _interpolated(params: dict[str, Any], known: list[tuple[dict[str, Any], float]]) -> float:
    names = [
        key
        for key, value in params.items()
        if not isinstance(value, str) and len({other[key] for other, _ in known}) > 1
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


def cells_of(part: str) -> pd.DataFrame:
    """The matrix's scored cells of the models whose id has that part, with the tables' shapes."""
    datasets = shipped_datasets()
    datasets = datasets[~datasets["origin"].isin(final_origins())]
    cells = shipped_cells()
    cells = cells[(cells["state"] == "ok") & cells["model"].str.contains(part, regex=False)]
    shapes = datasets[["n_rows", "n_columns", "origin"]]
    return cells.merge(shapes, left_on="dataset", right_index=True)


def _logs(cells: pd.DataFrame) -> tuple[Matrix, Matrix]:
    seconds = np.maximum(cells["seconds"].to_numpy(float), FLOOR)
    return np.log(seconds), np.log(cells[["n_rows", "n_columns"]].to_numpy(float))


def fit_matrix(name: str) -> dict[str, float]:
    """A power law with one offset a model through the matrix's seconds, and what it leaves.

    ``error`` is the median absolute log error on datasets of origins that were left out of the
    fit, ``mean`` the mean of actual over lawful seconds there, ``high`` its 95 % quantile.
    """
    cells = cells_of(f"{name}(")
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


# memory

PAIRS = {"COF": None, "OCSVM": 200e6}
"""Families whose memory grows with the pairs of rows, up to so many bytes (LIBSVM's cache)."""


def peak_bytes(spec: ModelSpec, X: Matrix) -> float:
    """Memory that a fit takes beyond the table, in a process of its own."""
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[float] = context.Queue()
    process = context.Process(target=_watch, args=(spec, X, queue))
    process.start()
    peak = queue.get()
    process.join()
    return peak


def _watch(spec: ModelSpec, X: Matrix, queue: "multiprocessing.Queue[float]") -> None:
    before = _status("VmHWM")  # a forked process starts with the peak at what it holds
    spec.to_pyod(random_state=0).fit(X)
    queue.put(_status("VmHWM") - before)


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def fit_memory(name: str) -> dict[str, float | None]:
    """Bytes a value of the table, a row, a row and unit of work, and a pair of rows."""
    shapes = ((2000, 10), (4000, 10)) if name in PAIRS or name == "ABOD" else (
        (20_000, 4), (20_000, 16), (60_000, 4))  # fmt: skip
    chosen = models_of(name)
    chosen[0].to_pyod(random_state=0).fit(make_table(150, 4))  # imports and compiles
    if name == "ABOD":
        chosen = chosen[:2]  # the others take minutes
    elif name == "OCSVM":
        chosen = chosen[-1:]  # the more support vectors, the fuller the cache
    else:
        chosen = [chosen[0], chosen[-1]]
    features, peaks = [], []
    for n, d in shapes:
        X = make_table(n, d)
        for spec in chosen:
            pairs = n**2 if name in PAIRS else 0.0
            features.append([n * d, n, n * work_of(spec), pairs])
            peaks.append(peak_bytes(spec, X))
    weights = 1 / np.maximum(peaks, 2**20)
    found, _ = nnls(np.asarray(features) * weights[:, None], peaks * weights)
    print(name, [round(p / 2**20, 1) for p in peaks], found.round(2), flush=True)
    return {
        "per_value": round(float(found[0]), 1),
        "per_row": round(float(found[1]), 1),
        "per_row_and_work": round(float(found[2]), 2),
        "per_pair": round(float(found[3]), 2),
        "pairs_at_most": PAIRS.get(name),
    }


# the file


def main() -> None:
    """Measure, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=COSTS)
    parser.add_argument("--measured", type=Path, help="CSV of times: read if there, else written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = arguments.measured
    if kept is not None and kept.exists():
        times = pd.read_csv(kept)
    else:
        measured = [measure(SHAPES, seed=0).assign(held_out=False)]
        for seed, shapes in HELD_OUT.items():
            table = measure(dict.fromkeys(MODELS, shapes), seed)
            measured.append(table.assign(held_out=True))
        times = pd.concat(measured)
        if kept is not None:
            times.to_csv(kept, index=False)
    families = {}
    for name in MODELS:
        mine = times[times["family"] == name]
        fitting, fresh = mine[~mine["held_out"]], mine[mine["held_out"]]
        law = fit_law(fitting)
        offsets = model_offsets(name, law, fitting)
        error = np.log(fresh["seconds"]) - by_law(law, fresh) - fresh["model"].map(offsets)
        ratio = np.exp(-error)
        print(f"{name}: {law} predicted/actual {ratio.median():.2f}", flush=True)
        families[name] = {
            "work": WORK[name],
            "work_default": default_work(name),
            "median_offset": round(float(np.median(list(offsets.values()))), 3),
            "seconds": {key: float(f"{value:.4g}") for key, value in law.items()},
            "bytes": fit_memory(name),
            "held_out": {
                "n_fits": len(fresh),
                "median_ratio": round(float(ratio.median()), 3),
                "median_absolute_log_error": round(float(error.abs().median()), 3),
                "largest_absolute_log_error": round(float(error.abs().max()), 3),
            },
            "matrix": fit_matrix(name),
            "offsets": offsets,
        }
    document = {"how": HOW, "python": platform.python_version(), "families": families}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


HOW = (
    "Made by tools/measure_costs.py. seconds = exp(offset + offsets[model] + work exponent "
    "* log(the hyperparameter 'work')) * (start + n_rows**rows * n_columns**columns): one core, "
    "PyOD's own detectors fitted on generated tables. 'held_out' is on tables of other shapes; "
    "'matrix' is a power law through the fast kernels' seconds on real datasets and what it "
    "leaves on those of other origins: the spread between real tables of one shape. OCSVM's "
    "offsets are of the mean, not the median: some problems are hard for LIBSVM. 'bytes' is memory "
    "beyond the table, measured as peak resident memory."
)


if __name__ == "__main__":
    main()
