"""Train the learners that ship inside the package, from the committed Parquet files.

Run it as `python -m research train-shipped`; it takes some minutes and gives the same picks every
time.
"""

import argparse
from pathlib import Path

from metaod.history import RECIPES
from research.shipped import train_shipped

OUT = Path(__file__).parents[2] / "src" / "metaod" / "history" / "shipped" / "artifacts"


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


def _report(what: str, done: int, total: int) -> None:
    if done == total or what == "calibrating":
        print(f"{what}: {done}/{total}", flush=True)
