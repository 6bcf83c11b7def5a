"""Evaluate how well wrong cells are found: planted errors, public dirty tables, marked rows.

    python -m research evaluate-wrong-cells planted               check tables of the protocol
    python -m research evaluate-wrong-cells left-out MODELS       a model for each kind left out
    python -m research evaluate-wrong-cells dirty                 tables with known errors
    python -m research evaluate-wrong-cells marked                20 marked rows, as in Raha
    python -m research evaluate-wrong-cells clean                 what is flagged in clean tables
    python -m research evaluate-wrong-cells cost                  processor time and memory

Follows docs/wrong-cells.md and writes CSV and Markdown tables to results/wrong-cells. A stopped run
continues; give a changed finder another ``--label``, or its old results are shown. The shipped
score learned from all tables: give a ``--model`` that did not see the part. MODELS is a folder with
``fit.cells`` and a file for each kind, such as ``fit without decimal shift.cells``.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.errors import UserError
from research.running import Journal
from research.statistics import average_precision, bootstrap_intervals
from research.tables import write_csv, write_table
from research.wrong_cells.marked import MarkedTable
from research.wrong_cells.planting import KINDS, Planted, plant, plant_any
from research.wrong_cells.rivals import METHODS, Scored, found, read_scorer, strategies
from research.wrong_cells.tables import dirty_tables, tables

FOLDER = Path(__file__).parents[2] / "results" / "wrong-cells"
EIGHT = (
    "sign", "swap", "sentinel", "typo", "unit", "decimal shift", "other row", "other category",
)  # fmt: skip
LEFT_OUT = ("unit", "sentinel", "swap", "typo", "decimal shift", "sign")
SETTINGS: dict[str, Callable[[pd.DataFrame, int], Planted]] = {
    "eight kinds": lambda frame, seed: plant(frame, EIGHT, 0.01, seed),
    "all kinds": lambda frame, seed: plant(frame, None, 0.01, seed),
    "drawn": plant_any,
}
BESIDE_PLANTED = ("rarity", "relative rarity", "committee", "IForest()")
BESIDE_DIRTY = ("rarity", "relative rarity", "Gaussians", "histograms", "votes")
MARKED = ("hospital", "flights", "beers")
N_MARKED, N_SEEDS = 20, 10
SIZES = ((3_000, 20), (20_000, 20), (1_000_000, 20), (3_000, 300))
N_BINS = 10
LEAST = (0.2, 0.3, 0.4, 0.5)
"""Scores from which on a row is flagged."""
N_CLEAN = 20
"""Generated clean tables."""

Result = dict[str, Any]
Score = Callable[[pd.DataFrame], Scored]


def main() -> None:
    """Write the tables of one evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=EVALUATIONS)
    parser.add_argument("models", nargs="?", type=Path)
    parser.add_argument("--part", default="check")
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--label", default="found")
    parser.add_argument("--methods", nargs="*", help="rivals; by default those of the protocol")
    parser.add_argument("--model", type=Path, help="another trained model")
    given = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        EVALUATIONS[given.which](given)


def planted(given: argparse.Namespace) -> None:
    """Rank planted errors: figures, recall by kind, flags and calibration."""
    parts = []
    for label, score in methods(given, BESIDE_PLANTED):
        kept = Journal(FOLDER / ".journal" / f"planted-{given.part}-{_slug(label)}.jsonl")
        for source, frame in tables(given.part, given.tables):
            for setting, make in SETTINGS.items():
                key = f"{source.name}: {setting}"
                if key not in kept.done:
                    errors = make(frame, zlib.crc32(key.encode()))
                    kept.add(key, measure_planted(errors, score))
                    print(label, key, {k: kept.done[key][k] for k in ("rows", "cells")}, flush=True)
                own = {"setting": setting, "table": source.name, "origin": source.origin}
                parts.append({"method": label, **own, **kept.done[key]})
    results = pd.DataFrame(parts)
    results = results[results["wrong_rows"] > 0]
    shown = ["setting", "method", "table", "origin", "rows", "cells", "wrong_rows", "refused"]
    stem = "planted" if given.part == "check" else f"planted-{given.part}"
    write_csv(results[shown], FOLDER, f"{stem}-tables")
    summary = [
        {"setting": setting, "AP of": what, **line}
        for setting, own in results.groupby("setting", sort=False)
        for what in ("rows", "cells")
        for line in compared(own.dropna(subset=[what]), what, given.label)
    ]
    _write(summary, stem)
    recalls = pd.DataFrame([
        {"method": method, "setting": setting, "kind": kind, "hit": hit, "rows": n}
        for method, setting, own in results[["method", "setting", "recall"]].to_numpy()
        for kind, (hit, n) in own.items()
    ])  # fmt: skip
    keys = ["setting", "kind"]
    total = recalls.pivot_table(["hit", "rows"], keys, "method", aggfunc="sum", sort=False)
    share = total["hit"] / total["rows"]
    share.insert(0, "rows", total["rows"].max(axis=1).astype(int))
    write_table(share.reset_index(), FOLDER, f"{stem}-recall")
    own = results[results["method"] == given.label]
    if len(own):
        drawn = own.loc[own["setting"] == "drawn", "bins"]
        _write(calibration(drawn), f"{stem}-calibration")
        groups = own.groupby("setting", sort=False)["flags"]
        _write([line for setting, flags in groups for line in flagged(setting, flags)],
               f"{stem}-flags")  # fmt: skip


