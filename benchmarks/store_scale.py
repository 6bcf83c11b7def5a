"""The store on SQLite and PostgreSQL: recording tasks, reading for training, and bytes a cell.

    python benchmarks/store_scale.py                            500 datasets × 302 models
    python benchmarks/store_scale.py --datasets 5000            more of them
    python benchmarks/store_scale.py --url postgresql://...     a server of yours, an empty schema

Both stores get the same made-up evaluations (the paper's 302 models, 5 trials of a random one, and
both schemas of meta-features) in the same run. Without ``--url`` the server of the tests is used,
on this machine: nothing waits for a network, and the disk is not waited for either (fsync is off).
Seconds are processor time of this process and, on Linux, of the server that it started; beside them
stand those of the clock. The content of the two stores is compared before anything is printed.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from metaod.history import Evaluation
from metaod.metafeatures import schema
from metaod.models import CellState, model_space
from metaod.store import (
    DatasetRecord,
    MetaFeatureRecord,
    Store,
)

MODELS = model_space("paper")
TRIALS = 5
SERVERS = []  # that this process started


def now():
    """Seconds of the processor, of this process and of servers, and of the clock."""
    processor = time.process_time()
    parents = {str(server.pid) for server in SERVERS}
    for path in Path("/proc").glob("[0-9]*/stat") if parents else ():
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if path.parent.name in parents or fields[1] in parents:
            processor += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return np.array([processor, time.perf_counter()])


def timed(function, times=5):
    """The mean seconds of the processor and of the clock, and the result."""
    start = now()
    for _ in range(times):
        result = function()
    return (now() - start) / times, result


def fingerprint(number):
    return f"fp1:{number:032x}"


def evaluations(number):
    rng = np.random.default_rng(number)
    found = []
    for spec in MODELS:
        for trial in range(TRIALS if spec.is_random else 1):
            figures = rng.random(3).tolist()
            seed = trial if spec.is_random else None
            found.append(
                Evaluation(spec.id, trial, CellState.OK, *figures, rng.random(), seed, "", "1.0")
            )
    return found


def vectors(number):
    rng = np.random.default_rng(number)
    return [
        MetaFeatureRecord(part.name, part.version, part.names, rng.normal(size=len(part.names)))
        for part in map(schema, ("paper", "scores"))
    ]


def fill(store, n_datasets):
    """Record the tasks; return seconds a task, of the processor and of the clock."""
    store.add_models(MODELS)
    for number in range(n_datasets):
        record = DatasetRecord(fingerprint(number), f"set{number}", f"o{number}", 1000, 10, 50)
        store.add_dataset(record)
    made = [(evaluations(number), vectors(number)) for number in range(n_datasets)]
    start = now()
    for number, (trials, features) in enumerate(made):
        store.record_task(fingerprint(number), trials, features)
    return (now() - start) / n_datasets


def wanted():
    return {spec.id: TRIALS if spec.is_random else 1 for spec in MODELS}


def measure(store, n_datasets):
    names = [fingerprint(number) for number in range(n_datasets)]
    rows = {"record a task, ms": 1000 * fill(store, n_datasets)}
    queries = {
        "performance matrix, s": store.performance_matrix,
        "training data, s": lambda: store.training_data(("paper", "scores")),
        "what is missing, s": lambda: store.missing(names, wanted()),
        "all datasets, s": store.datasets,
    }
    results = {}
    for name, query in queries.items():
        rows[name], results[name] = timed(query)
    facts = store.summary()
    n_cells = sum(facts["cells"].values())
    rows["bytes a dataset × model"] = np.array([facts["size_bytes"] / n_cells, np.nan])
    rows["bytes an evaluation"] = np.array([facts["size_bytes"] / facts["evaluations"], np.nan])
    return rows, (results["performance matrix, s"].to_numpy().tobytes(), facts["evaluations"])


def shown(pair):
    processor, clock = pair
    return f"{processor:.3g}" if np.isnan(clock) else f"{processor:.3g} ({clock:.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=500)
    parser.add_argument("--url", help="an empty schema of a PostgreSQL server")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = options.url
        if url is None:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "made"))
            from made_postgres import Server

            server = Server()
            SERVERS.append(server)
            stack.callback(server.stop)
            url = server.new_url()
        found = {}
        for name, place in (("SQLite", f"{folder}/a.db"), ("PostgreSQL", url)):
            with Store(place, create=True) as store:
                found[name] = measure(store, options.datasets)
    contents = {content for _, content in found.values()}
    assert len(contents) == 1, "the two stores differ"
    ((_, n_evaluations),) = contents
    size = f"{options.datasets} datasets × {len(MODELS)} models, {n_evaluations} evaluations"
    print(f"{size}: seconds of the processor (of the clock)\n")
    print("| | SQLite | PostgreSQL | ratio |\n|---|---|---|---|")
    one, other = found["SQLite"][0], found["PostgreSQL"][0]
    for name in one:
        ratio = other[name][0] / one[name][0]
        print(f"| {name} | {shown(one[name])} | {shown(other[name])} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
