"""Print the paper's results and ours side by side, as Markdown, for docs/reproduction.md.

Reads `results/paper/*.csv`, transcribed from the paper, and the output of `metaod evaluate`.

    python tools/compare_with_paper.py
"""

import argparse
from pathlib import Path

import pandas as pd

from metaod.lab import average_ranks

RESULTS = Path(__file__).parent.parent / "results"
RUNS = {
    "POC": ("poc", "paper/poc.csv"),
    "ST, leave one out": ("st/leave-one-out", "paper/st.csv"),
    "ST, leave one origin out": ("st/leave-one-origin-out", "paper/st.csv"),
}
STAND_INS = {"gas": "mfeat", "particle": "texture"}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    folder = parser.parse_args().results
    for title, (ours, papers) in RUNS.items():
        reached = pd.read_csv(folder / ours / "summary.csv").set_index("method")
        rows = _rows(folder / ours)
        printed = pd.read_csv(RESULTS / papers).set_index("dataset")
        print(f"\n### {title}\n")
        pairs = pd.read_csv(folder / ours / "pairwise.csv")
        _by_method(reached, pairs, printed)
        print()
        _by_row(rows, printed)


def _rows(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "performance-all.csv", index_col=0)
    return table[[name for name in table.columns if not str(name).endswith(" rank")]]


def _against(pairs: pd.DataFrame, name: str) -> str:
    """MetaOD compared with another method, from the table of all pairs."""
    found = pairs[(pairs["method 1"] == "MetaOD") & (pairs["method 2"] == name)]
    sign = 1
    if found.empty:
        found = pairs[(pairs["method 2"] == "MetaOD") & (pairs["method 1"] == name)]
        sign = -1
    row = found.iloc[0]
    ends = sorted((sign * row["low"], sign * row["high"]))
    wins, losses = (row["wins"], row["losses"])[::sign]
    return (
        f"{sign * row['ΔMAP']:+.4f} [{ends[0]:+.4f}, {ends[1]:+.4f}], {_p(row['p'])}, "
        f"{int(wins)}-{int(losses)}"
    )


def _by_method(reached: pd.DataFrame, pairs: pd.DataFrame, printed: pd.DataFrame) -> None:
    ranks = average_ranks(printed)
    print("| method | MAP, paper | MAP, ours | rank, paper | rank, ours | MetaOD against it: "
          "ΔMAP [95 %], p, wins-losses |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name, row in reached.iterrows():
        theirs = printed[name].mean() if name in printed else None
        against, own_rank = "", row["rank of paper's"]
        if name != "MetaOD":
            against = _against(pairs, str(name))
        print(
            f"| {name} | {'' if theirs is None else f'{theirs:.4f}'} | {row['MAP']:.4f} | "
            f"{'' if theirs is None else f'{ranks[name]:.2f}'} | "
            f"{_number(own_rank)} | {against} |"
        )


def _by_row(rows: pd.DataFrame, printed: pd.DataFrame) -> None:
    methods = ["iForest", "SS", "MetaOD"]
    print("| dataset | " + " | ".join(f"{name}, paper | ours" for name in methods) + " |")
    print("|---|" + "---|---|" * len(methods))
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
        print(f"| {shown} | " + " | ".join(cells) + " |")


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< .0001"


def _number(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.2f}"


if __name__ == "__main__":
    main()
