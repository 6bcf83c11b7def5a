"""Draw the final origins: a fifth of all origins, not used until the default selector is chosen.

    cd src/metaod/history/shipped
    python ../../../../tools/draw_final_origins.py DATASETS MOTHERSETS > final_origins.txt

Drawn once, before any learner was built, from the origins of the datasets that are neither in the
paper's ST table nor the origin of a motherset, which the paper's testbeds need.
Nothing may be chosen, tuned or calibrated on the datasets of these origins before the default
selector's last table.
"""

import argparse
import csv
import random
from pathlib import Path

SEED = 20260
SHARE = 0.2


def draw(datasets: Path, mothersets: Path) -> list[str]:
    """Draw from the two folders' lists."""
    origins, reserved = set(), set()
    with (datasets / "catalog.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            origins.add(row["origin"])
            if row["in_paper_st_table"] == "yes":
                reserved.add(row["origin"])
    with (mothersets / "catalog.csv").open(encoding="utf-8", newline="") as file:
        reserved.update(row["origin"] for row in csv.DictReader(file))
    count = round(SHARE * len(origins))
    return sorted(random.Random(SEED).sample(sorted(origins - reserved), count))  # noqa: S311 - a seeded draw is meant


def main() -> None:
    """Print the list, one origin a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", type=Path)
    parser.add_argument("mothersets", type=Path)
    arguments = parser.parse_args()
    print("\n".join(draw(arguments.datasets, arguments.mothersets)))


if __name__ == "__main__":
    main()
