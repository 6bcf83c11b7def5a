"""Write the paper's results and ours side by side into docs/reproduction.md.

Reads `results/paper/*.csv`, transcribed from the paper, and the output of
`python -m research evaluate`. Replaces the section "Side by side" of the page; without `--page` the
section is printed.

    python -m research compare-with-paper --page docs/reproduction.md
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from research.statistics import average_ranks

RESULTS = Path(__file__).parents[2] / "results"
RUNS = {
    "POC": ("poc", "paper/poc.csv"),
    "ST, leave one out": ("st/leave-one-out", "paper/st.csv"),
    "ST, leave one origin out": ("st/leave-one-origin-out", "paper/st.csv"),
}
STAND_INS = {"gas": "mfeat", "particle": "texture"}


HEADING = "## Side by side\n"
INTRODUCTION = """
By `python -m research compare-with-paper --page docs/reproduction.md`. Ranks are among the paper's twelve methods; the paper's ranks are
computed from its printed rows. A row of POC is the mean over a motherset's five childsets. Intervals are of one training, by bootstrap
over origins and seeds together; p (signed-rank test) and wins-losses are over the means of origins and of all seeds.
"""  # noqa: E501 - lines of a page


def main() -> None:
    """Write or print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    lines = [HEADING.strip(), INTRODUCTION.rstrip()]
    for title, (ours, papers) in RUNS.items():
        reached = pd.read_csv(given.results / ours / "summary.csv").set_index("method")
        rows = pd.read_csv(given.results / ours / "performance-all.csv", index_col=0)
        pairs = pd.read_csv(given.results / ours / "pairwise.csv")
        printed = pd.read_csv(RESULTS / papers).set_index("dataset")
        lines += ["", f"### {title}", "", *_by_method(reached, pairs, printed)]
        lines += ["", *_by_row(rows, printed)]
    section = "\n".join(lines) + "\n"
    if given.page is None:
        print(section, end="")
        return
    before, found, after = given.page.read_text("utf-8").partition(HEADING)
    if not found:
        raise SystemExit(f"{given.page} has no section {HEADING.strip()!r}")
    _, following, rest = after.partition("\n## ")
    given.page.write_text(before + section + following + rest, "utf-8")


def _against(pairs: pd.DataFrame, name: str) -> str:
    """MetaOD compared with another method, from the table of all pairs."""
    found = pairs[(pairs["method 1"] == "MetaOD") & (pairs["method 2"] == name)]
    sign = 1
    if found.empty:
        found = pairs[(pairs["method 2"] == "MetaOD") & (pairs["method 1"] == name)]
        sign = -1
    row = found.iloc[0]
    low, high = sorted((sign * row["low"], sign * row["high"]))
    wins, losses = (row["wins"], row["losses"])[::sign]
    p = f"{row['p']:.4f}" if row["p"] >= 0.0001 else "< .0001"
    delta = f"{sign * row['ΔMAP']:+.4f} [{low:+.4f}, {high:+.4f}]"
    return f"{delta}, {p}, {int(wins)}-{int(losses)}"


def _by_method(reached: pd.DataFrame, pairs: pd.DataFrame, printed: pd.DataFrame) -> Iterator[str]:
    ranks = average_ranks(printed)
    rows, n, seeds = reached["n"].iloc[0], pairs["n"].iloc[0], reached["seeds"].max()
    yield f"{rows} rows of {n} origins, {seeds} seeds of a random learner."
    yield ""
    yield (
        "| method | MAP, paper | MAP, ours [95 %] | seed SD | rank, paper | rank, ours | "
        "MetaOD minus this method: ΔMAP [95 %], p, wins-losses |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, row in reached.iterrows():
        papers, rank = "", ""
        if name in printed:
            papers, rank = f"{printed[name].mean():.4f}", f"{ranks[name]:.2f}"
        own_rank = row["rank of paper's"]
        ours = "" if pd.isna(own_rank) else f"{own_rank:.2f}"
        against = "" if name == "MetaOD" else _against(pairs, str(name))
        mean = f"{row['MAP']:.4f} [{row['low']:.3f}, {row['high']:.3f}]"
        spread = "" if pd.isna(row["seed SD"]) else f"{row['seed SD']:.4f}"
        yield f"| {name} | {papers} | {mean} | {spread} | {rank} | {ours} | {against} |"


def _by_row(rows: pd.DataFrame, printed: pd.DataFrame) -> Iterator[str]:
    methods = ["iForest", "SS", "MetaOD"]
    yield "| dataset | " + " | ".join(f"{name}, paper | ours" for name in methods) + " |"
    yield "|---|" + "---|---|" * len(methods)
    short = {str(name).removeprefix("childsets/").rpartition("_")[0] or str(name): name
             for name in rows.index}  # fmt: skip
    for name in printed.index:
        own = next((row for row in (name, STAND_INS.get(name, name)) if row in rows.index), None)
        own = own or short.get(name) or short.get(STAND_INS.get(name, name))
        cells = []
        for title in methods:
            ours = "–" if own is None else f"{rows.loc[own, title]:.3f}"
            cells.append(f"{printed.loc[name, title]:.3f} | {ours}")
        shown = f"{name} (ours: {STAND_INS[name]})" if name in STAND_INS else name
        yield f"| {shown} | " + " | ".join(cells) + " |"
