"""Evaluate the default on mixed tables, with irrelevant text, and on planted outliers.

    python -m research evaluate-mixed numeric MIXED           AP of IForest() on the numeric columns
    python -m research evaluate-mixed development --jobs 2     mixed tables, ten folds of origins
    python -m research evaluate-mixed final --jobs 2           mixed tables of the final origins
    python -m research evaluate-mixed irrelevant DATASETS      two irrelevant text columns added
    python -m research evaluate-mixed planted                  generated tables
    python -m research evaluate-mixed blends MIXED            more isolation forest in the committee
    python -m research evaluate-mixed rebuilt STORE            new cells against the shipped ones

Follows docs/mixed-tables.md and writes CSV and Markdown tables to results/mixed. MIXED and DATASETS
are folders of labelled datasets with their lists; STORE is a store of newly built mixed tables.
Needs the extra ``research``.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.detection import MetaOD
from metaod.errors import UserError
from metaod.history import iter_folder
from metaod.models import COMMITTEE, ScoreScale, average_of
from metaod.store import Store
from metaod.tables import prepare
from research.commands.evaluate_selector import CHOSEN, Bench, figures
from research.reviews import FOREST
from research.shipped import final_origins
from research.statistics import average_precision, bootstrap_intervals

FOLDER = Path(__file__).parents[2] / "results" / "mixed"
TRIALS = 5
N_TABLES = 60
"""Numeric tables that irrelevant text is added to."""
MOST_ROWS = 3000
PLANTED = ("value", "combination", "gap")
N_PLANTED = 20
"""Generated tables of each kind."""
EXTRA_FORESTS = (0, 1, 3, 7)
"""Weights of IForest() beside the seven members of the committee."""

Scores = npt.NDArray[np.float64]


def main() -> None:
    """Write the tables of one evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.which == "numeric":
            numeric_columns(given.folder)
        elif given.which in ("development", "final"):
            on_mixed_tables(given.which, given.jobs)
        elif given.which == "irrelevant":
            irrelevant_text(given.folder)
        elif given.which == "planted":
            planted_outliers()
        elif given.which == "blends":
            blends(given.folder)
        elif given.which == "rebuilt":
            rebuilt_cells(given.folder)
        else:
            parser.error(f"unknown evaluation {given.which!r}")


def numeric_columns(folder: Path) -> None:
    """Measure IForest() on the numeric columns of every mixed table, as numeric tables."""
    rows = []
    for entry in iter_folder(folder, label="outlier"):
        try:
            dataset = entry.load()
        except UserError as error:
            print(error)
            continue
        numbers = dataset.X.select_dtypes(["number", "bool"])
        try:
            prepared = prepare(numbers)
        except UserError:  # no numeric column varies: every row ties
            rows.append((dataset.fingerprint, float(dataset.y.mean())))
            continue
        # without the column of gaps: only what is measured
        X = prepared.X if prepared.fixed is None else prepared.X[:, ~prepared.fixed]
        ap = [average_precision(dataset.y, iforest_scores(X, t)) for t in range(TRIALS)]
        rows.append((dataset.fingerprint, float(np.mean(ap))))
    table = pd.DataFrame(rows, columns=["fingerprint", "ap"])
    table.to_csv(FOLDER / "numeric-columns.csv", index=False, float_format="%.6f")
    print(f"{len(table)} tables, mean AP {table['ap'].mean():.4f}")


def iforest_scores(X: Scores, seed: int, fixed: Any = None) -> Scores:
    """Scores of PyOD's default isolation forest."""
    scores: Scores = FOREST.to_pyod(random_state=seed, fixed=fixed).fit(X).decision_scores_
    return scores


