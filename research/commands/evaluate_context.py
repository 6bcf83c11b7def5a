"""Evaluate rows judged in context: planted errors that are ordinary in the whole table.

    python -m research evaluate-context by        a value 80 % below what is usual in its group
    python -m research evaluate-context mixed     the same in public tables
    python -m research evaluate-context over      level shifts, stuck values, and spikes in series
    python -m research evaluate-context cost      processor time that the context adds

The protocol, written before the first final run:

- Tables are generated from seeds. Seeds below 100 are for development; figures are of seeds from
  100 on (``--first``), which nothing was chosen on.
- ``by``: 5 to 60 groups of 10 to 200 rows, 3 to 10 numbers, of which half depend on the group by
  factors of up to 100. In 1 % of the rows, at most a fifth of a group, one such number is
  multiplied by .2; it is then between the 5 % and 95 % quantiles of all rows. ``mixed``: public
  mixed tables with a category of 2 to 60 groups of 10 rows or more and a positive number, of which
  the group explains a fifth of the variance of logarithms; the same planting.
- ``over``: up to 4 hourly or daily series of 600 to 1,300 rows, in shuffled rows, whose value has a
  season (even seeds) or a slow wave; two other columns are a random walk and noise. One has a
  shift of 20 to 60 rows by six times the noise, a stuck value of as many rows, and four spikes of
  eight times the noise, towards the middle.
- Figure: of n planted rows, the share that is among the n rows with the highest scores; for cells,
  among the n cells. A shift is noticed if any of its rows is. Means over tables, with bootstrap
  intervals over tables.
- Rivals: MetaOD without context, isolation forest, and isolation forest by group (scores less the
  group's median, in its deviations); for ``over`` isolation forest with the hour, the weekday and
  the difference from the row before as columns. MetaOD by group is run on tables of at most ten
  groups.

Writes CSV and Markdown tables to results/context. A stopped run continues.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import IsolationForest

import metaod
from metaod.errors import UserError
from research.running import Journal
from research.statistics import bootstrap_intervals
from research.tables import write_csv, write_table
from research.wrong_cells.tables import PARTS, sources

FOLDER = Path(__file__).parents[2] / "results" / "context"
Scores = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]
KINDS = ("shift", "stuck", "spike")
_MOST_GROUPS = 10  # of tables on which MetaOD is fitted to each group


class Planted:
    """A table with planted errors.

    Parameters
    ----------
    frame : DataFrame
        The table.
    column : str
        The column that holds them.
    kinds : ndarray of int
        The kind of each row, counted from 1; 0 for ordinary rows.
    shape : str
        What the series are: seasonal or slow.
    options : dict
        The context, as parameters of MetaOD.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        column: str,
        kinds: npt.NDArray[np.int64],
        shape: str = "",
        **options: str,
    ) -> None:
        self.frame, self.column, self.kinds, self.options = frame, column, kinds, options
        self.shape = shape

    @property
    def wrong(self) -> Rows:
        """The rows with an error."""
        return self.kinds > 0


