"""Train what reviews have learned from history, and write it into the package.

    python -m research train-review DATASETS MIXED WORK --jobs 2

DATASETS and MIXED are folders of labelled datasets with their lists. One table of each origin is
reviewed; its labels play the reviewer. Each is scored by the pick that the learner makes without
its origin, and searched for wrong cells. Tables of development origins have at most 1,500 rows, and
those of final origins, which are measured and never trained on, 3,000. Of the development tables
some also get injected outliers, and some planted errors. WORK keeps what is finished: a run that
was stopped goes on where it was. Use a new folder if the code or the tables have changed. WORK also
gets the rankers that research evaluate-review measures: one for each half of the
development origins, and the one that is shipped, for the final origins. Needs the extra
``research``.
"""

import argparse
import json
import zlib
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from metaod.history import FolderEntry, iter_folder
from metaod.learners import origin_folds
from metaod.review import Ranker
from research.commands.evaluate_selector import CHOSEN, MANY, Bench, picks_of, scores_of
from research.review_training import (
    Sample,
    fit_left,
    fit_rows,
    left_states,
    samples,
    untrained_ranker,
)
from research.reviews import MOST_MADE, MOST_ROWS, ReviewTable, write_arrays
from research.shipped import final_origins, shipped_datasets

SHIPPED = Path(__file__).parents[2] / "src" / "metaod" / "review" / "shipped.review"
N_FOLDS = 2
MOST_COLUMNS = 100
"""Of a table to train on: the search for wrong cells takes half a minute for a thousand."""
MADE = ("injected", "planted")
"""Tables with outliers of another source, each made of every third table."""

COUNTED = 3
"""Of so many tables one is reviewed for the estimate of the outliers left."""
THINNED, FEW_ANSWERS = 2, 30
"""How often such a table loses most of its outliers, and the length of these reviews."""