def on_mixed_tables(which: str, jobs: int) -> None:
    """Compare the default's learner and the committee on mixed tables of unseen origins."""
    bench = Bench(final=which == "final", mixed=True)
    found = bench.run({"gain forest": CHOSEN}, jobs)["gain forest"]
    numeric = pd.read_csv(FOLDER / "numeric-columns.csv").set_index("fingerprint")["ap"]
    mixed = bench.is_mixed[bench.P.index].to_numpy()
    committee = bench.P[average_of(*COMMITTEE).id].fillna(bench.iforest)
    alone = numeric.reindex(bench.P.index)
    fixed = bench.fixed(3)
    rows = []
    for part, here in (("mixed", mixed), ("numeric", ~mixed)):
        rivals = {
            "gain forest": found,
            "committee of seven": committee.to_frame(),
            "best fixed average of up to three": fixed.to_frame(),
            "IForest() on the prepared matrix": bench.iforest.to_frame(),
        }
        if part == "mixed":
            rivals["IForest() on the numeric columns"] = alone.to_frame()
            rivals["best model or average with hindsight"] = bench.P.max(axis=1).to_frame()
        for name, reached in rivals.items():
            row = {"tables": part, **figures(name, reached[here], _Part(bench, here), fixed[here])}
            if part == "mixed":
                over = reached[here].mean(axis=1) - alone[here]
                low, high = bootstrap_intervals(over.to_frame(), bench.origins[here])[0]
                row |= {"over_numeric": over.mean(), "numeric_low": low, "numeric_high": high}
            rows.append(row)
    gap = found.mean(axis=1) - committee
    for part, here in (("all", mixed | ~mixed), ("mixed", mixed), ("numeric", ~mixed)):
        by_origin = gap[here].groupby(bench.origins[here]).agg(["mean", "size"])
        weights = by_origin["size"] / by_origin["size"].sum()
        error = float(np.sqrt((weights**2 * (by_origin["mean"] - gap[here].mean()) ** 2).sum()))
        print(f"gain forest - committee, {part}: {gap[here].mean():+.4f}, SE {error:.4f}")
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / f"{which}.csv", index=False, float_format="%.6f")
    counts = [f"{int(here.sum())} {part} tables of {bench.origins[here].nunique()} origins"
              for part, here in (("mixed", mixed), ("numeric", ~mixed))]  # fmt: skip
    lines = [
        f"{' and '.join(counts)}.",
        "",
        "| tables | design | MAP | − same matrix [95 %] | wins-losses | − numbers alone [95 %] |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        over = "" if "over_numeric" not in row else (
            f"{row['over_numeric']:+.4f} [{row['numeric_low']:+.4f}, {row['numeric_high']:+.4f}]"
        )  # fmt: skip
        lines.append(
            f"| {row['tables']} | {row['design']} | {row['MAP']:.4f} | {row['gain']:+.4f} "
            f"[{row['low']:+.4f}, {row['high']:+.4f}] | {row['wins']}-{row['losses']} | {over} |"
        )
    write(which, lines)


def rebuilt_cells(path: Path) -> None:
    """Compare the cells of newly built mixed tables with those of the shipped matrix."""
    shipped = Bench(final=True).data(CHOSEN)
    with Store(path, read_only=True) as store:
        new = store.performance_matrix(models=list(shipped.P))
    old = shipped.P.reindex(new.index)
    origins = shipped.origins[new.index]
    change = (new - old).abs()
    print(f"{len(new)} tables, {(change > 0.01).any(axis=1).sum()} with a change above .01")
    print(f"cells that change by more than .01: {(change > 0.01).mean(axis=None):.1%}")
    last = origins.isin(final_origins())
    for part, here in (("final", last), ("development", ~last)):
        for title, P in (("shipped", old[here]), ("rebuilt", new[here])):
            forest = P[FOREST.id]
            gain = P[average_of(*COMMITTEE).id].fillna(forest) - forest
            low, high = bootstrap_intervals(gain.to_frame(), origins[here])[0]
            figure = f"committee - IForest() {gain.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
            print(f"{part}, {title}: {figure}, IForest() {forest.mean():.4f}")


class _Part:
    """A part of a bench's datasets, for one row of a table."""

    def __init__(self, bench: Bench, rows: npt.NDArray[np.bool_]) -> None:
        self.iforest, self.origins = bench.iforest[rows], bench.origins[rows]


def answers(frame: pd.DataFrame, y: npt.NDArray[np.int8]) -> dict[str, float]:
    """Average precision of the learner's pick, the committee and isolation forest on a table."""
    return {name: average_precision(y, scores) for name, scores in scores_of(frame).items()}


def scores_of(frame: pd.DataFrame) -> dict[str, Scores]:
    """Scores of the learner's pick, the committee and isolation forest."""
    prepared = prepare(frame)
    return {
        "pick='learned'": MetaOD(rows_only=True).fit(frame).decision_scores_,
        "pick='committee'": MetaOD(pick="committee", rows_only=True).fit(frame).decision_scores_,
        "IForest()": iforest_scores(prepared.X, 0, prepared.fixed),
    }


