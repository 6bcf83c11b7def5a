"""Draw the final origins: a fifth of all origins, not used until the default selector is chosen.

    cd src/metaod/history/shipped
    python -m research draw-final-origins MOTHERSETS > final_origins.txt
    python -m research draw-final-origins --mixed MIXED > final_origins_mixed.txt

Of the mixed tables, three tenths of the origins are drawn, without those that are joined to a
numeric table or to an origin that is not drawn. The rest is about numeric tables; one of their
origins, oddbench:DiamondClarity, was joined to the mixed table `diamonds` later and has its name.

This is the second draw, from the joined origins of the shipped datasets (`research relatives`).
It is stratified: a fifth of the origins of each collection, where the three collections of ADBench
count as one and an origin belongs to the first of odds, dami, adbench, oddbench and ovrbench that
it has a dataset in. Left out are the origins of the first draw (`final_origins_1.txt`), which was
looked at, every origin joined to one of them, and the origins of mothersets, which the POC testbed
needs, and of datasets that are related to a motherset. Datasets of the paper's ST table may be
drawn. No performance is read.
Nothing may be chosen, tuned or calibrated on the datasets of these origins before the default
selector's last table.
"""

import argparse
import csv
import random
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from research.relatives import find_relatives
from research.shipped import shipped_datasets
from research.sketches import Sketch, sketch

HERE = Path(__file__).parents[1]
SEED = 20261
MIXED_SEED = 20261116
SHARE = 0.2
STRATA = ("odds", "dami", "adbench", "oddbench", "ovrbench")


def draw(mothersets: Path) -> list[str]:
    """Draw from the shipped numeric datasets; report each stratum on stderr."""
    every = shipped_datasets()
    is_numeric = every["collection"].str.partition("-")[0].isin(STRATA)
    joined = pd.read_parquet(HERE / "joined_origins.parquet").set_index("dataset")
    own = joined["catalogue_origin"].reindex(every.index).fillna(every["origin"])[is_numeric]
    # as it was before mixed tables were joined: a numeric dataset had an origin of that kind
    datasets, now = every[is_numeric].copy(), every["origin"][is_numeric]
    renamed = now.isin(set(every["origin"][~is_numeric]))
    datasets["origin"] = now.mask(renamed, own)
    reserved = set((HERE / "final_origins_1.txt").read_text("utf-8").splitlines())
    with (mothersets / "catalog.csv").open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    reserved |= {row["origin"] for row in listed}
    left_out = own.isin(reserved) | own.index.isin(
        related([mothersets / r["file"] for r in listed])
    )
    looked_at = set(datasets["origin"][left_out])
    strata = defaultdict(list)
    for origin, collections in datasets.groupby("origin")["collection"]:
        names = {name.partition("-")[0] for name in collections}
        strata[min(names, key=STRATA.index)].append(str(origin))
    generator, drawn = random.Random(SEED), []  # noqa: S311 - a seeded draw is meant
    for stratum in STRATA:
        free = sorted(set(strata[stratum]) - looked_at)
        wanted = round(SHARE * len(strata[stratum]))
        drawn += generator.sample(free, min(wanted, len(free)))
        counts = f"{min(wanted, len(free))} of {len(strata[stratum])} origins drawn"
        sys.stderr.write(f"{stratum}: {counts}, from {len(free)} that were not left out\n")
    return sorted(set(now[datasets["origin"].isin(drawn)]))


def draw_mixed(folder: Path) -> list[str]:
    """Draw from the list of mixed tables; return joined origins of the shipped datasets."""
    with (folder / "catalog.csv").open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    origins = np.array(sorted({row["origin"] for row in listed}))
    order = np.random.default_rng(MIXED_SEED).permutation(origins)
    drawn = set(order[: len(origins) * 3 // 10])
    datasets = shipped_datasets()
    joined = pd.read_parquet(HERE / "joined_origins.parquet").set_index("dataset")
    own = joined["catalogue_origin"].reindex(datasets.index).fillna(datasets["origin"])
    is_mixed = datasets["collection"].isin({row["collection"] for row in listed})
    whole = (own.isin(drawn) & is_mixed).groupby(datasets["origin"]).all()
    return sorted(whole.index[whole])


def related(mothersets: list[Path]) -> set[str]:
    """Return the fingerprints of the shipped datasets that are related to a motherset."""
    stored = pd.read_parquet(HERE / "sketches.parquet").set_index("dataset")["sketch"]
    sketches = {name: Sketch.from_bytes(data) for name, data in stored.items()}
    for path in mothersets:
        with np.load(path, allow_pickle=False) as file:
            sketches[path.name] = sketch(file["X"])
    found = find_relatives(sketches, only=[path.name for path in mothersets])
    return {name for item in found for name in (item.one, item.other)} & set(stored.index)


def main() -> None:
    """Print the list, one origin a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mixed", action="store_true")
    given = parser.parse_args()
    print("\n".join(draw_mixed(given.folder) if given.mixed else draw(given.folder)))
