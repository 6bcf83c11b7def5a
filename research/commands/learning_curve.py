"""Write the gain of the gain forest on final datasets by the number of origins learned from.

    python -m research learning-curve --jobs 2
    python -m research learning-curve --redraw

For each number of origins, several draws of the development origins: each trains the learner with
another seed, and chooses the best fixed average of up to three models on the same origins. With all
origins the draws differ in the seed only. Intervals are bootstraps over final origins and draws.
Writes ``learning-curve`` as CSV, Markdown, PNG and SVG to results/selector, and the average
precision of every draw on every dataset, from which ``--redraw`` writes them again.
"""

import argparse

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from metaod.history import TrainingData
from research.commands.evaluate_selector import CHOSEN, FOLDER, Bench, filled, n_members, reached_by
from research.statistics import bootstrap_intervals

SHARES = (0.125, 0.25, 0.5, 0.75, 1.0)
DRAWS = 10
MOST = 3
"""Members of the fixed average."""
RUNS = FOLDER / "learning-curve-runs.csv"


def main() -> None:
    """Run the draws, unless they are read from their file, and write table and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--redraw", action="store_true", help="read the runs from their file")
    given = parser.parse_args()
    if not given.redraw:
        runs = run(Bench(final=True, numeric_history=True), given.jobs)
        runs.to_csv(RUNS, index=False, float_format="%.6f")
    runs = pd.read_csv(RUNS)
    table = summarise(runs)
    table.to_csv(FOLDER / "learning-curve.csv", index=False, float_format="%.6f")
    write_page(table)
    plot(table, runs)


def run(bench: Bench, jobs: int) -> pd.DataFrame:
    """Return gains over `IForest()` by number of origins, draw and dataset."""
    data = bench.data(CHOSEN)
    train, test = bench.splits[0]
    names = np.unique(data.origins[train])
    todo = []
    for share in SHARES:
        for draw in range(DRAWS):
            drawn = np.random.default_rng(draw).permutation(names)[: round(share * len(names))]
            todo.append((len(drawn), draw, train & data.origins.isin(drawn).to_numpy()))
    learned = Parallel(jobs, verbose=1)(
        delayed(reached_by)(data, CHOSEN, [CHOSEN.most], draw, rows, test) for _, draw, rows in todo
    )
    parts = []
    for (count, draw, rows), (reached,) in zip(todo, learned, strict=True):
        found = {
            "dataset": reached.index,
            "origin": bench.origins.loc[reached.index],
            "origins": count,
            "draw": draw,
            "learned": reached - bench.iforest,
            "fixed": _fixed(data, rows, test) - bench.iforest,
        }
        parts.append(pd.DataFrame(found))
    return pd.concat(parts)


def _fixed(data: TrainingData, train: np.ndarray, test: np.ndarray) -> "pd.Series[float]":
    allowed = [name for name in data.P if n_members(name) <= MOST]
    best = str(filled(data, train)[allowed].mean().idxmax())
    return filled(data, test)[best]


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and interval of the gains, and of the difference to the fixed average."""
    runs = runs.assign(difference=runs["learned"] - runs["fixed"])
    rows = []
    for count, part in runs.groupby("origins"):
        row: dict[str, float] = {"origins": count, "draws": part["draw"].nunique()}
        for name in ("learned", "fixed", "difference"):
            gains = part.pivot_table(name, ["dataset", "origin"], "draw")
            origins = gains.index.get_level_values("origin")
            low, high = bootstrap_intervals(gains.to_numpy()[:, None], origins)[0]
            row |= {name: gains.mean(axis=None), f"{name}_low": low, f"{name}_high": high}
        rows.append(row | {"lost_05": (part["learned"] < -0.05).mean()})
    return pd.DataFrame(rows)


def write_page(table: pd.DataFrame) -> None:
    """Write and print the table as Markdown."""
    titles = ("gain forest − iForest", "best fixed average − iForest", "gain forest − fixed")
    shown = " | ".join(f"{title} [95 %]" for title in titles)
    lines = [f"| origins | draws | {shown} | gain forest lost > .05 |", "|--:|--:|---|---|---|--:|"]
    for row in table.to_dict("records"):
        cells = [
            f"{row[name]:+.4f} [{row[f'{name}_low']:+.4f}, {row[f'{name}_high']:+.4f}]"
            for name in ("learned", "fixed", "difference")
        ]
        counts = f"{row['origins']:.0f} | {row['draws']:.0f}"
        lines.append(f"| {counts} | {' | '.join(cells)} | {row['lost_05']:.1%} |")
    (FOLDER / "learning-curve.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def plot(table: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Draw both lines with their intervals, and every draw of the learner."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    draws = runs.groupby(["origins", "draw"])["learned"].mean().reset_index()
    axes.plot(draws["origins"] - 12, draws["learned"], ".", color="0.7", label="one draw")
    for name, label, colour, shift in (
        ("learned", "gain forest", "C0", -4),
        ("fixed", f"best fixed average of up to {MOST}, chosen on the same origins", "C1", 4),
    ):
        spread = [table[name] - table[f"{name}_low"], table[f"{name}_high"] - table[name]]
        axes.errorbar(
            table["origins"] + shift, table[name], spread, fmt="-o", ms=4, color=colour,
            elinewidth=1, capsize=2, label=label,
        )  # fmt: skip
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set_xticks(table["origins"])
    axes.set_xlabel("origins learned from")
    axes.set_ylabel("mean AP over PyOD's IForest()")
    counts = f"{runs['dataset'].nunique()} final datasets of {runs['origin'].nunique()} origins"
    note = f"{counts}, {table['draws'].max()} draws; bars: 95 % over final origins and draws"
    axes.set_title(note, fontsize=8)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    for ending in ("png", "svg"):
        figure.savefig(FOLDER / f"learning-curve.{ending}", dpi=150)
