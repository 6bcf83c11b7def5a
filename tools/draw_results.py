"""Draw all tables and figures of `metaod evaluate` again, from the files that it wrote.

Needs neither a store nor data: reads `run.json`, `results.parquet`, `performance.parquet`,
`sensitivity.parquet` and `embedding.csv` of each testbed, as far as they are there. Also draws the
embeddings of POC and ST side by side.

    python tools/draw_results.py
"""

import argparse
from pathlib import Path

from metaod.lab import draw_results

RESULTS = Path(__file__).parent.parent / "results"


def main() -> None:
    """Draw everything below a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    written = draw_results(parser.parse_args().results)
    print(f"{len(written)} files written")


if __name__ == "__main__":
    main()
