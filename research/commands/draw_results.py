"""Draw all tables and figures of `python -m research evaluate` again, from the files that it wrote.

Needs neither a store nor data: reads `run.json`, `results.parquet`, `performance.parquet`,
`sensitivity.parquet` and `embedding.csv` of each testbed, as far as they are there. Also draws the
embeddings of POC and ST side by side.

    python -m research draw-results
"""

import argparse
from pathlib import Path

from research.publication import draw_results

RESULTS = Path(__file__).parents[2] / "results"


def main() -> None:
    """Draw everything below a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    written = draw_results(parser.parse_args().results)
    print(f"{len(written)} files written")
