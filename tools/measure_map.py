"""Measure how well a report's map separates the flagged rows from the others.

    python tools/measure_map.py datasets/odds datasets/dami

For every table with 60 to 1,500 rows and 3 columns or more, isolation forest flags a tenth of the
rows. In the map, the distance of a row to the tenth nearest row that is not flagged is taken as a
score, and its ROC AUC for the flagged rows is printed: 1 if all of them lie apart, 0.5 if they lie
among the others. Random flags on random tables of the same shapes tell how much of it any rows
would get.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from metaod.errors import UserError
from metaod.report import map_table
from metaod.tables import prepare, read_table

ROWS = (60, 1_500)
NEIGHBOUR = 10


def separation(
    X: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], *, weighted: bool
) -> float:
    """Return the AUC of the flagged tenth in the map."""
    order = np.argsort(-scores, kind="stable")
    names = tuple(str(place) for place in range(X.shape[1]))
    found = map_table(X, names, order, weighted=weighted)
    points = np.column_stack([found.x, found.y])
    flagged = np.array(found.order) < len(X) // 10
    search = NearestNeighbors(n_neighbors=NEIGHBOUR + 1).fit(points[~flagged])
    distances = search.kneighbors(points)[0]
    # a row that is not flagged is its own nearest neighbour
    distance = np.where(flagged, distances[:, NEIGHBOUR - 1], distances[:, NEIGHBOUR])
    return float(roc_auc_score(flagged, distance))


def main() -> None:
    """Print the means over the tables of some folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="folders of tables")
    rng = np.random.default_rng(0)
    rows = []
    for path in sorted(path for folder in parser.parse_args().folders for path in folder.iterdir()):
        try:
            table = read_table(path)
            if not ROWS[0] <= table.n_rows <= ROWS[1]:
                continue
            X = prepare(table).X
        except UserError as error:
            print(f"left out: {error}")
            continue
        if X.shape[1] < 3:
            continue
        scores = -IsolationForest(random_state=0).fit(X).score_samples(X)
        noise, chance = rng.normal(size=X.shape), rng.permutation(scores)
        rows.append(
            [separation(X, scores, weighted=True), separation(X, scores, weighted=False),
             separation(noise, chance, weighted=True), separation(noise, chance, weighted=False)]
        )  # fmt: skip
        print(f"{path.name}: {rows[-1][0]:.3f} (not weighted {rows[-1][1]:.3f})")
    means = np.mean(rows, axis=0)
    print(f"\n{len(rows)} tables           weighted  not weighted")
    print(f"flagged rows           {means[0]:.3f}     {means[1]:.3f}")
    print(f"random rows of noise   {means[2]:.3f}     {means[3]:.3f}")


if __name__ == "__main__":
    main()
