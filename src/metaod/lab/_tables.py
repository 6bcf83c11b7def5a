"""The tables of an evaluation, as frames."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from metaod.lab._best_models import best_first, matching_model
from metaod.lab._methods import method, paper_methods
from metaod.lab._results import Results, Unit
from metaod.lab._statistics import average_ranks, compare_all, ranks

__all__ = [
    "dataset_table",
    "matching_table",
    "pairwise_table",
    "performance_table",
    "show_pairwise",
    "show_performance",
    "summary_table",
]

_RANK = " rank"


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

    Parameters
    ----------
    results : Results
        What was reached.
    by : {"dataset", "motherset"}
        What a row is; a motherset's row is the mean over its childsets.
    methods : sequence of str, optional
        Keys of the methods to show, which are ranked among themselves; by default all.
    """
    performance = results.matrix(by)[list(methods or results.methods)]
    placed = ranks(performance)
    names = performance.index.to_series()
    if by == "dataset":
        names = results.datasets.loc[performance.index, "name"]
    columns: dict[str, list[object]] = {by: [*names, "average", "standard deviation"]}
    for key in performance:
        title = method(str(key)).title
        ap, rank = performance[key], placed[key]
        columns[title] = [*ap, ap.mean(), ap.std()]
        columns[title + _RANK] = [*rank, rank.mean(), np.nan]
    return pd.DataFrame(columns)


def show_performance(table: pd.DataFrame) -> pd.DataFrame:
    """As readers see :func:`performance_table`: rank in brackets, the best of a row in bold."""
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
    """One row a method: mean, standard deviation, average ranks, spread over seeds.

    Notes
    -----
    ``rank of paper's`` is among the methods of the paper alone, ``rank of all`` among all that are
    there. ``seed SD`` is the standard deviation, over the seeds, of the mean average precision.
    ``without AP`` counts datasets that the method has no average precision for; they are left out
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
    """Standard deviation over seeds of the mean over datasets; NaN where there is one seed."""
    kept = results.frame[results.frame["dataset"].isin(results.by_dataset.dropna().index)]
    means = kept.groupby(["method", "seed"])["ap"].mean()
    return means.groupby("method").std()


def pairwise_table(results: Results, by: Unit, *, seed: int = 0) -> pd.DataFrame:
    """All pairs of methods: signed-rank test, difference of means and its interval, wins.

    Parameters
    ----------
    results : Results
        What was reached.
    by : {"dataset", "motherset"}
        What a pair of values is of.
    seed : int, default=0
        Of the bootstrap over origins.
    """
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
        for pair in compare_all(performance, results.origins(by), seed=seed)
    ]
    return pd.DataFrame(rows)


def show_pairwise(table: pd.DataFrame) -> pd.DataFrame:
    """As readers see :func:`pairwise_table`: the better side in bold, both if none, as there."""
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

    Parameters
    ----------
    results : Results
        What was reached.
    P : DataFrame
        Performance of every model on every dataset, by fingerprint.
    by : {"dataset", "motherset"}
        What the test is over; a motherset's q-th best is the mean of its childsets' q-th bests.
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