def main() -> None:
    """Write the tables of one evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["by", "mixed", "over", "cost"])
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.which == "cost":
            cost()
        else:
            evaluate(given.which, given.first, given.tables)


def evaluate(which: str, first: int, n_tables: int) -> None:
    """Measure all methods on all tables, and write what comes to."""
    kept = Journal(FOLDER / ".journal" / f"{which}.jsonl")
    lines = []
    for name, planted in _tables(which, first, n_tables):
        for method, score in METHODS[which != "over"].items():
            key = f"{name}: {method}"
            if key not in kept.done:
                start = time.process_time()
                found = score(planted)
                seconds = time.process_time() - start
                own = {} if found is None else _measured(planted, *found)
                kept.add(key, {**own, "seconds": seconds})
                print(key, kept.done[key], flush=True)
            shape = {"rows": len(planted.frame), "columns": planted.frame.shape[1]}
            lines.append({"table": name, **shape, "method": method, **kept.done[key]})
    results = pd.DataFrame(lines).dropna(subset=["recall"])
    write_csv(results.drop(columns="seconds"), FOLDER, f"{which}-tables")
    measures = [
        name
        for name in ("recall", "seasonal", "slow", "small", *KINDS, "shift noticed", "cells")
        if name in results
    ]
    summary = []
    for method, own in results.groupby("method", sort=False):
        low, high = bootstrap_intervals(own[["recall"]], own["table"])[0]
        line = {"method": method, "tables": len(own), "recall": own["recall"].mean()}
        line["95 %"] = f"{low:.3f} to {high:.3f}"
        summary.append(line | {name: own[name].mean() for name in measures[1:]})
    write_table(pd.DataFrame(summary), FOLDER, which)


def _measured(planted: Planted, rows: Scores, cells: "pd.DataFrame | None") -> dict[str, float]:
    """Return the share of planted rows and cells among as many first ones."""
    n = int(planted.wrong.sum())
    first = np.zeros(len(rows), dtype=np.bool_)
    first[np.argsort(-rows, kind="stable")[:n]] = True
    found = {"recall": float(first[planted.wrong].mean())}
    if "over" in planted.options:
        for code, kind in enumerate(KINDS, 1):
            found[kind] = float(first[planted.kinds == code].mean())
        found["shift noticed"] = float(first[planted.kinds == 1].any())
        found[planted.shape] = found["recall"]
    else:
        sizes = planted.frame.groupby(planted.options["by"])[planted.column].transform("size")
        small = planted.wrong & (sizes <= 10).to_numpy()
        found["small"] = float(first[small].mean()) if small.any() else float("nan")
    if cells is not None:
        top = cells.head(n)
        hit = top.loc[top["column"] == planted.column, "row"].to_numpy(dtype=np.intp)
        found["cells"] = float(planted.wrong[hit].sum() / n)
    return {name: value for name, value in found.items() if not np.isnan(value)}


# tables


def _tables(which: str, first: int, n_tables: int) -> Iterator[tuple[str, Planted]]:
    if which == "mixed":
        yield from _mixed(n_tables)
        return
    make = by_table if which == "by" else series_table
    for seed in range(first, first + n_tables):
        yield f"seed {seed}", make(seed)


def by_table(seed: int) -> Planted:
    """Generate a table of groups with values that are too low for their group."""
    rng = np.random.default_rng(seed)
    n_groups = int(rng.choice([5, 8, 20, 60]))
    sizes = rng.choice([10, 10, 40, 200] if n_groups <= 20 else [10, 20, 40], n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    n, d = len(groups), int(rng.integers(3, 11))
    common = rng.normal(size=n)
    columns: dict[str, Any] = {"group": np.array([f"g{own:02}" for own in groups], dtype=object)}
    for place in range(d):
        noise = rng.uniform(0.03, 0.15) * (rng.normal(size=n) + 0.5 * common)
        level = rng.uniform(np.log(10), np.log(1000), n_groups)[groups] if place % 2 == 0 else 4.0
        columns[f"x{place}"] = np.round(np.exp(level + noise), 2)
    frame = pd.DataFrame(columns).iloc[rng.permutation(n)].reset_index(drop=True)
    return _lowered(frame, "group", "x0", rng)


def _lowered(frame: pd.DataFrame, by: str, column: str, rng: np.random.Generator) -> Planted:
    """Multiply 1 % of the values by .2, where the result is ordinary in the whole table."""
    values = frame[column].to_numpy(dtype=np.float64).copy()
    low, high = np.quantile(values, [0.05, 0.95])
    allowed = (0.2 * values > low) & (0.2 * values < high)
    kinds, used = np.zeros(len(frame), dtype=np.int64), dict[Any, int]()
    sizes = frame[by].value_counts()
    for row in rng.permutation(np.flatnonzero(allowed)).tolist():
        group = frame[by].iloc[row]
        if used.get(group, 0) < sizes[group] // 5:
            used[group] = used.get(group, 0) + 1
            kinds[row] = 1
        if kinds.sum() >= max(3, len(frame) // 100):
            break
    values[kinds > 0] = np.round(0.2 * values[kinds > 0], 2)
    return Planted(frame.assign(**{column: values}), column, kinds, by=by)


def _mixed(n_tables: int) -> Iterator[tuple[str, Planted]]:
    """Yield public tables of which a category explains a number."""
    n_found = 0
    for source in (own for part in PARTS for own in sources(part, "mixed")):
        if n_found == n_tables:
            return
        frame = source.load()
        chosen = _pair(frame)
        if chosen is not None:
            planted = _lowered(frame, *chosen, np.random.default_rng(n_found))
            if planted.wrong.sum() >= 3:
                n_found += 1
                yield source.name, planted


def _pair(frame: pd.DataFrame) -> tuple[str, str] | None:
    """Return the category and the number that it explains best, if any is explained enough."""
    best, chosen = 0.2, None
    for by in frame.select_dtypes(["object", "string", "category"]):
        counts = frame[by].value_counts()
        if not 2 <= len(counts) <= 60 or counts.min() < 10 or frame[by].isna().any():
            continue
        for column in frame.select_dtypes("number"):
            values = frame[column].to_numpy(dtype=np.float64)
            if not (values > 0).all() or len(np.unique(values)) < 20:
                continue
            logs = pd.Series(np.log(values))
            share = float(logs.groupby(frame[by].to_numpy()).transform("mean").var() / logs.var())
            if share > best:
                best, chosen = share, (str(by), str(column))
    return chosen


def series_table(seed: int) -> Planted:
    """Generate series in shuffled rows, one of them with errors of three kinds."""
    rng = np.random.default_rng(seed)
    n_groups, n = int(rng.choice([1, 1, 2, 4])), int(rng.integers(600, 1_300))
    is_hourly = bool(rng.random() < 0.7)
    stamps = pd.date_range("2024-01-01", periods=n, freq="h" if is_hourly else "D")
    step = np.arange(n)
    period = 24 if is_hourly else 7
    frames, kinds = [], []
    for group in range(n_groups):
        phase = rng.uniform(0, period)
        wave = np.sin(2 * np.pi * (step + phase) / period) if is_hourly else (step % 7 >= 5) * 2.0
        shapes = [
            10 * wave + rng.normal(0, 1, n),
            20 * np.sin(2 * np.pi * step / n * 3 + phase) + rng.normal(0, 1, n),
            np.cumsum(rng.normal(0, 1, n)),
            rng.normal(0, 5, n),
        ]
        values = 100 * rng.uniform(0.5, 2) + shapes[int(seed) % 2]
        own = np.zeros(n, dtype=np.int64)
        if group == 0:
            own = _plant_series(values, rng)
        kinds.append(own)
        others = {f"other{i}": np.round(shapes[i], 2) for i in (2, 3)}
        frames.append(
            pd.DataFrame(
                {"sensor": f"s{group}", "time": stamps, "value": values.round(2), **others}
            )
        )
    order = rng.permutation(n * n_groups)
    frame = pd.concat(frames, ignore_index=True).iloc[order].reset_index(drop=True)
    options = {"over": "time"} | ({"by": "sensor"} if n_groups > 1 else {})
    frame = frame if n_groups > 1 else frame.drop(columns="sensor")
    shape = ("seasonal", "slow")[seed % 2]
    return Planted(frame, "value", np.concatenate(kinds)[order], shape, **options)


def _plant_series(values: Scores, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Plant a shift, a stuck value and spikes, towards the middle."""
    n, kinds = len(values), np.zeros(len(values), dtype=np.int64)
    starts = (np.array([0.2, 0.5, 0.8]) * n).astype(int)
    for code, start in zip(rng.permutation(2) + 1, starts, strict=False):
        length = int(rng.integers(20, 61))
        rows = slice(start, start + length)
        if code == 1:
            values[rows] += 6 if values[rows].mean() < values.mean() else -6
        else:
            values[rows] = values[start]
            rows = slice(start + 1, start + length)
        kinds[rows] = code
    usual = np.r_[starts[2] : n - 1]
    for row in rng.choice(usual, 4, replace=False).tolist():
        values[row] += 8 if values[row] < values.mean() else -8
        kinds[row] = 3
    return kinds


