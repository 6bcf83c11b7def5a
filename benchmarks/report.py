"""What a report costs beside the detection that it shows, and how large it is.

    python benchmarks/report.py

Each table is drawn at random with a share of outliers; the first is the bundled example. `detect`
picks, fits and scores with the default pick; `report` makes the summary and the page, with the
reasons of the 100 most outlying rows, whose part is also given alone. Seconds are
those of the processor, the best of two in the same process, after a run that compiles. The last
tables are extreme, and HBOS alone scores them.
"""

from time import process_time

import numpy as np
import pandas as pd

from metaod.detection import detect, summarise
from metaod.report import render
from metaod.tables import Table, load_example, read_table

SHAPES = ((2_000, 20), (10_000, 20), (2_000, 200))
QUICK = {"space": "HBOS", "pick": "learned-single"}


def made_table(n_rows: int, n_columns: int) -> Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    outliers = rng.random(n_rows) < 0.05
    X[outliers] += rng.normal(scale=6, size=(int(outliers.sum()), n_columns))
    return read_table(pd.DataFrame(X, columns=[f"column {place}" for place in range(n_columns)]))


def long_cells() -> Table:
    frame = made_table(500, 20).frame
    for place in range(5):
        frame[f"text {place}"] = [f"{row % 60}<{'long & ' * 1_430}" for row in range(500)]
    return read_table(frame)


def measure(name: str, table: Table, repeats: int, **options: str) -> None:
    rows = []
    for _ in range(repeats):
        started = process_time()
        found = detect(table, **options)
        detected = process_time()
        found.explain(found.order[:100])
        explained = process_time()
        page = render(summarise(found))
        done = process_time()
        rows.append((detected - started, done - detected, explained - detected))
    own, report, reasons = (min(seconds) for seconds in zip(*rows, strict=True))
    line = f"| {name} | {own:.2f} | {report:.2f} | {report / own:.2f} | {reasons:.2f} "
    print(f"{line}| {len(page.encode()) / 1e6:.2f} |", flush=True)


def main() -> None:
    measured = load_example()
    detect(measured)
    print("| table | detect (s) | report (s) | ratio | reasons alone (s) | size (MB) |")
    print("|---|---|---|---|---|---|")
    measure("the example, 600 × 12", measured, 2)
    for shape in SHAPES:
        measure(f"{shape[0]:,} × {shape[1]}", made_table(*shape), 2)
    measure("1,000,000 × 4, HBOS", made_table(1_000_000, 4), 1, **QUICK)
    measure("300 × 2,000, HBOS", made_table(300, 2_000), 1, **QUICK)
    measure("500 × 25 with cells of 10,000 characters, HBOS", long_cells(), 1, **QUICK)


if __name__ == "__main__":
    main()
