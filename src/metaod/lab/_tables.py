"""The tables of an evaluation: as frames, and as CSV and Markdown files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.lab._methods import method, paper_methods
from metaod.lab._results import Results, Unit
from metaod.lab._statistics import average_ranks, best_first, compare_all, matching_model, ranks

_RANK = " rank"
_DIGITS = 10  # of CSV files: further digits depend on the order of summation


def write_table(
    frame: pd.DataFrame, folder: Path, stem: str, *, shown: pd.DataFrame | None = None
) -> list[Path]:
    """Write a table as ``stem.csv`` and ``stem.md``; `shown` replaces it in the latter."""
    csv = write_csv(frame, folder, stem)
    page = folder / f"{stem}.md"
    page.write_text(markdown(frame if shown is None else shown), encoding="utf-8", newline="\n")
    return [csv, page]


def write_csv(frame: pd.DataFrame, folder: Path, stem: str) -> Path:
    """Write a table as ``stem.csv``, without its index; create the folder if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.csv"
    frame.to_csv(path, index=False, lineterminator="\n", float_format=f"%.{_DIGITS}g")
    return path


def markdown(frame: pd.DataFrame) -> str:
    """Format a frame as a Markdown table, without its index.

    Floats have four decimals; a column whose name starts with p holds p-values, shown as <0.0001
    below that.

    Examples
    --------
    >>> print(markdown(pd.DataFrame({"method": ["LOF"], "MAP": [0.21538]})), end="")
    | method | MAP |
    |:--|--:|
    | LOF | 0.2154 |
    """
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    head = "| " + " | ".join(map(_escaped, frame.columns)) + " |"
    rule = "|" + "|".join("--:" if number else ":--" for number in numeric) + "|"
    lines = [
        "| " + " | ".join(_cell(value, str(name)) for name, value in row.items()) + " |"
        for row in frame.to_dict("records")
    ]
    return "\n".join([head, rule, *lines]) + "\n"


def _cell(value: Any, name: str) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, float):
        return "<0.0001" if name.startswith("p") and value < 0.0001 else f"{value:.4f}"
    return _escaped(value)


def _escaped(value: object) -> str:
    # in Markdown a bar ends a cell, and an underscore or an asterisk may begin emphasis
    text = str(value).replace("|", "\\|").replace("\n", " ")
    return text if text.startswith("**") else text.replace("_", "\\_").replace("*", "\\*")


def dataset_table(results: Results) -> pd.DataFrame:
    """The datasets: name, origin, motherset, fold, rows, columns, outliers in percent."""
    found = results.datasets
    return pd.DataFrame(
        {
            "dataset": found["name"],
            "origin": found["origin"],
            "motherset": found["motherset"],
            "fold": found["fold"],
            "rows": found["n_rows"],
            "columns": found["n_columns"],
            "% outliers": 100 * found["outlier_share"],
        }
    ).reset_index(drop=True)


def performance_table(
    results: Results, by: Unit, methods: Sequence[str] | None = None
) -> pd.DataFrame:
    """Average precision of every method on every dataset, with ranks; mean and deviation below.

    Ranks are among the given methods, by default all.
    """
    performance = results.matrix(by)[list(methods or results.methods)]
    rank_of = ranks(performance)
    names = performance.index.to_series()
    if by == "dataset":
        names = results.datasets.loc[performance.index, "name"]
    columns: dict[str, list[object]] = {by: [*names, "average", "standard deviation"]}
    for key in performance:
        title = method(str(key)).title
        ap, rank = performance[key], rank_of[key]
        columns[title] = [*ap, ap.mean(), ap.std()]
        columns[title + _RANK] = [*rank, rank.mean(), np.nan]
    return pd.DataFrame(columns)


def show_performance(table: pd.DataFrame) -> pd.DataFrame:
    """Format :func:`performance_table`: the rank in brackets, the best of a row in bold."""
    first = str(table.columns[0])
    titles = [str(name) for name in table.columns[1:] if not str(name).endswith(_RANK)]
    rows = []
    for row in table.to_dict("records"):
        best = min(row[title + _RANK] for title in titles)
        cells = {first: row[first]}
        for title in titles:
            rank = row[title + _RANK]
            text = f"{row[title]:.4f}" + ("" if np.isnan(rank) else f" ({rank:.4g})")
            cells[title] = f"**{text}**" if rank == best else text
        rows.append(cells)
    return pd.DataFrame(rows, columns=[first, *titles])


