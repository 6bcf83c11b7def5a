"""Fill the shipped catalogue's shapes, outliers and fingerprints from a folder of datasets.

    python -m research make-catalogue FOLDER

FOLDER holds the datasets and a catalog.csv that lists them (see `metaod.history.iter_folder`). The
figures of every dataset of the catalogue's collections are computed and written into the catalogue;
new datasets are added. Everything else in the catalogue (addresses, citations, licences, which
datasets the paper's testbed ST has) is written by hand and kept.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from metaod.history import FolderEntry, iter_folder

CATALOGUE = Path(__file__).parents[2] / "research/catalogue.json"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of datasets with a catalog.csv")
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="the file to fill")
    arguments = parser.parse_args()

    document = json.loads(arguments.catalogue.read_text("utf-8"))
    records = {
        f"{record['collection']}/{record['name']}": record for record in document["datasets"]
    }
    collections = document["collections"]
    entries = [item for item in iter_folder(arguments.folder) if item.collection in collections]
    for entry in entries:
        record = records.get(entry.full_name, {"in_st": False, "sources": [], "homepage": ""})
        figures = figures_of(entry)
        changed = [key for key, value in figures.items() if record.get(key) != value]
        records[entry.full_name] = {**figures, **record, **figures}
        if changed:
            sys.stdout.write(f"{entry.full_name}: {', '.join(changed)}\n")
    for name in sorted(records.keys() - {entry.full_name for entry in entries}):
        sys.stdout.write(f"{name}: not in the folder, kept unchanged\n")

    order = list(collections)
    document["datasets"] = sorted(
        records.values(),
        key=lambda record: (order.index(record["collection"]), record["name"].casefold()),
    )
    text = json.dumps(document, indent=2, ensure_ascii=False)
    arguments.catalogue.write_text(text + "\n", encoding="utf-8")


def figures_of(entry: FolderEntry) -> dict[str, Any]:
    """Compute the catalogue's figures of a dataset."""
    dataset = entry.load()
    rows, columns = dataset.X.shape
    return {
        "collection": entry.collection,
        "name": entry.name,
        "rows": rows,
        "columns": columns,
        "outliers": int(dataset.y.sum()),
        "origin": entry.origin,
        "fingerprint": dataset.fingerprint,
    }
