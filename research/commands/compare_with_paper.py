"""Write the paper's claims and results and ours side by side into docs/reproduction.md.

Reads `results/paper/*.csv`, transcribed from the paper, and the output of
`python -m research evaluate`. Replaces the sections "The paper's claims" and "Side by side" of the
page; without `--page` they are printed. A figure in `results/paper/claims.md` is written as
{run; method − method}, {run; sensitivity; setting} or {run; table; row; column; format}.

    python -m research compare-with-paper --page docs/reproduction.md
"""

import argparse
import re
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


CLAIMS = "## The paper's claims\n"
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
    claims = (RESULTS / "paper" / "claims.md").read_text("utf-8")
    shown = re.sub(r"\{(.+?)\}", lambda found: _figure(given.results, found[1]), claims)
    sections = {CLAIMS: f"{CLAIMS}\n{shown}", HEADING: "\n".join(lines) + "\n"}
    if given.page is None:
        print(*sections.values(), sep="\n", end="")
        return
    text = given.page.read_text("utf-8")
    for heading, section in sections.items():
        before, found, after = text.partition(heading)
        if not found:
            raise SystemExit(f"{given.page} has no section {heading.strip()!r}")
        _, following, rest = after.partition("\n## ")
        text = before + section + following + rest
    given.page.write_text(text, "utf-8")


def _figure(results: Path, asked: str) -> str:
    """Return a figure that a claim asks for."""
    run, table, *place = asked.split("; ")
    if not place:
        return _difference(pd.read_csv(results / run / "pairwise.csv"), *table.split(" − "))
    rows = pd.read_csv(results / run / f"{table}.csv")
    row = rows[(rows.iloc[:, :2] == place[0]).any(axis=1)].iloc[0]
    return _shown(row, row["Δ"]) if len(place) == 1 else format(row[place[1]], place[2])


def _difference(pairs: pd.DataFrame, one: str, other: str) -> str:
    """One method compared with another, from the table of all pairs."""
    found = pairs[(pairs["method 1"] == one) & (pairs["method 2"] == other)]
    if len(found):
        return _shown(found.iloc[0], found["ΔMAP"].iloc[0])
    row = pairs[(pairs["method 2"] == one) & (pairs["method 1"] == other)].iloc[0].copy()
    row[["low", "high", "wins", "losses"]] = [
        -row["high"], -row["low"], row["losses"], row["wins"]
    ]  # fmt: skip
    return _shown(row, -row["ΔMAP"])


def _shown(row: "pd.Series[float]", delta: float) -> str:
    p = f"{row['p']:.4f}" if row["p"] >= 0.0001 else "< .0001"
    interval = f"[{row['low']:+.4f}, {row['high']:+.4f}]"
    return f"{delta:+.4f} {interval}, {p}, {int(row['wins'])}-{int(row['losses'])}"


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
        against = "" if name == "MetaOD" else _difference(pairs, "MetaOD", str(name))
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
