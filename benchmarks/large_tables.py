"""What the reference sample of a large table costs in quality, and what it saves.

    python benchmarks/large_tables.py compute FOLDER --data DIR --mothersets DIR --stage STAGE
    python benchmarks/large_tables.py print FOLDER

Stages are full, sample and families; each takes about half an hour of a core and goes on where it
was interrupted.

Protocol, written before any size was tried:

- Tables: every labelled table of more than 10,000 rows in DIR (folders of .npz files of X and y);
  three tables made of letters (20 random classes, and 2 % of rows of the others as outliers) and
  one of shuttle (its largest class and 2 % of the others); generated tables of 30,000 rows with
  local, global and clustered outliers (2 %), of 5 and 20 columns, three seeds of each.
- A table of more than 50,000 rows is replaced by 50,000 random rows, because the full computation
  grows with the square; outliers are all kept if they are fewer than 5 % of these.
- Full: every model of the committee is fitted to all rows. Sample: it is fitted to a random
  sample of the rows without replacement, the rows of the sample keep their training scores, all
  others are scored as new rows. Three samples for each size.
- Measure: average precision (AP) of the average of the seven models, sample less full. Condition:
  mean over the tables at least -.005, and no table (mean of its three samples) below -.02.
- Neighbours: as many of the sample as the model has in the table, or their share (n_neighbors times
  size over rows), whichever meets the condition.
- Found: all 300 neighbours in a sample of 2,500 rows cost .012 on 17 tables, .050 on the worst
  (kNN itself .06 and .23), so they are scaled.
- Found: 5,000 rows meet the condition: -.0011 in the mean, -.0166 on the worst table. Single models
  do not all meet it (5,000 of 12,000 rows, one sample): LOF of 20 neighbours loses .08 on two
  tables of letters, whose outliers are local; ECOD and COPOD lose .11 and .06 on the table of 30
  outliers. Therefore single models of fast families learn from more rows.
- The smallest size that meets the condition with both kinds of tables, if the time allows it, is
  chosen; one size for all models, unless a family needs another.
- Intervals: bootstrap over origins, 90 %; each generated kind is an origin.
- Families: single models, which may learn from more rows than averages. The 20,000 rows of KNN and
  LOF were chosen after LOF of 20 neighbours had been computed by 5,000, 10,000 and 20,000 rows; the
  other sizes and what follows were written before. Each model is fitted to as many rows as its
  family says (`learned_rows`), to 5,000 and to all, one sample. Neighbours and densities: tables of
  more than 20,000 rows, as above. COF, ABOD and OCSVM, whose full computation takes minutes: at
  most 12,000 rows of each table, by 5,000. Models whose time grows with the rows: the tables of
  more than 100,000 rows, all of their rows, and generated ones of 300,000. The same condition; a
  family that misses it is named in docs/scale.md.
- Found: KNN, ECOD, COPOD, HBOS, PCA, MCD and OCSVM meet it, the others do not.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from metaod.detection._sampling import for_sample
from metaod.history._metrics import average_precision
from metaod.models import COMMITTEE, ModelSpec, ScoreScale, family
from metaod.models._family import ALL_ROWS_UP_TO, FEW_ROWS, MANY_ROWS
from metaod.tables import Preparation, read_table

MOST, FEW = 50_000, 12_000
SLOW = ("COF", "ABOD", "OCSVM")
SIZES = (5_000, 10_000, 2_500)
SAMPLES = 3
SINGLE = tuple(
    map(
        ModelSpec.parse,
        (
            "KNN(n_neighbors=5, method=largest)",
            "KNN(n_neighbors=20, method=largest)",
            "KNN(n_neighbors=100, method=largest)",
            "LOF(n_neighbors=20, metric=euclidean)",
            "LOF(n_neighbors=100, metric=euclidean)",
            "COF(n_neighbors=20)",
            "ABOD(n_neighbors=20)",
            "CBLOF(n_clusters=8)",
            "OCSVM(nu=0.9, kernel=rbf)",
            "HBOS(n_bins=20, alpha=0.1)",
            "ECOD()",
            "COPOD()",
            "LODA(n_bins=20, n_random_cuts=100)",
            "MCD(scaling=robust)",
            "PCA(weighted=false, scaling=signedlog)",
            "IForest(n_estimators=200, max_features=1.0)",
            "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=robust)",
            "KDE(gamma_scale=0.3, scaling=robust)",
            "KNN(n_neighbors=300, method=largest, scaling=robust)",
        ),
    )
)


@dataclass
class Labelled:
    """A labelled table."""

    name: str
    origin: str
    X: np.ndarray
    y: np.ndarray

    def limited(self, most: int) -> "Labelled":
        """Return the table, or random rows of it."""
        n = len(self.y)
        if n <= most:
            return self
        random = np.random.default_rng(0)
        outliers = np.flatnonzero(self.y)
        if len(outliers) < 0.05 * most:
            rest = random.choice(np.flatnonzero(self.y == 0), most - len(outliers), replace=False)
            rows = np.sort(np.concatenate([outliers, rest]))
        else:
            rows = np.sort(random.choice(n, most, replace=False))
        return Labelled(self.name, self.origin, self.X[rows], self.y[rows])


def real_tables(data: Path) -> Iterator[Labelled]:
    """Yield the labelled tables of more than 10,000 rows."""
    catalogue = pd.read_csv(data / "catalog.csv")
    for entry in catalogue[catalogue.samples > 10_000].itertuples():
        found = np.load(data / entry.file)
        yield Labelled(entry.name, entry.origin, found["X"], found["y"].astype(np.int64))


def made_of_classes(mothersets: Path) -> Iterator[Labelled]:
    """Yield tables whose outliers are rare rows of some classes."""
    letter, shuttle = (np.load(mothersets / f"{name}.npz") for name in ("letter.rec", "shuttle"))
    for seed in range(3):
        random = np.random.default_rng(seed)
        usual = np.isin(letter["y"], random.choice(26, 20, replace=False))
        yield _rare_classes(f"letter {seed}", "letter", letter["X"], usual, random)
    usual = shuttle["y"] == 0
    yield _rare_classes("shuttle classes", "shuttle", shuttle["X"], usual, np.random.default_rng(0))


def _rare_classes(
    name: str, origin: str, X: np.ndarray, usual: np.ndarray, random: np.random.Generator
) -> Labelled:
    rare = random.choice(np.flatnonzero(~usual), round(0.02 * usual.sum()), replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(usual), rare]))
    return Labelled(name, origin, X[rows], (~usual[rows]).astype(np.int64))


def generated(n_rows: int = 30_000) -> Iterator[Labelled]:
    """Yield tables with outliers of one kind, among five clusters of different density."""
    for kind in ("local", "global", "clustered"):
        for d in (5, 20):
            for seed in range(3):
                random = np.random.default_rng([seed, d])
                n_out = n_rows // 50
                centres = random.normal(size=(5, d)) * 4
                spreads = np.array([0.3, 0.6, 1.0, 1.5, 2.0])
                mixing = random.normal(size=(5, d, d)) / np.sqrt(d)
                of = random.integers(0, 5, n_rows - n_out)
                noise = random.normal(size=(n_rows - n_out, d))
                X = centres[of] + spreads[of, None] * np.einsum("ij,ijk->ik", noise, mixing[of])
                if kind == "local":
                    of = random.integers(0, 5, n_out)
                    out = centres[of] + 2.5 * spreads[of, None] * random.normal(size=(n_out, d))
                elif kind == "global":
                    out = random.uniform(-12, 12, (n_out, d))
                else:
                    out = random.normal(size=(n_out, d)) * 0.3 + random.uniform(-6, 6, d)
                y = np.r_[np.zeros(len(X)), np.ones(n_out)].astype(np.int64)
                order = random.permutation(n_rows)
                name = f"{kind}, {d} columns, seed {seed}"
                yield Labelled(name, kind, np.vstack([X, out])[order], y[order])


def fit(spec: ModelSpec, X: np.ndarray, fixed: np.ndarray | None, seed: int) -> object:
    """Fit one model as MetaOD does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = spec.to_pyod(random_state=seed)
        detector.fixed = fixed
        return detector.fit(X)