def flagged(setting: str, counts: "pd.Series[Any]") -> Iterator[Result]:
    """Yield precision and recall of flagged rows: of all tables together, and means of tables."""
    for least, flags in zip(
        LEAST, np.array(counts.tolist(), dtype=float).swapaxes(0, 1), strict=True
    ):
        hit, n_flagged, wrong = flags.sum(axis=0)
        with np.errstate(invalid="ignore"):
            each = flags[:, 0] / flags[:, 1], flags[:, 0] / flags[:, 2]
        line = {"setting": setting, "score": least}
        line |= {"precision": hit / max(n_flagged, 1), "recall": hit / wrong}
        yield line | {"mean precision": np.nanmean(each[0]), "mean recall": np.nanmean(each[1])}


def measure_planted(errors: Planted, score: Score) -> Result:
    """Measure one method on one table with errors; a refused table is ranked at random."""
    wrong, n = errors.rows, int(errors.rows.sum())
    scored, refused = scored_or_zero(errors.frame, score)
    first = np.argsort(-scored.rows, kind="stable")[: 2 * n]
    recall = {}
    for code, kind in enumerate(KINDS, 1):
        own = (errors.kinds == code).any(axis=1)
        own = errors.repeated & ~errors.mask.any(axis=1) if kind == "repeated row" else own
        if own.any():
            recall[kind] = [int(own[first].sum()), int(own.sum())]
    flags = [scored.flagged(least) for least in LEAST]
    result: Result = {
        "rows": _ap(wrong, scored.rows),
        "cells": None,
        "wrong_rows": n,
        "refused": refused,
        "recall": recall,
        "flags": [[int((own & wrong).sum()), int(own.sum()), n] for own in flags],
        "bins": [],
    }
    if scored.cells is not None:
        result["cells"] = _ap(errors.mask, scored.cells)
        place = np.clip(scored.cells * N_BINS, 0, N_BINS - 1).astype(int).ravel()
        counts = [np.bincount(place, w, N_BINS) for w in (None, errors.mask.ravel(),
                                                          scored.cells.ravel())]  # fmt: skip
        result["bins"] = np.array(counts).T.tolist()
    return result


def scored_or_zero(frame: pd.DataFrame, score: Score) -> tuple[Scored, bool]:
    """Score a table; all scores are 0 if it is refused."""
    try:
        return score(frame), False
    except UserError:
        return Scored(np.zeros(frame.shape), np.zeros(len(frame))), True


def methods(given: argparse.Namespace, beside: Sequence[str]) -> Iterator[tuple[str, Score]]:
    """Yield the finder under its label, and the rivals."""
    if given.label != "none":
        yield given.label, partial(found, **read_scorer(given.model))
    for name in beside if given.methods is None else given.methods:
        yield name, METHODS[name]


def compared(results: pd.DataFrame, figure: str, label: str) -> list[Result]:
    """Means of each method, and the difference of the finder to it with its interval."""
    wide = results.pivot_table(index="table", columns="method", values=figure, sort=False)
    origins = results.drop_duplicates("table").set_index("table")["origin"].reindex(wide.index)
    lines = []
    for method, values in wide.items():
        line: Result = {
            "method": method,
            "tables": int(values.notna().sum()),
            "refused": int(results.loc[results["method"] == method, "refused"].sum()),
            "mean": values.mean(),
        }
        if label in wide and method != label:
            gap = (wide[label] - values).dropna()
            low, high = bootstrap_intervals(gap.to_frame(), origins[gap.index])[0]
            line |= {"finder −": gap.mean(), "low": low, "high": high}
            line |= {"wins": int((gap > 0).sum()), "losses": int((gap < 0).sum())}
        lines.append(line)
    return lines


