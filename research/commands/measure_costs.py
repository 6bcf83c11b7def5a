"""Measure what fitting a picked model costs, as a user runs it, and write the law of each family.

    python -m research measure-costs                    some minutes on one idle core
    python -m research measure-costs --measured FILE    measures only what FILE does not have yet

Seconds come from two places. Fits of the detectors that a user gets, on generated tables, give each
family's law and each model's offset; models of a performance matrix share work and take other
times. The matrix's seconds tell what generated tables
cannot: how much the time differs between real tables of one shape, and how often a problem is hard
for OCSVM. Datasets of the final origins are left out.
Above a limit of rows, MetaOD fits models to a sample and scores the other rows: the times of new
rows have laws of their own. Times and memory are of one core; set OMP_NUM_THREADS=1.
"""

import argparse
import inspect
import json
import multiprocessing
import platform
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from metaod.models import ModelSpec, family, model_space
from metaod.models._family import FEW_ROWS
from research.cost_laws import Matrix, by_law, fit_law, fit_matrix, model_offsets

COSTS = Path(__file__).parents[2] / "src/metaod/models/costs.json"

SIZES = ((300, 5), (1000, 10), (3000, 20), (6000, 10), (1500, 3), (1000, 50))
LARGE = (*SIZES, (500, 12), (2500, 14), (20_000, 10))
LARGEST = (*LARGE, (100_000, 6))
WIDE = (*LARGEST, (1000, 200))
SMALL = 8000
"""Most rows on which other scalings than the z-score are measured, which are an offset each."""
# by seed; the first three were looked at when the shapes above were chosen, the others were not
HELD_OUT = {1: ((700, 15), (2000, 8), (8000, 12)), 2: ((900, 7), (2200, 18), (7000, 11))}

# the hyperparameter that sets the amount of work of a family, if there is one
WORK = {
    **dict.fromkeys(("KNN", "LOF", "COF", "ABOD"), "n_neighbors"),
    **dict.fromkeys(("IForest", "SCiForest", "ExtendedIForest"), "n_estimators"),
    **dict.fromkeys(("OCSVM", "KDE", "MCD", "PCA", "ECOD", "COPOD"), None),
    "LODA": "n_random_cuts",
    "HBOS": "n_bins",
    "CBLOF": "n_clusters",
}
# the sizes to measure a family on; the others are measured on the largest too
SHAPES = {
    **dict.fromkeys(("KNN", "LOF"), LARGE),
    **dict.fromkeys(("COF", "ABOD"), LARGE),
    "OCSVM": SIZES,
    **dict.fromkeys(("MCD", "PCA"), WIDE),
    "KDE": (*LARGE, (40_000, 6)),
}
# the models to measure: all combinations of these values
MODELS: dict[str, dict[str, tuple[Any, ...]]] = {
    "KNN": {"n_neighbors": (1, 20, 100, 300), "method": ("mean",)},
    "LOF": {"n_neighbors": (5, 20, 100, 400), "metric": ("euclidean", "manhattan")},
    "COF": {"n_neighbors": (3, 10, 50)},
    "ABOD": {"n_neighbors": (3, 10, 50, 100)},
    "IForest": {"n_estimators": (10, 100), "max_features": (0.1, 0.9)},
    "LODA": {"n_bins": (5, 30), "n_random_cuts": (10, 100)},
    "HBOS": {"n_bins": (5, 30, 100), "alpha": (0.3,)},
    "OCSVM": {"nu": (0.1, 0.5, 0.9), "kernel": ("linear", "poly", "rbf", "sigmoid")},
    "KDE": {"gamma_scale": (0.1, 3.0)},
    "SCiForest": {
        "n_estimators": (20, 100),
        "n_dims": (2, 5),
        "n_trials": (3,),
        "max_depth": (32,),
    },
    "ExtendedIForest": {"n_estimators": (20, 200), "n_dims": (2,)},
    "MCD": {},
    "PCA": {"weighted": (True, False)},
    "ECOD": {},
    "COPOD": {},
    "CBLOF": {"n_clusters": (4, 16)},
}
MOST_WORK = 2e7
"""Squared rows times nu beyond which OCSVM is not measured: some seconds."""

NEW_ROWS = ((8192, 3), (2048, 20), (8192, 20), (2048, 50))
"""Numbers of new rows, and columns, whose scoring is measured; other scalings on the second."""
NEW_HELD_OUT = ((4096, 8), (4096, 30))
SLOW_KERNELS = ("linear", "poly")
"""Kernels of OCSVM with which new rows are not measured, for a fit may take minutes."""