def scores_by_sample(
    spec: ModelSpec, X: np.ndarray, fixed: np.ndarray | None, size: int | None, seed: int
) -> np.ndarray:
    """Return standardised scores, bounded as in an average; with `size`, by a sample."""
    n = len(X)
    rows = np.arange(n)
    if size is not None and size < n:
        rows = np.sort(np.random.default_rng([seed, size]).choice(n, size, replace=False))
    detector = fit(for_sample(spec, len(rows), n), X[rows], fixed, seed)
    scores = np.empty(n)
    scores[rows] = detector.decision_scores_
    rest = np.ones(n, dtype=bool)
    rest[rows] = False
    if rest.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores[rest] = detector.decision_function(X[rest])
    return ScoreScale.of(detector.decision_scores_, where=spec.id).tempered(scores)


def compute(args: argparse.Namespace) -> None:
    """Compute and keep what is missing, the full computations of the committee first."""
    args.folder.mkdir(parents=True, exist_ok=True)
    tables = [*real_tables(args.data), *made_of_classes(args.mothersets), *generated()]
    jobs: list[tuple[int, tuple[ModelSpec, ...], int | None, int]] = []
    if args.stage == "full":  # the forests' seeds alone change their scores by more than a sample
        jobs += [(MOST, COMMITTEE, None, seed) for seed in range(SAMPLES)]
    if args.stage == "sample":
        jobs += [(MOST, COMMITTEE, size, seed) for size in SIZES for seed in range(SAMPLES)]
    for most, specs, size, seed in jobs:
        for table in tables:
            _compute(table.limited(most), specs, size, seed, args.folder)
    if args.stage == "families":
        _compute_families(tables, args.folder)


