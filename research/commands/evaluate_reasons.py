"""Measure reasons of rows: whether the planted columns are among the first three.

    python -m research evaluate-reasons [--seeds 20] [--kept FILE]

Follows the protocol of docs/reasons.md and prints its table. ``--kept`` names a file in which the
finished tables are kept, one line each, so that an interrupted run goes on.
"""

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.detection import MetaOD, Review

FIRST = 3
RESAMPLES = 2_000
CLUSTER = 8.0
"""Distance of the clusters of a column, in spreads of a cluster."""

COUNTRIES = ["DE", "FR", "IT", "ES", "PL", "NL", "AT", "CH"]
SHARES = [0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03]
PRODUCTS = ["lamp", "chair", "table", "sofa", "bed"]
COMBINED = (("country", "price"), ("product", "weight"))
PLANTED = {
    "one": "one cell",
    "together": "two, unusual in combination",
    "apart": "two, unusual by themselves",
}
PICKS = ("learned", "committee", "learned-single", "reviewed")


class MadeTable:
    """A generated table, and the columns that were planted in each row."""

    def __init__(self, seed: int, *, mixed: bool) -> None:
        self._rng = rng = np.random.default_rng([seed, mixed])
        self.n_rows = int(rng.choice([500, 2000]))
        self.clustered, self.mixed = bool(seed % 2), mixed
        self._n_pairs = int(rng.integers(3, 6 if mixed else 11))
        self.frame = self._numbers()
        self.names = list(self.frame.columns)
        self.planted: dict[int, tuple[str, ...]] = {}
        if mixed:
            self._add_categories()
        self.before = self.frame.copy()
        n_each = self.n_rows // 100
        order = rng.permutation(self.n_rows).tolist()
        for row in order[:n_each]:
            self._plant_two(row)
        gappy = self._make_gaps(order[2 * n_each :]) if mixed else ""
        for row in order[n_each : 2 * n_each]:
            self._plant_one(row, [name for name in self.names if name != gappy])
        self.apart = set(order[2 * n_each : 3 * n_each])
        more = np.random.default_rng([seed, mixed, 1])  # the draws above stay the same
        for row in sorted(self.apart):
            self._plant_apart(row, more)
        self._change_units()
        if mixed:
            self._add_unused()

    def _numbers(self) -> pd.DataFrame:
        """Pairs of columns that correlate with .95 or share clusters, and a common factor."""
        rng, columns = self._rng, {}
        common = rng.normal(size=self.n_rows)
        for pair in range(self._n_pairs):
            shared = 0.5 * common + rng.normal(size=self.n_rows)
            cluster = rng.integers(3, size=self.n_rows)
            for side, sign in (("a", 1.0), ("b", rng.choice([-1.0, 1.0]))):
                noise = rng.normal(size=self.n_rows) * np.sqrt(1.25 * (1 / 0.95 - 1))
                values = sign * shared + noise
                values /= values.std()
                if self.clustered:
                    values += (rng.permutation(3) * CLUSTER)[cluster]
                columns[f"m{pair}{side}"] = values
        return pd.DataFrame(columns)

    def _add_categories(self) -> None:
        rng = self._rng
        for (category, number), levels, shares in zip(
            COMBINED, (COUNTRIES, PRODUCTS), (SHARES, [0.2] * 5), strict=True
        ):
            codes = rng.choice(len(levels), self.n_rows, p=shares)
            self.frame[category] = np.array(levels)[codes]
            middles = rng.permutation(len(levels)) * 7.0
            self.frame[number] = middles[codes] + rng.normal(size=self.n_rows)

    def _plant_two(self, row: int) -> None:
        rng, frame = self._rng, self.frame
        if self.mixed and rng.random() < 0.5:
            category, number = COMBINED[rng.integers(2)]
            medians = frame.groupby(category)[number].median()
            is_far = frame[category].map((medians - medians[frame.loc[row, category]]).abs()) > 10
            frame.loc[row, number] = self._usual(number, is_far)
            self.planted[row] = (category, number)
            return
        pair = int(rng.integers(self._n_pairs))
        a, b = self.planted[row] = (f"m{pair}a", f"m{pair}b")
        if self.clustered:
            frame.loc[row, b] = self._usual(b, (frame[a] - frame.loc[row, a]).abs() > CLUSTER / 2)
            return
        ends = rng.uniform(0.9, 0.95), rng.uniform(0.05, 0.1)
        high, low = ends if rng.random() < 0.5 else ends[::-1]
        agree = np.corrcoef(frame[a], frame[b])[0, 1] > 0
        frame.loc[row, a] = frame[a].quantile(high)
        frame.loc[row, b] = frame[b].quantile(low if agree else high)

    def _usual(self, name: str, allowed: "pd.Series[bool]") -> float:
        """Draw a value of the central 90 % of a column from the rows that are allowed."""
        central = self.frame[name].between(*self.frame[name].quantile([0.05, 0.95]))
        return float(self._rng.choice(self.frame.loc[central & allowed, name].to_numpy()))

    def _make_gaps(self, rows: Sequence[int]) -> str:
        name = str(self._rng.choice(self.names))
        gaps = self._rng.choice(rows, self.n_rows // 10, replace=False)
        self.frame.loc[gaps, name] = np.nan
        return name

    def _plant_one(self, row: int, names: Sequence[str]) -> None:
        rng = self._rng
        kind = rng.choice(["number", "category", "gap"]) if self.mixed else "number"
        name = "country" if kind == "category" else str(rng.choice(names))
        value: Any = f"X{row}" if kind == "category" else np.nan
        if kind == "number" and self.clustered:  # between two clusters, or outside of all
            value = rng.choice([0.5 * CLUSTER, 1.5 * CLUSTER, -CLUSTER, 3 * CLUSTER])
        elif kind == "number":
            value = rng.choice([-1, 1]) * rng.uniform(6, 10)
        self.frame.loc[row, name] = value
        self.planted[row] = (name,)

    def _plant_apart(self, row: int, rng: np.random.Generator) -> None:
        """Plant two numbers of different pairs, each unusual by itself."""
        pairs = rng.choice(self._n_pairs, 2, replace=False)
        names = tuple(f"m{pair}{rng.choice(['a', 'b'])}" for pair in pairs)
        for name in names:
            value = rng.choice([-1, 1]) * rng.uniform(6, 10)
            self.frame.loc[row, name] = rng.choice([-1, 3]) * CLUSTER if self.clustered else value
        self.planted[row] = names

    def _change_units(self) -> None:
        skewed = self._rng.choice(self._n_pairs, max(1, self._n_pairs // 3), replace=False)
        for name in self.names:
            is_skewed = int(name[1:-1]) in skewed
            power = 1 / (CLUSTER if self.clustered else 2.0)
            unit = 10.0 ** self._rng.integers(-1, 4)
            for frame in (self.frame, self.before):
                values = frame[name]
                frame[name] = 100 * np.exp(power * values) if is_skewed else values * unit + 50

    def _add_unused(self) -> None:
        rng, n_rows = self._rng, self.n_rows
        orders = [f"A-{number}" for number in rng.permutation(n_rows)]
        days = pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D")
        clerks = rng.choice(list("abcdefgh"), n_rows)
        for frame in (self.frame, self.before):
            frame["order"], frame["clerk"] = orders, clerks
            frame["sold"] = pd.Timestamp("2024-01-01") + days


def z_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how unusual each cell is in its column alone."""
    found = {}
    for name in frame.columns.drop(["order", "sold", "clerk"], errors="ignore"):
        values = frame[name]
        if values.dtype.kind == "f":
            distance = (values - values.median()).abs()
            z = distance / (1.4826 * distance.median())
        else:
            z = -np.log(values.map(values.value_counts(normalize=True))) / 2.5
        found[name] = z.fillna(-np.log(max(values.isna().mean(), 1 / len(frame))) / 2.5)
    return pd.DataFrame(found)


def fitted(table: MadeTable, pick: str) -> MetaOD:
    """Fit a pick that flags one row in ten; the reviewed one learns ten answers of the truth."""
    given = {"rows_only": True, "contamination": 0.1}
    if pick != "reviewed":
        return MetaOD(pick=pick, **given).fit(table.frame)
    review = Review(table.frame, pick="committee", **given)
    for _ in range(10):
        (row,) = np.atleast_1d(review.ask()).tolist()
        review.tell(row, row in table.planted)
    return review.detector()


def measured(table: MadeTable, pick: str) -> list[dict[str, Any]]:
    """Return whether the planted columns of each row that was found come first."""
    model = fitted(table, pick)
    rows = [row for row in table.planted if model.labels_[row]]
    if not rows:
        return []
    z = z_scores(table.frame)
    found = []
    was_flagged = model.predict(table.before.iloc[rows]) == -1
    for row, before, explained in zip(rows, was_flagged, model.explain_rows(rows), strict=True):
        planted = set(table.planted[row])
        ours = [reason.column for reason in explained.reasons[:FIRST]]
        theirs = z.iloc[row].sort_values(ascending=False, kind="stable").index[:FIRST]
        shown = [reason.column for reason in explained.main_reasons(FIRST)]
        named = {"ours": ours, "z": theirs, "shown": shown}
        outcome = {name: planted.issubset(columns) for name, columns in named.items()}
        kind = "apart" if row in table.apart else "one" if len(planted) == 1 else "together"
        found.append({"planted": kind, "before": bool(before), **outcome})
    return found


def interval(tables: Sequence[Sequence[bool]]) -> str:
    """Return a share in percent, with the bootstrap interval over tables."""
    hits = np.array([sum(rows) for rows in tables]), np.array([len(rows) for rows in tables])
    drawn = np.random.default_rng(0).integers(0, len(tables), (RESAMPLES, len(tables)))
    shares = hits[0][drawn].sum(axis=1) / np.maximum(1, hits[1][drawn].sum(axis=1))
    low, high = np.quantile(shares, [0.025, 0.975])
    return f"{hits[0].sum() / max(1, hits[1].sum()):.1%} ({low:.1%} to {high:.1%})"


def printed(results: Mapping[str, Any]) -> str:
    """Return the table of docs/reasons.md; the last two columns leave out rows flagged before."""
    lines = [
        "| pick | tables | planted | found | reasons | z-scores | shown | found by it | reasons |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for pick in PICKS:
        for kind in ("numbers", "mixed"):
            own = [rows for name, rows in results.items() if name.startswith(f"{pick} {kind} ")]
            for planted, title in PLANTED.items():
                rows = [[row for row in found if row["planted"] == planted] for found in own]
                caused = [[row for row in found if not row["before"]] for found in rows]
                cells = [pick, kind, title, str(sum(map(len, rows)))]
                cells += [
                    interval([[r[key] for r in f] for f in rows]) for key in ("ours", "z", "shown")
                ]
                cells += [str(sum(map(len, caused)))]
                cells += [interval([[r["ours"] for r in f] for f in caused])]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all tables and picks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kept", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    if options.kept is not None and options.kept.exists():
        lines = options.kept.read_text(encoding="utf-8").splitlines()
        results = dict(json.loads(line) for line in lines)
    for pick, kind, seed in product(PICKS, ("numbers", "mixed"), range(options.seeds)):
        name = f"{pick} {kind} {seed}"
        if name in results:
            continue
        results[name] = measured(MadeTable(seed, mixed=kind == "mixed"), pick)
        if options.kept is not None:
            with options.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, results[name]]) + "\n")
    print(printed(results))
