"""A map of a table: its rows as points in two dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_MOST_OUTLYING = 1_000  # of the most outlying rows, all are on the map
_MOST_OTHERS = 2_000
_FITTED_ROWS = 2_000  # rows that the directions are computed from
_NAMED = 2  # columns that name a direction
_MOST_WEIGHT = 10.0


def map_table(
    X: npt.NDArray[np.float64],
    names: Sequence[str],
    order: npt.NDArray[np.intp],
    *,
    weighted: bool = True,
) -> dict[str, Any]:
    """Project a prepared matrix on two directions.

    Columns are centred at their medians, divided by their spread and compressed (arsinh), so that
    a few extreme values do not decide the view. Each is multiplied by how much farther from the
    median the most outlying tenth of the rows lies than the others; then the principal components
    are taken, and far values compressed once more. The map holds the most outlying rows and an
    even sample of the others by their scores. ``research measure-map`` measures how well it
    separates flagged rows.

    Parameters
    ----------
    X : ndarray of float, shape (rows, columns)
        Finite numbers.
    names : sequence of str
        The columns.
    order : ndarray of int
        Places of the rows, the most outlying first.
    weighted : bool, default=True
        Whether columns in which the most outlying rows are apart count more.

    Returns
    -------
    dict
        Rows, the most outlying first: ``x`` and ``y``, positions from 0 to 1; ``rows``, their
        places in the table; ``order``, how many rows of the table are more outlying. And two
        ``directions``: the ``columns`` that have the largest part in each, and its ``share`` of the
        variance of the weighted columns.
    """
    places = _sample(len(order))
    fitted = X[order[_sample(len(order), 0, _FITTED_ROWS)]]
    centre, spread = _scale(fitted)
    view = _compressed(fitted, centre, spread)
    weights = _weights(view) if weighted else np.ones(view.shape[1])
    middle = view.mean(axis=0)
    axes, shares = _components((view - middle) * weights)
    points = ((_compressed(X[order[places]], centre, spread) - middle) * weights) @ axes.T
    parts = np.abs(axes * weights)
    directions = [
        {
            "columns": [names[i] for i in np.argsort(-part, kind="stable")[:_NAMED] if part[i] > 0],
            "share": round(float(share), 4),
        }
        for part, share in zip(parts, shares, strict=True)
    ]
    return {
        "x": _between_0_and_1(points[:, 0]),
        "y": _between_0_and_1(points[:, 1]),
        "rows": order[places].tolist(),
        "order": places.tolist(),
        "directions": directions,
    }


def _weights(view: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how much farther out the first tenth of the rows lies than the others, by column."""
    n_first = -(-len(view) // 10)
    first, others = view[:n_first], view[n_first:]
    if not len(others):
        return np.ones(view.shape[1])
    a, b = (first**2).mean(axis=0), (others**2).mean(axis=0)
    ratio = np.where(b > 0, a / np.where(b > 0, b, 1.0), np.where(a > 0, _MOST_WEIGHT, 1.0))
    return np.asarray(np.clip(ratio, 1 / _MOST_WEIGHT, _MOST_WEIGHT))


def _sample(
    n_rows: int, n_first: int = _MOST_OUTLYING, n_others: int = _MOST_OTHERS
) -> npt.NDArray[np.intp]:
    """Return places in the order of rows: the first ones, and the others evenly."""
    first = np.arange(min(n_rows, n_first))
    n_left = n_rows - len(first)
    if n_left <= n_others:
        return np.arange(n_rows)
    return np.concatenate([first, n_first + (np.arange(n_others) * n_left) // n_others])


def _scale(X: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the median of each column and its spread: half of the middle 80 %, if it is wide."""
    low, centre, high = np.quantile(X, [0.1, 0.5, 0.9], axis=0)
    spread = high / 2 - low / 2
    largest = np.abs(X / 2 - centre / 2).max(axis=0)  # halves: their difference does not overflow
    # a column of one value and few others: half of their distance
    spread = np.where(spread > 0, spread, largest)
    return centre, np.where(spread > 0, spread, 1.0)


def _compressed(
    X: npt.NDArray[np.float64], centre: npt.NDArray[np.float64], spread: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(np.arcsinh(np.clip(X / spread - centre / spread, -1e100, 1e100)))


def _components(
    view: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the two main directions of a centred matrix and their shares of the variance."""
    n_rows, n_columns = view.shape
    # the smaller of the two products has the same eigenvalues
    product = view.T @ view if n_columns <= n_rows else view @ view.T
    values, vectors = np.linalg.eigh(product)
    total = float(values.clip(0).sum())
    values, vectors = values[::-1][:2].clip(0), vectors[:, ::-1][:, :2]
    if n_columns > n_rows:
        vectors = view.T @ vectors / np.sqrt(np.where(values > 0, values, 1.0))
    axes = np.zeros((2, n_columns))
    shares = np.zeros(2)
    for k in range(len(values)):
        if values[k] > 1e-12 * total:
            axis = vectors[:, k]
            # either sign is right: the largest part is positive
            axes[k] = axis * np.sign(axis[np.abs(axis).argmax()])
            shares[k] = values[k] / total
    return axes, shares


def _between_0_and_1(values: npt.NDArray[np.float64]) -> list[float]:
    """Return positions on an axis, with far values compressed once more."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    unit = (high - low) / 2
    if unit > 1e-9:
        values = np.arcsinh((values - middle) / unit)
    least, most = float(values.min()), float(values.max())
    if most - least <= 1e-9:
        return [0.5] * len(values)
    found: list[float] = np.round((values - least) / (most - least), 4).tolist()
    return found
