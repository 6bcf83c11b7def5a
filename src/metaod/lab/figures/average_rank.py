"""The paper's main figure: average ranks, with the mean average precision on the lines."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from metaod.lab._methods import METHODS, Category
from metaod.lab.figures.style import CATEGORY_LOOKS, COLUMN, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_average_rank"]


def write_average_rank(
    data: pd.DataFrame, folder: Path, stem: str = "average-rank"
) -> tuple[Path, Path, Path]:
    """Draw the average rank of every method, the best on top.

    Parameters
    ----------
    data : DataFrame
        ``method`` (title), ``category``, ``MAP`` and ``rank``; rows without a rank are left out.
    folder : Path
        Where the files go.
    stem : str, default="average-rank"
        Name of the files.
    """
    data = data.dropna(subset="rank").sort_values("rank", kind="stable").reset_index(drop=True)
    size = (COLUMN, 0.95 + 0.185 * len(data))
    return write_figure(lambda figure: _draw(figure, data), size, data, folder, stem)


def _draw(figure: "Figure", data: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra, checked by write_figure

    axes = figure.add_subplot()
    limit = max(float(data["rank"].max()), 2.0) * 1.04
    left = -0.2 * limit  # room on every line, even the shortest, for its figure
    for place, row in enumerate(data.to_dict("records")):
        colour, marker = CATEGORY_LOOKS[row["category"]]
        axes.plot([left, row["rank"]], [place, place], color=colour, lw=0.9, zorder=1)
        axes.plot(row["rank"], place, marker=marker, color=colour, ms=4.5, zorder=3)
        text = "–" if pd.isna(row["MAP"]) else f"{row['MAP']:.4f}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(left * 0.5, place, text, ha="center", va="center", fontsize=6.5, bbox=box)
    ours = {item.title for item in METHODS if item.learner == "metaod"}
    axes.set_yticks(range(len(data)), list(data["method"]))
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in ours else "normal")
    axes.set_ylim(len(data) - 0.4, -0.6)
    axes.set_xlim(left, limit)
    step = 1 if limit <= 8 else 2
    axes.set_xticks(range(step, int(limit) + 1, step))
    axes.set_xlabel("average rank, lower is better (mean AP on the lines)")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    there = [name for name in CATEGORY_LOOKS if name in set(data["category"])]
    figure.legend(
        handles=[_handle(Line2D, name) for name in there], loc="outside lower center", ncols=2
    )


def _handle(line: type, name: Category) -> object:
    colour, marker = CATEGORY_LOOKS[name]
    return line([], [], color=colour, marker=marker, ms=4.5, label=name)
