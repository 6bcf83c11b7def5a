"""Evaluate patterns: items that a person reads to meet 90 % of planted errors, beside single rows.

    python -m research evaluate-patterns

Follows docs/wrong-cells.md (items to read) and writes CSV and Markdown tables to results/patterns.
A stopped run continues; give a changed finder another ``--label``.
"""

import argparse
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.errors import UserError
from metaod.tables import read_table
from metaod.wrong_cells import Pattern, WrongCellFinder, WrongCells, find_patterns
from research.running import Journal
from research.statistics import bootstrap_intervals
from research.tables import write_csv, write_table
from research.wrong_cells.planting import MODES, plant_any
from research.wrong_cells.rivals import read_scorer
from research.wrong_cells.tables import tables

FOLDER = Path(__file__).parents[2] / "results" / "patterns"
GOAL = ("systematic", "clustered")
MET = 0.9
"""Share of the wrong rows that a person wants to meet."""

Wrong = npt.NDArray[np.bool_]


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="check")
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--label", default="found")
    parser.add_argument("--model", type=Path, help="another trained model")
    given = parser.parse_args()
    kept = Journal(FOLDER / ".journal" / f"{given.part}-{given.label}.jsonl")
    finder = WrongCellFinder(**read_scorer(given.model))
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source, frame in tables(given.part, given.tables):
            for mode in MODES:
                key = f"{source.name}: {mode}"
                if key not in kept.done:
                    kept.add(key, measure(frame, mode, zlib.crc32(key.encode()), finder))
                    print(key, kept.done[key], flush=True)
                own = {"errors": mode, "table": source.name, "origin": source.origin}
                lines.append({**own, **kept.done[key]})
    results = pd.DataFrame(lines)
    results = results[results["wrong rows"] > 0]
    write_csv(results, FOLDER, "items-tables")
    groups = [(mode, results[results["errors"] == mode]) for mode in MODES]
    both = results[results["errors"].isin(GOAL)]
    summary = [summarised(" and ".join(GOAL), both), *(summarised(*own) for own in groups)]
    write_table(pd.DataFrame(summary), FOLDER, "items")


def measure(frame: pd.DataFrame, mode: str, seed: int, finder: WrongCellFinder) -> dict[str, Any]:
    """Count the items of a table with errors; a refused table has single rows in its order."""
    errors = plant_any(frame, seed, mode=mode)
    wrong = errors.rows
    try:
        found = finder.fit(read_table(errors.frame)).found_
    except UserError:
        found = WrongCells(pd.DataFrame({"score": [], "together": []}), np.zeros(len(wrong)))
    every = find_patterns(found.findings())
    patterns = [own for own in every if len(own.rows) > 1]
    return {
        "wrong rows": int(wrong.sum()),
        "rows to read": items_to_read([], found.row_scores, wrong),
        "items to read": items_to_read(patterns, found.row_scores, wrong),
        "patterns": len(patterns),
        "right patterns": sum(is_right(own, wrong) for own in patterns),
    }


def is_right(pattern: Pattern, wrong: Wrong) -> bool:
    """Whether at least half of the rows of a pattern are wrong."""
    return bool(2 * wrong[list(pattern.rows)].sum() >= len(pattern.rows))


def items_to_read(
    patterns: Sequence[Pattern], row_scores: npt.NDArray[np.float64], wrong: Wrong
) -> int:
    """Return how many items a person reads until enough of the wrong rows are met."""
    worth = row_scores.copy()  # of rows as single items
    items: list[tuple[float, list[int]]] = []
    for own in patterns:
        rows, total = list(own.rows), sum(each.score for each in own.findings)
        items.append((total, rows if is_right(own, wrong) else []))
        worth[rows] = -np.inf if is_right(own, wrong) else np.minimum(worth[rows], total)
    items += [(score, [row]) for row, score in enumerate(worth.tolist()) if score > -np.inf]
    items.sort(key=lambda item: -item[0])  # stable: patterns first
    met = np.zeros(len(wrong), dtype=np.bool_)
    needed = MET * wrong.sum()
    for number, (_, rows) in enumerate(items, 1):
        met[rows] = True
        if (met & wrong).sum() >= needed:
            return number
    return len(items)


def summarised(errors: str, results: pd.DataFrame) -> dict[str, Any]:
    """Compare the items with the rows: the geometric mean of the ratios, medians, and counts."""
    ratios = np.log(results["items to read"] / results["rows to read"])
    low, high = np.exp(bootstrap_intervals(ratios.to_frame(), results["origin"])[0])
    return {
        "errors": errors,
        "tables": len(results),
        "ratio": float(np.exp(ratios.mean())),
        "low": low,
        "high": high,
        "at most half": float((ratios <= np.log(0.5)).mean()),
        "more items": float((ratios > 0).mean()),
        "median of rows": float(results["rows to read"].median()),
        "median of items": float(results["items to read"].median()),
        "sum of rows": int(results["rows to read"].sum()),
        "sum of items": int(results["items to read"].sum()),
        "patterns": int(results["patterns"].sum()),
        "right patterns": int(results["right patterns"].sum()),
    }
