"""Figures that compare methods: average ranks, critical differences, and all pairs."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from research.figures.style import BLACK, CATEGORY_LOOKS, COLUMN, VERMILLION, write_figure
from research.methods import METHODS
from research.results import Unit
from research.statistics import LEVEL, Friedman

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# lengths of the critical-difference diagram, in inches
_LINE = 0.155
_BAR = 0.07
_CHARACTER = 0.064
_ABOVE = 0.5
_BELOW = 0.4


def write_average_rank(
    data: pd.DataFrame, folder: Path, stem: str = "average-rank", caption: str = ""
) -> list[Path]:
    """Draw the average rank of every method that has one, the best on top.

    `data` has ``method``, ``category``, ``rank`` with its interval ``rank_low`` and ``rank_high``,
    and ``MAP`` with ``low`` and ``high``.
    """
    data = data.dropna(subset="rank").sort_values("rank", kind="stable").reset_index(drop=True)
    size = (COLUMN, 1.05 + 0.185 * len(data))
    draw = partial(_draw_average_ranks, data=data)
    return write_figure(draw, size, data, folder, stem, caption)


def _draw_average_ranks(figure: "Figure", data: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra, checked by write_figure

    axes = figure.add_subplot()
    beside = axes.get_yaxis_transform()  # x in parts of the axes' width
    for height, row in enumerate(data.to_dict("records")):
        colour, marker = CATEGORY_LOOKS[row["category"]]
        axes.plot([0, row["rank"]], [height, height], color=colour, lw=0.8, zorder=1)
        ends = [row["rank_low"], row["rank_high"]]
        axes.plot(ends, [height, height], color=colour, lw=3.5, alpha=0.3, zorder=2)
        axes.plot(row["rank"], height, marker=marker, color=colour, ms=4.5, zorder=3)
        text = f"{row['MAP']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        axes.text(1.02, height, text, transform=beside, ha="left", va="center", fontsize=6)
    axes.text(1.02, -0.95, "MAP [95 %]", transform=beside, ha="left", va="center", fontsize=6.5)
    ours = {item.title for item in METHODS if item.learner == "metaod"}
    axes.set_yticks(range(len(data)), list(data["method"]))
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in ours else "normal")
    axes.set_ylim(len(data) - 0.4, -0.6)
    limit = max(float(data["rank"].max()), float(data["rank_high"].max()), 2.0) * 1.04
    axes.set_xlim(0, limit)
    axes.set_xticks(range(0, int(limit) + 1, 1 if limit <= 8 else 2))
    axes.set_xlabel("average rank, lower is better")
    axes.tick_params(axis="y", length=0)
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=4.5, lw=0.8, label=name)
        for name, (colour, marker) in CATEGORY_LOOKS.items()
        if name in set(data["category"])
    ]
    handles.append(
        Line2D([], [], color=BLACK, lw=3.5, alpha=0.3, label="95 % over origins and seeds")
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=2)


def write_critical_difference(
    found: Friedman,
    folder: Path,
    stem: str = "critical-difference",
    unit: Unit = "dataset",
    caption: str = "",
) -> list[Path]:
    """Draw the diagram of Demšar (2006): a bar joins methods that do not differ significantly."""
    averages = found.average_ranks
    layout = _Layout.of(found)
    data = averages.rename_axis("method").to_frame("average rank").reset_index()
    data["critical difference"] = found.critical_difference
    for name in averages.index:
        data[f"p against {name}"] = found.nemenyi[name].to_numpy()
    draw = partial(_draw_critical_difference, found=found, layout=layout, unit=unit)
    return write_figure(draw, (layout.width, layout.height), data, folder, stem, caption)


@dataclass(frozen=True)
class _Layout:
    """Positions in inches, from the left and below the axis."""

    width: float
    left: float
    right: float
    first_label: float
    rows: int
    k: int

    @classmethod
    def of(cls, found: Friedman) -> "_Layout":
        names = [str(name) for name in found.average_ranks.index]
        rows = (len(names) + 1) // 2
        # a label is a name, two spaces and a rank such as 10.25
        sides = [max(map(len, part), default=0) + 7 for part in (names[:rows], names[rows:])]
        first = 0.1 + _BAR * len(found.groups) + 0.12
        # more methods than the paper's need a wider figure
        width = COLUMN if len(names) <= 12 else 1.5 * COLUMN
        left, right = sides[0] * _CHARACTER + 0.1, width - sides[1] * _CHARACTER - 0.1
        return cls(width, left, right, first, rows, len(names))

    @property
    def height(self) -> float:
        return _ABOVE + self.first_label + self.rows * _LINE + _BELOW - 0.5 * _LINE

    def x(self, rank: float) -> float:
        return self.left + (rank - 1) / (self.k - 1) * (self.right - self.left)


def _draw_critical_difference(
    figure: "Figure", found: Friedman, layout: _Layout, unit: Unit
) -> None:
    averages = found.average_ranks
    k = len(averages)
    # axes over the whole figure, but for the caption: data coordinates are inches
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, layout.height / figure.get_figheight()))
    axes.set_axis_off()
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height - _ABOVE, -_ABOVE)
    _draw_axis(axes, found.critical_difference, layout)

    for order, group in enumerate(found.groups):
        height = 0.1 + _BAR * order
        ends = [layout.x(averages[group[0]]), layout.x(averages[group[-1]])]
        axes.plot(ends, [height, height], color=VERMILLION, lw=2.2, solid_capstyle="butt")

    for order, (name, rank) in enumerate(averages.items()):
        on_left = order < layout.rows
        row = order if on_left else k - 1 - order
        height = layout.first_label + row * _LINE
        edge = layout.left - 0.06 if on_left else layout.right + 0.06
        x = layout.x(float(rank))
        axes.plot([x, x, edge], [0, height, height], color=BLACK, lw=0.6)
        axes.text(
            edge - 0.03 if on_left else edge + 0.03,
            height,
            f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}",
            ha="right" if on_left else "left",
            va="center",
            fontsize=7,
            fontweight="bold" if name == "MetaOD" else "normal",
        )
    p = "< 0.0001" if found.p < 0.0001 else f"= {found.p:.4f}"
    note = f"average rank over {found.n} {unit}s (lower is better); Friedman p {p}"
    bottom = layout.height - _ABOVE - 0.12
    axes.text(layout.width / 2, bottom, note, ha="center", va="center", fontsize=6.5)


def _draw_axis(axes: "Axes", distance: float, layout: _Layout) -> None:
    axes.plot([layout.left, layout.right], [0, 0], color=BLACK, lw=0.8)
    step = 1 if layout.k <= 8 else 2
    for rank in range(1, layout.k + 1, step):
        x = layout.x(rank)
        axes.plot([x, x], [0, -0.05], color=BLACK, lw=0.8)
        axes.text(x, -0.07, str(rank), ha="center", va="bottom", fontsize=6.5)
    height = -0.36
    ends = [layout.left, min(layout.x(1 + distance), layout.right)]
    axes.plot(ends, [height, height], color=VERMILLION, lw=1.4)
    for end in ends:
        axes.plot([end, end], [height - 0.04, height + 0.04], color=VERMILLION, lw=1.0)
    text = f"critical difference {distance:.2f}"
    axes.text(ends[1] + 0.06, height, text, ha="left", va="center", fontsize=6.5)


def write_pairs(table: pd.DataFrame, folder: Path, caption: str = "") -> list[Path]:
    """Draw the differences of means of `pairwise_table` as a matrix.

    Marks are in cells whose row is ahead of the column, and only there: a ring if the interval of
    the difference is above 0, a dot if the signed-rank test finds the row better. Where the test
    favours the method with the smaller mean there is no mark; the table has these pairs.
    """
    titles = list(dict.fromkeys([*table["method 1"], *table["method 2"]]))
    delta = pd.DataFrame(np.nan, index=titles, columns=titles)
    ring = pd.DataFrame(False, index=titles, columns=titles)
    dot = ring.copy()
    for row in table.to_dict("records"):
        first, second = row["method 1"], row["method 2"]
        delta.loc[first, second], delta.loc[second, first] = row["ΔMAP"], -row["ΔMAP"]
        ahead, behind = (first, second) if row["ΔMAP"] > 0 else (second, first)
        ring.loc[ahead, behind] = row["low"] > 0 or row["high"] < 0
        dot.loc[ahead, behind] = row["better"] == ahead
    data = delta.rename_axis("ΔMAP, row less column").reset_index()
    draw = partial(_draw_pairs, delta=delta, ring=ring, dot=dot, n=int(table["n"].iloc[0]))
    return write_figure(draw, (COLUMN, COLUMN + 0.45), data, folder, "pairwise-matrix", caption)


def _draw_pairs(
    figure: "Figure", delta: pd.DataFrame, ring: pd.DataFrame, dot: pd.DataFrame, n: int
) -> None:
    axes = figure.add_subplot()
    values = delta.to_numpy()
    limit = float(np.nanmax(np.abs(values), initial=1e-6))
    # colour-blind readers can distinguish orange and purple
    image = axes.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
    rows, columns = np.nonzero(ring.to_numpy())
    axes.scatter(columns, rows, s=22, facecolors="none", edgecolors=BLACK, lw=0.5)
    rows, columns = np.nonzero(dot.to_numpy())
    axes.scatter(columns, rows, s=5, color=BLACK, lw=0)
    ticks = range(len(delta))
    axes.set_xticks(ticks, list(delta.columns), rotation=90, fontsize=6.5)
    axes.set_yticks(ticks, list(delta.index), fontsize=6.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=28)
    bar.set_label(
        f"ΔMAP, row less column\nmarks where the row is ahead: ring, 95 % interval above 0;\n"
        f"dot, signed-rank p < {LEVEL} ({n} origins)",
        fontsize=6.5,
    )
    bar.outline.set_visible(False)