# methods

Found = tuple[Scores, "pd.DataFrame | None"]


def in_context(planted: Planted) -> Found:
    """Score by one MetaOD with the context."""
    model = metaod.MetaOD(**planted.options).fit(planted.frame)
    return model.decision_scores_, model.suspect_cells()


def without(planted: Planted) -> Found:
    """Score by MetaOD without the context."""
    model = metaod.MetaOD().fit(planted.frame)
    return model.decision_scores_, model.suspect_cells()


def forest(planted: Planted) -> Found:
    """Score by an isolation forest of the numbers."""
    return _forest(planted.frame.select_dtypes("number")), None


def forest_by_group(planted: Planted) -> Found:
    """Score by an isolation forest of each group."""
    return _by_group(planted, lambda frame: _forest(frame.select_dtypes("number"))), None


def metaod_by_group(planted: Planted) -> Found | None:
    """Score by a MetaOD of each group, if they are few."""
    by = planted.options["by"]
    if planted.frame[by].nunique() > _MOST_GROUPS:
        return None

    def score(frame: pd.DataFrame) -> Scores:
        try:
            return metaod.MetaOD(rows_only=True).fit(frame.drop(columns=by)).decision_scores_
        except UserError:  # a column may be constant in a group
            return np.zeros(len(frame))

    return _by_group(planted, score), None