def calibration(bins: Sequence[Any]) -> list[Result]:
    """Return by scores how many cells were wrong, over all tables."""
    total = np.sum([own for own in bins if own], axis=0)
    return [
        {"from": place / N_BINS, "to": (place + 1) / N_BINS, "cells": int(n),
         "mean score": score / max(n, 1), "wrong": wrong / max(n, 1)}
        for place, (n, wrong, score) in enumerate(total)
    ]  # fmt: skip


def left_out(given: argparse.Namespace) -> None:
    """Measure models that were trained without a kind on errors of this kind only.

    Beside them, the model of the same tables that was trained with all kinds.
    """
    lines = []
    for kind in LEFT_OUT:
        line: Result = {"kind": kind}
        for name, stem in (("left out", f"fit without {kind}"), ("trained", "fit")):
            score = partial(found, **read_scorer(given.models / f"{stem}.cells"))
            label = f"left-out-{_slug(given.label)}-{_slug(kind)}-{_slug(name)}"
            kept = Journal(FOLDER / ".journal" / f"{label}.jsonl")
            for source, frame in tables(given.part, given.tables):
                if source.name not in kept.done:
                    errors = plant(frame, [kind], 0.01, zlib.crc32(source.name.encode()))
                    kept.add(source.name, measure_planted(errors, score))
            own = [result for result in kept.done.values() if result["wrong_rows"]]
            hits = np.array([result["recall"][kind] for result in own])
            line |= {"tables": len(own), f"recall, {name}": (hits[:, 0] / hits[:, 1]).mean()}
            for what in ("rows", "cells"):
                line[f"AP of {what}, {name}"] = np.mean([result[what] for result in own])
        lines.append(line)
    mean = pd.DataFrame(lines).mean(numeric_only=True).to_dict()
    _write([*lines, {"kind": "mean", **mean, "tables": lines[-1]["tables"]}], "left-out")


def dirty(given: argparse.Namespace) -> None:
    """Rank the cells of public dirty tables, by collection."""
    parts = []
    for label, score in methods(given, BESIDE_DIRTY):
        kept = Journal(FOLDER / ".journal" / f"dirty-{_slug(label)}.jsonl")
        for table in dirty_tables():
            key = f"{table.collection}/{table.name}"
            if key not in kept.done:
                scored, refused = scored_or_zero(table.frame, score)
                cells = np.zeros(table.mask.shape) if scored.cells is None else scored.cells
                few = table.few_wrong
                ap = [_ap(table.mask, cells), _ap(table.mask[:, few], cells[:, few])]
                kept.add(key, {"all": ap[0], "few": ap[1], "refused": refused})
                print(label, key, kept.done[key], flush=True)
            name = table.name if table.collection == "raha" else table.collection
            own = {"collection": name, "table": key, "origin": table.name}
            parts.append({"method": label, **own, **kept.done[key]})
    results = pd.DataFrame(parts)
    write_csv(results, FOLDER, "dirty-tables")
    lines = [
        {"collection": collection, "columns": what, **line}
        for what in ("all", "few")
        for collection, own in results.groupby("collection", sort=False)
        for line in compared(own.dropna(subset=[what]), what, given.label)
    ]
    keys = ["columns", "collection", "tables"]
    wide = pd.DataFrame(lines).pivot_table("mean", keys, "method", sort=False)
    _write(lines, "dirty", wide.reset_index())


def marked(given: argparse.Namespace) -> None:
    """Find the wrong cells of Raha's tables from 20 marked rows."""
    lines = []
    for table in dirty_tables():
        if table.name not in MARKED:
            continue
        marks = strategies(table.frame)
        evidence: dict[str, Any] = {"strategies": None}
        if given.label != "none":
            evidence["strategies and finder"] = found(table.frame, **read_scorer(given.model)).cells
        for name, scores in evidence.items():
            learner = MarkedTable(marks, scores)
            runs = np.array(
                [
                    f1(table.mask, learner.find(table.mask, N_MARKED, seed))
                    for seed in range(N_SEEDS)
                ]
            )
            line: Result = {"table": table.name, "evidence": name}
            line |= dict(zip(("precision", "recall", "F1"), runs.mean(axis=0), strict=True))
            lines.append(line | {"spread of F1": runs[:, 2].std(ddof=1)})
            print(lines[-1], flush=True)
    _write(lines, "marked")


