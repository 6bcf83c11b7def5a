"""The first run after installation, and how fast commands start afterwards.

    python benchmarks/first_minute.py [--python PYTHON]

Every line is a process of its own; `--python` names the Python of a fresh installation. The first
`detect` begins with an empty cache of compiled code; every other line is the best of three. The
baseline imports scikit-learn and pandas, reads the same table and fits an IsolationForest to its
numbers, as a script without MetaOD does. Seconds of the processor are user and system time of the
process; on a busy machine the ratios tell more.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import metaod

TABLE = Path(metaod.__file__).parent / "tables" / "examples" / "machines.csv"
BASELINE = f"""
import pandas as pd
from sklearn.ensemble import IsolationForest
X = pd.read_csv({str(TABLE)!r}).select_dtypes("number").fillna(0)
IsolationForest(random_state=0).fit(X).score_samples(X)
"""
COMMANDS = {
    "`metaod --version`": ["--version"],
    "`metaod --help`": ["--help"],
    "`metaod select` (600 × 12)": ["select", str(TABLE)],
    "`metaod detect`, later (600 × 12)": ["detect", str(TABLE)],
}
RUNS = 3


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds of the processor and of the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="Python of the installation.")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        # files are read once before, so that the disk is not measured
        before = {**os.environ, "NUMBA_CACHE_DIR": other}
        timed([python, "-m", "metaod", "detect", str(TABLE)], before)

        def best(*arguments: str) -> tuple[float, float]:
            return min(timed([python, *arguments], environment) for _ in range(RUNS))

        baseline = best("-c", BASELINE)
        lines = {"scikit-learn and pandas: IsolationForest (baseline)": baseline}
        first = [python, "-m", "metaod", "detect", str(TABLE)]
        lines["`metaod detect`, the first after installation"] = timed(first, environment)
        for name, arguments in COMMANDS.items():
            lines[name] = best("-m", "metaod", *arguments)
    print("| process | processor, s | wall clock, s | to the baseline |\n|---|---|---|---|")
    for name, (seconds, wall) in lines.items():
        print(f"| {name} | {seconds:.2f} | {wall:.2f} | {seconds / baseline[0]:.1f} |")


if __name__ == "__main__":
    main()
