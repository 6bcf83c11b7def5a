"""Measure what date columns are worth on labelled tables: days, calendar parts, differences.

    python -m research measure-dates FOLDER

FOLDER holds labelled tables and a catalog.csv with the columns file, origin and label. Tables
without a date column are passed over. Every table is scored without its dates and with each way of
using them; the difference in average precision is averaged over origins, with a bootstrap interval.
Text is coded as the surprisal of its value, so that a text column is one column.
"""

import argparse
import csv
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from metaod.errors import UserError
from metaod.models import ModelSpec
from metaod.tables import Table, prepare, read_table

N_SEEDS = 5  # of isolation forest
MODELS = ("IForest(n_estimators=100)", "KNN(n_neighbors=50, method=largest)",
          "HBOS(n_bins=10, alpha=0.1)")  # fmt: skip


def surprisal(series):
    """Return minus the logarithm of the share of rows with the same value."""
    levels = series.astype(str).fillna("")
    return -np.log(levels.map(levels.value_counts(normalize=True)).astype(float))


def days(stamps):
    """Return days since 1970-01-01."""
    return (stamps - pd.Timestamp(0)) / pd.Timedelta(days=1)


def varies(series):
    """Whether a column has two values or more."""
    return len(pd.unique(series.dropna())) > 1


def calendar(frame, dates, *parts):
    """Return the surprisal of each part of each date."""
    levels = {f"{name} {part}": getattr(frame[name].dt, part) for name in dates for part in parts}
    return {name: surprisal(series) for name, series in levels.items() if varies(series)}


def cyclic(frame, dates):
    """Return the sine and cosine of weekdays and hours."""
    found = {}
    for name in dates:
        for part, period in (("day_of_week", 7), ("hour", 24)):
            angle = 2 * np.pi * getattr(frame[name].dt, part) / period
            if varies(angle):
                found[f"{name} {part} sin"] = np.sin(angle)
                found[f"{name} {part} cos"] = np.cos(angle)
    return found


def spread(values):
    """Return the range of the central 80 %."""
    low, high = np.nanquantile(values, [0.1, 0.9])
    return high - low


def differences(frame, dates, *, related):
    """Return differences of two dates; `related` ones vary less than half as much as the dates."""
    found = {}
    for first, second in combinations(dates, 2):
        length = days(frame[second]) - days(frame[first])
        smaller = min(spread(days(frame[first])), spread(days(frame[second])))
        if varies(length) and (not related or spread(length) < smaller / 2):
            found[f"{second} - {first}"] = length
    return found


WAYS = {
    "days since 1970": lambda f, d: {name: days(f[name]) for name in d},
    "weekday": lambda f, d: calendar(f, d, "day_of_week"),
    "hour": lambda f, d: calendar(f, d, "hour"),
    "weekday and hour": lambda f, d: calendar(f, d, "day_of_week", "hour"),
    "month": lambda f, d: calendar(f, d, "month"),
    "weekday and hour, cyclic": cyclic,
    "all differences": lambda f, d: differences(f, d, related=False),
    "differences of related dates": lambda f, d: differences(f, d, related=True),
}


def average_precisions(frame, y):
    """Return the average precision of every model on a table of numbers."""
    X = prepare(Table(frame, typed=True)).X
    found = {}
    for model in MODELS:
        spec = ModelSpec.parse(model)
        seeds = range(N_SEEDS if spec.detector == "IForest" else 1)
        scores = [spec.to_pyod(random_state=seed).fit(X).decision_scores_ for seed in seeds]
        each = [average_precision_score(y, np.nan_to_num(one)) for one in scores]
        found[spec.detector] = float(np.mean(each))
    return found


def tables_with_dates(folder):
    """Yield the origin, the frame, the names of its dates and the labels of every such table."""
    with (folder / "catalog.csv").open(encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file))
    for entry in entries:
        try:
            table = read_table(folder / entry["file"], label=entry["label"])
        except UserError:
            continue
        dates = [name for name in table.frame if table.frame[name].dtype.kind == "M"]
        if dates:
            yield entry["origin"], table.frame, dates, table.label


def main():
    """Print the gain of every way over leaving dates out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    gains = defaultdict(lambda: defaultdict(list))  # by way and model, then by origin
    bases = defaultdict(list)
    for origin, frame, dates, y in tables_with_dates(parser.parse_args().folder):
        plain = frame.drop(columns=dates)
        for name in plain:
            if plain[name].dtype.kind not in "iufb":
                plain[name] = surprisal(plain[name])
        base = average_precisions(plain, y)
        for model, ap in base.items():
            bases[model].append(ap)
        for way, make in WAYS.items():
            more = make(frame, dates)
            found = average_precisions(plain.assign(**more), y) if more else {}
            for model, ap in found.items():
                gains[way, model][origin].append(ap - base[model])
    for model, found in bases.items():
        print(f"{model}: {len(found)} tables, AP without dates {np.mean(found):.3f}")
    generator = np.random.default_rng(0)
    for (way, model), by_origin in gains.items():
        means = np.array([np.mean(values) for values in by_origin.values()])
        draws = generator.choice(means, (10_000, len(means))).mean(axis=1)
        low, high = np.quantile(draws, [0.025, 0.975])
        figures = f"{means.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
        print(f"{way:30} {model:8} {figures}  {len(means)} origins")