def _compute_families(tables: list[Labelled], folder: Path) -> None:
    large = [table.limited(MOST) for table in tables if len(table.y) > ALL_ROWS_UP_TO]
    small = [table.limited(FEW) for table in tables]
    largest = [table for table in tables if len(table.y) > MANY_ROWS]
    largest += generated(300_000)
    for spec in SINGLE:
        size = family(spec.detector).learned_rows
        chosen = largest if size == MANY_ROWS else small if spec.detector in SLOW else large
        for table in chosen:
            for n_learned in dict.fromkeys((None, size, FEW_ROWS)):
                _compute(table, (spec,), n_learned, 0, folder)


def _compute(
    table: Labelled, specs: tuple[ModelSpec, ...], size: int | None, seed: int, folder: Path
) -> None:
    own = "" if specs is COMMITTEE else f" {specs[0].id}"
    name = f"{table.name} {len(table.y)} {size or 'full'} {seed}{own}".replace(" ", "_")
    target = folder / f"{name}.csv"
    if target.exists() and set(pd.read_csv(target).model) >= {spec.id for spec in specs}:
        return
    prepared = Preparation().fit_transform(read_table(table.X))
    found, parts = [], []
    for spec in specs:
        start = process_time()
        try:
            kept = folder / f"{table.name} {len(table.y)} {spec.id}.npy".replace(" ", "_")
            if size is None and not spec.is_random and kept.exists():
                scores = np.load(kept)
            else:
                scores = scores_by_sample(spec, prepared.X, prepared.fixed, size, seed)
            if size is None and not spec.is_random:
                np.save(kept, scores)
        except Exception as error:
            print(table.name, spec.id, error)
            continue
        parts.append(scores)
        ap = average_precision(table.y, scores)
        found.append((spec.id, ap, process_time() - start))
    if specs is COMMITTEE:
        ap = average_precision(table.y, np.mean(parts, axis=0))
        found.append(("committee", ap, sum(seconds for _, _, seconds in found)))
    frame = pd.DataFrame(found, columns=["model", "ap", "seconds"])
    frame = frame.assign(table=table.name, origin=table.origin, n=len(table.y))
    frame = frame.assign(size=size or 0, seed=seed)
    if target.exists():
        frame = pd.concat([pd.read_csv(target), frame])
    frame.to_csv(target, index=False)
    print(name, *(f"{ap:.4f}" for _, ap, _ in found), f"{frame.seconds.sum():.1f} s", flush=True)


def print_results(folder: Path) -> None:
    """Print the differences of AP by table, with intervals over origins, and by model."""
    every = pd.concat([pd.read_csv(file) for file in sorted(folder.glob("*.csv"))])
    full = every[every["size"] == 0].groupby(["table", "n", "model"]).ap.mean()
    found = every[every["size"] > 0].copy()
    keys = pd.MultiIndex.from_frame(found[["table", "n", "model"]])
    found["difference"] = found.ap - full.reindex(keys).to_numpy()
    found = found[found.difference.notna()]
    whole = found[found.model == "committee"]
    if len(whole):
        print("Default pick: AP by the sample less AP by all rows, mean of the samples\n")
        by_table = whole.pivot_table("difference", ["table", "n"], "size")
        by_table.insert(0, "all rows", full.xs("committee", level="model").reindex(by_table.index))
        print(by_table.round(4).to_string(na_rep=""), "\n")
        for size, own in whole.groupby("size"):
            print(f"{size:,} rows:", _summary(own))
        print()
    print("By model, mean and worst table:\n")
    each = found.groupby(["model", "size", "table"]).difference.mean()
    print(each.groupby(["model", "size"]).agg(["mean", "min", "max", "count"]).round(4).to_string())


def _summary(own: pd.DataFrame) -> str:
    tables = own.groupby(["origin", "table"]).difference.mean()
    origins = tables.groupby("origin").mean().to_numpy()
    random = np.random.default_rng(0)
    means = random.choice(origins, (10_000, len(origins))).mean(axis=1)
    low, high = np.quantile(means, (0.05, 0.95))
    return (
        f"mean {tables.mean():+.4f} over {len(tables)} tables; {origins.mean():+.4f} "
        f"[{low:+.4f}, {high:+.4f}] over {len(origins)} origins; worst table {tables.min():+.4f} "
        f"({tables.idxmin()[1]}); {own.seed.nunique()} samples"
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("compute", "print"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--mothersets", type=Path)
    parser.add_argument("--stage", choices=("full", "sample", "families"), default="sample")
    args = parser.parse_args()
    if args.command == "compute":
        compute(args)
    else:
        print_results(args.folder)


if __name__ == "__main__":
    main()
