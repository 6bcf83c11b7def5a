"""Time and memory of ``metaod detect`` on files that are read in chunks, as rows grow.

    python benchmarks/streaming.py --rows 200000 2000000 --format parquet csv
    python benchmarks/streaming.py --rows 20000000 --format parquet
    python benchmarks/streaming.py --rows 200000 2000000 --format parquet --beside

Files of 20 columns are made block by block in a temporary folder, with 1 % of outliers. Each is
scored and written by a process of its own with the default pick (``--stream``); its processor time,
wall time and largest memory (as the kernel counts it) are printed. ``--beside`` adds the obvious
way: pandas reads the whole file, scikit-learn's IsolationForest scores it, pandas writes it.
Further options go to the command: ``--space HBOS --pick learned-single`` leaves out nearly all of
the models' time. The command must be installed and have run once, because the first run compiles.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

_COLUMNS, _BLOCK = 20, 250_000
_OBVIOUS = """
import sys
import pandas as pd
from sklearn.ensemble import IsolationForest
source, target = sys.argv[1:]
frame = pd.read_parquet(source) if source.endswith("parquet") else pd.read_csv(source)
scores = -IsolationForest(random_state=0).fit(frame).score_samples(frame)
frame = frame.assign(score=scores, rank=pd.Series(-scores).rank(), flag=(scores > 0.6).astype(int))
frame.to_parquet(target) if target.endswith("parquet") else frame.to_csv(target, index=False)
"""


def make_file(path: Path, n_rows: int) -> None:
    """Write a file of clustered numbers of which 1 % are spread widely."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3, size=(5, _COLUMNS))
    writer = None
    for start in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - start)
        X = centres[rng.integers(0, 5, size)] + rng.normal(size=(size, _COLUMNS))
        outliers = rng.random(size) < 0.01
        X[outliers] += rng.normal(scale=4, size=(int(outliers.sum()), _COLUMNS))
        names = [f"column {place}" for place in range(_COLUMNS)]
        block = pa.table(dict(zip(names, X.T.round(4), strict=True)))
        if writer is None and path.suffix == ".parquet":
            writer = pq.ParquetWriter(path, block.schema)
        elif writer is None:
            writer = pyarrow.csv.CSVWriter(path, block.schema)
        writer.write_table(block)
    writer.close()


def run(command: list[str]) -> tuple[float, float, float]:
    """Run a command; return its wall seconds, processor seconds and largest memory in GiB."""
    started = time.monotonic()
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    seconds = usage.ru_utime + usage.ru_stime
    return time.monotonic() - started, seconds, usage.ru_maxrss / 2**20


def measure(n_rows: int, ending: str, folder: Path, options: list[str], *, beside: bool) -> None:
    source, target = folder / f"made.{ending}", folder / f"scored.{ending}"
    make_file(source, n_rows)
    size = source.stat().st_size / 2**30
    paths = [str(source), "-o", str(target)]
    command = [sys.executable, "-m", "metaod", "detect", *paths, "--stream", "--top", "3"]
    ways = {"metaod": [*command, *options]}
    if beside:
        ways["obvious"] = [sys.executable, "-c", _OBVIOUS, str(source), str(target)]
    for name, command in ways.items():
        wall, seconds, memory = run(command)
        cells = f"{n_rows:,} | {ending} | {size:.2f} | {name} | {wall:.0f} | {seconds:.0f}"
        speed = f"{seconds / n_rows * 1e6:.1f}"
        print(f"| {cells} | {speed} | {memory:.2f} |", flush=True)
    if ending == "parquet":
        n_written = pq.read_metadata(target).num_rows
    else:
        parts = pd.read_csv(target, usecols=["flag"], chunksize=10**6)
        n_written = sum(len(part) for part in parts)
    if n_written != n_rows:
        sys.exit(f"{n_written:,} rows were written instead of {n_rows:,}")
    source.unlink()
    target.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 2_000_000])
    parser.add_argument("--format", nargs="+", choices=["parquet", "csv"], default=["parquet"])
    parser.add_argument("--beside", action="store_true", help="measure the obvious way too")
    parser.add_argument("--folder", help="where the files are made; a temporary folder by default")
    given, options = parser.parse_known_args()
    print("| rows | format | file (GiB) | way | wall (s) | processor (s) | µs/row | memory (GiB) |")
    print("|---|---|---|---|---|---|---|---|")
    if given.folder is not None:
        Path(given.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for ending in given.format:
            for n_rows in given.rows:
                measure(n_rows, ending, Path(folder), options, beside=given.beside)


if __name__ == "__main__":
    main()