def irrelevant_text(folder: Path) -> None:
    """Add two text columns that say nothing to numeric development tables."""
    entries = [e for e in iter_folder(folder) if e.origin not in final_origins()]
    entries.sort(key=lambda entry: entry.full_name)
    rows = []
    for place in np.random.default_rng(7).permutation(len(entries)):
        entry = entries[place]
        if entry.path.stat().st_size > 60_000:
            continue
        dataset = entry.load()
        generator = np.random.default_rng(1000 + len(rows))
        chosen = generator.permutation(len(dataset.X))[:MOST_ROWS]
        frame, y = dataset.X.iloc[chosen].reset_index(drop=True), dataset.y[chosen]
        if y.sum() < 3:
            continue
        texts = {f"text {number}": made_text(len(frame), generator) for number in (1, 2)}
        alone, added = answers(frame, y), answers(frame.assign(**texts), y)
        rows.append(
            {"dataset": entry.full_name, "origin": entry.origin}
            | {f"{name}, alone": value for name, value in alone.items()}
            | {f"{name}, with text": value for name, value in added.items()}
        )
        print(rows[-1], flush=True)
        if len(rows) == N_TABLES:
            break
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / "irrelevant.csv", index=False, float_format="%.6f")
    lines = [
        f"{len(table)} numeric development tables of {table['origin'].nunique()} origins.",
        "",
        "| | alone | with two irrelevant text columns | difference [95 %] |",
        "|---|---|---|---|",
    ]
    for name in ("pick='learned'", "pick='committee'", "IForest()"):
        change = table[f"{name}, with text"] - table[f"{name}, alone"]
        low, high = bootstrap_intervals(change.to_frame(), table["origin"])[0]
        lines.append(
            f"| {name} | {table[f'{name}, alone'].mean():.4f} | "
            f"{table[f'{name}, with text'].mean():.4f} | {change.mean():+.4f} "
            f"[{low:+.4f}, {high:+.4f}] |"
        )
    write("irrelevant", lines)


def made_text(n_rows: int, generator: np.random.Generator) -> npt.NDArray[np.str_]:
    """Draw a text column of 2 to 100 levels with equal, geometric or Zipf shares."""
    n_levels = int(np.exp(generator.uniform(np.log(2), np.log(100))))
    place = np.arange(n_levels)
    shares = (np.ones(n_levels), 0.7**place, 1 / (1 + place))[generator.integers(3)]
    levels = np.array([f"v{number}" for number in place])
    return levels[generator.choice(n_levels, n_rows, p=shares / shares.sum())]


def planted_outliers() -> None:
    """Rank planted outliers against rows that merely have a rare category."""
    rows = []
    for kind in PLANTED:
        for seed in range(N_PLANTED):
            frame, y, rare = made_table(kind, seed)
            wrong = {"wrong cells": MetaOD(space="HBOS").fit(frame).error_scores_}
            for name, scores in (scores_of(frame) | wrong).items():
                above = (scores[y == 1][:, None] > scores[rare][None, :]).mean()
                ap = average_precision(y, scores)
                rows.append({"kind": kind, "table": seed, "design": name, "above": above, "ap": ap})
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / "planted.csv", index=False, float_format="%.6f")
    lines = [
        f"{N_PLANTED} tables of each kind; pairs of a planted row and a row with a rare category.",
        "",
        "| planted | design | planted row above | every pair right | AP |",
        "|---|---|---|---|---|",
    ]
    for (kind, name), part in table.groupby(["kind", "design"], sort=False):
        lines.append(
            f"| {kind} | {name} | {part['above'].mean():.1%} of pairs | "
            f"{int((part['above'] == 1).sum())} of {len(part)} tables | {part['ap'].mean():.3f} |"
        )
    write("planted", lines)


