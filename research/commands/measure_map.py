"""Measure how well a report's map separates the flagged rows from the others.

    python -m research measure-map datasets/odds datasets/dami

For every table with 60 to 1,500 rows and 3 columns or more, isolation forest flags a tenth of the
rows. In the map, the distance of a row to the tenth nearest row that is not flagged is taken as a
score, and its ROC AUC for the flagged rows is printed: 1 if all of them lie apart, 0.5 if they lie
among the others. Random flags on random tables of the same shapes tell how much of it any rows
would get. A discriminant, fitted to the flagged rows, is measured beside the map.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from metaod.errors import UserError
from metaod.report import map_table
from metaod.tables import prepare, read_table

ROWS = (60, 1_500)
NEIGHBOUR = 10


Matrix = npt.NDArray[np.float64]
Points = Callable[[Matrix, npt.NDArray[np.intp]], Matrix]  # of the rows in the given order


def weighted(X: Matrix, order: npt.NDArray[np.intp]) -> Matrix:
    """Return the points of the report's map."""
    return mapped(X, order, is_weighted=True)


def plain(X: Matrix, order: npt.NDArray[np.intp]) -> Matrix:
    """Return the points of the map if all columns count alike: principal components."""
    return mapped(X, order, is_weighted=False)


def mapped(X: Matrix, order: npt.NDArray[np.intp], *, is_weighted: bool) -> Matrix:
    """Return the points of a map."""
    names = tuple(str(place) for place in range(X.shape[1]))
    found = map_table(X, names, order, weighted=is_weighted)
    return np.column_stack([found["x"], found["y"]])


def discriminant(X: Matrix, order: npt.NDArray[np.intp]) -> Matrix:
    """Return points in the directions in which the flagged rows are farthest from the median.

    Farthest beside the spread of all rows, of which a tenth is added to every column (a ridge).
    """
    low, centre, high = np.quantile(X, [0.1, 0.5, 0.9], axis=0)
    view = np.arcsinh((X[order] - centre) / np.where(high > low, (high - low) / 2, 1.0))
    first = view[: len(X) // 10]
    spread = view.T @ view / len(view)
    spread += 0.1 * np.trace(spread) / len(spread) * np.eye(len(spread))
    axes = eigh(first.T @ first / len(first), spread)[1][:, -2:]
    points = view @ (axes / np.linalg.norm(axes, axis=0))
    return np.asarray((points - points.min(axis=0)) / np.ptp(points, axis=0))


def separation(X: Matrix, scores: Matrix, points_of: Points) -> float:
    """Return the AUC of the flagged tenth in a map."""
    points = points_of(X, np.argsort(-scores, kind="stable"))
    flagged = np.arange(len(X)) < len(X) // 10
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
        maps = (weighted, plain, discriminant)
        rows.append(
            [separation(X, scores, points_of) for points_of in maps]
            + [separation(noise, chance, points_of) for points_of in maps]
        )
        print(f"{path.name}: {rows[-1][0]:.3f} (not weighted {rows[-1][1]:.3f})")
    means = [f"{mean:.3f}" for mean in np.mean(rows, axis=0)]
    print(f"\n{len(rows)} tables            weighted  not weighted  discriminant")
    print(f"flagged rows           {'     '.join(means[:3])}")
    print(f"random rows of noise   {'     '.join(means[3:])}")