def main() -> None:
    """Make the tables, simulate reviews, fit the rankers, and write the shipped one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("mixed", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tables", type=int, default=300, help="tables of development origins")
    parser.add_argument("--final", type=int, help="tables of final origins; by default all")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        Training(given.work, given.jobs, given.tables, given.final).run(given.datasets, given.mixed)


class Training:
    """The steps of training, each kept in a folder of its own."""

    def __init__(
        self, work: Path, jobs: int, n_tables: int | None = None, n_final: int | None = None
    ) -> None:
        self.work, self.jobs, self.n_tables, self.n_final = work, jobs, n_tables, n_final

    def run(self, datasets: Path, mixed: Path) -> None:
        """Run all steps that are not finished."""
        self.make(datasets, mixed)
        fold_of = folds(self.work)
        parts: list[Any] = ["final", *range(N_FOLDS)]
        development = {name: fold for name, fold in fold_of.items() if fold != "final"}
        for tables in ("tables", *MADE):
            made = {path.stem for path in (self.work / tables).glob("*.npz")}
            self.simulate([name for name in development if name in made], tables)
        fitted = {part: self.fit(part, development) for part in parts}
        some = dict([*development.items()][::COUNTED])
        self.simulate_left({name: fitted[fold] for name, fold in some.items()})
        for part in parts:
            self.fit_left(part, some, fitted[part])
        copyfile(self.work / "ranker-final.review", SHIPPED)
        print(f"{SHIPPED.name}: {SHIPPED.stat().st_size / 1e3:.0f} kB")

    def make(self, datasets: Path, mixed: Path) -> None:
        """Make review tables of one dataset of each origin, drawn by a fixed seed."""
        known = shipped_datasets().reset_index().set_index("name")
        origins = known["origin"].to_dict()
        entries = [*iter_folder(datasets), *iter_folder(mixed, label="outlier")]
        entries = [entry for entry in entries if entry.full_name in origins]
        chosen = {}
        for place in np.random.default_rng(5).permutation(len(entries)):
            chosen.setdefault(origins[entries[place].full_name], entries[place])
        picks, final = self.picks(), final_origins()
        for tables in ("tables", *MADE):
            (self.work / tables).mkdir(exist_ok=True)
        narrow = [origin for origin in chosen if (chosen[origin].columns or 0) <= MOST_COLUMNS]
        development = [origin for origin in narrow if origin not in final][: self.n_tables]
        last = [origin for origin in chosen if origin in final][: self.n_final]
        wanted = [*development, *last]
        entries = [chosen[origin] for origin in wanted]
        names = [known["fingerprint"][entry.full_name] for entry in entries]
        self.parallel(
            (_make, self.work, entry, origin, picks[name], origin in final, place % 3)
            for place, (entry, origin, name) in enumerate(zip(entries, wanted, names, strict=True))
        )

    def picks(self) -> dict[str, str]:
        """Return what the default learner picks for each dataset without its origin."""
        path = self.work / "picks.json"
        if not path.exists():
            picks: dict[str, str] = {}
            for final in (False, True):
                bench = Bench(final=final, mixed=True)
                data = bench.data(CHOSEN)
                for train, test in bench.splits:
                    scores = scores_of(data, CHOSEN, 0, train, test)
                    picks |= picks_of(data.P[test], scores, MANY).to_dict()
            path.write_text(json.dumps(picks))
        found: dict[str, str] = json.loads(path.read_text())
        return found

    def simulate(self, names: list[str], tables: str) -> None:
        """Sample a review of every table, in which a process asks."""
        folder = self.work / f"{tables}-samples"
        folder.mkdir(exist_ok=True)
        open_names = [name for name in names if not (folder / f"{name}.npz").exists()]
        self.parallel((_simulate, self.work, tables, name) for name in open_names)

    def fit(self, part: Any, fold_of: dict[str, Any]) -> Ranker:
        """Fit the scores of rows on the tables outside a part."""
        path = self.work / f"rows-{part}.review"
        if not path.exists():
            names = [name for name, fold in fold_of.items() if fold != part]
            found = [sample for name in names for sample in self.read(name)]
            print(f"without {part}: {len(names)} tables, {len(found)} states", flush=True)
            with threadpool_limits(self.jobs):
                Ranker(fit_rows(found), untrained_ranker().left).write(path)
        return Ranker.read(path)

    def read(self, name: str) -> list[Sample]:
        """Read the samples of a table, and of those that were made of it."""
        found: list[Sample] = []
        for tables in ("tables", *MADE):
            path = self.work / f"{tables}-samples" / f"{name}.npz"
            if path.exists():
                with np.load(path) as arrays:
                    ends = arrays["ends"][:-1]
                    parts = [np.split(arrays[key], ends) for key in ("features", "y", "counts")]
                found += (Sample(*part) for part in zip(*parts, strict=True))
        return found

    def simulate_left(self, rankers: dict[str, Ranker]) -> None:
        """Review every table and keep the states and the numbers of outliers left."""
        folder = self.work / "left"
        folder.mkdir(exist_ok=True)
        open_names = [name for name in rankers if not (folder / f"{name}.npz").exists()]
        self.parallel((_simulate_left, self.work, name, rankers[name]) for name in open_names)

    def fit_left(self, part: Any, fold_of: dict[str, Any], ranker: Ranker) -> None:
        """Fit the estimate of the outliers left, and write the finished ranker."""
        states, numbers, groups, whole = [], [], [], []
        of_marks = Ranker.state_features.index("marks")
        for name, fold in fold_of.items():
            if fold != part:
                with np.load(self.work / "left" / f"{name}.npz") as arrays:
                    states.append(arrays["states"])
                    numbers.append(arrays["log_numbers"])
                groups += [name] * len(numbers[-1])
                whole.append(np.cumsum(states[-1][:, of_marks] == 0) == 1)  # the first review
        joined = map(np.concatenate, (states, numbers))
        left = fit_left(*joined, np.array(groups), np.concatenate(whole))
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


def _make(
    work: Path, entry: FolderEntry, origin: str, pick: str, is_final: bool, turn: int
) -> None:
    """Make a table, and at every third turn one with planted errors or injected outliers."""
    name = entry.full_name.replace("/", "_")
    done = work / "made" / name
    if done.exists():
        return
    tables = {"tables": ReviewTable.make(entry, origin, pick, MOST_ROWS if is_final else MOST_MADE)}
    if turn == 0:
        tables["planted"] = ReviewTable.planted(entry, origin, pick)
    elif turn == 1 and not is_final and (own := tables["tables"]) is not None:
        generator = np.random.default_rng(zlib.crc32(f"injected {name}".encode()))
        tables["injected"] = own.injected(generator)
    for folder, table in tables.items():
        if table is not None:
            table.write(work / folder / f"{name}.npz")
    done.parent.mkdir(exist_ok=True)
    done.touch()


def _simulate(work: Path, tables: str, name: str) -> None:
    table = ReviewTable.read(work / tables / f"{name}.npz")
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    found = list(samples(table, generator))
    parts = {
        key: np.concatenate([getattr(sample, key) for sample in found])
        for key in ("features", "y", "counts")
    }
    ends = np.cumsum([len(sample.y) for sample in found])
    write_arrays(work / f"{tables}-samples" / f"{name}.npz", {"ends": ends, **parts})


def _simulate_left(work: Path, name: str, ranker: Ranker) -> None:
    """Review a table as it is, and with few of its outliers, so that rare ones are known."""
    table = ReviewTable.read(work / "tables" / f"{name}.npz")
    generator = np.random.default_rng(zlib.crc32(f"left {name}".encode()))
    found = [left_states(table, ranker)]
    for _ in range(THINNED):
        few = table.thinned(round(int(table.y.sum()) ** generator.random()), generator)
        found.append(left_states(few, ranker, FEW_ANSWERS))
    states, log_numbers = map(np.concatenate, zip(*found, strict=True))
    write_arrays(work / "left" / f"{name}.npz", {"states": states, "log_numbers": log_numbers})
