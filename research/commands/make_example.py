"""Make the bundled example table: readings of machines in three plants, some of them faulty.

    python -m research make-example src/metaod/tables/examples/machines.csv

The table has what real tables have: an identifier, a date, text, missing values, columns that move
together, and a label (``fault``) that only evaluation may look at.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, FAULTS = 600, 24


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


def main() -> None:
    """Write the table as CSV."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    make_example().to_csv(parser.parse_args().out, index=False, float_format="%.3f")
