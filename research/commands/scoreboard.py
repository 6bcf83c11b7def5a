"""Compare a selector with MetaOD and published methods on public tables.

    python -m research scoreboard my_selector.py --data DATASETS
    python -m research scoreboard --data DATASETS

The first prints the selector's row beside the others on every set of which DATASETS has tables; the
second evaluates MetaOD's own selectors and writes results/scoreboard. DATASETS is a folder of
labelled tables; those of ADBench are found by name. What is computed is kept in the folder
``--kept``, and a stopped run continues; delete it after a change of MetaOD. docs/scoreboard.md has
the form of a selector. Needs the extra ``research``.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.errors import BadFile, counted
from metaod.history import iter_folder
from research.commands.evaluate_selector import FOLDER as SELECTOR_RESULTS
from research.figures.ranks import write_critical_difference
from research.loading import default_cache_dir
from research.scoreboard import COLUMNS, OWN, SETS, Scoreboard, Selector, compared, entrants
from research.shipped import shipped_datasets
from research.statistics import friedman_nemenyi
from research.tables import markdown, write_csv

FOLDER = Path(__file__).parents[2] / "results" / "scoreboard"
PUBLISHED, OWN_FOREST = "IForest", "MetaOD: IForest"
NAMES = (
    "name tables of ADBench as there (aloi or 1_ALOI.npz), and put those of ODDS, DAMI, OddBench "
    "and OvRBench into the folders odds, dami, oddbench and ovrbench"
)
REACHED = FOLDER / "reached.parquet"


def main() -> None:
    """Print the tables; write them if no selector is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("selector", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--kept", type=Path, default=default_cache_dir() / "scoreboard")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    given = parser.parse_args()
    selectors = [Selector.read(path) for path in OWN]
    reached = pd.DataFrame(columns=list(COLUMNS)).astype({"ap": float, "roc_auc": float})
    if REACHED.exists():
        reached = pd.read_parquet(REACHED)
    known = reached if given.selector else reached.head(0)
    if given.selector:
        added = Selector.read(given.selector)
        if added.title in {item.title for item in selectors}:
            what = f"has the title {added.title} of another selector"
            raise BadFile(given.selector, what, remedy="change the first line of its docstring")
        selectors.append(added)
    entries = iter_folder(given.data, label="y")
    bench = Scoreboard(given.kept)
    found_in = {board: list(entrants(entries, board)) for board in given.sets}
    if not any(found_in.values()):
        what = f"none of its {counted(len(entries), 'table')} belongs to {' or '.join(given.sets)}"
        raise BadFile(given.data, what, remedy=NAMES)
    for board, tables in found_in.items():
        print(f"{board}: {counted(len(tables), 'table')} in {given.data}", flush=True)
        if not tables:
            continue
        parts = [known[(known["set"] == board) & known["table"].isin([t.table for t in tables])]]
        done = set(zip(parts[0]["table"], parts[0]["selector"], strict=True))
        for item in selectors:
            todo = [table for table in tables if (table.table, item.title) not in done]
            with threadpool_limits(1):
                parts.append(bench.run(item, todo, lambda line: print(line, flush=True)))
        found = pd.concat(parts)
        show(board, found, write=not given.selector)
        if not given.selector:
            reached = pd.concat([reached[reached["set"] != board], found])
            reached.sort_values(["set", "table", "selector"]).to_parquet(REACHED, index=False)


def show(board: str, found: pd.DataFrame, *, write: bool) -> None:
    """Print the tables of a set, and write them with their figures."""
    is_adbench = board == "adbench"
    own = list(found["selector"].unique())
    ap, roc_auc = (
        found.pivot_table(index="table", columns="selector", values=name)[own]
        for name in ("ap", "roc_auc")
    )
    keys = found.drop_duplicates("table").set_index("table")["fingerprint"]
    if is_adbench:
        ap, roc_auc = with_published(ap, "ap"), with_published(roc_auc, "roc-auc")
    else:
        engine = pd.read_csv(SELECTOR_RESULTS / "adengine.csv").set_index("fingerprint")["ap"]
        ap["PyOD 3's ADEngine"] = keys.map(engine)
    ap = ap.dropna(axis="columns", how="all").dropna()
    roc_auc = roc_auc.loc[ap.index]
    unit = pd.Series(ap.index, ap.index)
    if not is_adbench:
        unit = keys.map(shipped_datasets()["origin"]).reindex(ap.index).fillna(unit)
    what = "table" if is_adbench else "origin"
    pages = [f"{counted(len(ap), 'table')}; intervals over {counted(unit.nunique(), what)}.\n"]
    baselines = {PUBLISHED: list(ap), OWN_FOREST: own} if is_adbench else {OWN_FOREST: list(ap)}
    for baseline, methods in baselines.items():
        measured = [name for name in methods if name in roc_auc]
        table = compared(ap[methods], roc_auc[measured], baseline, unit)
        if board == "metaens":
            table = pd.concat([table, metaens_rivals()]).sort_values("AP", ascending=False)
        pages.append(markdown(worded(table, baseline)))
        if write:
            write_csv(table, FOLDER, f"{board}-own" if len(pages) > 2 else board)
    print("", *pages, sep="\n")
    if write:
        (FOLDER / f"{board}.md").write_text("\n".join(pages), encoding="utf-8", newline="\n")
    if write and is_adbench:
        for name, values in (("ap", ap), ("roc-auc", roc_auc)):
            stem = f"critical-difference-{name}"
            caption = f"{name.upper().replace('-', ' ')} on {len(ap)} tables of ADBench"
            write_critical_difference(friedman_nemenyi(values), FOLDER, stem, caption=caption)


def with_published(values: pd.DataFrame, name: str) -> pd.DataFrame:
    """Average the parts of ADBench's tables, and add the published figures."""
    names = values.index.str.partition("/").get_level_values(0)
    published = pd.read_csv(FOLDER / f"published-{name}.csv", index_col=0) / 100
    return values.groupby(names).mean().join(published)


def metaens_rivals() -> pd.DataFrame:
    """Return what research evaluate-metaens wrote, in the columns of our tables."""
    names = {name: f"AP {name}" for name in ("gain", "low", "high", "wins", "losses")}
    rivals = pd.read_csv(SELECTOR_RESULTS / "metaens.csv")
    return rivals.rename(columns={"choice": "method", "MAP": "AP"} | names)


def worded(table: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Word differences with their intervals, and wins and losses."""
    shown = table[["method"]].copy()
    for title in ("AP", "ROC AUC"):
        columns = [f"{title} {name}" for name in ("gain", "low", "high", "wins", "losses")]
        shown[title] = table[title]
        shown[f"{title} − {baseline} [95 %], wins-losses"] = [
            f"{gain:+.4f} [{low:+.4f}, {high:+.4f}], {wins:.0f}-{losses:.0f}"
            if np.isfinite(gain)
            else "–"
            for gain, low, high, wins, losses in table[columns].to_numpy(dtype=float)
        ]
        shown[f"{title} rank"] = table[f"{title} rank"].map("{:.2f}".format).replace("nan", "–")
    return shown
