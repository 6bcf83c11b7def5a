"""Train the learners that ship inside the package, from the committed Parquet files.

Run it as `python -m research train-shipped`; it takes some minutes and gives the same picks every
time.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from metaod.artifacts import History
from metaod.history import RECIPES
from metaod.models import COMMITTEE, average_of
from research.shipped import train_shipped

PACKAGE = Path(__file__).parents[2] / "src" / "metaod"
OUT = PACKAGE / "history" / "shipped" / "artifacts"
FIGURES = PACKAGE / "selection" / "committee.json"

_LEVEL = 0.8  # share of the historical tables in the interval of the committee
_MARGIN = 0.005  # a smaller difference to isolation forest counts as none
_SMALLEST = 0.03  # share of the tables whose sizes are kept


def main() -> None:
    """Train and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(RECIPES), action="append")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only or RECIPES:
        artifact = train_shipped(name, progress=_report)
        figures = {} if artifact.calibration is None else artifact.calibration.figures
        path = given.out / f"{name}.metaod"
        artifact.save(path)
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
        for key, value in sorted(figures.items()):
            print(f"  {key}: {value:.4g}")
        if name == "default" and artifact.history is not None:
            FIGURES.write_text(f"{json.dumps(committee_figures(artifact.history), indent=1)}\n")


def committee_figures(history: History) -> dict[str, Any]:
    """Return the performance of the committee over all historical tables, and the least sizes."""
    place = history.models.index(average_of(*COMMITTEE).id)
    share = history.normalised[:, place]
    low, high = np.nanquantile(share, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    gain = history.P[:, place].astype(np.float64) - history.reference
    gain = gain[~np.isnan(gain)]
    sizes = np.sort(history.shapes[:, 0])
    return {
        "predicted": float(np.nanmean(share)),
        "low": float(low),
        "high": float(high),
        "level": _LEVEL,
        "beats": float(np.mean(gain > _MARGIN)),
        "loses": float(np.mean(gain < -_MARGIN)),
        "n_tables": len(sizes),
        "smallest": sizes[: int(np.ceil(_SMALLEST * len(sizes)))].tolist(),
    }


def _report(what: str, done: int, total: int) -> None:
    if done == total or what == "calibrating":
        print(f"{what}: {done}/{total}", flush=True)
