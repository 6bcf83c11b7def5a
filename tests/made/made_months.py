"""Orders of one shop in several months: the same distribution, later dates and higher numbers."""

import numpy as np
import pandas as pd

_PLANTS = ["Oslo", "Rome", "Lima", "Perth"]


def orders(month, seed, n_rows=1000):
    """Return the orders of a month, given as '2024-01'."""
    generator = np.random.default_rng(seed)
    start = pd.Timestamp(f"{month}-01")
    first = 40_000 + 1_000 * (start - pd.Timestamp("2024-01-01")).days  # orders so far
    length = pd.Period(month).days_in_month
    ordered = start + pd.to_timedelta(np.sort(generator.uniform(0, length, n_rows)), unit="D")
    plant = generator.choice(_PLANTS, n_rows, p=[0.5, 0.3, 0.17, 0.03])
    weight = generator.lognormal(1, 0.4, n_rows) + (plant == "Rome")
    price = 12 * weight + generator.normal(0, 3, n_rows)
    odd = generator.random(n_rows) < 0.02
    frame = pd.DataFrame(
        {
            "number": first + np.cumsum(generator.integers(1, 4, n_rows)),
            "ordered": ordered.floor("s"),
            "delivered": (ordered + pd.to_timedelta(generator.gamma(3, 1, n_rows), "D")).date,
            "plant": plant,
            "clerk": [f"clerk {value}" for value in generator.zipf(1.7, n_rows) % 50],
            "weight": weight.round(2),
            "price": np.where(odd, price * generator.uniform(2, 5, n_rows), price).round(2),
            "humidity": generator.beta(2, 5, n_rows).round(3),
            "row": np.arange(1, n_rows + 1),
        }
    )
    frame.loc[generator.random(n_rows) < 0.08, "humidity"] = np.nan
    frame.loc[generator.random(n_rows) < 0.03, "plant"] = None
    frame.loc[generator.random(n_rows) < 0.05, "delivered"] = None
    return frame
