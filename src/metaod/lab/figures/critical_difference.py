"""The critical-difference diagram (Demšar 2006): which methods' average ranks differ."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from metaod.lab._results import Unit
from metaod.lab._statistics import Friedman
from metaod.lab.figures.style import BLACK, COLUMN, VERMILLION, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_critical_difference"]

# all lengths in inches
_LINE = 0.155
_BAR = 0.07
_CHARACTER = 0.064
_ABOVE = 0.5
_BELOW = 0.4


def write_critical_difference(
    found: Friedman, folder: Path, stem: str = "critical-difference", *, unit: Unit = "dataset"
) -> tuple[Path, Path, Path]:
    """Draw average ranks on an axis; a bar joins methods that do not differ significantly.

    Parameters
    ----------
    found : Friedman
        Of methods named by their titles.
    folder : Path
        Where the files go.
    stem : str, default="critical-difference"
        Name of the files.
    unit : {"dataset", "motherset"}, default="dataset"
        What the ranks are averaged over.
    """
    averages = found.average_ranks
    place = _Place.of(found)
    data = pd.DataFrame(
        {
            "method": averages.index,
            "average rank": averages.to_numpy(),
            "critical difference": found.critical_difference,
        }
    )
    for name in averages.index:
        data[f"p against {name}"] = found.nemenyi[name].to_numpy()
    return write_figure(
        lambda figure: _draw(figure, found, place, unit),
        (place.width, place.height),
        data,
        folder,
        stem,
    )


@dataclass(frozen=True)
class _Place:
    """Where things stand, in inches from the left and below the axis."""

    width: float
    left: float
    right: float
    first_label: float
    rows: int
    k: int

    @classmethod
    def of(cls, found: Friedman) -> "_Place":
        names = [str(name) for name in found.average_ranks.index]
        rows = (len(names) + 1) // 2
        # a label is a name, two blanks and a rank such as 10.25
        sides = [max(map(len, part), default=0) + 7 for part in (names[:rows], names[rows:])]
        first = 0.1 + _BAR * len(found.groups) + 0.12
        # more methods than the paper's would stand too close in one column
        width = COLUMN if len(names) <= 12 else 1.5 * COLUMN
        return cls(
            width,
            sides[0] * _CHARACTER + 0.1,
            width - sides[1] * _CHARACTER - 0.1,
            first,
            rows,
            len(names),
        )

    @property
    def height(self) -> float:
        return _ABOVE + self.first_label + self.rows * _LINE + _BELOW - 0.5 * _LINE

    def x(self, rank: float) -> float:
        return self.left + (rank - 1) / (self.k - 1) * (self.right - self.left)


def _draw(figure: "Figure", found: Friedman, place: _Place, unit: Unit) -> None:
    averages = found.average_ranks
    k = len(averages)
    # the whole figure, so that a length is the same in the data and on paper
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, place.width)
    axes.set_ylim(place.height - _ABOVE, -_ABOVE)
    _draw_axis(axes, found.critical_difference, place)

    for order, group in enumerate(found.groups):
        height = 0.1 + _BAR * order
        ends = [place.x(averages[group[0]]), place.x(averages[group[-1]])]
        axes.plot(ends, [height, height], color=VERMILLION, lw=2.2, solid_capstyle="butt")

    for order, (name, rank) in enumerate(averages.items()):
        on_left = order < place.rows
        row = order if on_left else k - 1 - order
        height = place.first_label + row * _LINE
        edge = place.left - 0.06 if on_left else place.right + 0.06
        x = place.x(float(rank))
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
    bottom = place.height - _ABOVE - 0.12
    axes.text(place.width / 2, bottom, note, ha="center", va="center", fontsize=6.5)


def _draw_axis(axes: "Axes", distance: float, place: _Place) -> None:
    axes.plot([place.left, place.right], [0, 0], color=BLACK, lw=0.8)
    step = 1 if place.k <= 8 else 2
    for rank in range(1, place.k + 1, step):
        x = place.x(rank)
        axes.plot([x, x], [0, -0.05], color=BLACK, lw=0.8)
        axes.text(x, -0.07, str(rank), ha="center", va="bottom", fontsize=6.5)
    height = -0.36
    ends = [place.left, min(place.x(1 + distance), place.right)]
    axes.plot(ends, [height, height], color=VERMILLION, lw=1.4)
    for end in ends:
        axes.plot([end, end], [height - 0.04, height + 0.04], color=VERMILLION, lw=1.0)
    text = f"critical difference {distance:.2f}"
    axes.text(ends[1] + 0.06, height, text, ha="left", va="center", fontsize=6.5)
