"""The tables of an evaluation: as frames, and as CSV and Markdown files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from research.methods import method, paper_methods
from research.results import Results, Unit
from research.statistics import (
    Alternative,
    average_ranks,
    best_first,
    bootstrap_intervals,
    compare_all,
    matching_model,
    ranks,
)

_RANK = " rank"
_SIDES: dict[str, Alternative] = {"two-sided": "two-sided", "one-sided": "less"}
_DIGITS = 10  # of CSV files: further digits depend on the order of summation


def write_table(
    frame: pd.DataFrame, folder: Path, stem: str, shown: pd.DataFrame | None = None
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
    """Format a frame as a Markdown table; columns whose name starts with p hold p-values."""
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
    """Return the describing columns of the datasets, with outliers in percent."""
    titles = {"name": "dataset", "n_rows": "rows", "n_columns": "columns"}
    found = results.datasets.rename(columns=titles).reset_index(drop=True)
    found["% outliers"] = 100 * found.pop("outlier_share")
    return found


def performance_table(
    results: Results, by: Unit, methods: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return every method's average precision and rank on every dataset, with means below."""
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
    """Return one row per method: mean, standard deviation, average ranks, spread over seeds.

    ``low`` and ``high`` are the ends of the 95 % interval of MAP, by bootstrap over origins and
    seeds. ``rank of paper's`` is among the methods of the paper, ``rank of all`` among all methods.
    ``seed SD`` is the standard deviation, over the seeds, of the mean average precision.
    ``without AP`` counts datasets without an average precision of the method; they are left out
    for all methods.
    """
    performance, runs = results.matrix(by), results.runs(by)
    papers = paper_methods(results.methods)
    among_papers = average_ranks(performance[papers]) if papers else pd.Series(dtype="float64")
    among_all = average_ranks(performance)
    lacking = results.by_dataset.isna().sum()
    origins = results.origins(by)
    rows = [
        {
            "method": method(key).title,
            "category": method(key).category,
            "MAP": performance[key].mean(),
            "low": low,
            "high": high,
            "SD": performance[key].std(),
            "rank of paper's": among_papers.get(key, np.nan),
            "rank of all": among_all[key],
            "seeds": runs[key].shape[1],
            "seed SD": runs[key].mean().std(),
            "n": len(performance),
            "origins": origins.nunique(),
            "without AP": int(lacking[key]),
        }
        for key in results.methods
        for low, high in bootstrap_intervals(runs[key].to_numpy()[:, None], origins)
    ]
    return pd.DataFrame(rows)


def show_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Format :func:`summary_table`: the interval beside the mean."""
    intervals = [
        f"{row['MAP']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
        for row in table.to_dict("records")
    ]
    shown = table.drop(columns=["low", "high"]).assign(MAP=intervals)
    return shown.rename(columns={"MAP": "MAP [95 %]"})


def pairwise_table(results: Results, by: Unit) -> pd.DataFrame:
    """Compare all pairs: signed-rank test, difference of means and its interval, wins.

    Tests, wins and losses are over means of origins and seeds, and ``n`` counts the origins; the
    interval of ``ΔMAP`` is over origins and seeds.
    """
    means = results.matrix(by).mean()
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
        for pair in compare_all(results.runs(by), results.origins(by))
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
        cells["n"] = row["n"]
        rows.append(cells)
    return pd.DataFrame(rows)


def matching_table(results: Results, P: pd.DataFrame, by: Unit) -> pd.DataFrame:
    """Return for every method the q-th best model that it does not significantly differ from.

    Tests are over means of origins; ``n`` counts them.
    """
    performance = results.matrix(by)
    # a motherset's q-th best performance is the mean of its childsets' q-th bests
    ordered = best_first(P)
    means = results.pooled(ordered, by).mean()
    # tests need independent rows
    by_origin, ordered = results.matrix("origin"), results.pooled(ordered, "origin")
    rows = []
    for key in results.methods:
        row = {"method": method(key).title, "MAP": performance[key].mean()}
        for sides, alternative in _SIDES.items():
            found = matching_model(by_origin[key], ordered, alternative)
            row |= {f"q, {sides}": found.q, f"p, {sides}": found.p}
            row[f"MAP of it, {sides}"] = np.nan if found.q is None else means[found.q]
        rows.append(row | {"n": len(by_origin)})
    return pd.DataFrame(rows).astype({f"q, {sides}": "Int64" for sides in _SIDES})


def times_table(data: pd.DataFrame) -> pd.DataFrame:
    """Return mean, its 95 % interval over origins, median and range of times, and of their share.

    `data` is that of ``selection-time.csv``; the share is selection time in % of the training time
    of the picked model.
    """
    measured = {
        "selection, seconds": data["select_seconds"],
        "training of the pick, seconds": data["train_seconds"],
        "selection, % of training": 100 * data["share"],
    }
    rows = []
    for name, values in measured.items():
        known = values.dropna()
        if len(known):
            origins = data.loc[known.index, "origin"]
            low, high = bootstrap_intervals(known.to_numpy()[:, None], origins)[0]
            rows.append(
                {
                    "time": name,
                    "mean": known.mean(),
                    "low": low,
                    "high": high,
                    "median": known.median(),
                    "least": known.min(),
                    "most": known.max(),
                    "datasets": len(known),
                    "origins": origins.nunique(),
                }
            )
    return pd.DataFrame(rows)
