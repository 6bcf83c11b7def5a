"""All pairs of methods at a glance: who is ahead, by how much, and whether it is significant."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaod.lab._statistics import LEVEL
from metaod.lab.figures.style import BLACK, COLUMN, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_pairs"]


def write_pairs(
    table: pd.DataFrame, folder: Path, stem: str = "pairwise-matrix"
) -> tuple[Path, Path, Path]:
    """Draw the differences of means as a matrix: row less column, a dot where p < 0.05.

    Parameters
    ----------
    table : DataFrame
        What :func:`~metaod.lab._tables.pairwise_table` gives.
    folder : Path
        Where the files go.
    stem : str, default="pairwise-matrix"
        Name of the files.
    """
    titles = list(dict.fromkeys([*table["method 1"], *table["method 2"]]))
    delta = pd.DataFrame(np.nan, index=titles, columns=titles)
    p = delta.copy()
    for row in table.to_dict("records"):
        first, second = row["method 1"], row["method 2"]
        delta.loc[first, second], delta.loc[second, first] = row["ΔMAP"], -row["ΔMAP"]
        p.loc[first, second] = p.loc[second, first] = row["p"]
    data = delta.rename_axis("ΔMAP, row less column").reset_index()
    return write_figure(
        lambda figure: _draw(figure, delta, p), (COLUMN, COLUMN + 0.35), data, folder, stem
    )


def _draw(figure: "Figure", delta: pd.DataFrame, p: pd.DataFrame) -> None:
    axes = figure.add_subplot()
    values = delta.to_numpy()
    limit = float(np.nanmax(np.abs(values), initial=1e-6))
    # orange to purple: told apart by all common kinds of colour vision, and light in the middle
    image = axes.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
    rows, columns = np.nonzero(p.to_numpy() < LEVEL)
    axes.scatter(columns, rows, s=7, color=BLACK, edgecolors="white", lw=0.4)
    places = range(len(delta))
    axes.set_xticks(places, list(delta.columns), rotation=90, fontsize=6.5)
    axes.set_yticks(places, list(delta.index), fontsize=6.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=28)
    bar.set_label("ΔMAP, row less column; dot: p < 0.05")
    bar.outline.set_visible(False)