COLUMNS = ["kind", "family", "model", "work", "n_rows", "n_columns", "seconds", "held_out"]


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


def grid_of(name: str) -> list[ModelSpec]:
    """The models of a family that are measured on z-scored tables of every shape."""
    grid = MODELS[name]
    return [
        ModelSpec(name, dict(zip(grid, values, strict=True))) for values in product(*grid.values())
    ]


def models_of(name: str) -> list[ModelSpec]:
    """The models of a family that are measured: its grid, and the space's on other scalings."""
    space = model_space("all", detectors=name)
    return grid_of(name) + [spec for spec in space if spec.scaling != "zscore"]


def work_of(spec: ModelSpec) -> float:
    """Value of the hyperparameter that sets the amount of work."""
    name = WORK[spec.detector]
    return 1.0 if name is None else float(dict(spec.params)[name])


def default_work(name: str) -> float:
    """What the detector takes where the hyperparameter is not given."""
    work = WORK[name]
    if work is None:
        return 1.0
    return float(inspect.signature(family(name).load()).parameters[work].default)


def is_measured(spec: ModelSpec, n_rows: int, n_columns: int) -> bool:
    """Whether the model applies and a fit takes some seconds at most."""
    params: dict[str, Any] = dict(spec.params)
    if spec.detector == "OCSVM" and n_rows**2 * params.get("nu", 0.5) > MOST_WORK:
        return False
    return spec.applies(n_rows, n_columns) and (spec.scaling == "zscore" or n_rows <= SMALL)


def seconds_of(call: Callable[[], object]) -> float:
    """Processor time of a call on one core: the shortest of three where it is short.

    The processor's time, not the clock's, for others may share the machine.
    """
    times: list[float] = []
    while not times or (sum(times) < 0.1 and len(times) < 3):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def measure(kept: pd.DataFrame, save: Callable[[pd.DataFrame], None]) -> pd.DataFrame:
    """Seconds of every measured model on a table of every shape; those kept stay as they are."""
    known = set(zip(kept["kind"], kept["model"], kept["n_rows"], kept["n_columns"], strict=True))
    for name in MODELS:
        # the first fit of a family imports and compiles
        grid_of(name)[0].to_pyod(random_state=0).fit(make_table(150, 4))
        rows = []
        for seed, shapes in {0: SHAPES.get(name, LARGEST), **HELD_OUT}.items():
            for shape in shapes:
                X = make_table(*shape, seed)
                for spec in models_of(name):
                    if is_measured(spec, *shape) and ("fit", spec.id, *shape) not in known:
                        seconds = seconds_of(partial(spec.to_pyod(random_state=0).fit, X))
                        rows.append(
                            ("fit", name, spec.id, work_of(spec), *shape, seconds, seed > 0)
                        )
        rows += measure_new_rows(name, known)
        print(name, len(rows), flush=True)
        if rows:
            kept = pd.concat([kept, pd.DataFrame(rows, columns=COLUMNS)], ignore_index=True)
            save(kept)
    return kept


