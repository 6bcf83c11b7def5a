"""Rank of a row with an extreme cell as tables grow, and what looking for such cells costs.

    python benchmarks/extremes.py --rows 1000 20000 200000 2000000

A value of a generated table of ten columns is moved beyond all others of its column by a hundred
standard deviations. The table is scored in memory, and from a Parquet file that is read in chunks,
by each pick. The last column is the share of the fit's processor time that is spent on extreme
cells.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.detection import MetaOD, detect
from metaod.detection._extremes import Extremes
from metaod.tables import stream_table

PICKS: dict[str, dict[str, Any]] = {
    "learner": {},
    "committee": {"pick": "committee"},
    "isolation forest": {"space": "IForest", "pick": "learned-single"},
    "HBOS": {"space": "HBOS", "pick": "learned-single"},
}


def made(n_rows: int) -> pd.DataFrame:
    """Return a table with one extreme value, in the row in the middle."""
    rng = np.random.default_rng(n_rows)
    X = np.column_stack([
        rng.normal(size=(n_rows, 4)), rng.lognormal(size=(n_rows, 3)), rng.poisson(3, (n_rows, 3)),
    ])  # fmt: skip
    X[n_rows // 2, 5] = X[:, 5].max() + 100 * X[:, 5].std()
    return pd.DataFrame(X, columns=[f"x{place}" for place in range(10)])


def main() -> None:
    """Print one line for each size and pick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 20_000, 200_000])
    print("| rows | pick | rank in memory | rank in chunks | fit, s | of it extreme cells |")
    print("|---|---|---|---|---|---|")
    for n_rows in parser.parse_args().rows:
        frame = made(n_rows)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            frame.to_parquet(path, row_group_size=100_000)
            for name, options in PICKS.items():
                began = time.process_time()
                model = MetaOD(**options, rows_only=True).fit(frame)
                fitted = time.process_time() - began
                began = time.process_time()
                Extremes.of(model.fitted_.X).gaps(model.fitted_.X)
                share = (time.process_time() - began) / fitted
                chunked = detect(stream_table(path), **options, rows_only=True).scores
                ranks = [
                    1 + int((scores > scores[n_rows // 2]).sum())
                    for scores in (model.decision_scores_, chunked)
                ]
                cells = [f"{n_rows:,}", name, *map(str, ranks), f"{fitted:.1f}", f"{share:.1%}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