def summary_table(results: Results, by: Unit) -> pd.DataFrame:
    """One row per method: mean, standard deviation, average ranks, spread over seeds.

    Notes
    -----
    ``rank of paper's`` is among the methods of the paper, ``rank of all`` among all methods.
    ``seed SD`` is the standard deviation, over the seeds, of the mean average precision.
    ``without AP`` counts datasets without an average precision of the method; they are left out
    for all methods.
    """
    performance = results.matrix(by)
    papers = paper_methods(results.methods)
    among_papers = average_ranks(performance[papers]) if papers else pd.Series(dtype="float64")
    among_all = average_ranks(performance)
    lacking = results.by_dataset.isna().sum()
    seeds = results.frame.groupby("method")["seed"].nunique()
    spread = _seed_spread(results)
    rows = [
        {
            "method": method(key).title,
            "category": method(key).category,
            "MAP": performance[key].mean(),
            "SD": performance[key].std(),
            "rank of paper's": among_papers.get(key, np.nan),
            "rank of all": among_all[key],
            "seeds": int(seeds[key]),
            "seed SD": spread[key],
            "n": len(performance),
            "without AP": int(lacking[key]),
        }
        for key in results.methods
    ]
    return pd.DataFrame(rows)


def _seed_spread(results: Results) -> pd.Series:
    kept = results.frame[results.frame["dataset"].isin(results.by_dataset.dropna().index)]
    means = kept.groupby(["method", "seed"])["ap"].mean()
    return means.groupby("method").std()


def pairwise_table(results: Results, by: Unit) -> pd.DataFrame:
    """All pairs of methods: signed-rank test, difference of means and its interval, wins."""
    performance = results.matrix(by)
    means = performance.mean()
    rows = [
        {
            "method 1": method(pair.first).title,
            "method 2": method(pair.second).title,
            "MAP 1": means[pair.first],
            "MAP 2": means[pair.second],
            "p": pair.p,
            "better": method(pair.better).title if pair.better else "",
            "ΔMAP": pair.delta,
            "low": pair.low,
            "high": pair.high,
            "wins": pair.wins,
            "losses": pair.losses,
            "ties": pair.ties,
            "n": pair.n,
        }
        for pair in compare_all(performance, results.origins(by))
    ]
    return pd.DataFrame(rows)


def show_pairwise(table: pd.DataFrame) -> pd.DataFrame:
    """Format :func:`pairwise_table`: the better side in bold, both if neither is."""
    rows = []
    for row in table.to_dict("records"):
        cells = {}
        for side in ("1", "2"):
            title = row[f"method {side}"]
            text = f"{title} ({row[f'MAP {side}']:.4f})".replace("_", "\\_")
            cells[f"method {side}"] = f"**{text}**" if row["better"] in ("", title) else text
        cells["p"] = row["p"]
        cells["ΔMAP [95 %]"] = f"{row['ΔMAP']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]"
        cells["wins-losses-ties"] = f"{row['wins']}-{row['losses']}-{row['ties']}"
        rows.append(cells)
    return pd.DataFrame(rows)


def matching_table(results: Results, P: pd.DataFrame, by: Unit) -> pd.DataFrame:
    """For every method the q-th best model that it does not significantly differ from.

    A motherset's q-th best performance is the mean of its childsets' q-th bests.
    """
    performance = results.matrix(by)
    ordered = results.pooled(best_first(P), by)
    rows = []
    for key in results.methods:
        two = matching_model(performance[key], ordered)
        one = matching_model(performance[key], ordered, "less")
        rows.append(
            {
                "method": method(key).title,
                "MAP": performance[key].mean(),
                "q, two-sided": two.q,
                "p, two-sided": two.p,
                "MAP of it, two-sided": two.mean,
                "q, one-sided": one.q,
                "p, one-sided": one.p,
                "MAP of it, one-sided": one.mean,
            }
        )
    table = pd.DataFrame(rows)
    whole = dict.fromkeys(("q, two-sided", "q, one-sided"), "Int64")
    return table.astype(whole)