def f1(wrong: npt.NDArray[np.bool_], called: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """Precision, recall and F1 of the cells that are called wrong."""
    hit = (wrong & called).sum()
    sums = called.sum(), wrong.sum(), (called.sum() + wrong.sum()) / 2
    precision, recall, both = (float(hit / max(total, 1)) for total in sums)
    return precision, recall, both


def clean(given: argparse.Namespace) -> None:
    """Measure the share of rows that is flagged in clean tables."""
    kept = Journal(FOLDER / ".journal" / f"clean-{_slug(given.label)}.jsonl")
    frames = [("generated", str(seed), clean_table(seed)) for seed in range(N_CLEAN)]
    frames += [("clean files", f"{t.collection}/{t.name}", t.clean) for t in dirty_tables()]
    score = partial(found, **read_scorer(given.model))
    shares: dict[str, list[list[float]]] = {}
    for group, name, frame in frames:
        key = f"{group}: {name}"
        if key not in kept.done:
            scored, _ = scored_or_zero(frame, score)
            kept.add(key, [float(scored.flagged(least).mean()) for least in LEAST])
        shares.setdefault(group, []).append(kept.done[key])
    lines = [
        {"tables": group, "n": len(own), "score": least, "median share": float(np.median(each)),
         "mean share": float(np.mean(each)), "without a flag": float(np.mean(each == 0))}
        for group, own in shares.items()
        for least, each in zip(LEAST, np.transpose(own), strict=True)
    ]  # fmt: skip
    _write(lines, "clean")


def clean_table(seed: int, n_rows: int | None = None, n_columns: int | None = None) -> pd.DataFrame:
    """Make a table without errors: related numbers, skewed amounts, categories and a date."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.integers(500, 3001))
    n_columns = n_columns or int(rng.integers(6, 21))
    factors = rng.normal(size=(n_rows, 4))
    columns: dict[str, Any] = {"key": np.arange(n_rows)}
    for place in range(n_columns - 2):
        base = factors @ rng.normal(size=4) + rng.normal(size=n_rows)
        form = place % 5
        if form == 0:
            made: Any = (base * 10 + 50).round(2)
        elif form == 1:
            made = np.exp(base / 2 + 4).round(2)
        elif form == 2:
            made = np.floor(np.abs(base) * 3).astype(int)
        else:
            levels = np.array(
                [f"level {chr(97 + level)}" for level in range(int(rng.integers(2, 12)))]
            )
            edges = np.quantile(base, np.linspace(0, 1, len(levels) + 1)[1:-1])
            made = levels[np.searchsorted(edges, base)]
        columns[f"c{place}"] = made
    days = rng.integers(0, 1500, n_rows)
    columns["day"] = (np.datetime64("2019-01-01") + days).astype(str)
    return pd.DataFrame(columns)


def cost(given: argparse.Namespace) -> None:
    """Measure time and memory with the reading of a file, each size in a process of its own."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.csv" for number in range(len(SIZES) + 1)]
        clean_table(1, 300, 6).to_csv(paths[-1], index=False)
        for path, size in zip(paths, SIZES, strict=False):
            plant(clean_table(0, *size), ("digit slip", "typo", "stray word"), 0.001).frame.to_csv(
                path, index=False
            )
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                measured = pool.apply(_measure_cost, (path, paths[-1], given.model))
            names = ("processor seconds", "seconds", "GiB")
            line = {"rows": size[0], "columns": size[1], **dict(zip(names, measured, strict=True))}
            lines.append(line)
            print(line, flush=True)
    _write(lines, "cost")


def _measure_cost(path: Path, small: Path, model: Path | None) -> tuple[float, float, float]:
    score = partial(found, **read_scorer(model))
    score(small)  # imports and compiled functions
    start = time.process_time(), time.perf_counter()
    score(path)
    seconds = time.process_time() - start[0], time.perf_counter() - start[1]
    return *seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _ap(wrong: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]) -> float | None:
    if not wrong.any() or wrong.all():
        return None
    return float(average_precision(wrong.ravel().astype(np.int8), scores.ravel()))


def _slug(name: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in name).strip("-")


def _write(lines: list[Result], stem: str, shown: pd.DataFrame | None = None) -> None:
    frame = pd.DataFrame(lines)
    write_table(frame, FOLDER, stem, (frame if shown is None else shown).round(3))
    print((FOLDER / f"{stem}.md").read_text("utf-8"))


EVALUATIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "planted": planted,
    "left-out": left_out,
    "dirty": dirty,
    "marked": marked,
    "clean": clean,
    "cost": cost,
}
