"""Make an example table: the bundled one, or the orders of the pages of tasks.

    python -m research make-example machines src/metaod/tables/examples/machines.csv
    python -m research make-example orders-may docs/tasks/orders-may.csv
    python -m research make-example orders-june docs/tasks/orders-june.csv

`machines` has readings of machines in three plants, some of them faulty, with what real tables
have: an identifier, a date, text, missing values, columns that move together, and a label
(``fault``) that only evaluation may look at. The orders of a shop have mistakes of a few kinds.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, FAULTS = 600, 24
ORDERS = 400
CITIES = {
    "Berlin": "Germany", "Hamburg": "Germany", "Paris": "France", "Lyon": "France",
    "Vienna": "Austria", "Rome": "Italy", "Milan": "Italy", "Madrid": "Spain",
}  # fmt: skip
PRICES = {"desk": 249.0, "chair": 129.0, "lamp": 39.5, "shelf": 89.0, "rug": 64.9}


def make_example(seed: int = 7) -> pd.DataFrame:
    """Draw the table."""
    rng = np.random.default_rng(seed)
    load = rng.beta(4, 3, ROWS)
    speed = 900 + 1400 * load + rng.normal(0, 25, ROWS)
    frame = pd.DataFrame(
        {
            "reading_id": [f"R{number:05d}" for number in rng.permutation(ROWS) + 10_000],
            "date": pd.Timestamp("2025-03-01")
            + pd.to_timedelta(np.sort(rng.integers(0, 120, ROWS)), "D"),
            "plant": rng.choice(["north", "south", "west"], ROWS, p=[0.5, 0.3, 0.2]),
            "operator": [f"{a}. {b}" for a, b in zip(
                rng.choice(list("ABCDEFGHJKLM"), ROWS),
                rng.choice(["Okoro", "Lind", "Patel", "Silva", "Moreau", "Sato"], ROWS),
                strict=True)],
            "speed_rpm": speed,
            "power_kw": 2.0 + 11 * load + rng.normal(0, 0.4, ROWS),
            "temperature_c": 41 + 28 * load + rng.normal(0, 1.6, ROWS),
            "pressure_bar": 6.1 + 0.5 * rng.normal(size=ROWS),
            "vibration_mm_s": np.exp(0.2 + 0.9 * load + rng.normal(0, 0.16, ROWS)),
            "oil_ppm": rng.gamma(3.0, 9.0, ROWS),
            "serviced": rng.random(ROWS) < 0.3,
            "firmware": "4.2",
        }
    )  # fmt: skip
    faulty = np.sort(rng.choice(ROWS, FAULTS, replace=False))
    # faults are of three kinds: hot for their load, rough for their speed, losing pressure
    hot, rough, leaking = np.array_split(rng.permutation(faulty), 3)
    frame.loc[hot, "temperature_c"] += rng.uniform(9, 16, len(hot))
    frame.loc[rough, "vibration_mm_s"] *= rng.uniform(2.0, 3.2, len(rough))
    frame.loc[rough, "oil_ppm"] += rng.uniform(25, 60, len(rough))
    frame.loc[leaking, "pressure_bar"] -= rng.uniform(1.8, 3.0, len(leaking))
    frame.loc[leaking, "power_kw"] += rng.uniform(1.5, 3.0, len(leaking))
    frame.loc[rng.choice(ROWS, 70, replace=False), "oil_ppm"] = np.nan
    frame.loc[rng.choice(ROWS, 9, replace=False), "pressure_bar"] = np.nan
    frame.loc[rng.choice(ROWS, 14, replace=False), "plant"] = None
    frame["fault"] = np.isin(np.arange(ROWS), faulty).astype(int)
    return frame


def make_orders(month: int, first: int) -> pd.DataFrame:
    """Draw the orders of a month, without mistakes."""
    rng = np.random.default_rng(month)
    city = rng.choice(list(CITIES), ORDERS)
    product = rng.choice(list(PRICES), ORDERS, p=[0.1, 0.25, 0.35, 0.15, 0.15])
    quantity = rng.choice([1, 2, 3, 4, 6], ORDERS, p=[0.55, 0.25, 0.1, 0.07, 0.03])
    price = np.array([PRICES[own] for own in product])
    ordered = pd.Timestamp(2025, month, 1) + pd.to_timedelta(
        np.sort(rng.integers(0, 28, ORDERS)), "D"
    )
    return pd.DataFrame(
        {
            "order": [f"B-{first + number}" for number in range(ORDERS)],
            "ordered": ordered.strftime("%Y-%m-%d"),
            "delivered": (ordered + pd.to_timedelta(rng.integers(2, 9, ORDERS), "D")).strftime(
                "%Y-%m-%d"
            ),
            "city": city,
            "country": [CITIES[own] for own in city],
            "product": product,
            "quantity": quantity,
            "price": price,
            "total": (quantity * price).round(2),
            "rating": rng.choice([1, 2, 3, 4, 5], ORDERS, p=[0.04, 0.06, 0.15, 0.35, 0.4]),
        }
    ).astype(object)


def make_may() -> pd.DataFrame:
    """Return the orders of May, with ten mistakes."""
    frame = make_orders(5, 24_100)
    frame.loc[17, "total"] = frame.loc[17, "total"] * 10
    frame.loc[58, "country"] = "Gremany"
    frame.loc[93, "delivered"] = "2025-05-02"
    frame.loc[126, "rating"] = frame.loc[214, "rating"] = 99
    frame.loc[171, "country"] = "Italy" if frame.loc[171, "country"] != "Italy" else "France"
    frame.loc[240, "price"] = "l29.00"  # the letter l
    frame.loc[277, "order"] = frame.loc[31, "order"]
    frame.loc[312, "quantity"] = -frame.loc[312, "quantity"]
    frame.loc[366, "product"] = "Lamp "
    return frame


def make_june() -> pd.DataFrame:
    """Return the orders of June, with two mistakes."""
    frame = make_orders(6, 24_500)
    frame.loc[80, "delivered"] = "2052-06-12"
    frame.loc[205, "city"] = "Hambrug"
    return frame


TABLES = {"machines": make_example, "orders-may": make_may, "orders-june": make_june}


def main() -> None:
    """Write the table as CSV."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    frame = TABLES[given.table]()
    frame.to_csv(given.out, index=False, float_format="%.3f" if given.table == "machines" else None)