def blends(folder: Path) -> None:
    """Give isolation forest more weight in the committee, on mixed development tables."""
    rows, origins = [], []
    for entry in iter_folder(folder, label="outlier"):
        if entry.origin in final_origins():
            continue
        try:
            dataset = entry.load()
        except UserError:
            continue
        blended = blended_scores(dataset.X)
        rows.append({name: average_precision(dataset.y, s) for name, s in blended.items()})
        origins.append(entry.origin)
    mixed, by_origin = pd.DataFrame(rows), pd.Series(origins)
    planted = []
    for kind in PLANTED:
        for seed in range(N_PLANTED):
            frame, y, _ = made_table(kind, seed)
            blended = blended_scores(frame)
            planted.append({name: average_precision(y, s) for name, s in blended.items()})
    planted_ap = pd.DataFrame(planted).mean()
    lines = [
        f"{len(mixed)} mixed development tables of {by_origin.nunique()} origins; one trial.",
        "",
        "| design | MAP, mixed tables | − committee [95 %] | MAP, planted outliers |",
        "|---|---|---|---|",
    ]
    committee = mixed["committee"]
    for name, ap in mixed.items():
        gain = ap - committee
        low, high = bootstrap_intervals(gain.to_frame(), by_origin)[0]
        lines.append(
            f"| {name} | {ap.mean():.4f} | {gain.mean():+.4f} [{low:+.4f}, {high:+.4f}] "
            f"| {planted_ap[name]:.3f} |"
        )
    write("blends", lines)


def blended_scores(frame: pd.DataFrame) -> dict[str, Scores]:
    """Scores of the committee with isolation forest in several weights, and of the forest alone."""
    prepared = prepare(frame)
    members = []
    for spec in (FOREST, *COMMITTEE):
        try:
            own = spec.to_pyod(random_state=0, fixed=prepared.fixed).fit(prepared.X)
            members.append(ScoreScale.of(own.decision_scores_, where=spec.id).tempered(
                own.decision_scores_))  # fmt: skip
        except (UserError, ValueError):  # does not apply to the table
            continue
    forest, others = members[0], np.array(members[1:])
    blended = {"IForest() alone": forest}
    for extra in EXTRA_FORESTS:
        name = f"committee and {extra} × IForest()" if extra else "committee"
        blended[name] = (others.sum(axis=0) + extra * forest) / (len(others) + extra)
    return blended


def made_table(
    kind: str, seed: int
) -> tuple[pd.DataFrame, npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Make a mixed table with five outliers; return also which rows have a rare category.

    The first two numbers depend on the category `kind`, and so does the common part of `plant`, of
    which 2 % of the rows have a rare value. `shop` says nothing, and `n2` has gaps.
    """
    generator = np.random.default_rng(seed)
    n_rows, n_numbers = int(generator.integers(500, 2001)), int(generator.integers(4, 9))
    n_kinds = int(generator.integers(2, 6))
    group = generator.integers(0, n_kinds, n_rows)
    middles = np.array([generator.permutation(n_kinds) for _ in range(n_numbers)]).T * 8.0
    mixing = np.eye(n_numbers) + 0.5 * generator.normal(size=(n_numbers, n_numbers))
    X = generator.normal(size=(n_rows, n_numbers)) @ mixing
    X /= X.std(axis=0)
    X[:, :2] += middles[group][:, :2]
    rare = generator.random(n_rows) < 0.02
    common = np.where(generator.random(n_rows) < 0.5, group, generator.integers(0, 5, n_rows))
    plant = np.where(rare, generator.integers(5, 8, n_rows), common)
    shop = generator.integers(0, int(generator.integers(20, 80)), n_rows)
    units = 10 ** generator.uniform(-1, 3, n_numbers)
    frame = pd.DataFrame({f"n{j}": X[:, j] * units[j] for j in range(n_numbers)})
    spread = frame.std()
    frame = frame.assign(
        kind=[f"k{value}" for value in group],
        plant=[f"p{value}" for value in plant],
        shop=[f"s{value}" for value in shop],
    )
    frame.loc[generator.random(n_rows) < 0.1, "n2"] = np.nan
    y = np.zeros(n_rows, dtype=np.int8)
    places = generator.choice(np.flatnonzero(~rare), 5, replace=False)
    y[places] = 1
    for place in places:
        if kind == "value":
            name = f"n{generator.integers(3, n_numbers)}"
            frame.loc[place, name] += 6 * spread[name] * generator.choice([-1, 1])
        elif kind == "gap":
            frame.loc[place, f"n{generator.integers(2)}"] = np.nan
        else:
            other = np.argmax(np.abs(middles[:, 0] - middles[group[place], 0]))
            source = generator.choice(np.flatnonzero(group == other))
            frame.loc[place, ["n0", "n1"]] = frame.loc[source, ["n0", "n1"]].to_numpy()
    return frame, y, rare


def write(name: str, lines: list[str]) -> None:
    """Write a Markdown table and print it."""
    (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