def forest_with_lags(planted: Planted) -> Found:
    """Score by an isolation forest that also has the hour, the weekday and the last difference."""
    frame = planted.frame.sort_values("time", kind="stable")
    parts = frame.groupby("sensor") if "sensor" in frame else frame.assign(one=0).groupby("one")
    times = frame["time"].dt
    more = {"hour": times.hour, "weekday": times.weekday, "step": parts["value"].diff().fillna(0)}
    own = pd.Series(_forest(frame.select_dtypes("number").assign(**more)), frame.index)
    return own.sort_index().to_numpy(), None


def _forest(frame: pd.DataFrame) -> Scores:
    numbers = frame.fillna(frame.median())
    return np.asarray(-IsolationForest(random_state=0).fit(numbers).score_samples(numbers))


def _by_group(planted: Planted, score: Callable[[pd.DataFrame], Scores]) -> Scores:
    scores = np.zeros(len(planted.frame))
    for rows in planted.frame.groupby(planted.options["by"]).indices.values():
        own = score(planted.frame.iloc[rows].reset_index(drop=True))
        scores[rows] = (own - np.median(own)) / (own.std() or 1.0)
    return scores


_BOTH = {"MetaOD in context": in_context, "MetaOD": without, "isolation forest": forest}
METHODS: tuple[dict[str, Any], dict[str, Any]] = (
    {**_BOTH, "isolation forest with lags": forest_with_lags},
    {
        **_BOTH,
        "isolation forest by group": forest_by_group,
        "MetaOD by group": metaod_by_group,
    },
)


def cost() -> None:
    """Write the processor time of a preparation and of wrong cells, with and without context."""
    lines = []
    for n_rows, n_columns in ((3_000, 20), (30_000, 20)):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(n_rows, n_columns)).round(4)).add_prefix("x")
        frame["time"] = pd.date_range("2020-01-01", periods=n_rows, freq="h")
        frame["group"] = rng.choice([f"g{i}" for i in range(20)], n_rows)
        table = metaod.read_table(frame)
        line: dict[str, Any] = {"rows": n_rows, "columns": n_columns}
        for name, options in {
            "none": {}, "by": {"by": "group"}, "over": {"over": "time"},
            "by and over": {"by": "group", "over": "time"},
        }.items():  # fmt: skip
            seconds = []
            for _ in range(3):
                start = time.process_time()
                metaod.Preparation(**options).fit_transform(table)
                seconds.append(time.process_time() - start)
            line[name] = min(seconds)
        lines.append(line)
    write_table(pd.DataFrame(lines), FOLDER, "cost")


if __name__ == "__main__":
    main()
