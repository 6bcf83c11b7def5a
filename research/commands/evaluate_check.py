"""Measure the promise of ``metaod check`` on halves of public tables: false alarms, errors found.

    python -m research evaluate-check [--tables N]

Protocol. Tables are the first N (120) of the part `final` of docs/wrong-cells.md, half of them
numeric, in turn: at most 1,300 rows of each, drawn at random, and its first 20 columns. Each is
split in random halves. The default pick is fitted to the first half, whose held-out rows calibrate
the promise; the second half is checked as it is, and with errors of eight kinds planted in 1 % of
its rows. For promises of .5, 1 and 5 % of false alarms, with confidence and on average, and of 5 %
of false discoveries, the realised shares are counted: every flagged row of the second half as it is
counts as a false alarm, also one with a real error or an outlier by its label, as the first half
has those too. A promise is kept if the number of flagged rows is within the 95 % interval of the
binomial distribution with the promised share, or below it. A table with too few rows for a share is
left out of its figures. A half passes if no more rows are flagged than chance explains, at the
level of the command; in the last line, if the command as it is passes. Writes ``tables`` and
``summary`` to results/checks. A stopped run continues.
"""

import argparse
import time
import warnings
import zlib
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom
from threadpoolctl import threadpool_limits

import metaod
from metaod.detection import Check
from metaod.detection._check import LEVEL
from metaod.detection._conformal import discovery_limit
from metaod.errors import UserError
from research.commands.evaluate_wrong_cells import EIGHT
from research.running import Journal
from research.tables import write_csv, write_table
from research.wrong_cells.planting import plant
from research.wrong_cells.tables import SHARED, Source, sources

FOLDER = Path(__file__).parents[2] / "results" / "checks"
SHARES = (0.005, 0.01, 0.05)
DISCOVERIES = 0.05
PLANTED = 0.01
MOST_ROWS, MOST_COLUMNS = 1_300, 20

Flags = npt.NDArray[np.bool_]


def main() -> None:
    """Write the tables of the evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=120)
    parser.add_argument("--part", default="final")
    parser.add_argument("--shared", type=Path, default=SHARED)
    given = parser.parse_args()
    name = "" if given.part == "final" else f"{given.part}-"
    kept = Journal(FOLDER / ".journal" / f"{name}checks.jsonl")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [sources(given.part, kind, given.shared) for kind in ("numeric", "mixed")]
        for source in islice(chain(*zip(*parts, strict=False)), given.tables):
            if source.name not in kept.done:
                kept.add(source.name, measured(source, zlib.crc32(source.name.encode())))
                print(source.name, len(kept.done), kept.done[source.name], flush=True)
    lines = [
        {"table": table, **size, **line}
        for table, found in kept.done.items()
        for size in [{name: value for name, value in found.items() if name != "lines"}]
        for line in found["lines"]
    ]
    results = pd.DataFrame(lines)
    write_csv(results, FOLDER, f"{name}tables")
    write_table(summary(results), FOLDER, f"{name}summary")


def measured(source: Source, seed: int) -> dict[str, Any]:
    """Fit to one half of a table and check the other; a table that is refused has no lines."""
    try:
        frame = source.load()
    except UserError as error:
        return {"refused": str(error), "lines": []}
    order = np.random.default_rng(seed).permutation(len(frame))[:MOST_ROWS]
    frame = frame.iloc[:, :MOST_COLUMNS]
    first, second = (frame.iloc[half].reset_index(drop=True) for half in np.array_split(order, 2))
    start = time.process_time()
    try:
        model = metaod.MetaOD().fit(first)
    except UserError as error:
        return {"refused": str(error), "lines": []}
    fitted = time.process_time()
    model.calibration()
    calibrated = time.process_time()
    clean = metaod.check(second, model)
    checked = time.process_time()
    errors = plant(second, EIGHT, PLANTED, seed)
    planted = metaod.check(errors.frame, model)
    return {
        "rows": len(second),
        "columns": frame.shape[1],
        "fit_seconds": round(fitted - start, 2),
        "calibration_seconds": round(calibrated - fitted, 2),
        "check_seconds": round(checked - calibrated, 2),
        "passes": clean.passed,
        "errors_noticed": not planted.passed,
        "lines": list(lines(clean, planted, errors.rows, model)),
    }


def lines(clean: Check, planted: Check, wrong: Flags, model: metaod.MetaOD) -> Any:
    """Yield the counts for each promise."""
    calibration: Any = model.calibration()
    n_rows = len(clean.p_values)
    limits = [("confident", share, calibration.limit(share)) for share in SHARES]
    limits += [("average", share, share) for share in SHARES]
    for kind, share, limit in limits:
        flagged, found = clean.p_values <= limit, planted.p_values <= limit
        yield {
            "promise": kind,
            "share": share,
            "possible": bool(limit * (1 + calibration.n_rows) >= 1),
            "flagged": int(flagged.sum()),
            "kept": bool(flagged.sum() <= binom.ppf(0.975, n_rows, share)),
            "below": bool(flagged.mean() <= share),
            "chance": calibration.chance(clean.p_values, limit),
            "found": int((found & wrong).sum()),
            "wrong": int(wrong.sum()),
            "chance with errors": calibration.chance(planted.p_values, limit),
            "drift": len(clean.drift),
        }
    flagged = clean.p_values <= discovery_limit(clean.p_values, DISCOVERIES)
    found = planted.p_values <= discovery_limit(planted.p_values, DISCOVERIES)
    yield {
        "promise": "discoveries",
        "share": DISCOVERIES,
        "possible": True,
        "flagged": int(flagged.sum()),
        "chance": float(not flagged.any()),
        "found": int((found & wrong).sum()),
        "wrong": int(wrong.sum()),
        "false": int((found & ~wrong).sum()),
        "chance with errors": float(not found.any()),
        "drift": len(clean.drift),
    }


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return the figures of each promise over all tables, and of tables with enough rows."""
    parts = []
    for (promise, share), every in results.groupby(["promise", "share"], sort=False):
        own = every[every["possible"]]
        realised = own["flagged"] / own["rows"]
        line = {"promise": promise, "share": share, "tables": len(own), "too small": len(every)}
        line["too small"] -= len(own)
        line |= {"mean realised": realised.mean(), "largest realised": realised.max()}
        if promise == "discoveries":
            flagged = (own["found"] + own["false"]).clip(lower=1)
            line["mean false discoveries"] = (own["false"] / flagged).mean()
        else:
            line |= {"within interval or below": own["kept"].mean()}
            line |= {"at most the promise": own["below"].mean()}
        line |= {"clean halves that pass": (own["chance"] >= LEVEL).mean()}
        line |= {"halves with errors that fail": (own["chance with errors"] < LEVEL).mean()}
        line |= {"clean halves with drift": (own["drift"] > 0).mean()}
        line |= {"errors found": own["found"].sum() / own["wrong"].sum()}
        parts.append(line)
    tables = results.drop_duplicates("table")
    line = {"promise": "the command's own", "tables": len(tables), "too small": 0}
    line |= {"clean halves that pass": tables["passes"].mean()}
    line |= {"halves with errors that fail": tables["errors_noticed"].mean()}
    return pd.DataFrame([*parts, line])


if __name__ == "__main__":
    main()