def measure_new_rows(name: str, known: set[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Seconds that a family's models take to score new rows against a sample of a large table."""
    rows = []
    for shape in (*NEW_ROWS, *NEW_HELD_OUT):
        n_new, n_columns = shape
        X = make_table(FEW_ROWS, n_columns)
        new = make_table(n_new, n_columns, seed=3)
        for spec in models_of(name):
            is_used = spec.scaling == "zscore" or shape in (NEW_ROWS[1], *NEW_HELD_OUT)
            is_quick = dict(spec.params).get("kernel") not in SLOW_KERNELS
            if not is_used or not is_quick or ("new", spec.id, *shape) in known:
                continue
            detector = spec.to_pyod(random_state=0).fit(X)
            detector.decision_function(new[:10])  # compiles
            seconds = seconds_of(partial(detector.decision_function, new))
            is_held_out = shape in NEW_HELD_OUT
            rows.append(("new", name, spec.id, work_of(spec), *shape, seconds, is_held_out))
    return rows


def learned_exponent(name: str) -> float:
    """The power of the rows learned from in the time of scoring new rows; 0 if they are few."""
    n_many = family(name).learned_rows
    if n_many <= FEW_ROWS:
        return 0.0
    new = make_table(4096, 20, seed=3)
    exponents = []
    for spec in grid_of(name):
        seconds = []
        for n_learned in (FEW_ROWS, n_many):
            detector = spec.to_pyod(random_state=0).fit(make_table(n_learned, 20))
            detector.decision_function(new[:10])  # compiles
            seconds.append(seconds_of(partial(detector.decision_function, new)))
        exponents.append(np.log(seconds[1] / seconds[0]) / np.log(n_many / FEW_ROWS))
    return round(max(float(np.median(exponents)), 0.0), 3)


# memory

PAIRS = {"OCSVM": 200e6}
"""Families whose memory grows with the pairs of rows, up to so many bytes (LIBSVM's cache)."""


def peak_bytes(spec: ModelSpec, X: Matrix) -> float:
    """Measure the memory that a fit takes beyond the table, in a separate process."""
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
    shapes = ((2000, 10), (4000, 10)) if name in PAIRS else (
        (20_000, 4), (20_000, 16), (60_000, 4))  # fmt: skip
    chosen = grid_of(name)
    chosen[0].to_pyod(random_state=0).fit(make_table(150, 4))  # imports and compiles
    # of OCSVM the last alone: the more support vectors, the fuller the cache
    chosen = chosen[-1:] if name == "OCSVM" else [chosen[0], chosen[-1]]
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
    parser.add_argument("--measured", type=Path, help="CSV of times that are not measured again")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = arguments.measured
    kept = pd.DataFrame(columns=COLUMNS)
    if measured is not None and measured.exists():
        kept = pd.read_csv(measured)
    # first, for what is left of other fits would be used again and not seen
    memory = {name: fit_memory(name) for name in MODELS}
    times = measure(kept, lambda found: measured and found.to_csv(measured, index=False))
    times = times.infer_objects()
    families = {}
    for name in MODELS:
        mine = times[times["family"] == name]
        families[name] = {
            "work": WORK[name],
            "work_default": default_work(name),
            "bytes": memory[name],
            "matrix": fit_matrix(name),
            "scoring": {
                **law_of(name, mine[mine["kind"] == "new"], most_rows=1.0),
                "learned": learned_exponent(name),
            },
            **law_of(name, mine[mine["kind"] == "fit"], most_rows=3.0),
        }
    document = {"how": HOW, "python": platform.python_version(), "families": families}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def law_of(name: str, times: pd.DataFrame, *, most_rows: float) -> dict[str, Any]:
    """The law through a family's times, its models' offsets, and the error on other shapes."""
    fitting, fresh = times[~times["held_out"]], times[times["held_out"]]
    law = fit_law(name, fitting, most_rows=most_rows)
    offsets = model_offsets(name, law, fitting)
    usual = float(np.median(list(offsets.values())))
    added = fresh["model"].map(offsets).fillna(usual)
    error = np.log(fresh["seconds"]) - by_law(law, fresh) - added
    ratio = np.exp(-error)
    print(f"{name}: {law} predicted/actual {ratio.median():.2f}", flush=True)
    return {
        "median_offset": round(usual, 3),
        "seconds": {
            key: None if value is None else float(f"{value:.4g}") for key, value in law.items()
        },
        "held_out": {
            "n": len(fresh),
            "median_ratio": round(float(ratio.median()), 3),
            "median_absolute_log_error": round(float(error.abs().median()), 3),
            "largest_absolute_log_error": round(float(error.abs().max()), 3),
        },
        "offsets": offsets,
    }


HOW = (
    "Made by research measure-costs. seconds = exp(offset + offsets[model] + work exponent * "
    "log(the hyperparameter 'work')) * (start + n_rows**rows * n_columns**columns), which grows "
    "with n_rows alone beyond 'linear_from' rows: one core, the detectors that a user gets, "
    "fitted on generated tables. 'scoring' is the same for new rows, after learning from "
    f"{FEW_ROWS} rows; from n, it is multiplied by (n / {FEW_ROWS})**learned. 'held_out' is on "
    "tables of other shapes; 'matrix' is a power law through the matrix's seconds on real "
    "datasets and what it leaves on those of other origins: the spread between real tables of one"
    " shape; none where the shipped matrix lacks the family. OCSVM's offsets are of the mean, not"
    " the median: some problems are hard for LIBSVM. 'bytes' is memory beyond the table, measured"
    " as peak resident memory."
)
