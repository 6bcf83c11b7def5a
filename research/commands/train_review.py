"""Train what reviews have learned from history, and write it into the package.

    python -m research train-review DATASETS MIXED WORK --jobs 2

DATASETS and MIXED are folders of labelled datasets with their lists. One table of each origin is
reviewed, with at most 3,000 rows; its labels play the reviewer. WORK keeps what is finished: a run
that was stopped goes on where it was. Use a new folder if the code or the tables have changed. WORK
also gets the rankers that research evaluate-review measures: one for each of five folds of the
development origins, and one for the final origins.
Takes about half an hour on two cores. Needs the extra ``research``.
"""

import argparse
import zlib
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from metaod.history import iter_folder
from metaod.learners import origin_folds
from metaod.review import Ranker
from research.review_training import (
    Sample,
    fit_left,
    fit_rows,
    left_states,
    samples,
    untrained_ranker,
)
from research.reviews import ReviewTable, make_tables
from research.shipped import final_origins, shipped_datasets

SHIPPED = Path(__file__).parents[2] / "src" / "metaod" / "review" / "shipped.review"
N_FOLDS = 5
INJECTED = 3
"""Of so many tables one is also used with injected outliers."""


def main() -> None:
    """Make the tables, simulate reviews, fit the rankers, and write the shipped one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("mixed", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    with threadpool_limits(1):
        Training(given.work, given.jobs).run(given.datasets, given.mixed)


class Training:
    """The steps of training, each kept in a folder of its own."""

    def __init__(self, work: Path, jobs: int) -> None:
        self.work, self.jobs = work, jobs

    def run(self, datasets: Path, mixed: Path) -> None:
        """Run all steps that are not finished."""
        self.make(datasets, mixed)
        fold_of = folds(self.work)
        parts: list[Any] = [*range(N_FOLDS), "final", "all"]
        self.inject([*fold_of][::INJECTED])
        self.simulate(list(fold_of), "tables", "samples")
        self.simulate(self.injected(), "injected", "injected-samples")
        fitted = {part: self.fit(part, fold_of) for part in parts}
        self.simulate_left({name: fitted[fold] for name, fold in fold_of.items()})
        for part in parts:
            self.fit_left(part, fold_of, fitted[part])
        copyfile(self.work / "ranker-all.review", SHIPPED)
        print(f"{SHIPPED.name}: {SHIPPED.stat().st_size / 1e3:.0f} kB")

    def make(self, datasets: Path, mixed: Path) -> None:
        """Make a review table of one dataset of each origin, drawn by a fixed seed."""
        origins = shipped_datasets().set_index("name")["origin"].to_dict()
        entries = [*iter_folder(datasets), *iter_folder(mixed, label="outlier")]
        entries = [entry for entry in entries if entry.full_name in origins]
        chosen = {}
        for place in np.random.default_rng(5).permutation(len(entries)):
            chosen.setdefault(origins[entries[place].full_name], entries[place])
        pairs = [(entry, origin) for origin, entry in chosen.items()]
        shares = [pairs[start :: self.jobs] for start in range(self.jobs)]
        folder = self.work / "tables"
        self.parallel((_make, share, folder) for share in shares)

    def inject(self, names: list[str]) -> None:
        """Make tables with injected outliers of the rows of some tables."""
        folder = self.work / "injected"
        if not folder.exists():
            unfinished = self.work / "injected.part"
            unfinished.mkdir(exist_ok=True)
            self.parallel((_inject, self.work, name) for name in names)
            unfinished.replace(folder)

    def injected(self) -> list[str]:
        """Return the tables with injected outliers, by the names of the tables they are made of."""
        return sorted(path.stem for path in (self.work / "injected").glob("*.npz"))

    def simulate(self, names: list[str], tables: str, samples: str) -> None:
        """Sample a review of every table, in which the process on leaves asks."""
        folder = self.work / samples
        folder.mkdir(exist_ok=True)
        open_names = [name for name in names if not (folder / f"{name}.npz").exists()]
        self.parallel((_simulate, self.work, tables, samples, name) for name in open_names)

    def fit(self, part: Any, fold_of: dict[str, Any]) -> Ranker:
        """Fit the scores of rows on the tables outside a part."""
        path = self.work / f"rows-{part}.review"
        if not path.exists():
            names = [name for name, fold in fold_of.items() if is_for(part, fold)]
            found = [sample for name in names for sample in self.read("samples", name)]
            made = [name for name in self.injected() if is_for(part, fold_of[name])]
            found += [sample for name in made for sample in self.read("injected-samples", name)]
            print(f"without {part}: {len(names)} tables, {len(found)} states", flush=True)
            with threadpool_limits(self.jobs):
                Ranker(fit_rows(found), untrained_ranker().left).write(path)
        return Ranker.read(path)

    def read(self, step: str, name: str) -> list[Sample]:
        """Read the samples of a table."""
        with np.load(self.work / step / f"{name}.npz") as arrays:
            ends = arrays["ends"][:-1]
            parts = [np.split(arrays[key], ends) for key in ("features", "y", "counts")]
        return [Sample(*part) for part in zip(*parts, strict=True)]

    def simulate_left(self, rankers: dict[str, Ranker]) -> None:
        """Review every table and keep the states and the shares of outliers left."""
        folder = self.work / "left"
        folder.mkdir(exist_ok=True)
        open_names = [name for name in rankers if not (folder / f"{name}.npz").exists()]
        self.parallel((_simulate_left, self.work, name, rankers[name]) for name in open_names)

    def fit_left(self, part: Any, fold_of: dict[str, Any], ranker: Ranker) -> None:
        """Fit the estimate of the outliers left, and write the finished ranker."""
        states, shares, groups = [], [], []
        for name, fold in fold_of.items():
            if is_for(part, fold):
                with np.load(self.work / "left" / f"{name}.npz") as arrays:
                    states.append(arrays["states"])
                    shares.append(arrays["log_shares"])
                groups += [name] * len(shares[-1])
        left = fit_left(np.concatenate(states), np.concatenate(shares), np.array(groups))
        Ranker(ranker.rows, left).write(self.work / f"ranker-{part}.review")

    def parallel(self, calls: Any) -> None:
        """Call functions in processes."""
        work = (delayed(function)(*arguments) for function, *arguments in calls)
        Parallel(self.jobs, verbose=1)(work)


def folds(work: Path) -> dict[str, Any]:
    """Return the fold of each table: a number, or ``final`` for a table of a final origin."""
    paths = sorted((work / "tables").glob("*.npz"))
    origins = {}
    for path in paths:
        with np.load(path) as arrays:
            origins[path.stem] = str(arrays["origin"])
    final = final_origins()
    development = [name for name in origins if origins[name] not in final]
    numbers = origin_folds([origins[name] for name in development], N_FOLDS).tolist()
    return {**dict.fromkeys(origins, "final"), **dict(zip(development, numbers, strict=True))}


def is_for(part: Any, fold: Any) -> bool:
    """Whether a table of a fold may be used to train the ranker of a part."""
    return bool(part == "all" or (fold not in (part, "final")))


def _make(entries: Any, folder: Path) -> None:
    for _ in make_tables(entries, folder):
        pass


def _inject(work: Path, name: str) -> None:
    table = ReviewTable.read(work / "tables" / f"{name}.npz")
    made = table.injected(np.random.default_rng(zlib.crc32(f"injected {name}".encode())))
    if made is not None:
        made.write(work / "injected.part" / f"{name}.npz")


def _simulate(work: Path, tables: str, samples_of: str, name: str) -> None:
    table = ReviewTable.read(work / tables / f"{name}.npz")
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    found = list(samples(table, generator))
    parts = {
        key: np.concatenate([getattr(sample, key) for sample in found])
        for key in ("features", "y", "counts")
    }
    ends = np.cumsum([len(sample.y) for sample in found])
    _write(work / samples_of / f"{name}.npz", ends=ends, **parts)


def _simulate_left(work: Path, name: str, ranker: Ranker) -> None:
    states, log_shares = left_states(ReviewTable.read(work / "tables" / f"{name}.npz"), ranker)
    _write(work / "left" / f"{name}.npz", states=states, log_shares=log_shares)


def _write(path: Path, **arrays: Any) -> None:
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, **arrays)
    unfinished.replace(path)
